/*
 * info.c - a device's facts in the words of the ABI: limits, capabilities and why one is missing.
 */
#include "plugins/gpu/info.h"
#include "plugins/gpu/gpu.h"
#include "plugins/gpu/launch.h"

#include <stdio.h>
#include <string.h>

/*
 * Items of a step that are worth one more group of a cooperative launch.  A barrier of one group
 * for each unit takes about 1 us, as does one of two, and each further group on a unit adds some
 * nanoseconds to it: less than a second turn of each thread, which is a trip to the memory.
 */
#define COOPERATIVE_ITEMS 256u

static void copy_text(char *to, size_t size, const char *from)
{
  snprintf(to, size, "%s", from);
}

/* Stable and unique: where the device sits, else what it is called, else its number. */
static void name_device(uint32_t index, const vyre__gpu_facts *facts,
                        vyre_backend_device_info *info)
{
  copy_text(info->name, sizeof(info->name), facts->name[0] ? facts->name : vyre__gpu_driver.vendor);
  copy_text(info->pci, sizeof(info->pci), facts->pci);
  copy_text(info->uuid, sizeof(info->uuid), facts->uuid);
  copy_text(info->arch, sizeof(info->arch), facts->arch);
  copy_text(info->driver, sizeof(info->driver), facts->driver);
  if (facts->pci[0] || facts->uuid[0])
    copy_text(info->id, sizeof(info->id), facts->pci[0] ? facts->pci : facts->uuid);
  else
    snprintf(info->id, sizeof(info->id), "%u", index);
}

static uint32_t at_least_one(uint32_t value)
{
  return value ? value : 1;
}

static void fill_limits(const vyre__gpu_facts *facts, vyre_backend_device_info *info)
{
  uint64_t most = 1;
  for (int d = 0; d < 3; ++d) {
    info->max_workgroup[d] = at_least_one(facts->max_workgroup[d]);
    info->max_groups[d] = at_least_one(facts->max_groups[d]);
    if (most <= UINT32_MAX)
      most *= info->max_workgroup[d];
  }
  info->max_workgroup_items = at_least_one(facts->max_workgroup_items);
  if (info->max_workgroup_items > most)
    info->max_workgroup_items = (uint32_t)most;
  info->memory_bytes = facts->memory_bytes;
  info->max_buffer_bytes = facts->memory_bytes;
  info->max_workgroup_memory = facts->max_workgroup_memory;
  info->compute_units = at_least_one(facts->compute_units);
  info->subgroup_size = facts->subgroup_size;
  info->max_push_bytes = VYRE__GPU_PUSH_BYTES;
  info->max_bindings = VYRE__GPU_MAX_BINDINGS;
}

static void fill_capabilities(const vyre__gpu_facts *facts, vyre_backend_device_info *info)
{
  info->capabilities = VYRE_CAP_BUFFERS | VYRE_CAP_IMPORT_EXPORT | VYRE_CAP_TIMESTAMPS;
  if (vyre__gpu_driver.native_type)
    info->capabilities |= VYRE_CAP_INTEROP;
  if (!facts->sequence_reason[0])
    info->capabilities |= VYRE_CAP_SEQUENCES;
  if (facts->subgroup_size)
    info->capabilities |= VYRE_CAP_SUBGROUPS;
  if (facts->mapped_host) {
    info->capabilities |= VYRE_CAP_COHERENT;
    /* No read-modify-write: over the link it is atomic on some machines only. */
    info->coherent_atomics = VYRE_COHERENT_LOAD_STORE_32 | VYRE_COHERENT_LOAD_STORE_64;
  }
  copy_text(info->persistent_reason, sizeof(info->persistent_reason),
            vyre__gpu_persistent_reason(facts));
  if (!info->persistent_reason[0])
    info->capabilities |= VYRE_CAP_PERSISTENT;
  if (vyre__gpu_driver.compiler_find(info->compiler_reason, sizeof(info->compiler_reason))) {
    info->capabilities |= VYRE_CAP_COMPILER;
    info->compiler_reason[0] = '\0';
  }
}

void vyre__gpu_describe(uint32_t index, const vyre__gpu_facts *facts,
                        vyre_backend_device_info *out_info)
{
  memset(out_info, 0, sizeof(*out_info));
  out_info->struct_size = (uint32_t)sizeof(*out_info);
  out_info->device_class = facts->integrated ? VYRE_DEVICE_INTEGRATED_GPU : VYRE_DEVICE_GPU;
  name_device(index, facts, out_info);
  fill_limits(facts, out_info);
  fill_capabilities(facts, out_info);
  /* A group that runs goes on; one that has not started waits until others have ended. */
  out_info->progress = VYRE_PROGRESS_OCCUPANCY;
  if (facts->cooperative) {
    out_info->grid_sync = VYRE_GRID_SYNC_NATIVE;
    out_info->cooperative_items = COOPERATIVE_ITEMS;
  } else {
    out_info->grid_sync = VYRE_GRID_SYNC_NONE;
    copy_text(out_info->grid_sync_reason, sizeof(out_info->grid_sync_reason),
              "the device or its driver makes no cooperative launches");
  }
}
