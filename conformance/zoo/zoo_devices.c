/* zoo_devices.c - two devices, both the cpu plugin's one; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 2u

static uint32_t opens;      /* atomic; all opens so far */
static uint32_t open_count; /* atomic; devices that are open */

vyre_status zoo__device_count(uint32_t *out_count, vyre_error *err)
{
  uint32_t count = 0;
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_COUNT);
  status = zoo__pass_on(err, zoo__real()->device_count(&count, err));
  if (status != VYRE_OK)
    return status;
  *out_count = count ? DEVICES : 0;
  if (ZOO_IS(huge_count))
    *out_count = UINT32_MAX;
  if (ZOO_IS(wide_count))
    memset(out_count + 1, 0, 4);
  if (ZOO_IS(count_changes))
    *out_count = 1 + __atomic_fetch_add(&opens, 1, __ATOMIC_RELAXED) % 2;
  return VYRE_OK;
}

/* ---- info ---- */

/* The slot for passes is ours: native barriers are not offered beside it. */
static void say_emulated(vyre_backend_device_info *info)
{
  info->grid_sync = VYRE_GRID_SYNC_EMULATED;
  info->cooperative_items = 0;
  strcpy(info->grid_sync_reason, "the zoo runs passes by a slot of its own");
}

/* Tier 1 and no more. */
static void say_no_buffers(vyre_backend_device_info *info)
{
  info->capabilities &= VYRE_CAP_COMPILER | VYRE_CAP_TIMESTAMPS;
  info->coherent_atomics = 0;
}

static void break_info(uint32_t index, vyre_backend_device_info *info)
{
  const uint32_t number = __atomic_load_n(&opens, __ATOMIC_RELAXED);
  if (zoo__emulates())
    say_emulated(info);
  if (zoo__lends())
    info->capabilities |= VYRE_CAP_INTEROP;
  if (ZOO_IS(buffer_kind_taken))
    say_no_buffers(info);
  if (ZOO_IS(bits_change) && number % 2)
    info->capabilities ^= VYRE_CAP_NOTIFY_HOST;
  if (ZOO_IS(id_of_process))
    snprintf(info->id, sizeof info->id, "cpu-%d-%u", (int)getpid(), index);
  if (ZOO_IS(one_id))
    strcpy(info->id, "cpu");
  if (ZOO_IS(blank_id))
    strcpy(info->id, index ? "cpu, the other" : "cpu, the first");
  if (ZOO_IS(vendor_not_text))
    memcpy(info->name, "\xc3\x28 \xff\xfe", 6);
  if (ZOO_IS(unknown_bit))
    info->capabilities |= 1ull << 50;
  if (ZOO_IS(no_units))
    info->compute_units = 0;
  if (ZOO_IS(endless_name))
    memset(info->name, 'n', sizeof info->name);
}

/* Fills a structure of our own and copies as much of it as the caller's takes (ABI-002). */
static vyre_status read_info(uint32_t most, uint32_t index, vyre_backend_device_info *out_info,
                             vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = sizeof info};
  vyre_status status = VYRE_OK;
  uint32_t size = out_info->struct_size;
  zoo__enter(ZOO_AT_INFO);
  if (index >= DEVICES)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "there is no device %u, there are %u", index,
                     DEVICES);
  if (size < VYRE_BACKEND_DEVICE_INFO_SIZE_0_1 && !ZOO_IS(info_short))
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_backend_device_info has %u bytes",
                     size);
  if (ZOO_IS(info_equality) && size != sizeof *out_info)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "device_info takes %zu bytes, not %u",
                     sizeof *out_info, size);
  status = zoo__pass_on(err, zoo__real()->device_info(0, &info, err));
  if (status != VYRE_OK)
    return status;
  snprintf(info.id, sizeof info.id, "zoo%u", index);
  break_info(index, &info);
  size = size < most ? size : most;
  if (ZOO_IS(info_overrun))
    size = sizeof info;
  info.struct_size = size;
  memcpy(out_info, &info, size);
  return VYRE_OK;
}

vyre_status zoo__device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  return read_info(sizeof *out_info, index, out_info, err);
}

