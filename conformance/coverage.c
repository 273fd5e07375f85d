/* coverage.c - slots that count and then call the plugin's; see coverage.h. */
#include "conformance/coverage.h"

#include <string.h>

static const vyre_backend *plugin;
static uint32_t *counts, *last_called;

static void note(uint32_t slot)
{
  /* Relaxed: only read when the process has ended. */
  __atomic_fetch_add(&counts[slot], 1, __ATOMIC_RELAXED);
  __atomic_store_n(last_called, slot + 1, __ATOMIC_RELAXED);
}

static vyre_status count_device_count(uint32_t *out_count, vyre_error *err)
{
  note(CONFORM_SLOT_device_count);
  return plugin->device_count(out_count, err);
}

static vyre_status count_device_info(uint32_t index, vyre_backend_device_info *out_info,
                                     vyre_error *err)
{
  note(CONFORM_SLOT_device_info);
  return plugin->device_info(index, out_info, err);
}

static vyre_status count_device_open(uint32_t index, const vyre_backend_device_options *options,
                                     vyre_backend_device **out_device, vyre_error *err)
{
  note(CONFORM_SLOT_device_open);
  return plugin->device_open(index, options, out_device, err);
}

static void count_device_close(vyre_backend_device *device)
{
  note(CONFORM_SLOT_device_close);
  plugin->device_close(device);
}

static vyre_status count_compile(const vyre_compile_desc *desc, vyre_blob *out_blob,
                                 vyre_error *err)
{
  note(CONFORM_SLOT_compile);
  return plugin->compile(desc, out_blob, err);
}

static vyre_status count_module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                     vyre_backend_module **out_module, vyre_error *err)
{
  note(CONFORM_SLOT_module_load);
  return plugin->module_load(device, desc, out_module, err);
}

static void count_module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  note(CONFORM_SLOT_module_unload);
  plugin->module_unload(device, module);
}

static vyre_status count_kernel_find(vyre_backend_module *module, const char *name,
                                     vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                     vyre_error *err)
{
  note(CONFORM_SLOT_kernel_find);
  return plugin->kernel_find(module, name, out_kernel, out_info, err);
}

static vyre_status count_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                                  vyre_backend_pending **out_pending, vyre_error *err)
{
  note(CONFORM_SLOT_dispatch);
  return plugin->dispatch(device, desc, out_pending, err);
}

static vyre_status count_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                      vyre_error *err)
{
  note(CONFORM_SLOT_pending_wait);
  return plugin->pending_wait(pending, timeout_ns, err);
}

static vyre_status count_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                      uint32_t slot_count, uint64_t slot_stride,
                                      vyre_backend_times *out_times, vyre_error *err)
{
  note(CONFORM_SLOT_pending_read);
  return plugin->pending_read(pending, slots, slot_count, slot_stride, out_times, err);
}

static void count_pending_release(vyre_backend_pending *pending)
{
  note(CONFORM_SLOT_pending_release);
  plugin->pending_release(pending);
}

static vyre_status count_buffer_alloc(vyre_backend_device *device, uint64_t size,
                                      vyre_backend_buffer **out_buffer, vyre_error *err)
{
  note(CONFORM_SLOT_buffer_alloc);
  return plugin->buffer_alloc(device, size, out_buffer, err);
}

static void count_buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  note(CONFORM_SLOT_buffer_free);
  plugin->buffer_free(device, buffer);
}

static vyre_status count_buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       uint64_t offset, const void *data, uint64_t size,
                                       vyre_error *err)
{
  note(CONFORM_SLOT_buffer_upload);
  return plugin->buffer_upload(device, buffer, offset, data, size, err);
}

static vyre_status count_buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                         uint64_t offset, void *out_data, uint64_t size,
                                         vyre_error *err)
{
  note(CONFORM_SLOT_buffer_download);
  return plugin->buffer_download(device, buffer, offset, out_data, size, err);
}

static vyre_status count_buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                     uint64_t offset, uint64_t size, uint32_t value,
                                     vyre_error *err)
{
  note(CONFORM_SLOT_buffer_fill);
  return plugin->buffer_fill(device, buffer, offset, size, value, err);
}

static vyre_status count_buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                     uint64_t destination_offset, vyre_backend_buffer *source,
                                     uint64_t source_offset, uint64_t size, vyre_error *err)
{
  note(CONFORM_SLOT_buffer_copy);
  return plugin->buffer_copy(device, destination, destination_offset, source, source_offset, size,
                             err);
}

