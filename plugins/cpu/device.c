/*
 * device.c - the one device of this plugin: what it can do, opening and closing it.
 */
#include "device.h"

#include "arch.h"
#include "compiler.h"
#include "plugins/common/error.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"
#include "topology.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

vyre_status vyre__cpu_device_count(uint32_t *out_count, vyre_error *err)
{
  if (!out_count)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the number",
                       "out_count is NULL");
  *out_count = 1;
  return VYRE_OK;
}

static vyre_status check_index(uint32_t index, vyre_error *err)
{
  if (index == 0)
    return VYRE_OK;
  return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use index 0",
                     "device %u does not exist, there is 1", index);
}

static uint64_t memory_bytes(void)
{
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static void fill_limits(vyre_backend_device_info *info)
{
  info->memory_bytes = memory_bytes();
  info->max_workgroup_memory = VYRE__CPU_MAX_LOCAL_BYTES;
  for (int d = 0; d < 3; ++d) {
    info->max_workgroup[d] = VYRE__CPU_MAX_ITEMS;
    info->max_groups[d] = d ? VYRE__CPU_MAX_GROUPS_YZ : VYRE__CPU_MAX_GROUPS_X;
  }
  info->max_workgroup_items = VYRE__CPU_MAX_ITEMS;
  info->max_push_bytes = VYRE__CPU_MAX_PUSH;
  info->max_bindings = VYRE__CPU_MAX_BINDINGS;
}

/*
 * Items of a step that are worth one more group.  The lightest items that there are (an addition in
 * vector code, 0.25 ns) gain from a second thread from about 2 x 4096 on: 8192 of them take 2.0 us
 * on one thread and 1.7 us on two, barrier included, 4096 take 1.0 and 1.1 us.  Heavier items gain
 * earlier, but where threads have to share cores a barrier costs some microseconds more.
 */
#define COOPERATIVE_ITEMS 4096u

/* As a host of ABI 0.`minor` knows it. */
static vyre_status describe(uint32_t index, uint32_t minor, vyre_backend_device_info *out_info,
                            vyre_error *err)
{
  const uint32_t size = minor > 1 ? (uint32_t)sizeof(*out_info) : VYRE_BACKEND_DEVICE_INFO_SIZE_0_1;
  vyre_backend_device_info info = {.struct_size = size, .device_class = VYRE_DEVICE_CPU};
  vyre_status status = check_index(index, err);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_info, vyre_backend_device_info,
                               VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  const vyre__plugin_program *compiler = vyre__cpu_compiler_find();
  info.capabilities = VYRE_CAP_BUFFERS | VYRE_CAP_IMPORT_EXPORT | VYRE_CAP_COHERENT |
                      VYRE_CAP_PERSISTENT | VYRE_CAP_NOTIFY_HOST | VYRE_CAP_ALLOC_WHILE_RESIDENT;
  if (minor >= 3)
    info.capabilities |= VYRE_CAP_SEQUENCES;
  if (minor >= 2) {
    info.capabilities |= VYRE_CAP_TIMESTAMPS;
    info.grid_sync = VYRE_GRID_SYNC_NATIVE;
    info.cooperative_items = COOPERATIVE_ITEMS;
  }
  /* A persistent launch has a thread for every group, but an ordinary one runs them to their end,
     as many at once as there are threads: a group must not wait for one that has not started. */
  info.progress = VYRE_PROGRESS_OCCUPANCY;
  info.coherent_atomics = VYRE_COHERENT_LOAD_STORE_32 | VYRE_COHERENT_LOAD_STORE_64 |
                          VYRE_COHERENT_RMW_32 | VYRE_COHERENT_RMW_64;
  if (compiler->found) {
    info.capabilities |= VYRE_CAP_COMPILER;
    snprintf(info.driver, sizeof(info.driver), "%.60s: %.60s", compiler->path, compiler->version);
  } else {
    snprintf(info.driver, sizeof(info.driver), "no compiler");
    memcpy(info.compiler_reason, compiler->reason, sizeof(info.compiler_reason));
  }
  vyre__cpu_model_name(info.name, sizeof(info.name));
  snprintf(info.id, sizeof(info.id), "cpu");
  snprintf(info.arch, sizeof(info.arch), "%s", vyre__cpu_level_best()->name);
  fill_limits(&info);
  /* A bad VYRE_CPU_THREADS is told by device_open(). */
  (void)vyre__cpu_thread_count(&info.compute_units, NULL);
  if (out_info->struct_size < info.struct_size)
    info.struct_size = out_info->struct_size;
  memcpy(out_info, &info, info.struct_size);
  return VYRE_OK;
}

vyre_status vyre__cpu_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                  vyre_error *err)
{
  return describe(index, VYRE_ABI_MINOR, out_info, err);
}

