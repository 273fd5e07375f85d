/* devices.c - asking a plugin for its devices and translating what it says. */
#include "core/device/devices.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/device/switches.h"
#include "core/loader/plugin.h"
#include "core/loader/table.h"

#include <stdio.h>
#include <string.h>

#define MAX_DEVICES 1024u /* of one plugin; more is a number that nobody set */
static const char update[] = "update the plugin, or report this to whoever made it";

void vyre__devices_init(vyre__devices *list, const vyre_allocator *allocator)
{
  memset(list, 0, sizeof *list);
  list->allocator = *allocator;
}

void vyre__devices_free(vyre__devices *list)
{
  vyre__deallocate(&list->allocator, list->rows);
  list->rows = NULL;
  list->count = list->capacity = 0;
}

static bool make_room(vyre__devices *list, uint32_t more)
{
  uint32_t capacity = list->count + more; /* both are small: MAX_DEVICES for each plugin */
  vyre__listed_device *grown = NULL;
  if (capacity <= list->capacity)
    return true;
  grown = vyre__allocate_zeroed(&list->allocator, capacity, sizeof *grown);
  if (!grown)
    return false;
  if (list->count)
    memcpy(grown, list->rows, list->count * sizeof *grown);
  vyre__deallocate(&list->allocator, list->rows);
  list->rows = grown;
  list->capacity = capacity;
  return true;
}

/* ---- translation ---- */

/* Copies a text of the plugin, which may have forgotten its NUL, as one printable line. */
#define COPY_TEXT(to, from) copy_text((to), sizeof(to), (from), sizeof(from))

static void copy_text(char *to, size_t to_size, const char *from, size_t from_size)
{
  size_t length = strnlen(from, from_size);
  if (length > to_size - 1)
    length = to_size - 1;
  memcpy(to, from, length);
  to[length] = '\0';
  vyre__text_printable(to, false);
}

/* Whoever asks why a device runs one launch a segment gets an answer in any case. */
static void translate_grid_sync(const vyre_backend *backend, const vyre_backend_device_info *from,
                                vyre_device_info *to)
{
  to->grid_sync = from->grid_sync;
  if (to->grid_sync == VYRE_GRID_SYNC_NATIVE)
    to->cooperative_items = from->cooperative_items;
  COPY_TEXT(to->grid_sync_reason, from->grid_sync_reason);
  if (to->grid_sync_reason[0] || to->grid_sync == VYRE_GRID_SYNC_NATIVE)
    return;
  snprintf(to->grid_sync_reason, sizeof to->grid_sync_reason,
           to->grid_sync == VYRE_GRID_SYNC_EMULATED
               ? "plugin %s runs all passes by a form of its own"
               : "plugin %s has no tier 3",
           backend->name);
}

static void translate(const vyre_backend *backend, uint32_t index,
                      const vyre_backend_device_info *from, vyre_device_info *to)
{
  memset(to, 0, sizeof *to);
  to->struct_size = (uint32_t)sizeof *to;
  to->device_class = from->device_class;
  if (to->device_class < VYRE_DEVICE_CPU || to->device_class > VYRE_DEVICE_OTHER)
    to->device_class = VYRE_DEVICE_OTHER; /* a class that came after this host */
  to->capabilities = from->capabilities & VYRE_CAP_KNOWN;
  snprintf(to->selector, sizeof to->selector, "%.40s:%u", backend->name, index);
  snprintf(to->backend, sizeof to->backend, "%s", backend->name);
  COPY_TEXT(to->name, from->name);
  COPY_TEXT(to->id, from->id);
  COPY_TEXT(to->pci, from->pci);
  COPY_TEXT(to->uuid, from->uuid);
  COPY_TEXT(to->arch, from->arch);
  COPY_TEXT(to->driver, from->driver);
  to->memory_bytes = from->memory_bytes;
  to->max_buffer_bytes = from->max_buffer_bytes;
  to->max_workgroup_memory = from->max_workgroup_memory;
  memcpy(to->max_workgroup, from->max_workgroup, sizeof to->max_workgroup);
  to->max_workgroup_items = from->max_workgroup_items;
  memcpy(to->max_groups, from->max_groups, sizeof to->max_groups);
  to->compute_units = from->compute_units;
  to->subgroup_size = from->subgroup_size;
  to->progress = from->progress;
  to->coherent_atomics = from->coherent_atomics;
  to->max_push_bytes = from->max_push_bytes;
  to->max_bindings = from->max_bindings;
  COPY_TEXT(to->persistent_reason, from->persistent_reason);
  COPY_TEXT(to->compiler_reason, from->compiler_reason);
  translate_grid_sync(backend, from, to);
}

/* ---- asking ---- */