vyre_status zoo__device_info_0_1(uint32_t index, vyre_backend_device_info *out_info,
                                 vyre_error *err)
{
  return read_info(VYRE_BACKEND_DEVICE_INFO_SIZE_0_1, index, out_info, err);
}

/* ---- opening and closing ---- */

static vyre_status open_real(vyre_backend_device *device,
                             const vyre_backend_device_options *options, vyre_error *err)
{
  vyre_backend_device_options plain;
  if (ZOO_IS(option_flags) && options) {
    plain = *options;
    plain.flags = 0;
    options = &plain;
  }
  if (zoo__lends() && options && options->struct_size >= sizeof plain) {
    plain = *options;
    plain.struct_size = sizeof plain;
    memset(&plain.queue, 0, sizeof plain.queue); /* it is the zoo's, not the cpu plugin's */
    options = &plain;
  }
  return zoo__pass_on(err, zoo__real()->device_open(0, options, &device->real, err));
}

vyre_status zoo__device_open(uint32_t index, const vyre_backend_device_options *options,
                             vyre_backend_device **out_device, vyre_error *err)
{
  const vyre_host *host = zoo__host();
  vyre_backend_device *device = NULL;
  vyre_status status = VYRE_OK;
  if (index >= DEVICES)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "there is no device %u, there are %u", index,
                     DEVICES);
  zoo__enter(ZOO_AT_OPEN);
  if (ZOO_IS(texts_change))
    zoo__vendor()[0] ^= 1;
  device = host->allocate(host->self, sizeof *device, 16);
  if (!device)
    return zoo__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a device");
  memset(device, 0, sizeof *device);
  status = zoo__lend_open(device, options, err);
  if (status == VYRE_OK)
    status = open_real(device, options, err);
  if (status != VYRE_OK) {
    host->deallocate(host->self, device->own);
    host->deallocate(host->self, device);
    if (ZOO_IS(stores_on_error))
      *out_device = device;
    return status;
  }
  device->limits.struct_size = sizeof device->limits;
  zoo__real()->device_info(0, &device->limits, NULL);
  pthread_mutex_init(&device->lock, NULL);
  device->index = index;
  device->opener = pthread_self();
  device->number = __atomic_fetch_add(&open_count, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&opens, 1, __ATOMIC_RELAXED);
  if (ZOO_IS(leak_of_open))
    (void)!host->allocate(host->self, 24, 8);
  *out_device = ZOO_IS(null_device) ? NULL : device;
  return VYRE_OK;
}

void zoo__device_close(vyre_backend_device *device)
{
  const vyre_host *host = zoo__host();
  if (!device && !ZOO_IS(close_null))
    return;
  zoo__enter(ZOO_AT_CLOSE);
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): one row is to crash here. */
  zoo__sequence_close(device);
  zoo__lend_close(device);
  zoo__real()->device_close(device->real);
  if (device->last)
    host->deallocate(host->self, device->last);
  pthread_mutex_destroy(&device->lock);
  host->deallocate(host->self, device);
  __atomic_fetch_sub(&open_count, 1, __ATOMIC_RELAXED);
}

/* ---- tiers 3 and 5 ---- */

vyre_status zoo__cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                    const uint32_t workgroup[3], uint64_t workgroup_memory,
                                    uint32_t *out_groups, vyre_error *err)
{
  vyre_status status = zoo__pass_on(
      err, zoo__real()->cooperative_groups(device ? device->real : NULL, kernel, workgroup,
                                           workgroup_memory, out_groups, err));
  if (status == VYRE_OK && ZOO_IS(residency_doubled))
    *out_groups *= 2;
  return status;
}

vyre_status zoo__device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                              uint64_t *out_host_ns, vyre_error *err)
{
  static uint32_t calls;
  vyre_status status =
      zoo__pass_on(err, zoo__real()->device_clock(device ? device->real : NULL, out_device_ns,
                                                  out_host_ns, err));
  const uint32_t call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  if (status == VYRE_OK && ZOO_IS(clock_goes_back) && call % 8 == 7)
    *out_device_ns -= 1000000;
  if (status == VYRE_OK && ZOO_IS(clock_of_host))
    *out_host_ns += 5000000000u;
  return status;
}
