/*
 * table.c - the rules ABI-001 to ABI-020 for a table, and what a device promises against them.
 *
 * A table is as long as the version that it speaks needs at least; slots past its struct_size count
 * as NULL (VYRE__HAS_SLOT).  What came after the version that it speaks is not read at all: slots,
 * fields and capability bits of 0.2 in a plugin that answers with 0.1 are as if they were zero.  So
 * an old plugin says "no" by default, whatever lies behind its structures, and one that was built
 * with a newer header may fill everything and still speak to an older host.
 */
#include "core/loader/table.h"

#include "core/base/error.h"
#include "core/device/device.h"

#include <dlfcn.h>
#include <string.h>

static const char update[] = "update the plugin, or report this to whoever made it";

/* More is a number that nobody set: stepping by it would leave the list. */
#define MAX_FORMATS 1024u
#define MAX_FORMAT_STRIDE 4096u

#define BROKEN(err, ...) VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, update, __VA_ARGS__)

/* ---- versions ---- */

/*
 * Up to the slots that came into 0.3 first: those of sequences were appended to it later, and a
 * table that ends before them has none.
 */
#define LEAST_SIZE_0_3 VYRE__END(vyre_backend, queue_export)

/* The least that a table of its version reaches; a later minor has no less. */
static uint32_t least_size(const vyre_backend *table)
{
  return table->abi_minor >= 3   ? LEAST_SIZE_0_3
         : table->abi_minor >= 2 ? VYRE_BACKEND_SIZE_0_2
                                 : VYRE_BACKEND_SIZE_0_1;
}

static vyre_status check_versions(const vyre_backend *table, const vyre_host *host, vyre_error *err)
{
  static const char fix[] = "install a plugin that is built for this version of vyre";
  if (table->struct_size < VYRE_BACKEND_SIZE_0_1)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, fix,
                     "its table has %u bytes, at least %u are needed (ABI-001)", table->struct_size,
                     VYRE_BACKEND_SIZE_0_1);
  if (table->abi_major != host->abi_major)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, fix, "it speaks ABI %u.%u, this host %u.%u",
                     table->abi_major, table->abi_minor, host->abi_major, host->abi_minor_max);
  if (table->abi_minor < host->abi_minor_min || table->abi_minor > host->abi_minor_max)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH, fix,
                     "it answers with ABI %u.%u, this host asked for %u.%u to %u.%u",
                     table->abi_major, table->abi_minor, host->abi_major, host->abi_minor_min,
                     host->abi_major, host->abi_minor_max);
  if (table->header_version >> 16 != table->abi_major ||
      (table->header_version & 0xffffu) < table->abi_minor)
    return BROKEN(err, "it says that it was compiled with header %u.%u, and speaks ABI %u.%u",
                  table->header_version >> 16, table->header_version & 0xffffu, table->abi_major,
                  table->abi_minor);
  if (table->struct_size < least_size(table))
    return BROKEN(err,
                  "it speaks ABI %u.%u with a table of %u bytes, at least %u are needed (ABI-001)",
                  table->abi_major, table->abi_minor, table->struct_size, least_size(table));
  if (table->flags & ~VYRE_BACKEND_MAY_UNLOAD)
    return BROKEN(err, "its flags 0x%llx are not known in ABI %u.%u (ABI-006)",
                  (unsigned long long)table->flags, table->abi_major, table->abi_minor);
  return VYRE_OK;
}

/* ---- texts and formats ---- */

