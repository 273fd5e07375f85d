/*
 * plugin.c - the handshake and the tables, one for each minor version.
 *
 * The body is the same for every vendor; name, formats and prelude are the vendor's.
 */
#include "plugins/gpu/gpu.h"

#include "plugins/common/handshake.h"
#include "plugins/common/sanitizer.h"

#include <string.h>

/* The oldest version that a table is given of, and where the tables of all but the newest end. */
#define OLDEST_MINOR 2u
static const uint32_t sizes[] = {VYRE_BACKEND_SIZE_0_2};

#define TABLES (VYRE_ABI_MINOR - OLDEST_MINOR + 1)
_Static_assert(sizeof(sizes) / sizeof(sizes[0]) + 1 >= TABLES,
               "say where the table of each older version ends");

static vyre_backend tables[TABLES];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Not VYRE_BACKEND_MAY_UNLOAD: the vendor's library is never closed, since none of them survives
 * that, and it keeps threads, files and mappings.  So dlclose() of this plugin would leave a lot
 * behind (ABI-016), and nothing is won by it.
 */
#define FLAGS 0u

static void fill_tables(void)
{
  uint64_t prelude_size = 0;
  const char *const prelude =
      vyre__gpu_driver.prelude ? vyre__gpu_driver.prelude(&prelude_size) : NULL;
  const vyre_backend newest = {
      VYRE_BACKEND_HEADER,
      .flags = FLAGS,
      .sanitizer = VYRE__PLUGIN_SANITIZER,
      .format_count = vyre__gpu_driver.format_count,
      .name = vyre__gpu_driver.name,
      .version = "0.1.0",
      .vendor = vyre__gpu_driver.vendor,
      .build_id = "",
      .formats = vyre__gpu_driver.formats,
      .format_stride = sizeof(vyre_backend_format),
      .prelude = prelude,
      .prelude_size = prelude_size,
      .device_count = vyre__gpu_device_count,
      .device_info = vyre__gpu_device_info,
      .device_open = vyre__gpu_device_open,
      .device_close = vyre__gpu_device_close,
      .compile = vyre__gpu_compile,
      .module_load = vyre__gpu_module_load,
      .module_unload = vyre__gpu_module_unload,
      .kernel_find = vyre__gpu_kernel_find,
      .dispatch = vyre__gpu_dispatch,
      .pending_wait = vyre__gpu_pending_wait,
      .pending_read = vyre__gpu_pending_read,
      .pending_release = vyre__gpu_pending_release,
      .buffer_alloc = vyre__gpu_buffer_alloc,
      .buffer_free = vyre__gpu_buffer_free,
      .buffer_upload = vyre__gpu_buffer_upload,
      .buffer_download = vyre__gpu_buffer_download,
      .buffer_fill = vyre__gpu_buffer_fill,
      .buffer_copy = vyre__gpu_buffer_copy,
      .buffer_import = vyre__gpu_buffer_import,
      .buffer_export = vyre__gpu_buffer_export,
      .coherent_alloc = vyre__gpu_coherent_alloc,
      .cooperative_groups = vyre__gpu_cooperative_groups,
      .device_clock = vyre__gpu_device_clock,
      .event_record = vyre__gpu_event_record,
      .event_wait = vyre__gpu_event_await,
      .event_release = vyre__gpu_event_release,
      .queue_export = vyre__gpu_queue_export,
      .sequence_create = vyre__gpu_sequence_create,
      .sequence_start = vyre__gpu_sequence_start,
      .sequence_release = vyre__gpu_sequence_release,
  };
  tables[TABLES - 1] = newest;
  /* An older one ends earlier. */
  for (uint32_t i = 0; i + 1 < TABLES; ++i) {
    memcpy(&tables[i], &newest, sizes[i]);
    tables[i].struct_size = sizes[i];
    tables[i].abi_minor = OLDEST_MINOR + i;
  }
  tables[0].device_info = vyre__gpu_device_info_0_2;
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  uint32_t minor = 0;
  const vyre_status status =
      vyre__plugin_handshake(host, out_backend, vyre__gpu_driver.name, OLDEST_MINOR, &minor, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&table_lock);
  if (!tables[0].struct_size)
    fill_tables();
  pthread_mutex_unlock(&table_lock);
  *out_backend = &tables[minor - OLDEST_MINOR];
  return VYRE_OK;
}
