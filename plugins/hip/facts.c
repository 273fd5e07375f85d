/*
 * facts.c - what is known of a device; HIP asks by its number.
 */
#include "plugins/hip/calls.h"

#include "plugins/gpu/names.h"
#include "plugins/hip/codes.h"
#include "plugins/hip/library.h"

#include <stdio.h>
#include <string.h>

/* The structure of hipGetDeviceProperties() has had 792 and 1472 bytes. */
#define PROPERTIES 16384u
#define NAME_BYTES 256u /* it begins with the device's name */

/* Where attributes are read from, and the code of the first call that failed. */
typedef struct attributes {
  int device;
  hipError_t code;
} attributes;

/* 0 once something has failed.  A runtime that does not know the attribute has not got it. */
static int attribute(attributes *from, uint32_t which)
{
  int value = 0;
  hipError_t code = from->code;
  if (!code)
    code = vyre__hip.hipDeviceGetAttribute(&value, (hipDeviceAttribute_t)which, from->device);
  if (code != VYRE__HIP_INVALID_VALUE)
    from->code = code;
  return code || value < 0 ? 0 : value;
}

vyre__gpu_code vyre__hip_device_count(uint32_t *out_count)
{
  int count = 0;
  if (vyre__hip_init_code())
    return vyre__hip_init_code();
  const hipError_t code = vyre__hip.hipGetDeviceCount(&count);
  if (!code)
    *out_count = count > 0 ? (uint32_t)count : 0;
  return code;
}

/* -------- texts -------- */

static hipError_t read_name(int device, char *out, int size)
{
  char name[256] = "";
  const hipError_t code = vyre__hip.hipDeviceGetName(name, (int)sizeof name, device);
  if (!code)
    snprintf(out, (size_t)size, "%.*s", size - 1, name);
  return code;
}

static hipError_t read_pci(int device, char out[VYRE_DEVICE_ID_SIZE])
{
  char name[32] = "";
  const hipError_t code = vyre__hip.hipDeviceGetPCIBusId(name, (int)sizeof name, device);
  if (!code)
    vyre__gpu_write_pci(out, name);
  return code;
}

/* Not all devices have one. */
static void read_uuid(int device, char out[VYRE_DEVICE_ID_SIZE])
{
  hipUUID uuid;
  memset(&uuid, 0, sizeof uuid);
  if (vyre__hip.hipDeviceGetUuid && !vyre__hip.hipDeviceGetUuid(&uuid, device))
    vyre__gpu_write_uuid(out, uuid.bytes);
}

/*
 * "gfx90a" of "gfx90a:sramecc+:xnack-": code that is built without features runs with any of them.
 * The name is the one text of the structure, behind the device's own, that begins so: where it lies
 * is another place in each version.
 */
static hipError_t read_arch(int device, char out[VYRE_DEVICE_ID_SIZE])
{
  char properties[PROPERTIES];
  memset(properties, 0, sizeof properties);
  const hipError_t code = vyre__hip.hipGetDeviceProperties(properties, device);
  for (uint32_t i = NAME_BYTES; !code && i + VYRE_DEVICE_ID_SIZE < PROPERTIES; ++i)
    if (!memcmp(properties + i, "gfx", 3) && !properties[i - 1]) {
      const int length = (int)strcspn(properties + i, ":");
      snprintf(out, VYRE_DEVICE_ID_SIZE, "%.*s", length, properties + i);
      break;
    }
  return code;
}

static void write_driver(vyre__gpu_facts *facts)
{
  const unsigned rocm = (unsigned)vyre__hip_rocm();
  snprintf(facts->driver, sizeof facts->driver, "ROCm %u.%u, HIP %u, %.48s%.32s", rocm / 100 % 100,
           rocm % 100, (unsigned)vyre__hip_patch(), vyre__hip_library_path(), vyre__hip_mix());
}

/* -------- reasons -------- */