static bool is_name(const char *name)
{
  static const char accepted[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  size_t length = strnlen(name, VYRE__MAX_PLUGIN_NAME + 1);
  return length > 0 && length <= VYRE__MAX_PLUGIN_NAME && strspn(name, accepted) == length;
}

/* Words of the selector grammar. */
static bool is_reserved(const char *name)
{
  return !strcmp(name, "any") || !strcmp(name, "gpu") || !strcmp(name, "integrated");
}

static vyre_status check_texts(const vyre_backend *table, vyre_error *err)
{
  if (!table->name)
    return BROKEN(err, "its table has no name");
  if (!is_name(table->name))
    return BROKEN(err, "its name '%.64s' is not 1 to %u of a-z, 0-9, '_' and '-'", table->name,
                  VYRE__MAX_PLUGIN_NAME);
  if (is_reserved(table->name))
    return BROKEN(err, "its name '%s' is a word of device selectors", table->name);
  if (!table->version || !table->vendor || !table->build_id)
    return BROKEN(err, "its table has no %s text (ABI-012)",
                  !table->version  ? "version"
                  : !table->vendor ? "vendor"
                                   : "build_id");
  return VYRE_OK;
}

static const vyre_backend_format *format_at(const vyre_backend *table, uint32_t index)
{
  const char *first = (const char *)table->formats;
  return (const void *)(first + index * table->format_stride);
}

bool vyre__table_takes_format(const vyre_backend *table, const char *format)
{
  uint32_t i;
  for (i = 0; i < table->format_count; i++)
    if (!strcmp(format_at(table, i)->format, format))
      return true;
  return false;
}

static vyre_status check_formats(const vyre_backend *table, vyre_error *err)
{
  uint32_t i;
  if (!table->format_count || !table->formats)
    return BROKEN(err, "it names no kernel format");
  if (table->format_stride < VYRE_BACKEND_FORMAT_SIZE_0_1 ||
      table->format_stride % _Alignof(vyre_backend_format))
    return BROKEN(err, "its formats have a stride of %llu bytes, at least %u are needed (ABI-004)",
                  (unsigned long long)table->format_stride, VYRE_BACKEND_FORMAT_SIZE_0_1);
  if (table->format_stride > MAX_FORMAT_STRIDE || table->format_count > MAX_FORMATS)
    return BROKEN(err, "it says %u formats of %llu bytes, at most %u of %u are believed",
                  table->format_count, (unsigned long long)table->format_stride, MAX_FORMATS,
                  MAX_FORMAT_STRIDE);
  for (i = 0; i < table->format_count; i++) {
    const vyre_backend_format *format = format_at(table, i);
    if (format->struct_size < VYRE_BACKEND_FORMAT_SIZE_0_1)
      return BROKEN(err, "its format %u has %u bytes, at least %u are needed (ABI-001)", i,
                    format->struct_size, VYRE_BACKEND_FORMAT_SIZE_0_1);
    if (!format->format || !format->format[0] || !format->arch)
      return BROKEN(err, "its format %u has no %s", i,
                    format->format && format->format[0] ? "arch text" : "name");
  }
  if (vyre__table_takes_format(table, "vyre-c") && !table->prelude)
    return BROKEN(err, "it takes vyre-c and gives no prelude");
  return VYRE_OK;
}

/* ---- slots ---- */

typedef struct slot_row {
  const char *name;
  bool filled;
} slot_row;

#define SLOT(slot)                                                                                 \
  {                                                                                                \
#slot, VYRE__HAS_SLOT(table, slot)                                                             \
  }

static vyre_status check_tier_1(const vyre_backend *table, vyre_error *err)
{
  const slot_row slots[] = {
      SLOT(device_count), SLOT(device_info),   SLOT(device_open),     SLOT(device_close),
      SLOT(module_load),  SLOT(module_unload), SLOT(kernel_find),     SLOT(dispatch),
      SLOT(pending_wait), SLOT(pending_read),  SLOT(pending_release),
  };
  size_t i;
  for (i = 0; i < sizeof slots / sizeof slots[0]; i++)
    if (!slots[i].filled)
      return BROKEN(err, "the required slot %s is NULL (ABI-003)", slots[i].name);
  return VYRE_OK;
}

static bool has_tier_2(const vyre_backend *table)
{
  return VYRE__HAS_SLOT(table, buffer_alloc);
}

static vyre_status check_tier_2(const vyre_backend *table, vyre_error *err)
{
  const slot_row slots[] = {
      SLOT(buffer_alloc),    SLOT(buffer_free), SLOT(buffer_upload),
      SLOT(buffer_download), SLOT(buffer_fill), SLOT(buffer_copy),
  };
  size_t i;
  for (i = 1; i < sizeof slots / sizeof slots[0]; i++)
    if (slots[i].filled != slots[0].filled)
      return BROKEN(err, "tier 2 is all or none: %s is filled and %s is NULL (ABI-003)",
                    slots[slots[0].filled ? 0 : i].name, slots[slots[0].filled ? i : 0].name);
  if (VYRE__HAS_SLOT(table, buffer_import) != VYRE__HAS_SLOT(table, buffer_export))
    return BROKEN(err, "only one of buffer_import and buffer_export is filled (ABI-003)");
  if (!slots[0].filled &&
      (VYRE__HAS_SLOT(table, buffer_import) || VYRE__HAS_SLOT(table, coherent_alloc)))
    return BROKEN(err, "it has slots for special memory and none for buffers (ABI-003)");
  return VYRE_OK;
}

static bool has_interop(const vyre_backend *table)
{
  return VYRE__HAS_SLOT(table, event_record);
}

static vyre_status check_interop(const vyre_backend *table, vyre_error *err)
{
  const slot_row slots[] = {SLOT(event_record), SLOT(event_wait), SLOT(event_release),
                            SLOT(queue_export)};
  size_t i;
  for (i = 1; i < sizeof slots / sizeof slots[0]; i++)
    if (slots[i].filled != slots[0].filled)
      return BROKEN(err, "native events are all or none: %s is filled and %s is NULL (ABI-003)",
                    slots[slots[0].filled ? 0 : i].name, slots[slots[0].filled ? i : 0].name);
  return VYRE_OK;
}

static bool has_sequences(const vyre_backend *table)
{
  return VYRE__HAS_SLOT(table, sequence_create);
}

static vyre_status check_sequences(const vyre_backend *table, vyre_error *err)
{
  const slot_row slots[] = {SLOT(sequence_create), SLOT(sequence_start), SLOT(sequence_release)};
  size_t i;
  for (i = 1; i < sizeof slots / sizeof slots[0]; i++)
    if (slots[i].filled != slots[0].filled)
      return BROKEN(err, "sequences are all or none: %s is filled and %s is NULL (ABI-003)",
                    slots[slots[0].filled ? 0 : i].name, slots[slots[0].filled ? i : 0].name);
  return VYRE_OK;
}

/* ---- sanitizer ---- */

/* For a plugin whose runtime the file does not show; see elf.c. */
static vyre_status check_sanitizer(const vyre_backend *table, vyre_error *err)
{
  static const char *const symbols[] = {NULL, "__asan_init", "__tsan_init", "__msan_init"};
  static const char *const flags[] = {NULL, "address", "thread", "memory"};
  uint32_t kind = table->sanitizer;
  if (kind == VYRE_SANITIZER_NONE || kind >= sizeof symbols / sizeof symbols[0] ||
      dlsym(RTLD_DEFAULT, symbols[kind]))
    return VYRE_OK;
  return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                   "build the plugin without a sanitizer, or the host with the same one",
                   "it says that it was built with -fsanitize=%s, and this process has no such "
                   "runtime",
                   flags[kind]);
}