static vyre_status ask_one(const vyre_backend *backend, uint32_t index, vyre_device_info *out_info,
                           vyre_error *err)
{
  vyre_backend_device_info info;
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status;
  memset(&info, 0, sizeof info);
  info.struct_size = (uint32_t)sizeof info;
  status = backend->device_info(index, &info, &said);
  if (status)
    return vyre__plugin_error(err, backend, "device_info", status, &said);
  if (info.struct_size < VYRE_BACKEND_DEVICE_INFO_SIZE_0_1 || info.struct_size > sizeof info)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, update,
                     "device_info filled %u bytes of %u; at least %u are needed (ABI-001, ABI-002)",
                     info.struct_size, (unsigned)sizeof info, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  /* A shorter one is from an older plugin: what it does not know is zero, the default. */
  vyre__device_info_limit(backend, &info);
  info.name[sizeof info.name - 1] = '\0';
  info.id[sizeof info.id - 1] = '\0';
  status = vyre__device_info_check(backend, &info, err);
  if (!status)
    translate(backend, index, &info, out_info);
  return status;
}

/* A switch of the vendor's turns persistent launches off, whatever the plugin promises. */
static void judge_switches(vyre__listed_device *row)
{
  vyre_device_info *info = &row->info;
  if (!(info->capabilities & VYRE_CAP_PERSISTENT))
    return;
  row->serialised_by = vyre__serialising_switch(info->backend, info->persistent_reason,
                                                sizeof info->persistent_reason);
  if (row->serialised_by)
    info->capabilities &= ~VYRE_CAP_PERSISTENT;
}

static vyre_status check_unique(const vyre__listed_device *rows, uint32_t index, vyre_error *err)
{
  uint32_t i;
  for (i = 0; i < index; i++)
    if (!strcmp(rows[i].info.id, rows[index].info.id))
      return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, update,
                       "devices %u and %u have the same id '%s' (DEV-001)", i, index,
                       rows[i].info.id);
  return VYRE_OK;
}

vyre_status vyre__devices_add(vyre__devices *list, const vyre_backend *backend, uint32_t *out_count,
                              bool *out_is_ours, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre__listed_device *rows = NULL;
  uint32_t count = 0, i;
  vyre_status status = backend->device_count(&count, &said);
  *out_is_ours = false;
  if (status)
    return vyre__plugin_error(err, backend, "device_count", status, &said);
  if (count > MAX_DEVICES)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, update,
                     "device_count says %u, at most %u are believed", count, MAX_DEVICES);
  if (!make_room(list, count)) {
    *out_is_ours = true;
    return VYRE_FAIL_MEMORY(err, "the list of devices");
  }
  rows = count ? list->rows + list->count : NULL; /* an empty list has no rows to step from */
  for (i = 0; i < count; i++) {
    rows[i].backend = backend;
    rows[i].backend_index = i;
    rows[i].serialised_by = NULL;
    status = ask_one(backend, i, &rows[i].info, err);
    if (!status)
      judge_switches(&rows[i]);
    if (!status)
      status = check_unique(rows, i, err);
    if (status)
      return status;
  }
  list->count += count;
  *out_count = count;
  return VYRE_OK;
}

void vyre__device_look_again(const vyre__listed_device *listed, vyre_device_info *info)
{
  vyre_device_info now = {0};
  if (!(info->capabilities & VYRE_CAP_PERSISTENT) ||
      ask_one(listed->backend, listed->backend_index, &now, NULL) ||
      (now.capabilities & VYRE_CAP_PERSISTENT))
    return;
  info->capabilities &= ~VYRE_CAP_PERSISTENT;
  COPY_TEXT(info->persistent_reason, now.persistent_reason);
}

bool vyre__devices_append(vyre__devices *list, const vyre__devices *more)
{
  if (!more->count)
    return true;
  if (!make_room(list, more->count))
    return false;
  memcpy(list->rows + list->count, more->rows, more->count * sizeof *more->rows);
  list->count += more->count;
  return true;
}

static int rank(const vyre__listed_device *device)
{
  switch (device->info.device_class) {
  case VYRE_DEVICE_GPU:
    return 0;
  case VYRE_DEVICE_INTEGRATED_GPU:
    return 1;
  case VYRE_DEVICE_CPU:
    return 3;
  default:
    return 2;
  }
}

/* By insertion: stable, and the lists are short. */
void vyre__devices_sort(vyre__devices *list)
{
  uint32_t i, k;
  for (i = 1; i < list->count; i++) {
    vyre__listed_device row = list->rows[i];
    for (k = i; k > 0 && rank(&list->rows[k - 1]) > rank(&row); k--)
      list->rows[k] = list->rows[k - 1];
    list->rows[k] = row;
  }
}
