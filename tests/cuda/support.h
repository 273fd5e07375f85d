/*
 * support.h - the CUDA plugin on the test driver, through its table, as a host would use it; with
 * VYRE_TEST_HIP the HIP plugin, on the runtime of tests/hip_on_cuda on that driver.  A host that
 * counts its blocks, the kernels of fake_kernels.c, and short forms of the calls.
 */
#ifndef VYRE_TESTS_CUDA_SUPPORT_H
#define VYRE_TESTS_CUDA_SUPPORT_H

#include "fake/fake_control.h"
#include "vyre_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define FAKE_DIR VYRE_TEST_BINARY_DIR "/lib/vyre-test/cuda"
#define FAKE_CUDA FAKE_DIR "/libcuda.so.1"
#define FAKE_NVRTC FAKE_DIR "/libnvrtc.so.13"

#ifdef VYRE_TEST_HIP
#define PLUGIN "hip"
#define CODE_FORMAT "hsaco"
#define FORWARD_HIP VYRE_TEST_BINARY_DIR "/lib/vyre-test/hip/libamdhip64.so.6"
#define FORWARD_RTC VYRE_TEST_BINARY_DIR "/lib/vyre-test/hip/libhiprtc.so.6"
#else
#define PLUGIN "cuda"
#define CODE_FORMAT "ptx"
#endif

/* After plugin_load(). */
extern const fake_cuda_control *driver;
extern const fake_nvrtc_control *nvrtc;
extern const vyre_backend *backend;

/* Loads the plugin of the build tree on the driver and the NVRTC at these paths (NULL: on none that
   the tests made), with the cache off; false with a text on stderr. */
bool plugin_load(const char *cuda_path, const char *nvrtc_path);
/* A group set-up: on the test driver, or on the one that VYRE_TEST_FAKE_CUDA names. */
int plugin_set_up(void **state);

/* The host's allocator: blocks that are out; makes the n-th from now fail (0: none). */
uint64_t host_live(void);
void host_fail(uint64_t n);
/* Frees what the plugin has given away. */
void host_drop(void *memory);

/* PTX with these kernels, as `entries` pairs of name and number of bindings. */
const char *ptx_of(uint32_t entries, ...);
/* The size of what ptx_of() gave, which is of CODE_FORMAT. */
uint64_t code_size(const char *code);

vyre_status open_try(uint32_t index, vyre_backend_device **out_device, vyre_error *err);
vyre_status load_try(vyre_backend_device *device, const char *ptx, vyre_backend_module **out_module,
                     vyre_error *err);
vyre_backend_device *open_device(uint32_t index);
vyre_backend_module *load_module(vyre_backend_device *device, const char *ptx);
vyre_backend_kernel *find_kernel(vyre_backend_module *module, const char *name);
vyre_backend_buffer *make_buffer(vyre_backend_device *device, uint64_t size);

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t words);
vyre_binding bind_buffer(uint32_t id, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t words);
vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t count);
/* Starts, waits, reads into the slots and releases. */
vyre_status run_try(vyre_backend_device *device, const vyre_dispatch_desc *desc, vyre_slot *slots,
                    uint32_t slot_count, vyre_error *err);
vyre_slot slot_of(void *data, uint64_t size);

/* Nothing is left and nothing was done wrong. */
void assert_clean(void);
/* Device 0 has no persistent launches, and its reason has `why` in it; NULL: it has them. */
void assert_not_persistent(const char *why);

/* Fails the test with the record's own text; `fresh` is the record for the call. */
#define OK(call)                                                                                   \
  do {                                                                                             \
    vyre_error fresh = VYRE_ERROR_INIT;                                                            \
    const vyre_status status_ = (call);                                                            \
    if (status_ != VYRE_OK)                                                                        \
      fail_msg("%s: %d: %s (%s)", #call, (int)status_, fresh.message, fresh.where);                \
  } while (0)

#define assert_contains(text, part)                                                                \
  do {                                                                                             \
    if (!strstr((text), (part)))                                                                   \
      fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                                  \
  } while (0)

#endif
