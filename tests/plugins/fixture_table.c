/* fixture_table.c - the fixture's handshake: versions, the table, and what is wrong with them. */
#include "fixture_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What of a later version this header does not know comes behind. */
typedef struct later_backend {
  vyre_backend known;
  void (*later_slot)(void);
} later_backend;

#define LAST_MINOR 3u

static later_backend tables[LAST_MINOR + 1]; /* by the version that was agreed on (ABI-021) */
static vyre_backend_format formats[1];
static char own_name[64];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

/*
 * Every handshake stores it, also beside one that uses it: stored with release, loaded with
 * acquire, so who sees the pointer sees the host filled.
 */
static const vyre_host *the_host;

const vyre_host *fixture__host(void)
{
  return __atomic_load_n(&the_host, __ATOMIC_ACQUIRE);
}

uint32_t fixture__minor(void)
{
  return IS(minor_1) || IS(promises_later) ? 1 : IS(minor_3) ? 3 : VYRE_ABI_MINOR;
}

/* ---- the table ---- */

static void fill_head(vyre_backend *to, uint32_t minor)
{
  to->struct_size = IS(short_struct) ? (uint32_t)offsetof(vyre_backend, pending_read)
                    : IS(short_0_2)  ? VYRE_BACKEND_SIZE_0_1
                    : IS(minor_1)    ? VYRE_BACKEND_SIZE_0_1
                    : IS(large_table) || IS(minor_3) ? (uint32_t)sizeof(later_backend)
                                                     : (uint32_t)sizeof(vyre_backend);
  to->abi_major = IS(wrong_abi) ? VYRE_ABI_MAJOR + 7 : VYRE_ABI_MAJOR;
  to->abi_minor = IS(minor_too_new) ? VYRE_ABI_MINOR + 40 : minor;
  to->header_version = IS(header_mismatch) ? VYRE_ABI_VERSION + (3u << 16)
                       : IS(wrong_abi)     ? VYRE_ABI_VERSION + (7u << 16)
                       : IS(minor_1)       ? VYRE_ABI_VERSION - 1
                       : IS(minor_3)       ? VYRE_ABI_VERSION + 1
                                           : VYRE_ABI_VERSION;
  to->flags = IS(unknown_flags) ? 1ull << 40 : IS(no_unload) ? 0 : VYRE_BACKEND_MAY_UNLOAD;
  to->sanitizer = IS(says_asan) ? VYRE_SANITIZER_ADDRESS : VYRE_SANITIZER_NONE;
  to->name = own_name;
  to->version = IS(no_version) ? NULL : "1.0";
  to->vendor = "the tests";
  to->build_id = "";
  to->format_count = IS(no_formats)       ? 0
                     : IS(absurd_formats) ? UINT32_MAX
                     : IS(absurd_stride)  ? 2
                                          : 1;
  to->formats = formats;
  to->format_stride = IS(absurd_stride) ? 1ull << 62 : sizeof formats[0];
}

static void fill_slots(vyre_backend *to)
{
  to->device_count = fixture__device_count;
  to->device_info = fixture__device_info;
  to->device_open = fixture__device_open;
  to->device_close = fixture__device_close;
  to->module_load = fixture__module_load;
  to->module_unload = fixture__module_unload;
  to->kernel_find = fixture__kernel_find;
  to->dispatch = IS(slot_null) ? NULL : fixture__dispatch;
  to->pending_wait = fixture__pending_wait;
  to->pending_read = fixture__pending_read;
  to->pending_release = fixture__pending_release;
  if (!IS(caps_disagree) && !IS(tier_1)) {
    to->buffer_alloc = fixture__buffer_alloc;
    to->buffer_free = fixture__buffer_free;
    to->buffer_upload = fixture__buffer_upload;
    to->buffer_download = fixture__buffer_download;
    to->buffer_fill = IS(half_tier_2) ? NULL : fixture__buffer_fill;
    to->buffer_copy = fixture__buffer_copy;
  }
  if (IS(minor_1))
    return; /* its table ends here */
  to->cooperative_groups = IS(native_no_groups) ? NULL : fixture__cooperative_groups;
  to->dispatch_passes = IS(emulated_no_passes) ? NULL : fixture__dispatch_passes;
  to->device_clock = IS(clockless) ? NULL : fixture__device_clock;
}

static void fill_tables(void)
{
  uint32_t minor;
  formats[0].struct_size = (uint32_t)sizeof formats[0];
  formats[0].format = IS(no_prelude) ? "vyre-c" : "fixture";
  formats[0].arch = "";
  if (IS(bad_name) || IS(reserved_name))
    snprintf(own_name, sizeof own_name, "%s", IS(bad_name) ? "Bad Name!" : "gpu");
  else if (IS(none) || IS(shadowed))
    snprintf(own_name, sizeof own_name, "fixture");
  else
    snprintf(own_name, sizeof own_name, "fixture_%.40s", fixture__fault_name);
  for (minor = 1; minor <= LAST_MINOR; minor++) {
    fill_head(&tables[minor].known, minor);
    fill_slots(&tables[minor].known);
  }
}

/* ---- the handshake ---- */

vyre_status fixture__query(const vyre_host *from, const vyre_backend **out_backend, vyre_error *err)
{
  uint32_t minor = (uint32_t)fixture__least(fixture__minor(), from->abi_minor_max);
  ADD(queries, 1);
  if (IS(refuses_abi) || from->abi_major != VYRE_ABI_MAJOR || minor < from->abi_minor_min || !minor)
    return fixture__fail(err, VYRE_ERROR_ABI_MISMATCH,
                         "the fixture speaks ABI 9.1, the host %" PRIu32 ".%" PRIu32,
                         from->abi_major, from->abi_minor_max);
  if (IS(refusing) || IS(refusing_silently))
    return fixture__fail(err, VYRE_ERROR_REFUSED, "the fixture does not like this host");
  if (IS(null_with_ok))
    return VYRE_OK;
  pthread_once(&tables_once, fill_tables);
  __atomic_store_n(&the_host, from, __ATOMIC_RELEASE);
  from->log(from->self, VYRE_LOG_DEBUG, "the fixture is asked");
  *out_backend = &tables[minor].known;
  return VYRE_OK;
}
