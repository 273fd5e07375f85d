/*
 * cooperative.c - launches whose groups wait for each other: how many groups can be resident at
 * once.
 */
#include "plugins/gpu/residency.h"

#include "plugins/common/error.h"
#include "plugins/gpu/arguments.h"

/*
 * Groups of `items` that the device holds at once, beside what is resident there now.  The lock of
 * residency.h is held and the context is current.
 */
static vyre_status count_groups(vyre_backend_device *device, const vyre_backend_kernel *kernel,
                                uint32_t items, uint64_t workgroup_memory, uint64_t *out_groups,
                                vyre_error *err)
{
  const bool shares = workgroup_memory != 0 || kernel->limits.workgroup_memory != 0;
  uint32_t occupancy = 0;
  const vyre_status status = vyre__gpu_result(
      device, vyre__gpu_driver.occupancy(kernel->function, items, workgroup_memory, &occupancy),
      "counting the groups that are resident at once", err);
  if (status != VYRE_OK)
    return status;
  const uint32_t spare = device->facts.cooperative_spare;
  const uint64_t all =
      (uint64_t)(occupancy > spare ? occupancy - spare : 0) * device->facts.compute_units;
  /* How a unit parts its memory between caches and groups stays as it is while a group is there, so
     that one with other wishes may take all of it. */
  const uint64_t taken = vyre__gpu_residency_taken(device, occupancy, shares);
  *out_groups = all > taken ? all - taken : 0;
  return VYRE_OK;
}

vyre_status vyre__gpu_cooperative_check(vyre_backend_device *device,
                                        const vyre_backend_kernel *kernel,
                                        const vyre_dispatch_desc *desc, uint64_t workgroup_memory,
                                        vyre_error *err)
{
  const uint32_t items = desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2];
  const uint64_t asked = vyre__gpu_group_count(desc);
  uint64_t most = 0;
  const vyre_status status = count_groups(device, kernel, items, workgroup_memory, &most, err);
  if (status != VYRE_OK)
    return status;
  if (asked > most)
    return PLUGIN_FAIL(err, VYRE_ERROR_RESIDENCY_EXCEEDED,
                       "use as many groups as cooperative_groups() says now",
                       "%llu groups of a cooperative launch of kernel %s, at most %llu of %u items "
                       "can be resident at once",
                       (unsigned long long)asked, kernel->name, (unsigned long long)most, items);
  return VYRE_OK;
}

/* The items of a workgroup that the kernel can have; 0 if it cannot. */
static uint32_t possible_items(const vyre_backend_device *device, const vyre_backend_kernel *kernel,
                               const uint32_t workgroup[3])
{
  uint64_t items = 1;
  for (int d = 0; d < 3; ++d) {
    if (workgroup[d] > device->facts.max_workgroup[d])
      return 0;
    items *= workgroup[d]; /* at most 21 bits each: no overflow */
  }
  return items <= device->facts.max_workgroup_items && items <= kernel->limits.max_workgroup_items
             ? (uint32_t)items
             : 0;
}

vyre_status vyre__gpu_cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                         const uint32_t workgroup[3], uint64_t workgroup_memory,
                                         uint32_t *out_groups, vyre_error *err)
{
  vyre__gpu_scope scope;
  uint64_t groups = 0;
  if (!device || !kernel || !workgroup || !out_groups)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a device, a kernel, a workgroup and a place for the number",
                       "device, kernel, workgroup or out_groups is NULL");
  for (int d = 0; d < 3; ++d)
    if (!workgroup[d])
      return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                         "dimension %d has 0 items per group", d);
  vyre_status status = vyre__gpu_enter(device, &scope, err);
  const uint32_t items = possible_items(device, kernel, workgroup);
  const uint64_t most = device->facts.max_workgroup_memory;
  if (status == VYRE_OK && device->facts.cooperative && items && workgroup_memory <= most &&
      kernel->limits.workgroup_memory <= most - workgroup_memory) {
    vyre__gpu_residency_lock();
    status = count_groups(device, kernel, items, workgroup_memory, &groups, err);
    vyre__gpu_residency_unlock();
  }
  vyre__gpu_leave(&scope);
  if (status == VYRE_OK)
    *out_groups = groups < UINT32_MAX ? (uint32_t)groups : UINT32_MAX;
  return status;
}
