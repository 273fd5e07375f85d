/*
 * elf.h - reads a shared object's own description from the file, before dlopen() runs any of its
 * code.  Nothing in the file is believed: every offset, size and count is checked against the file.
 */
#ifndef VYRE_CORE_LOADER_ELF_H
#define VYRE_CORE_LOADER_ELF_H

#include "vyre.h"

#include "core/base/alloc.h"

/*
 * OK if the file is a shared object for this machine, defines vyre_backend_query, and needs no
 * sanitizer runtime that this process lacks.  Otherwise the error tells the cure, and `*out_stage`
 * is VYRE_CANDIDATE_FILE, ELF, or HANDSHAKE for a sound object that is no plugin.
 */
vyre_status vyre__elf_check(const char *path, const vyre_allocator *allocator,
                            vyre_candidate_stage *out_stage, vyre_error *err);

#endif
