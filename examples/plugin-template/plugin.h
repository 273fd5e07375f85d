/*
 * plugin.h - what the two files of the plugin share.
 */
#ifndef TEMPLATE_PLUGIN_H
#define TEMPLATE_PLUGIN_H

#include <vyre_backend.h>
#include <vyre_kernel.h>

/* Limits, as device_info() tells and dispatch() keeps them. */
#define MAX_ITEMS 256u
#define MAX_GROUPS_X 0x7fffffffu
#define MAX_GROUPS_YZ 65535u
#define MAX_LOCAL_BYTES 65536u
#define MAX_PUSH_BYTES 1024u
#define MAX_BINDINGS 64u

struct vyre_backend_device {
  const vyre_host *host;
};

struct vyre_backend_module {
  const vyre_host *host;
  void *library; /* of dlopen() */
};

/* A kernel is the table that VYRE_ENTRY makes: it lives in the module's library. */
struct vyre_backend_kernel {
  vyre_native_entry entry;
};

/* ---- errors: return FAIL(err, CODE, "what to do", "what happened, with names and values") ---- */

/* `err` may be NULL or shorter than ours (ABI-001, ABI-009); texts are cut, never overrun. */
__attribute__((format(printf, 6, 7))) void template_fail(vyre_error *err, vyre_status code,
                                                         int64_t system_code, int line,
                                                         const char *fix, const char *format, ...);

#define FAIL_SYSTEM(err, code, number, fix, ...)                                                   \
  (template_fail((err), (code), (number), __LINE__, (fix), __VA_ARGS__), (code))
#define FAIL(err, code, fix, ...) FAIL_SYSTEM(err, code, 0, fix, __VA_ARGS__)

/* A structure of the host that is missing, or shorter than at its introduction (ABI-001). */
#define CHECK_SIZE(err, pointer, type, least)                                                      \
  ((pointer) && (pointer)->struct_size >= (least)                                                  \
       ? VYRE_OK                                                                                   \
       : FAIL((err), VYRE_ERROR_INVALID_ARGUMENT, "give a " #type " of at least that size",        \
              #type " has %u bytes, at least %u are needed",                                       \
              (pointer) ? (pointer)->struct_size : 0, (uint32_t)(least)))

/* ---- launch.c ---- */

vyre_status template_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_backend_pending **out_pending, vyre_error *err);
vyre_status template_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                  vyre_error *err);
vyre_status template_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                  uint32_t slot_count, uint64_t slot_stride,
                                  vyre_backend_times *out_times, vyre_error *err);
void template_pending_release(vyre_backend_pending *pending);

#endif
