/*
 * coverage.h - which slots of the table were called: a table whose slots count and then call the
 * plugin's.
 */
#ifndef VYRE_CONFORMANCE_COVERAGE_H
#define VYRE_CONFORMANCE_COVERAGE_H

#include "vyre_backend.h"

/* X(slot), in the order of the table; at most CONFORM_SLOTS. */
#define CONFORM_SLOT_MAP(X)                                                                        \
  X(device_count)                                                                                  \
  X(device_info)                                                                                   \
  X(device_open)                                                                                   \
  X(device_close)                                                                                  \
  X(compile)                                                                                       \
  X(module_load)                                                                                   \
  X(module_unload)                                                                                 \
  X(kernel_find)                                                                                   \
  X(dispatch)                                                                                      \
  X(pending_wait)                                                                                  \
  X(pending_read)                                                                                  \
  X(pending_release)                                                                               \
  X(buffer_alloc)                                                                                  \
  X(buffer_free)                                                                                   \
  X(buffer_upload)                                                                                 \
  X(buffer_download)                                                                               \
  X(buffer_fill)                                                                                   \
  X(buffer_copy)                                                                                   \
  X(buffer_import)                                                                                 \
  X(buffer_export)                                                                                 \
  X(coherent_alloc)                                                                                \
  X(cooperative_groups)                                                                            \
  X(dispatch_passes)                                                                               \
  X(device_clock)                                                                                  \
  X(event_record)                                                                                  \
  X(event_wait)                                                                                    \
  X(event_release)                                                                                 \
  X(queue_export)                                                                                  \
  X(sequence_create)                                                                               \
  X(sequence_start)                                                                                \
  X(sequence_release)

enum {
#define X(slot) CONFORM_SLOT_##slot,
  CONFORM_SLOT_MAP(X)
#undef X
      CONFORM_SLOT_COUNT
};

/*
 * Fills `out_counted` with a copy of `real` as far as it reaches, NULL behind, whose slots count in
 * `calls` and tell in `last` which was called last, as its number and 1.  One table at a time: the
 * slots have no argument that could tell two apart.
 */
void conform_count_calls(const vyre_backend *real, uint32_t *calls, uint32_t *last,
                         vyre_backend *out_counted);

/* The name of a slot. */
const char *conform_slot_name(uint32_t slot);

#endif