static void write_reasons(attributes *from, vyre__gpu_facts *facts, int mode)
{
  const char *why = "";
  if (!facts->arch[0])
    snprintf(facts->closed_reason, sizeof facts->closed_reason,
             "the runtime does not tell its architecture");
  else if (mode == VYRE__HIP_COMPUTE_MODE_PROHIBITED)
    snprintf(facts->closed_reason, sizeof facts->closed_reason, "its compute mode is PROHIBITED");

  if (vyre__hip_is_serialised(facts->persistent_reason, sizeof facts->persistent_reason))
    return;
  if (!attribute(from, VYRE__HIP_DEVICE_CONCURRENT_KERNELS))
    why = "the device runs one kernel at a time";
  else if (attribute(from, VYRE__HIP_DEVICE_KERNEL_TIMEOUT))
    why = "the driver ends kernels that run for long, as a display hangs on the device";
  else if (!facts->mapped_host)
    why = "the device cannot map host memory";
  snprintf(facts->persistent_reason, sizeof facts->persistent_reason, "%s", why);
}

/* -------- all of it -------- */

static void read_limits(attributes *from, vyre__gpu_facts *facts)
{
  for (uint32_t i = 0; i < 3; ++i) {
    facts->max_workgroup[i] = (uint32_t)attribute(from, VYRE__HIP_DEVICE_MAX_BLOCK_DIM_X + i);
    facts->max_groups[i] = (uint32_t)attribute(from, VYRE__HIP_DEVICE_MAX_GRID_DIM_X + i);
  }
  facts->max_workgroup_items = (uint32_t)attribute(from, VYRE__HIP_DEVICE_MAX_THREADS_PER_BLOCK);
  facts->max_workgroup_memory = (uint64_t)attribute(from, VYRE__HIP_DEVICE_MAX_SHARED);
  facts->compute_units = (uint32_t)attribute(from, VYRE__HIP_DEVICE_MULTIPROCESSORS);
  facts->subgroup_size = (uint32_t)attribute(from, VYRE__HIP_DEVICE_WARP_SIZE);
}

vyre__gpu_code vyre__hip_device_facts(uint32_t index, vyre__gpu_facts *out_facts)
{
  attributes from = {(int)index, vyre__hip_init_code()};
  vyre__gpu_facts facts;
  size_t memory = 0;
  memset(&facts, 0, sizeof facts);
  if (!from.code)
    from.code = read_name(from.device, facts.name, (int)sizeof facts.name);
  if (!from.code)
    from.code = read_pci(from.device, facts.pci);
  if (!from.code)
    from.code = read_arch(from.device, facts.arch);
  if (!from.code)
    from.code = vyre__hip.hipDeviceTotalMem(&memory, from.device);
  if (from.code)
    return from.code;

  read_uuid(from.device, facts.uuid);
  write_driver(&facts);
  facts.memory_bytes = memory;
  facts.integrated = attribute(&from, VYRE__HIP_DEVICE_INTEGRATED) != 0;
  read_limits(&from, &facts);
  /* Without the call for functions of a module there is no cooperative launch.  One group a unit of
     what the runtime's occupancy says stays free: nobody has compared that with a real device. */
  facts.cooperative = vyre__hip.hipModuleLaunchCooperativeKernel &&
                      attribute(&from, VYRE__HIP_DEVICE_COOPERATIVE) != 0;
  facts.cooperative_spare = 1;
  facts.stream_ordered =
      vyre__hip_has_pools() && attribute(&from, VYRE__HIP_DEVICE_MEMORY_POOLS) != 0;
  facts.mapped_host = attribute(&from, VYRE__HIP_DEVICE_CAN_MAP_HOST) != 0;
  const int mode = attribute(&from, VYRE__HIP_DEVICE_COMPUTE_MODE);
  facts.exclusive =
      mode == VYRE__HIP_COMPUTE_MODE_EXCLUSIVE || mode == VYRE__HIP_COMPUTE_MODE_EXCLUSIVE_PROCESS;
  if (!vyre__hip_has_graphs())
    snprintf(facts.sequence_reason, sizeof facts.sequence_reason,
             "the runtime is older than ROCm 5.6, or has not all calls of graphs");
  write_reasons(&from, &facts, mode);
  if (!from.code)
    *out_facts = facts;
  return from.code;
}
