/*
 * plugin.c - the handshake and the tables, one for each minor version.
 *
 * The cpu plugin is the embedded default and the reference for results.  It includes only the
 * public headers and links only libc, libm and libpthread.
 */
#include "arch.h"
#include "device.h"
#include "plugins/common/handshake.h"
#include "sanitizer.h"

#include "embed/vyre__kernel_header.h"

#include <pthread.h>
#include <string.h>

/* One format a level, best first, then source; the levels above this processor's are left out. */
static vyre_backend_format formats[VYRE__CPU_MAX_LEVELS + 1];
static vyre_backend tables[VYRE_ABI_MINOR]; /* of 0.1, 0.2, … */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t fill_formats(void)
{
  uint32_t level_count = 0, count = 0;
  const vyre__cpu_level *levels = vyre__cpu_levels(&level_count);
  for (uint32_t i = 0; i < level_count; ++i)
    if (vyre__cpu_level_runs(&levels[i]))
      formats[count++] =
          (vyre_backend_format){sizeof(vyre_backend_format), 0, "native", levels[i].name};
  formats[count++] = (vyre_backend_format){sizeof(vyre_backend_format), 0, "vyre-c", ""};
  return count;
}

static void fill_tables(void)
{
  const vyre_backend newest = {
      VYRE_BACKEND_HEADER,
      .flags = VYRE_BACKEND_MAY_UNLOAD,
      .sanitizer = VYRE__CPU_SANITIZER,
      .format_count = fill_formats(),
      .name = "cpu",
      .version = "0.1.0",
      .vendor = "vyre",
      .build_id = "",
      .formats = formats,
      .format_stride = sizeof(formats[0]),
      .prelude = vyre__kernel_header,
      .prelude_size = vyre__kernel_header_size,
      .device_count = vyre__cpu_device_count,
      .device_info = vyre__cpu_device_info,
      .device_open = vyre__cpu_device_open,
      .device_close = vyre__cpu_device_close,
      .compile = vyre__cpu_compile,
      .module_load = vyre__cpu_module_load,
      .module_unload = vyre__cpu_module_unload,
      .kernel_find = vyre__cpu_kernel_find,
      .dispatch = vyre__cpu_dispatch,
      .pending_wait = vyre__cpu_pending_wait,
      .pending_read = vyre__cpu_pending_read,
      .pending_release = vyre__cpu_pending_release,
      .buffer_alloc = vyre__cpu_buffer_alloc,
      .buffer_free = vyre__cpu_buffer_free,
      .buffer_upload = vyre__cpu_buffer_upload,
      .buffer_download = vyre__cpu_buffer_download,
      .buffer_fill = vyre__cpu_buffer_fill,
      .buffer_copy = vyre__cpu_buffer_copy,
      .buffer_import = vyre__cpu_buffer_import,
      .buffer_export = vyre__cpu_buffer_export,
      .coherent_alloc = vyre__cpu_coherent_alloc,
      .cooperative_groups = vyre__cpu_cooperative_groups,
      .device_clock = vyre__cpu_device_clock,
      .sequence_create = vyre__cpu_sequence_create,
      .sequence_start = vyre__cpu_sequence_start,
      .sequence_release = vyre__cpu_sequence_release,
  };
  vyre_backend *table = &tables[VYRE_ABI_MINOR - 1];
  *table = newest;
  table = &tables[1]; /* of 0.2: what came later are slots at the end, which it leaves NULL */
  memcpy(table, &newest, VYRE_BACKEND_SIZE_0_2);
  table->struct_size = VYRE_BACKEND_SIZE_0_2;
  table->abi_minor = 2;
  table->device_info = vyre__cpu_device_info_0_2;
  /* 0.1 ends in the middle, and knows less about devices. */
  table = &tables[0];
  memcpy(table, &newest, VYRE_BACKEND_SIZE_0_1);
  table->struct_size = VYRE_BACKEND_SIZE_0_1;
  table->abi_minor = 1;
  table->device_info = vyre__cpu_device_info_0_1;
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  uint32_t minor = 0;
  const vyre_status status = vyre__plugin_handshake(host, out_backend, "cpu", 1, &minor, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&table_lock);
  if (!tables[0].struct_size)
    fill_tables();
  pthread_mutex_unlock(&table_lock);
  *out_backend = &tables[minor - 1];
  return VYRE_OK;
}
