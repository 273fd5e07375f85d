/*
 * fixture.c - the fixture's handshake and its table: compiled for each row of fixture_faults.def,
 * which FIXTURE_FAULT and FIXTURE_FAULT_NAME say.  The other parts are compiled once.
 *
 * fixture.h tells what a fixture can do and how a test steers it; fixture_inside.h lists its parts.
 */
#include "fixture_inside.h"

#include <inttypes.h>

const int fixture__fault = FIXTURE_FAULT;

/* ---- the table: constants, so that it is there whoever loads the plugin again ---- */

static const vyre_backend_format formats[] = {
    {(uint32_t)sizeof(vyre_backend_format), 0, IS(no_prelude) ? "vyre-c" : "fixture", ""},
};

#define NAME                                                                                       \
  (IS(bad_name)               ? "Bad Name!"                                                        \
   : IS(reserved_name)        ? "gpu"                                                              \
   : IS(none) || IS(shadowed) ? "fixture"                                                          \
                              : "fixture_" FIXTURE_FAULT_NAME)

#define HAS_TIER_2 (!IS(caps_disagree) && !IS(tier_1))

/* The table of a later version: what this header does not know comes behind. */
typedef struct later_backend {
  vyre_backend known;
  void (*later_slot)(void);
} later_backend;

#define TABLE_SIZE                                                                                 \
  (IS(short_struct)                    ? (uint32_t)offsetof(vyre_backend, pending_read)            \
   : IS(short_0_2) || IS(minor_1)      ? VYRE_BACKEND_SIZE_0_1                                     \
   : IS(large_table) || IS(minor_next) ? (uint32_t)sizeof(later_backend)                           \
                                       : (uint32_t)sizeof(vyre_backend))

#define HEADER_VERSION                                                                             \
  (IS(header_mismatch) ? VYRE_ABI_VERSION + (3u << 16)                                             \
   : IS(wrong_abi)     ? VYRE_ABI_VERSION + (7u << 16)                                             \
   : IS(minor_1)       ? VYRE_ABI_MAJOR << 16 | 1u                                                 \
   : IS(minor_next)    ? VYRE_ABI_VERSION + 1                                                      \
                       : VYRE_ABI_VERSION)

#define TABLE(minor)                                                                               \
  {                                                                                                \
    .known =                                                                                       \
        {                                                                                          \
            .struct_size = TABLE_SIZE,                                                             \
            .abi_major = IS(wrong_abi) ? VYRE_ABI_MAJOR + 7 : VYRE_ABI_MAJOR,                      \
            .abi_minor = IS(minor_too_new) ? VYRE_ABI_MINOR + 40 : (minor),                        \
            .header_version = HEADER_VERSION,                                                      \
            .flags = IS(unknown_flags) ? 1ull << 40                                                \
                     : IS(no_unload)   ? 0                                                         \
                                       : VYRE_BACKEND_MAY_UNLOAD,                                    \
            .sanitizer = IS(says_asan) ? VYRE_SANITIZER_ADDRESS : VYRE_SANITIZER_NONE,             \
            .format_count = IS(no_formats)       ? 0                                               \
                            : IS(absurd_formats) ? UINT32_MAX                                      \
                            : IS(absurd_stride)  ? 2                                               \
                                                 : 1,                                               \
            .name = NAME,                                                                          \
            .version = IS(no_version) ? NULL : "1.0",                                              \
            .vendor = "the tests",                                                                 \
            .build_id = "",                                                                        \
            .formats = formats,                                                                    \
            .format_stride = IS(absurd_stride) ? 1ull << 62 : sizeof formats[0],                   \
            .device_count = fixture__device_count,                                                 \
            .device_info = fixture__device_info,                                                   \
            .device_open = fixture__device_open,                                                   \
            .device_close = fixture__device_close,                                                 \
            .module_load = fixture__module_load,                                                   \
            .module_unload = fixture__module_unload,                                               \
            .kernel_find = fixture__kernel_find,                                                   \
            .dispatch = IS(slot_null) ? NULL : fixture__dispatch,                                  \
            .pending_wait = fixture__pending_wait,                                                 \
            .pending_read = fixture__pending_read,                                                 \
            .pending_release = fixture__pending_release,                                           \
            .buffer_alloc = HAS_TIER_2 ? fixture__buffer_alloc : NULL,                             \
            .buffer_free = HAS_TIER_2 ? fixture__buffer_free : NULL,                               \
            .buffer_upload = HAS_TIER_2 ? fixture__buffer_upload : NULL,                           \
            .buffer_download = HAS_TIER_2 ? fixture__buffer_download : NULL,                       \
            .buffer_fill = HAS_TIER_2 && !IS(half_tier_2) ? fixture__buffer_fill : NULL,           \
            .buffer_copy = HAS_TIER_2 ? fixture__buffer_copy : NULL,                               \
            .cooperative_groups =                                                                  \
                IS(minor_1) || IS(native_no_groups) ? NULL : fixture__cooperative_groups,          \
            .dispatch_passes =                                                                     \
                IS(minor_1) || IS(emulated_no_passes) ? NULL : fixture__dispatch_passes,           \
            .device_clock = IS(minor_1) || IS(clockless) ? NULL : fixture__device_clock,           \
        },                                                                                         \
    .later_slot = NULL,                                                                            \
  }

/* By the version that was agreed on (ABI-021). */
static const later_backend tables[] = {{{0}, NULL}, TABLE(1), TABLE(2), TABLE(3), TABLE(4)};

/* ---- the handshake ---- */

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
  return IS(minor_1) || IS(promises_later) ? 1
         : IS(minor_next)                  ? VYRE_ABI_MINOR + 1
                                           : VYRE_ABI_MINOR;
}

#if FIXTURE_NO_SYMBOL
/* The same code under a name that nobody looks for. */
#define vyre_backend_query fixture_backend_query
VYRE_BACKEND_EXPORT vyre_status fixture_backend_query(const vyre_host *from,
                                                      const vyre_backend **out_backend,
                                                      vyre_error *err);
#endif

#if FIXTURE_NEEDS_MISSING
/* Of the library that is not there when the plugin is opened. */
extern int vyre_gone(void);
#endif

/* The newest version that both sides speak; 0: there is none. */
static uint32_t common_minor(const vyre_host *from)
{
  const uint32_t minor = (uint32_t)fixture__least(fixture__minor(), from->abi_minor_max);
  return minor < from->abi_minor_min ? 0 : minor;
}

vyre_status vyre_backend_query(const vyre_host *from, const vyre_backend **out_backend,
                               vyre_error *err)
{
  ADD(queries, 1);
#if FIXTURE_NEEDS_MISSING
  if (vyre_gone())
    return VYRE_ERROR_INTERNAL;
#endif
  if (IS(refuses_abi) || from->abi_major != VYRE_ABI_MAJOR || !common_minor(from))
    return fixture__fail(err, VYRE_ERROR_ABI_MISMATCH,
                         "the fixture speaks ABI 9.1, the host %" PRIu32 ".%" PRIu32,
                         from->abi_major, from->abi_minor_max);
  if (IS(refusing) || IS(refusing_silently))
    return fixture__fail(err, VYRE_ERROR_REFUSED, "the fixture does not like this host");
  if (IS(null_with_ok))
    return VYRE_OK;
  __atomic_store_n(&the_host, from, __ATOMIC_RELEASE);
  from->log(from->self, VYRE_LOG_DEBUG, "the fixture is asked");
  *out_backend = &tables[common_minor(from)].known;
  return VYRE_OK;
}
