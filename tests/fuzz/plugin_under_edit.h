/*
 * plugin_under_edit.h - a sound plugin in memory, and the edits of an input that spoil it.
 *
 * Its slots count what is alive.  Where the input says so they fail: with any code, with texts
 * without an end, and with results that are poison and may not be used by anybody.
 */
#ifndef VYRE_TESTS_FUZZ_PLUGIN_UNDER_EDIT_H
#define VYRE_TESTS_FUZZ_PLUGIN_UNDER_EDIT_H

#include "tests/fuzz/fuzz.h"
#include "vyre_backend.h"

#define EDIT_DEVICES 3u
#define EDIT_FORMATS 3u

/* Calls whose answers can be edited. */
typedef enum edit_call {
  CALL_query,
  CALL_device_count,
  CALL_device_info,
  CALL_device_open,
  CALL_module_load,
  CALL_kernel_find,
  CALL_dispatch,
  CALL_pending_wait,
  CALL_pending_read,
  CALL_buffer_alloc,
  CALL_buffer_upload,
  CALL_buffer_download,
  CALL_buffer_fill,
  CALL_buffer_copy,
  CALL_cooperative_groups,
  CALL_dispatch_passes,
  CALL_device_clock,
  CALL_coherent_alloc,
  CALL_COUNT
} edit_call;

typedef struct edit_answer {
  vyre_status status;
  uint32_t from;   /* calls that answer well first */
  uint32_t errors; /* calls that answer so, then; 0: all */
  uint8_t how;     /* EDIT_… */
} edit_answer;

#define EDIT_POISON 1u    /* a failing call stores a pointer to nothing */
#define EDIT_NOTHING 2u   /* a call that succeeds stores nothing */
#define EDIT_ENDLESS 4u   /* the error's texts have no end */
#define EDIT_SILENT 8u    /* the error has no text */
#define EDIT_ODD_SLOT 16u /* pending_read: wrong tags and sizes; coherent_alloc: no address */

/* Slow parts of the life that an input can leave out. */
#define EDIT_SKIP_MEASURING 1u
#define EDIT_SKIP_ENGINE 2u

/* Makes the plugin from an input; what it points to is from `pool`. */
void edit_make(fuzz_input *in, fuzz_pool *pool);

/* The table, NULL if the query is to answer with none; what the query returns. */
const vyre_backend *edit_table(void);
vyre_status edit_query_status(void);
void edit_fill_error(vyre_error *err);

/* Devices, modules, pending handles and buffers that were made and not given back. */
uint32_t edit_live(void);

bool edit_skips(uint32_t part);

#endif