vyre_status vyre__cpu_device_info_0_2(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err)
{
  return describe(index, 2, out_info, err);
}

vyre_status vyre__cpu_device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                      vyre_error *err)
{
  return describe(index, 1, out_info, err);
}

vyre_status vyre__cpu_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                   uint64_t *out_host_ns, vyre_error *err)
{
  if (!device || !out_device_ns || !out_host_ns)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and places for both times",
                       "device, out_device_ns or out_host_ns is NULL");
  *out_device_ns = *out_host_ns = vyre__plugin_clock_ns(); /* one clock */
  return VYRE_OK;
}

static void init_sync(vyre_backend_device *device)
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&device->lock, NULL);
  pthread_cond_init(&device->work, NULL);
  pthread_cond_init(&device->done, &attributes);
  pthread_condattr_destroy(&attributes);
}

static vyre_status check_options(const vyre_backend_device_options *options, vyre_error *err)
{
  if (!options)
    return VYRE_OK;
  vyre_status status = PLUGIN_CHECK_SIZE(err, options, vyre_backend_device_options,
                                         VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1);
  if (status == VYRE_OK && options->flags)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the flags to 0",
                         "unknown device flags 0x%llx", (unsigned long long)options->flags);
  return status;
}

vyre_status vyre__cpu_device_open(uint32_t index, const vyre_backend_device_options *options,
                                  vyre_backend_device **out_device, vyre_error *err)
{
  uint32_t threads = 0;
  vyre_status status = check_index(index, err);
  if (status == VYRE_OK)
    status = check_options(options, err);
  if (status == VYRE_OK && !out_device)
    status = PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the device",
                         "out_device is NULL");
  if (status == VYRE_OK)
    status = vyre__cpu_thread_count(&threads, err);
  if (status != VYRE_OK)
    return status;
  const vyre_host *host = vyre__plugin_host();
  vyre_backend_device *device =
      vyre__plugin_allocate_zeroed(host, sizeof(*device), _Alignof(vyre_backend_device));
  if (!device)
    return PLUGIN_FAIL_MEMORY(err, "a device");
  device->workers = vyre__plugin_allocate_zeroed(host, threads * sizeof(*device->workers),
                                                 _Alignof(vyre__cpu_worker));
  if (!device->workers) {
    vyre__plugin_deallocate(host, device);
    return PLUGIN_FAIL_MEMORY(err, "the threads of a device");
  }
  device->host = host;
  device->thread_count = threads;
  device->core_count = vyre__cpu_core_count();
  init_sync(device);
  vyre__cpu_runner_init(&device->inline_runner, host, threads);
  *out_device = device;
  return VYRE_OK;
}

void vyre__cpu_device_close(vyre_backend_device *device)
{
  if (!device)
    return;
  vyre__cpu_pool_stop(device);
  vyre__cpu_persistent_stop(device);
  pthread_cond_destroy(&device->done);
  pthread_cond_destroy(&device->work);
  pthread_mutex_destroy(&device->lock);
  vyre__plugin_deallocate(device->host, device->workers);
  vyre__plugin_deallocate(device->host, device);
}
