/*
 * facts.c - what is known of a device without a context of it.
 *
 * All of it is read each time: under MPS and MIG the number of multiprocessors and the memory are
 * those that this process may use, which its administrator can change.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/codes.h"
#include "plugins/cuda/library.h"
#include "plugins/gpu/names.h"

#include <stdio.h>
#include <string.h>

/* Where attributes are read from, and the code of the first call that failed. */
typedef struct attributes {
  CUdevice device;
  CUresult code;
} attributes;

/* 0 once something has failed. */
static int attribute(attributes *from, uint32_t which)
{
  int value = 0;
  if (!from->code)
    from->code = vyre__cuda.cuDeviceGetAttribute(&value, (CUdevice_attribute)which, from->device);
  return from->code || value < 0 ? 0 : value;
}

vyre__gpu_code vyre__cuda_device_count(uint32_t *out_count)
{
  int count = 0;
  if (vyre__cuda_init_code())
    return vyre__cuda_init_code();
  const CUresult code = vyre__cuda.cuDeviceGetCount(&count);
  if (!code)
    *out_count = count > 0 ? (uint32_t)count : 0;
  return code;
}

/* -------- texts -------- */

static CUresult read_name(CUdevice device, char *out, int size)
{
  char name[256] = "";
  const CUresult code = vyre__cuda.cuDeviceGetName(name, (int)sizeof name, device);
  if (!code)
    snprintf(out, (size_t)size, "%.*s", size - 1, name);
  return code;
}

static CUresult read_pci(CUdevice device, char out[VYRE_DEVICE_ID_SIZE])
{
  char name[32] = "";
  const CUresult code = vyre__cuda.cuDeviceGetPCIBusId(name, (int)sizeof name, device);
  if (!code)
    vyre__gpu_write_pci(out, name);
  return code;
}

/* The driver gives the UUID of the MIG instance where there is one, so that it names one device. */
static CUresult read_uuid(CUdevice device, char out[VYRE_DEVICE_ID_SIZE])
{
  CUuuid uuid;
  memset(&uuid, 0, sizeof uuid);
  const CUresult code = vyre__cuda.cuDeviceGetUuid(&uuid, device);
  if (!code)
    vyre__gpu_write_uuid(out, uuid.bytes);
  return code;
}

static void write_driver(vyre__gpu_facts *facts)
{
  const int version = vyre__cuda_driver_version();
  const char *release = vyre__cuda_driver_release();
  snprintf(facts->driver, sizeof facts->driver, "%s%sCUDA %d.%d, %.80s", release,
           release[0] ? ", " : "", version / 1000, version % 1000 / 10, vyre__cuda_library_path());
}

/* -------- reasons -------- */

static void write_reasons(attributes *from, vyre__gpu_facts *facts, uint32_t capability)
{
  const uint64_t size = sizeof facts->closed_reason;
  if (capability < VYRE__CUDA_OLDEST_ARCH)
    snprintf(facts->closed_reason, size, "compute capability %u.%u is too old: %u.%u is needed",
             capability / 10, capability % 10, VYRE__CUDA_OLDEST_ARCH / 10,
             VYRE__CUDA_OLDEST_ARCH % 10);
  else if (attribute(from, VYRE__CU_DEVICE_COMPUTE_MODE) == VYRE__CU_COMPUTE_MODE_PROHIBITED)
    snprintf(facts->closed_reason, size,
             "its compute mode is PROHIBITED; `nvidia-smi -c DEFAULT` opens it");
  else if (!attribute(from, VYRE__CU_DEVICE_UNIFIED_ADDRESSING))
    snprintf(facts->closed_reason, size,
             "it has no unified addressing, so native memory cannot be told apart");

  if (vyre__cuda_is_serialised(facts->persistent_reason, sizeof facts->persistent_reason))
    return;
  const char *why = "";
  if (!attribute(from, VYRE__CU_DEVICE_CONCURRENT_KERNELS))
    why = "the device runs one kernel at a time";
  else if (!attribute(from, VYRE__CU_DEVICE_PREEMPTION))
    why = "the device cannot interrupt a running kernel, so nobody else could use it";
  else if (attribute(from, VYRE__CU_DEVICE_KERNEL_TIMEOUT))
    why = "the driver ends kernels that run for long, as a display hangs on the device";
  else if (!facts->mapped_host)
    why = "the device cannot map host memory";
  snprintf(facts->persistent_reason, sizeof facts->persistent_reason, "%s", why);
}