static vyre_status count_buffer_import(vyre_backend_device *device,
                                       const vyre_native_memory *memory,
                                       vyre_backend_buffer **out_buffer, vyre_error *err)
{
  note(CONFORM_SLOT_buffer_import);
  return plugin->buffer_import(device, memory, out_buffer, err);
}

static vyre_status count_buffer_export(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                       vyre_native_memory *out_memory, vyre_error *err)
{
  note(CONFORM_SLOT_buffer_export);
  return plugin->buffer_export(device, buffer, out_memory, err);
}

static vyre_status count_coherent_alloc(vyre_backend_device *device, uint64_t size,
                                        vyre_coherent_memory *out_memory, vyre_error *err)
{
  note(CONFORM_SLOT_coherent_alloc);
  return plugin->coherent_alloc(device, size, out_memory, err);
}

static vyre_status count_cooperative_groups(vyre_backend_device *device,
                                            vyre_backend_kernel *kernel,
                                            const uint32_t workgroup[3], uint64_t workgroup_memory,
                                            uint32_t *out_groups, vyre_error *err)
{
  note(CONFORM_SLOT_cooperative_groups);
  return plugin->cooperative_groups(device, kernel, workgroup, workgroup_memory, out_groups, err);
}

static vyre_status count_dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                         vyre_backend_pending **out_pending, vyre_error *err)
{
  note(CONFORM_SLOT_dispatch_passes);
  return plugin->dispatch_passes(device, desc, out_pending, err);
}

static vyre_status count_device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                      uint64_t *out_host_ns, vyre_error *err)
{
  note(CONFORM_SLOT_device_clock);
  return plugin->device_clock(device, out_device_ns, out_host_ns, err);
}

static vyre_status count_event_record(vyre_backend_device *device, vyre_native_handle *event,
                                      vyre_error *err)
{
  note(CONFORM_SLOT_event_record);
  return plugin->event_record(device, event, err);
}

static vyre_status count_event_wait(vyre_backend_device *device, const vyre_native_handle *event,
                                    vyre_error *err)
{
  note(CONFORM_SLOT_event_wait);
  return plugin->event_wait(device, event, err);
}

static vyre_status count_event_release(vyre_backend_device *device, const vyre_native_handle *event,
                                       vyre_error *err)
{
  note(CONFORM_SLOT_event_release);
  return plugin->event_release(device, event, err);
}

static vyre_status count_queue_export(vyre_backend_device *device, vyre_native_handle *out_queue,
                                      vyre_error *err)
{
  note(CONFORM_SLOT_queue_export);
  return plugin->queue_export(device, out_queue, err);
}

static vyre_status count_sequence_create(vyre_backend_device *device,
                                         const vyre_sequence_desc *desc,
                                         vyre_backend_sequence **out_sequence, vyre_error *err)
{
  note(CONFORM_SLOT_sequence_create);
  return plugin->sequence_create(device, desc, out_sequence, err);
}

static vyre_status count_sequence_start(vyre_backend_device *device,
                                        vyre_backend_sequence *sequence, uint32_t times,
                                        vyre_backend_pending **out_pending, vyre_error *err)
{
  note(CONFORM_SLOT_sequence_start);
  return plugin->sequence_start(device, sequence, times, out_pending, err);
}

static void count_sequence_release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  note(CONFORM_SLOT_sequence_release);
  plugin->sequence_release(device, sequence);
}

/* The slot is in the plugin's table and filled. */
#define HAS(slot)                                                                                  \
  (real->struct_size >= offsetof(vyre_backend, slot) + sizeof real->slot && real->slot != NULL)

void conform_count_calls(const vyre_backend *real, uint32_t *calls, uint32_t *last,
                         vyre_backend *out_counted)
{
  const uint32_t size =
      real->struct_size < sizeof *out_counted ? real->struct_size : (uint32_t)sizeof *out_counted;
  plugin = real;
  counts = calls;
  last_called = last;
  memset(out_counted, 0, sizeof *out_counted);
  memcpy(out_counted, real, size);
#define X(slot) out_counted->slot = HAS(slot) ? count_##slot : NULL;
  CONFORM_SLOT_MAP(X)
#undef X
}

const char *conform_slot_name(uint32_t slot)
{
  static const char *const names[] = {
#define X(slot) #slot,
      CONFORM_SLOT_MAP(X)
#undef X
  };
  return slot < CONFORM_SLOT_COUNT ? names[slot] : "";
}
