/*
 * support.h - the opencl plugin on the fake library, driven through its table: a host with an
 * allocator that counts and can fail, and short forms of the calls.
 */
#ifndef VYRE_TESTS_OPENCL_SUPPORT_H
#define VYRE_TESTS_OPENCL_SUPPORT_H

#include "fake_opencl.h"
#include "vyre_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

/* Loaded by load(): the table, and the fake's state. */
extern const vyre_backend *backend;
extern fake_opencl *fake;

/*
 * Opens the fake and brings it to its defaults, then loads the plugin afresh: it knows nothing of
 * any device.  Fails the test otherwise.
 */
void load(void);
/* The same with another library for VYRE_OPENCL_LIBRARY. */
void load_with(const char *library);
/* Closes the plugin; host and fake have everything back. */
void unload(void);

/* The host's allocator: blocks that are out; makes the n-th from now fail (0: none). */
uint64_t host_live(void);
void host_fail(uint64_t n);
/* Allocations since the last host_fail(). */
uint64_t host_count(void);

/* An empty folder of this process is VYRE_CACHE_DIR; cache_remove() takes it away. */
void cache_fresh(void);
void cache_remove(void);
/* The first file in it whose name ends in `end`; false if there is none. */
bool cache_find(const char *end, char *out_path, size_t size);

vyre_backend_device *open_device(void);
/* Prelude and text; the status of module_load(). */
vyre_status load_text(vyre_backend_device *device, const char *text, uint64_t flags,
                      vyre_backend_module **out_module, vyre_error *err);
vyre_backend_kernel *load_kernel(vyre_backend_device *device, const char *text, uint64_t flags,
                                 const char *name, vyre_backend_module **out_module);

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t size);
vyre_binding bind_buffer(uint32_t id, vyre_backend_buffer *buffer, uint64_t offset, uint64_t size);
vyre_binding bind_local(uint32_t id, uint64_t size);
vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t count);
vyre_slot slot_of(void *data, uint64_t size);

/* Kernels `one` (in, out) and `three` (in, out, workgroup memory). */
extern const char two_kernels[];

#define assert_ok(status, err)                                                                     \
  do {                                                                                             \
    if ((status) != VYRE_OK)                                                                       \
      fail_msg("status %d: %s (%s)", (int)(status), (err).message, (err).where);                   \
  } while (0)

#define assert_contains(text, part)                                                                \
  do {                                                                                             \
    if (!strstr((text), (part)))                                                                   \
      fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                                  \
  } while (0)

/* The call is refused with that status, and a text that has `part` in it. */
#define assert_refused(call, wanted, part)                                                         \
  do {                                                                                             \
    vyre_error err = VYRE_ERROR_INIT;                                                              \
    const vyre_status got = (call);                                                                \
    if (got != (wanted))                                                                           \
      fail_msg("%s gives status %d, not %d: %s", #call, (int)got, (int)(wanted), err.message);     \
    assert_int_equal(err.code, got);                                                               \
    assert_contains(err.message, part);                                                            \
    assert_true(err.fix[0] != 0);                                                                  \
  } while (0)

#endif