/* -------- all of it -------- */

static void read_limits(attributes *from, vyre__gpu_facts *facts)
{
  const int optin = attribute(from, VYRE__CU_DEVICE_MAX_SHARED_OPTIN);
  const int shared = attribute(from, VYRE__CU_DEVICE_MAX_SHARED);
  for (uint32_t i = 0; i < 3; ++i) {
    facts->max_workgroup[i] = (uint32_t)attribute(from, VYRE__CU_DEVICE_MAX_BLOCK_DIM_X + i);
    facts->max_groups[i] = (uint32_t)attribute(from, VYRE__CU_DEVICE_MAX_GRID_DIM_X + i);
  }
  facts->max_workgroup_items = (uint32_t)attribute(from, VYRE__CU_DEVICE_MAX_THREADS_PER_BLOCK);
  facts->max_workgroup_memory = (uint64_t)(optin > shared ? optin : shared);
  facts->compute_units = (uint32_t)attribute(from, VYRE__CU_DEVICE_MULTIPROCESSORS);
  facts->subgroup_size = (uint32_t)attribute(from, VYRE__CU_DEVICE_WARP_SIZE);
}

vyre__gpu_code vyre__cuda_device_facts(uint32_t index, vyre__gpu_facts *out_facts)
{
  attributes from = {0, vyre__cuda_init_code()};
  vyre__gpu_facts facts;
  size_t memory = 0;
  memset(&facts, 0, sizeof facts);
  if (!from.code)
    from.code = vyre__cuda.cuDeviceGet(&from.device, (int)index);
  if (!from.code)
    from.code = read_name(from.device, facts.name, (int)sizeof facts.name);
  if (!from.code)
    from.code = read_pci(from.device, facts.pci);
  if (!from.code)
    from.code = read_uuid(from.device, facts.uuid);
  if (!from.code)
    from.code = vyre__cuda.cuDeviceTotalMem(&memory, from.device);
  if (from.code)
    return from.code;

  const uint32_t major = (uint32_t)attribute(&from, VYRE__CU_DEVICE_MAJOR);
  const uint32_t minor = (uint32_t)attribute(&from, VYRE__CU_DEVICE_MINOR);
  snprintf(facts.arch, sizeof facts.arch, "sm_%u%u", major, minor);
  write_driver(&facts);
  facts.memory_bytes = memory;
  facts.integrated = attribute(&from, VYRE__CU_DEVICE_INTEGRATED) != 0;
  read_limits(&from, &facts);
  facts.cooperative = attribute(&from, VYRE__CU_DEVICE_COOPERATIVE) != 0;
  facts.stream_ordered = attribute(&from, VYRE__CU_DEVICE_MEMORY_POOLS) != 0;
  facts.mapped_host = attribute(&from, VYRE__CU_DEVICE_CAN_MAP_HOST) != 0;
  facts.exclusive =
      attribute(&from, VYRE__CU_DEVICE_COMPUTE_MODE) == VYRE__CU_COMPUTE_MODE_EXCLUSIVE;
  if (!vyre__cuda_has_graphs())
    snprintf(facts.sequence_reason, sizeof facts.sequence_reason,
             "the driver has not all calls of graphs");
  write_reasons(&from, &facts, major * 10 + minor);
  if (!from.code)
    *out_facts = facts;
  return from.code;
}
