/*
 * fixture.h - how a test steers and watches the fixture plugin.
 *
 *     fixture plugin = fixture_attach(VYRE_TEST_PLUGIN_DIR "/libvyre_fixture.so");
 *     plugin.set("lose_at", 1);
 *     assert_int_equal(plugin.get("buffers_live"), 0);
 *     fixture_detach(&plugin);
 *
 * The values live as long as the plugin is in the process; attaching keeps it there.
 *
 * set() takes, with their defaults where no fault changes them:
 *     devices             number of devices                                           5
 *     devices_error       status of device_count                                      0
 *     open_error          status of device_open                                       0
 *     open_error_at       only for this device index; -1: for all                    -1
 *     alloc_error         status of buffer_alloc                                      0
 *     alloc_fail_at       the n-th buffer_alloc from now finds no memory; 0: none     0
 *     copy_error          status of upload, download, fill and copy                   0
 *     copy_fail_at        the n-th of them from now fails; 0: none                    0
 *     load_error          status of module_load                                       0
 *     dispatch_error      status of dispatch                                          0
 *     dispatch_fail_at    the n-th dispatch from now is refused; 0: none              0
 *     wait_error          status of pending_wait once the launch has ended            0
 *     read_error          status of pending_read                                      0
 *     fail_at             the n-th step from now fails when it is waited for; 0: none 0
 *     lose_at             the n-th launch from now loses its device; 0: none          0
 *     drop_output         the n-th read from now leaves its last slot as it was       0
 *     swap_outputs        the n-th read from now says the ids in the wrong order      0
 *     extra_output        the n-th read from now finds an output without a slot       0
 *     long_output         the n-th read from now says one byte too many               0
 *     hold                launches do not end while this is not 0                     0
 *     silent              errors come without a text                                  0
 *     watch               an address, see `watched`                                   0
 * These are told with the list of devices, which a context asks for once; 0.2 brought them:
 *     grid_sync           VYRE_GRID_SYNC_… of the devices that have buffers           0
 *     cooperative_items   what the devices say                                        0
 *     timestamps          1: VYRE_CAP_TIMESTAMPS, and launches have times             0
 * And, of tier 3:
 *     cooperative_groups  most groups of a cooperative launch                         8
 *     groups_error        status of cooperative_groups                                0
 *     residency           status of a cooperative dispatch                            0
 *     passes_error        status of dispatch_passes                                   0
 *     say_passes          passes that a whole run claims to have made; 0: the truth   0
 *     barrier_ns          what a barrier of a fused launch costs at least             0
 * And:
 *     reset               all of the above and the counters below as at the start
 *
 * get() also knows, counted so far:
 *     queries, opens, loads, allocs
 *     asks                calls of device_count
 *     dispatches          calls of dispatch that were taken
 *     cooperative_calls   of those, the cooperative ones
 *     passes_calls        calls of dispatch_passes that were taken
 *     launch_steps        kernels that ran: one in a dispatch, each of each pass in the others
 *     waits, reads        calls of pending_wait and pending_read
 *     read_bytes          that came back in slots
 *     host_bindings_bytes that went in by HOST bindings with data
 *     watched             HOST bindings whose data was at the address `watch`
 *     uploads, downloads, copies, fills; upload_bytes, download_bytes, copy_bytes, fill_bytes
 *     clock               the clock of the devices: a step takes 600, and the next begins 400 later
 * and now:
 *     devices_live, modules_live, buffers_live, pendings_live, bytes_live
 *
 * The devices:
 *     0 discrete GPU "0000:c1:00.0" with a UUID   1 discrete GPU "0000:c2:00.0"
 *     2 integrated GPU "0001:00:02.0"             3 CPU "host"
 *     4 other "npu", without buffers
 *
 * Kernels come in the format "fixture": the module is a text with one entry a line, `ENTRY`,
 * `ENTRY=KERNEL` or `ENTRY=KERNEL(K)`, where KERNEL (default: the entry's name) is one of
 *     nothing
 *     copy         the last binding that may be written gets the bytes of the first binding
 *     add          u32: binding 2 = binding 0 + binding 1
 *     increment    u32: every element of every binding that may be written, plus one
 *     saturate(K)  the same up to K: a fixpoint after K passes
 *     flip         the same, but exclusive-or with 1: never a fixpoint
 *     or           u32: the last binding that may be written |= binding 0
 *     or_shift     u32: the last binding that may be written |= binding 0 << 1
 *     set(K)       u32: every element of the last binding that may be written is K
 *     add_low(K)   u32: the first half of the last binding that may be written, plus K
 *     add_high(K)  the other half
 *     push         the last binding that may be written gets the push constants
 *     facts        u32: the last binding that may be written gets FIXTURE_FACTS of the launch, then
 *                  FIXTURE_BINDING_FACTS of each binding
 *     fail         the launch ends with DISPATCH_FAILED
 *     declared(K)  saturate(K) that says vyre_changed(): its last binding are the control words
 *     vyre_settle  the convergence test: tested buffers, shadow, control words
 *     fused        the whole program: `vyre_fused=fused hop:0.1 vyre_settle:1.2.3` has two steps,
 *                  entries of the lines before it with the places of their bindings; its own last
 *                  binding are the control words
 * All clamp to the sizes of the bindings.
 */
#ifndef VYRE_TESTS_PLUGINS_FIXTURE_H
#define VYRE_TESTS_PLUGINS_FIXTURE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FIXTURE_DEVICES 5
#define FIXTURE_FACTS 8         /* groups[3], workgroup[3], push_size, binding_count */
#define FIXTURE_BINDING_FACTS 5 /* id, access, kind, size, element_count */

typedef void (*fixture_set_fn)(const char *name, int64_t value);
typedef int64_t (*fixture_get_fn)(const char *name);

typedef struct fixture {
  void *library;
  fixture_set_fn set;
  fixture_get_fn get;
} fixture;

/* All NULL if the plugin cannot be opened. */
static inline fixture fixture_attach(const char *path)
{
  fixture plugin = {NULL, NULL, NULL};
  void *symbol = NULL;
  plugin.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plugin.library)
    return plugin;
  symbol = dlsym(plugin.library, "fixture_set");
  memcpy(&plugin.set, &symbol, sizeof symbol);
  symbol = dlsym(plugin.library, "fixture_get");
  memcpy(&plugin.get, &symbol, sizeof symbol);
  return plugin;
}

static inline void fixture_detach(fixture *plugin)
{
  if (plugin->library)
    dlclose(plugin->library);
  plugin->library = NULL;
}

#endif
