/*
 * support.h - driving the cpu plugin through its table, as a host would: a host with an allocator
 * that counts and can fail, the composing of kernel text, and short forms of the calls.
 */
#ifndef VYRE_TESTS_CPU_SUPPORT_H
#define VYRE_TESTS_CPU_SUPPORT_H

#include "vyre_backend.h"
#include "vyre_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct cpu_plugin {
  void *library;
  const vyre_backend *backend;
  vyre_host host;
} cpu_plugin;

/* Loads the plugin of the build tree and shakes hands; fails the test otherwise. */
void plugin_load(cpu_plugin *plugin);
/* Closes it; every allocation must have been returned. */
void plugin_unload(cpu_plugin *plugin);

/* The host's allocator: blocks that are out; makes the n-th from now fail (0: none). */
uint64_t host_live(void);
void host_fail(uint64_t n);
/* Allocations since the last host_fail(). */
uint64_t host_count(void);
/* The last line that was logged. */
const char *host_last_line(void);

vyre_backend_device *device_open(const cpu_plugin *plugin);

/* Prelude + text + tail, as the core composes it; the caller frees it. */
char *compose(const cpu_plugin *plugin, const char *text);

/* Loads text as vyre-c; fails the test with the plugin's message. */
vyre_backend_module *module_load(const cpu_plugin *plugin, vyre_backend_device *device,
                                 const char *text, uint64_t flags);
vyre_status module_try(const cpu_plugin *plugin, vyre_backend_device *device, const char *text,
                       uint64_t flags, vyre_backend_module **out_module, vyre_error *err);
vyre_backend_kernel *kernel_find(const cpu_plugin *plugin, vyre_backend_module *module,
                                 const char *name);

vyre_binding bind_host(uint32_t id, vyre_access access, const void *data, uint64_t size,
                       uint64_t elements);
vyre_binding bind_buffer(uint32_t id, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t offset, uint64_t size, uint64_t elements);
vyre_binding bind_local(uint32_t id, uint64_t size, uint64_t elements);

/* A descriptor with one dimension; the caller changes what it wants. */
vyre_dispatch_desc launch_of(vyre_backend_kernel *kernel, const vyre_binding *bindings,
                             uint32_t count, uint32_t groups, uint32_t workgroup);

/* Starts, waits, and fails the test on an error; `slots` may be NULL if there are no outputs. */
void run(const cpu_plugin *plugin, vyre_backend_device *device, const vyre_dispatch_desc *desc,
         vyre_slot *slots, uint32_t slot_count);
/* The same, with the status of whichever step failed. */
vyre_status run_try(const cpu_plugin *plugin, vyre_backend_device *device,
                    const vyre_dispatch_desc *desc, vyre_slot *slots, uint32_t slot_count,
                    vyre_error *err);
vyre_slot slot_of(void *data, uint64_t size);

/* Fails the test with the record's own text. */
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

#endif
