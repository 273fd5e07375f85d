/*
 * code.h - from vyre_code to a loaded module: choosing a format, composing `vyre-c` text.
 */
#ifndef VYRE_CORE_PROGRAM_CODE_H
#define VYRE_CORE_PROGRAM_CODE_H

#include "core/base/text.h"
#include "core/device/device.h"

/*
 * What the core writes around the user's `vyre-c` text: `head` behind the plugin's prelude, `tail`
 * behind the user's functions.  Both may be "".
 */
typedef struct vyre__entries {
  const char *head;
  const char *tail;
} vyre__entries;

/* INVALID_ARGUMENT if a row is incomplete; `what` names the owner in messages. */
vyre_status vyre__code_check(const vyre_code *code, uint32_t count, const char *what,
                             vyre_error *err);

/* The whole `vyre-c` text behind a prelude (KRN-001; may be NULL), from `allocator`. */
vyre_status vyre__code_compose(const char *prelude, uint64_t prelude_size, const vyre_code *code,
                               const vyre__entries *entries, const vyre_allocator *allocator,
                               char **out_text, uint64_t *out_size, vyre_error *err);

/*
 * Loads the first format of the device's own list that is among `code`.  MODULE_FORMAT lists both
 * sides.  `*out_format` (may be NULL) is a text of the backend's table.
 */
vyre_status vyre__module_load(vyre_device *device, const vyre_code *code, uint32_t count,
                              const vyre__entries *entries, uint64_t module_flags, const char *name,
                              vyre_backend_module **out_module, const char **out_format,
                              vyre_error *err);

/* Head and tail of a program: buffer ids, one entry a segment. */
vyre_status vyre__program_entries(const vyre_program_desc *desc, vyre__text *head, vyre__text *tail,
                                  vyre_error *err);

/*
 * Head and tail of a handler set: the engine's entries (core/engine/).  `wide`: the one for wide
 * groups too; its barriers would make a compiler for one core run every entry as fibers.
 */
vyre_status vyre__engine_entries(const vyre_engine_handlers *handlers, bool wide, vyre__text *head,
                                 vyre__text *tail, vyre_error *err);

#endif