vyre_status vyre__table_check(const vyre_backend *table, const vyre_host *host, vyre_error *err)
{
  vyre_status status = check_versions(table, host, err);
  if (!status)
    status = check_texts(table, err);
  if (!status)
    status = check_formats(table, err);
  if (!status)
    status = check_tier_1(table, err);
  if (!status)
    status = check_tier_2(table, err);
  if (!status && table->abi_minor >= 3)
    status = check_interop(table, err);
  if (!status && table->abi_minor >= 3)
    status = check_sequences(table, err);
  if (!status)
    status = check_sanitizer(table, err);
  return status;
}

/* ---- a device's promises ---- */

#define SINCE_0_2 VYRE_CAP_TIMESTAMPS
#define SINCE_0_3 (VYRE_CAP_INTEROP | VYRE_CAP_SEQUENCES)

void vyre__device_info_limit(const vyre_backend *table, vyre_backend_device_info *info)
{
  const uint32_t known =
      table->abi_minor >= 2 ? (uint32_t)sizeof *info : VYRE_BACKEND_DEVICE_INFO_SIZE_0_1;
  const uint32_t filled = info->struct_size < known ? info->struct_size : known;
  /* Padding at the end of a shorter structure may lie where a later one has a field. */
  memset((char *)info + filled, 0, sizeof *info - filled);
  if (table->abi_minor < 2)
    info->capabilities &= ~(uint64_t)SINCE_0_2;
  if (table->abi_minor < 3)
    info->capabilities &= ~(uint64_t)SINCE_0_3;
}

