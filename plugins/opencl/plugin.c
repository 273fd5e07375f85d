/*
 * plugin.c - the handshake and the tables, one for each minor version.
 *
 * The opencl plugin drives every OpenCL 1.2 or later that is installed.  It includes only the
 * public headers, declares by itself what it calls of OpenCL (cl.h), and links only libc, libm and
 * libpthread: the vendor's library is opened when devices are first asked for.
 */
#include "device.h"
#include "plugins/common/handshake.h"

#include "embed/vyre__opencl_prelude.h"

#include <pthread.h>
#include <string.h>

/* How this file is compiled: a host without that runtime must not load it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER VYRE_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define SANITIZER VYRE_SANITIZER_THREAD
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER VYRE_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER VYRE_SANITIZER_THREAD
#endif
#ifndef SANITIZER
#define SANITIZER VYRE_SANITIZER_NONE
#endif

static const vyre_backend_format formats[] = {{sizeof(formats[0]), 0, "vyre-c", ""}};
static vyre_backend tables[VYRE_ABI_MINOR]; /* of 0.1, 0.2, … */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* The table of an earlier version ends where that version's did. */
static void fill_older(const vyre_backend *newest, uint32_t minor, uint32_t size)
{
  vyre_backend *table = &tables[minor - 1];
  memcpy(table, newest, size);
  table->struct_size = size;
  table->abi_minor = minor;
}

static void fill_tables(void)
{
  const vyre_backend newest = {
      VYRE_BACKEND_HEADER,
      .sanitizer = SANITIZER,
      .format_count = sizeof(formats) / sizeof(formats[0]),
      .name = "opencl",
      .version = "0.1.0",
      .vendor = "vyre",
      .build_id = "",
      .formats = formats,
      .format_stride = sizeof(formats[0]),
      .prelude = vyre__opencl_prelude,
      .prelude_size = vyre__opencl_prelude_size,
      .device_count = vyre__opencl_device_count,
      .device_info = vyre__opencl_device_info,
      .device_open = vyre__opencl_device_open,
      .device_close = vyre__opencl_device_close,
      .module_load = vyre__opencl_module_load,
      .module_unload = vyre__opencl_module_unload,
      .kernel_find = vyre__opencl_kernel_find,
      .dispatch = vyre__opencl_dispatch,
      .pending_wait = vyre__opencl_pending_wait,
      .pending_read = vyre__opencl_pending_read,
      .pending_release = vyre__opencl_pending_release,
      .buffer_alloc = vyre__opencl_buffer_alloc,
      .buffer_free = vyre__opencl_buffer_free,
      .buffer_upload = vyre__opencl_buffer_upload,
      .buffer_download = vyre__opencl_buffer_download,
      .buffer_fill = vyre__opencl_buffer_fill,
      .buffer_copy = vyre__opencl_buffer_copy,
      .buffer_import = vyre__opencl_buffer_import,
      .buffer_export = vyre__opencl_buffer_export,
      .device_clock = vyre__opencl_device_clock,
      .event_record = vyre__opencl_event_record,
      .event_wait = vyre__opencl_event_wait,
      .event_release = vyre__opencl_event_release,
      .queue_export = vyre__opencl_queue_export,
  };
  tables[VYRE_ABI_MINOR - 1] = newest;
  fill_older(&newest, 2, VYRE_BACKEND_SIZE_0_2);
  tables[1].device_info = vyre__opencl_device_info_0_2;
  fill_older(&newest, 1, VYRE_BACKEND_SIZE_0_1);
  tables[0].device_info = vyre__opencl_device_info_0_1;
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  uint32_t minor = 0;
  const vyre_status status = vyre__plugin_handshake(host, out_backend, "opencl", 1, &minor, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&table_lock);
  if (!tables[0].struct_size)
    fill_tables();
  pthread_mutex_unlock(&table_lock);
  *out_backend = &tables[minor - 1];
  return VYRE_OK;
}
