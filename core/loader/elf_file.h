/* elf_file.h - the tables of an ELF file that the loader looks at, read into memory. */
#ifndef VYRE_CORE_LOADER_ELF_FILE_H
#define VYRE_CORE_LOADER_ELF_FILE_H

#include "core/base/alloc.h"

#include <link.h>

typedef struct vyre__elf_file {
  vyre_allocator allocator;
  int fd;
  uint64_t size; /* bytes in the file */
  ElfW(Ehdr) header;
  ElfW(Phdr) * segments;
  uint32_t segment_count;
  ElfW(Dyn) * dynamic; /* up to, without, DT_NULL */
  uint64_t dynamic_count;
  char *strings; /* string_size bytes and a NUL */
  uint64_t string_size;
  ElfW(Sym) * symbols; /* the first is the null symbol */
  uint64_t symbol_count;
} vyre__elf_file;

/* Opens a regular file without waiting for anything: NOT_FOUND, IO. */
vyre_status vyre__elf_open(vyre__elf_file *file, const char *path, const vyre_allocator *allocator,
                           vyre_error *err);

/* The header alone: NOT_A_PLUGIN if it is no shared object for this machine. */
vyre_status vyre__elf_read_header(vyre__elf_file *file, vyre_error *err);

/* The dynamic section with its strings and symbols: NOT_A_PLUGIN if it is damaged. */
vyre_status vyre__elf_read_dynamic(vyre__elf_file *file, vyre_error *err);

void vyre__elf_close(vyre__elf_file *file);

/* A text of the string table; "" outside of it. */
const char *vyre__elf_string(const vyre__elf_file *file, uint64_t offset);

#endif