static vyre_status check_grid_sync(const vyre_backend *table, const vyre_backend_device_info *info,
                                   vyre_error *err)
{
  const char *word = info->grid_sync == VYRE_GRID_SYNC_NATIVE ? "NATIVE" : "EMULATED";
  const char *lacks = NULL;
  if (info->grid_sync > VYRE_GRID_SYNC_NATIVE)
    return BROKEN(err, "device '%s' says grid_sync %u, ABI %u.%u knows 0 to %u (ABI-006)",
                  info->name, info->grid_sync, table->abi_major, table->abi_minor,
                  VYRE_GRID_SYNC_NATIVE);
  if (info->grid_sync == VYRE_GRID_SYNC_NATIVE && !VYRE__HAS_SLOT(table, cooperative_groups))
    lacks = "cooperative_groups";
  if (info->grid_sync == VYRE_GRID_SYNC_EMULATED && !VYRE__HAS_SLOT(table, dispatch_passes))
    lacks = "dispatch_passes";
  else if (info->grid_sync == VYRE_GRID_SYNC_EMULATED && !(info->capabilities & VYRE_CAP_BUFFERS))
    lacks = "VYRE_CAP_BUFFERS";
  if (lacks)
    return BROKEN(err, "device '%s' promises grid_sync %s without %s (ABI-003)", info->name, word,
                  lacks);
  return VYRE_OK;
}

static vyre_status check_promises(const vyre_backend *table, const vyre_backend_device_info *info,
                                  vyre_error *err)
{
  const struct {
    uint64_t bit;
    const char *name;
    bool kept;
    const char *needs;
  } rows[] = {
      {VYRE_CAP_BUFFERS, "VYRE_CAP_BUFFERS", has_tier_2(table), "the slots of tier 2"},
      {VYRE_CAP_IMPORT_EXPORT, "VYRE_CAP_IMPORT_EXPORT", VYRE__HAS_SLOT(table, buffer_import),
       "buffer_import and buffer_export"},
      {VYRE_CAP_COHERENT, "VYRE_CAP_COHERENT", VYRE__HAS_SLOT(table, coherent_alloc),
       "coherent_alloc"},
      {VYRE_CAP_PERSISTENT, "VYRE_CAP_PERSISTENT", (info->capabilities & VYRE_CAP_BUFFERS) != 0,
       "VYRE_CAP_BUFFERS"},
      {VYRE_CAP_COMPILER, "VYRE_CAP_COMPILER", vyre__table_takes_format(table, "vyre-c"),
       "the format vyre-c"},
      {VYRE_CAP_SUBGROUPS, "VYRE_CAP_SUBGROUPS", info->subgroup_size > 0, "a subgroup_size"},
      {VYRE_CAP_TIMESTAMPS, "VYRE_CAP_TIMESTAMPS", VYRE__HAS_SLOT(table, device_clock),
       "device_clock"},
      {VYRE_CAP_INTEROP, "VYRE_CAP_INTEROP", has_interop(table), "the slots of native events"},
      {VYRE_CAP_SEQUENCES, "VYRE_CAP_SEQUENCES", has_sequences(table), "the slots of sequences"},
      {VYRE_CAP_SEQUENCES, "VYRE_CAP_SEQUENCES", (info->capabilities & VYRE_CAP_BUFFERS) != 0,
       "VYRE_CAP_BUFFERS"},
  };
  size_t i;
  for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if ((info->capabilities & rows[i].bit) && !rows[i].kept)
      return BROKEN(err, "device '%s' promises %s without %s (ABI-003)", info->name, rows[i].name,
                    rows[i].needs);
  return check_grid_sync(table, info, err);
}

vyre_status vyre__device_info_check(const vyre_backend *table, const vyre_backend_device_info *info,
                                    vyre_error *err)
{
  const struct {
    const char *name;
    uint32_t value, least;
  } limits[] = {
      {"compute_units", info->compute_units, 1},
      {"max_workgroup[0]", info->max_workgroup[0], 1},
      {"max_workgroup[1]", info->max_workgroup[1], 1},
      {"max_workgroup[2]", info->max_workgroup[2], 1},
      {"max_workgroup_items", info->max_workgroup_items, 1},
      {"max_groups[0]", info->max_groups[0], 1},
      {"max_groups[1]", info->max_groups[1], 1},
      {"max_groups[2]", info->max_groups[2], 1},
      {"max_push_bytes", info->max_push_bytes, 128},
      {"max_bindings", info->max_bindings, 16},
  };
  size_t i;
  if (!info->name[0] || !info->id[0])
    return BROKEN(err, "a device has no %s (DEV-001)", info->name[0] ? "id" : "name");
  for (i = 0; i < sizeof limits / sizeof limits[0]; i++)
    if (limits[i].value < limits[i].least)
      return BROKEN(err, "device '%s' says %s %u, at least %u is needed", info->name,
                    limits[i].name, limits[i].value, limits[i].least);
  return check_promises(table, info, err);
}
