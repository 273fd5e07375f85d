/*
 * fixture.c - a small, correct plugin of tiers 1 and 2 for tests, and all its faulty sisters.
 *
 * FIXTURE_FAULT is one of the rows of fixture_faults.def.  fixture.h tells what it can do and how a
 * test steers it.  Launches run in the thread that dispatches.
 */
#include "vyre_backend.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fixture.h"

enum {
#define FAULT(name, description) FAULT_##name,
#include "fixture_faults.def"
#undef FAULT
  FAULT_COUNT
};

/* A constant, so that tables can be initialised with it. */
#define IS(fault) (FIXTURE_FAULT == FAULT_##fault)

/*
 * Every handshake stores it, also beside one that uses it: stored with release, loaded with
 * acquire, so who sees the pointer sees the host filled.
 */
static const vyre_host *the_host;

static const vyre_host *host(void)
{
  return __atomic_load_n(&the_host, __ATOMIC_ACQUIRE);
}

/* ---- controls and counters ---- */

enum {
  DEVICES,
  DEVICES_ERROR,
  OPEN_ERROR,
  OPEN_ERROR_AT,
  ALLOC_ERROR,
  COPY_ERROR,
  LOAD_ERROR,
  DISPATCH_ERROR,
  WAIT_ERROR,
  READ_ERROR,
  LOSE_AT,
  HOLD,
  SILENT,
  QUERIES,
  OPENS,
  DISPATCHES,
  WAITS,
  READS,
  LOADS,
  ALLOCS,
  UPLOADS,
  DOWNLOADS,
  DEVICES_LIVE,
  MODULES_LIVE,
  BUFFERS_LIVE,
  PENDINGS_LIVE,
  BYTES_LIVE,
  VALUE_COUNT,
  FIRST_LIVE = DEVICES_LIVE
};

static const char *const value_names[VALUE_COUNT] = {
    "devices",      "devices_error",  "open_error", "open_error_at", "alloc_error",  "copy_error",
    "load_error",   "dispatch_error", "wait_error", "read_error",    "lose_at",      "hold",
    "silent",       "queries",        "opens",      "dispatches",    "waits",        "reads",
    "loads",        "allocs",         "uploads",    "downloads",     "devices_live", "modules_live",
    "buffers_live", "pendings_live",  "bytes_live",
};

#define DEFAULTS                                                                                   \
  {                                                                                                \
    [DEVICES] = IS(no_device) ? 0 : FIXTURE_DEVICES,                                               \
    [DEVICES_ERROR] = IS(devices_fail)     ? VYRE_ERROR_INTERNAL                                   \
                      : IS(vendor_missing) ? VYRE_ERROR_VENDOR_LIBRARY                             \
                                           : VYRE_OK,                                              \
    [OPEN_ERROR] = IS(open_fails) || IS(error_without_text) ? VYRE_ERROR_NO_DEVICE                 \
                   : IS(unknown_code)                       ? 9999                                 \
                                                            : VYRE_OK,                                                   \
    [OPEN_ERROR_AT] = -1, [ALLOC_ERROR] = IS(alloc_fails) ? VYRE_ERROR_OUT_OF_DEVICE_MEMORY : 0,   \
    [LOSE_AT] = IS(lost) ? 2 : 0, [SILENT] = IS(error_without_text) || IS(refusing_silently),      \
  }

static const int64_t defaults[VALUE_COUNT] = DEFAULTS;
static int64_t values[VALUE_COUNT] = DEFAULTS;

/* Guards `hold`: who changes it wakes who waits for it. */
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;

/* Sequentially consistent: tests compare counters of several threads. */
static int64_t value(int index)
{
  return __atomic_load_n(&values[index], __ATOMIC_SEQ_CST);
}

static void add(int index, int64_t change)
{
  __atomic_add_fetch(&values[index], change, __ATOMIC_SEQ_CST);
}

static int find_value(const char *name)
{
  int i;
  for (i = 0; i < VALUE_COUNT; i++)
    if (!strcmp(value_names[i], name))
      return i;
  return -1;
}

__attribute__((visibility("default"))) void fixture_set(const char *name, int64_t to);
void fixture_set(const char *name, int64_t to)
{
  int index = find_value(name), i;
  pthread_mutex_lock(&hold_lock);
  if (!strcmp(name, "reset"))
    for (i = 0; i < FIRST_LIVE; i++)
      __atomic_store_n(&values[i], defaults[i], __ATOMIC_SEQ_CST);
  else if (index >= 0)
    __atomic_store_n(&values[index], to, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&hold_changed);
  pthread_mutex_unlock(&hold_lock);
}

__attribute__((visibility("default"))) int64_t fixture_get(const char *name);
int64_t fixture_get(const char *name)
{
  int index = find_value(name);
  return index < 0 ? -1 : value(index);
}

/* ---- errors and memory ---- */

__attribute__((format(printf, 3, 4))) static vyre_status fail(vyre_error *err, int64_t code,
                                                              const char *format, ...)
{
  va_list arguments;
  if (!err || err->struct_size < sizeof *err || value(SILENT))
    return (vyre_status)code;
  err->code = (vyre_status)code;
  va_start(arguments, format);
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  snprintf(err->fix, sizeof err->fix, "this is the fixture: change the test");
  snprintf(err->where, sizeof err->where, "fixture.c");
  return (vyre_status)code;
}

static void *allocate(uint64_t size)
{
  void *memory = host()->allocate(host()->self, size, 64);
  if (memory)
    memset(memory, 0, (size_t)size);
  return memory;
}

static void deallocate(void *memory)
{
  host()->deallocate(host()->self, memory);
}

static vyre_status no_memory(vyre_error *err)
{
  return fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the fixture has no memory");
}

static uint64_t least(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* ---- devices ---- */

struct vyre_backend_device {
  uint32_t index;
  uint32_t lost;        /* atomic */
  pthread_mutex_t lock; /* launches and copies run one after the other (DISP-020) */
};

static const struct {
  vyre_device_class device_class;
  const char *id, *pci, *uuid;
  uint64_t capabilities;
} devices[FIXTURE_DEVICES] = {
    {VYRE_DEVICE_GPU, "0000:c1:00.0", "0000:c1:00.0", "01234567-89ab-cdef-0123-456789abcdef",
     VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_GPU, "0000:c2:00.0", "0000:c2:00.0", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_INTEGRATED_GPU, "0001:00:02.0", "0001:00:02.0", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_CPU, "host", "", "", VYRE_CAP_BUFFERS},
    {VYRE_DEVICE_OTHER, "npu", "", "", 0},
};

static vyre_status device_count(uint32_t *out_count, vyre_error *err)
{
  if (value(DEVICES_ERROR))
    return fail(err, value(DEVICES_ERROR),
                IS(vendor_missing) ? "libfixture.so.1 was not found; tried: FIXTURE_LIBRARY, "
                                     "libfixture.so.1, libfixture.so"
                                   : "the fixture cannot count its devices");
  *out_count = IS(many_devices) ? UINT32_MAX : (uint32_t)value(DEVICES);
  return VYRE_OK;
}

static vyre_status device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  vyre_backend_device_info info = {.struct_size = (uint32_t)sizeof info};
  uint32_t size = out_info->struct_size;
  if (index >= value(DEVICES) || (IS(info_fails) && index == 1))
    return fail(err, VYRE_ERROR_NOT_FOUND, "the fixture has no device %" PRIu32, index);
  if (size < VYRE_BACKEND_DEVICE_INFO_SIZE_0_1)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "struct_size is %" PRIu32, size);
  info.device_class = devices[index].device_class;
  info.capabilities = IS(tier_1) ? 0 : devices[index].capabilities;
  snprintf(info.name, sizeof info.name, "Fixture %" PRIu32, index);
  snprintf(info.id, sizeof info.id, "%s", devices[IS(twin_ids) ? 0 : index].id);
  snprintf(info.pci, sizeof info.pci, "%s", devices[index].pci);
  snprintf(info.uuid, sizeof info.uuid, "%s", devices[index].uuid);
  snprintf(info.arch, sizeof info.arch, "fixture");
  snprintf(info.driver, sizeof info.driver, "fixture 1.0");
  info.memory_bytes = 1u << 30;
  info.max_buffer_bytes = 1u << 28;
  info.max_workgroup_memory = 1u << 16;
  info.max_workgroup[0] = info.max_workgroup[1] = 1024;
  info.max_workgroup[2] = 64;
  info.max_workgroup_items = 1024;
  info.max_groups[0] = 1u << 30;
  info.max_groups[1] = info.max_groups[2] = 65535;
  info.compute_units = IS(info_broken) ? 0 : 4;
  info.max_push_bytes = 128;
  info.max_bindings = 64;
  snprintf(info.persistent_reason, sizeof info.persistent_reason, "the fixture has no tier 4");
  snprintf(info.compiler_reason, sizeof info.compiler_reason, "the fixture has no compiler");
  if (IS(info_unterminated)) {
    memset(info.name, 'n', sizeof info.name);
    memset(info.arch, 'a', sizeof info.arch);
  }
  size = IS(info_short) ? (uint32_t)offsetof(vyre_backend_device_info, memory_bytes)
                        : (uint32_t)least(size, sizeof info);
  memcpy(out_info, &info, size);
  out_info->struct_size = IS(info_too_large) ? (uint32_t)sizeof info + 64 : size;
  return VYRE_OK;
}

static vyre_status device_open(uint32_t index, const vyre_backend_device_options *options,
                               vyre_backend_device **out_device, vyre_error *err)
{
  int64_t at = value(OPEN_ERROR_AT);
  vyre_backend_device *device = NULL;
  if (options->struct_size < VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1 || options->flags)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "options that the fixture does not know");
  if (index >= value(DEVICES))
    return fail(err, VYRE_ERROR_NOT_FOUND, "the fixture has no device %" PRIu32, index);
  if (value(OPEN_ERROR) && (at < 0 || at == index))
    return fail(err, value(OPEN_ERROR), "the fixture does not open device %" PRIu32, index);
  if (IS(open_null))
    return VYRE_OK;
  device = allocate(sizeof *device);
  if (!device)
    return no_memory(err);
  device->index = index;
  pthread_mutex_init(&device->lock, NULL);
  add(OPENS, 1);
  add(DEVICES_LIVE, 1);
  *out_device = device;
  return VYRE_OK;
}

static void device_close(vyre_backend_device *device)
{
  if (!device)
    return;
  pthread_mutex_destroy(&device->lock);
  deallocate(device);
  add(DEVICES_LIVE, -1);
}

static vyre_status check_lost(const vyre_backend_device *device, vyre_error *err)
{
  if (__atomic_load_n(&device->lost, __ATOMIC_SEQ_CST))
    return fail(err, VYRE_ERROR_DEVICE_LOST, "device %" PRIu32 " of the fixture is lost",
                device->index);
  return VYRE_OK;
}

/* ---- modules ---- */

enum { NOTHING, COPY, ADD, INCREMENT, PUSH, FACTS, FAIL, KERNEL_COUNT };
static const char *const kernel_names[KERNEL_COUNT] = {"nothing", "copy",  "add", "increment",
                                                       "push",    "facts", "fail"};

#define MAX_ENTRIES 32

struct vyre_backend_kernel {
  char name[64];
  int what;
};

struct vyre_backend_module {
  uint32_t count;
  vyre_backend_kernel entries[MAX_ENTRIES];
};

static int find_kernel(const char *name)
{
  int i;
  for (i = 0; i < KERNEL_COUNT; i++)
    if (!strcmp(kernel_names[i], name))
      return i;
  return -1;
}

static vyre_status read_line(const char *line, size_t length, vyre_backend_kernel *entry,
                             vyre_error *err)
{
  char *equals = NULL;
  if (length >= sizeof entry->name)
    return fail(err, VYRE_ERROR_MODULE_FORMAT, "a line of %zu bytes", length);
  memcpy(entry->name, line, length);
  entry->name[length] = '\0';
  equals = strchr(entry->name, '=');
  if (equals)
    *equals = '\0';
  entry->what = find_kernel(equals ? equals + 1 : entry->name);
  if (entry->what < 0)
    return fail(err, VYRE_ERROR_MODULE_FORMAT, "the fixture has no kernel '%s'",
                equals ? equals + 1 : entry->name);
  return VYRE_OK;
}

static vyre_status read_module(const vyre_module_desc *desc, vyre_backend_module *module,
                               vyre_error *err)
{
  const char *at = desc->data, *end = at + desc->size;
  vyre_status status = VYRE_OK;
  while (!status && at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline ? newline : end) - at);
    if (length && module->count == MAX_ENTRIES)
      return fail(err, VYRE_ERROR_MODULE_FORMAT, "more than %d entries", MAX_ENTRIES);
    if (length)
      status = read_line(at, length, &module->entries[module->count++], err);
    at += length + (newline != NULL);
  }
  return status;
}

static vyre_status module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                               vyre_backend_module **out_module, vyre_error *err)
{
  vyre_backend_module *module = NULL;
  vyre_status status = check_lost(device, err);
  if (status)
    return status;
  if (value(LOAD_ERROR))
    return fail(err, value(LOAD_ERROR), "the fixture does not load modules");
  if (desc->struct_size < VYRE_MODULE_DESC_SIZE_0_1 || (desc->flags & ~VYRE_MODULE_DEBUG))
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a description that the fixture does not know");
  if (strcmp(desc->format, "fixture") != 0)
    return fail(err, VYRE_ERROR_MODULE_FORMAT, "the format '%s', the fixture takes: fixture",
                desc->format);
  module = allocate(sizeof *module);
  if (!module)
    return no_memory(err);
  status = read_module(desc, module, err);
  if (status) {
    deallocate(module);
    return status;
  }
  add(LOADS, 1);
  add(MODULES_LIVE, 1);
  *out_module = module;
  return VYRE_OK;
}

static void module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  (void)device;
  if (!module)
    return;
  deallocate(module);
  add(MODULES_LIVE, -1);
}

static vyre_status kernel_find(vyre_backend_module *module, const char *name,
                               vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                               vyre_error *err)
{
  uint32_t i;
  if (IS(no_kernel))
    return VYRE_OK;
  for (i = 0; i < module->count; i++)
    if (!strcmp(module->entries[i].name, name))
      break;
  if (i == module->count)
    return fail(err, VYRE_ERROR_NOT_FOUND, "the module has no entry '%s'", name);
  if (out_info) {
    out_info->struct_size = VYRE_KERNEL_INFO_SIZE_0_1;
    out_info->max_workgroup_items = 1024;
    out_info->workgroup_memory = 0;
  }
  *out_kernel = &module->entries[i];
  return VYRE_OK;
}

/* ---- buffers ---- */

struct vyre_backend_buffer {
  uint64_t size;
  unsigned char *bytes;
};

static vyre_status buffer_alloc(vyre_backend_device *device, uint64_t size,
                                vyre_backend_buffer **out_buffer, vyre_error *err)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = check_lost(device, err);
  if (status)
    return status;
  if (value(ALLOC_ERROR))
    return fail(err, value(ALLOC_ERROR), "the fixture has no %" PRIu64 " bytes", size);
  if (IS(alloc_null))
    return VYRE_OK;
  buffer = allocate(sizeof *buffer);
  if (buffer)
    buffer->bytes = allocate(size);
  if (!buffer || !buffer->bytes) {
    deallocate(buffer);
    return no_memory(err);
  }
  buffer->size = size;
  add(ALLOCS, 1);
  add(BUFFERS_LIVE, 1);
  add(BYTES_LIVE, (int64_t)size);
  *out_buffer = buffer;
  return VYRE_OK;
}

static void buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  (void)device;
  if (!buffer)
    return;
  add(BUFFERS_LIVE, -1);
  add(BYTES_LIVE, -(int64_t)buffer->size);
  deallocate(buffer->bytes);
  deallocate(buffer);
}

static vyre_status check_copy(vyre_backend_device *device, const vyre_backend_buffer *buffer,
                              uint64_t offset, uint64_t size, vyre_error *err)
{
  vyre_status status = check_lost(device, err);
  if (status)
    return status;
  if (value(COPY_ERROR)) {
    if (value(COPY_ERROR) == VYRE_ERROR_DEVICE_LOST)
      __atomic_store_n(&device->lost, 1, __ATOMIC_SEQ_CST);
    return fail(err, value(COPY_ERROR), "the fixture does not copy");
  }
  if (offset > buffer->size || size > buffer->size - offset)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "%" PRIu64 " bytes at %" PRIu64 " of %" PRIu64,
                size, offset, buffer->size);
  return VYRE_OK;
}

static vyre_status buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, const void *data, uint64_t size, vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  if (size)
    memcpy(buffer->bytes + offset, data, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  add(UPLOADS, 1);
  return VYRE_OK;
}

static vyre_status buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                   uint64_t offset, void *out_data, uint64_t size, vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  if (size)
    memcpy(out_data, buffer->bytes + offset, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  add(DOWNLOADS, 1);
  return VYRE_OK;
}

static vyre_status buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               uint64_t offset, uint64_t size, uint32_t byte, vyre_error *err)
{
  vyre_status status = check_copy(device, buffer, offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  memset(buffer->bytes + offset, (int)(byte & 0xff), (size_t)size);
  pthread_mutex_unlock(&device->lock);
  return VYRE_OK;
}

static vyre_status buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                               uint64_t destination_offset, vyre_backend_buffer *source,
                               uint64_t source_offset, uint64_t size, vyre_error *err)
{
  vyre_status status = check_copy(device, destination, destination_offset, size, err);
  if (!status)
    status = check_copy(device, source, source_offset, size, err);
  if (status)
    return status;
  pthread_mutex_lock(&device->lock);
  memmove(destination->bytes + destination_offset, source->bytes + source_offset, (size_t)size);
  pthread_mutex_unlock(&device->lock);
  return VYRE_OK;
}

/* ---- launches ---- */

/* A binding as a kernel sees it. */
typedef struct view {
  vyre_binding binding;
  unsigned char *bytes;
  unsigned char *own; /* freed with the launch, or NULL */
} view;

struct vyre_backend_pending {
  vyre_backend_device *device;
  vyre_status result;
  uint32_t count;
  view views[];
};

static bool may_write(const view *of)
{
  return of->bytes && of->binding.access != VYRE_READ_ONLY &&
         of->binding.kind != VYRE_BINDING_WORKGROUP;
}

static view *last_writable(vyre_backend_pending *pending)
{
  uint32_t i;
  for (i = pending->count; i > 0; i--)
    if (may_write(&pending->views[i - 1]))
      return &pending->views[i - 1];
  return NULL;
}

static void run_add(vyre_backend_pending *pending)
{
  view *v = pending->views;
  uint64_t i, n;
  uint32_t a, b;
  if (pending->count < 3 || !may_write(&v[2]))
    return;
  n = least(v[2].binding.size, least(v[0].binding.size, v[1].binding.size)) / 4;
  for (i = 0; i < n; i++) {
    memcpy(&a, v[0].bytes + i * 4, 4);
    memcpy(&b, v[1].bytes + i * 4, 4);
    a += b;
    memcpy(v[2].bytes + i * 4, &a, 4);
  }
}

static void run_increment(vyre_backend_pending *pending)
{
  uint32_t k, number;
  uint64_t i;
  for (k = 0; k < pending->count; k++) {
    view *v = &pending->views[k];
    for (i = 0; may_write(v) && i < v->binding.size / 4; i++) {
      memcpy(&number, v->bytes + i * 4, 4);
      number += 1;
      memcpy(v->bytes + i * 4, &number, 4);
    }
  }
}

/* One more fact, as far as there is room. */
static void put(view *to, uint64_t *at, uint64_t fact)
{
  uint32_t word = (uint32_t)fact;
  if (*at + 4 <= to->binding.size)
    memcpy(to->bytes + *at, &word, 4);
  *at += 4;
}

static void run_facts(vyre_backend_pending *pending, const vyre_dispatch_desc *desc, view *to)
{
  uint64_t at = 0;
  uint32_t i;
  for (i = 0; i < 3; i++)
    put(to, &at, desc->groups[i]);
  for (i = 0; i < 3; i++)
    put(to, &at, desc->workgroup[i]);
  put(to, &at, desc->push_size);
  put(to, &at, desc->binding_count);
  for (i = 0; i < pending->count; i++) {
    const vyre_binding *binding = &pending->views[i].binding;
    put(to, &at, binding->id);
    put(to, &at, binding->access);
    put(to, &at, binding->kind);
    put(to, &at, binding->size);
    put(to, &at, binding->element_count);
  }
}

static vyre_status run(vyre_backend_pending *pending, const vyre_dispatch_desc *desc)
{
  view *last = last_writable(pending);
  switch (desc->kernel->what) {
  case COPY:
    if (last && pending->views[0].bytes)
      memmove(last->bytes, pending->views[0].bytes,
              (size_t)least(last->binding.size, pending->views[0].binding.size));
    break;
  case ADD:
    run_add(pending);
    break;
  case INCREMENT:
    run_increment(pending);
    break;
  case PUSH:
    if (last && desc->push_size)
      memcpy(last->bytes, desc->push, (size_t)least(last->binding.size, desc->push_size));
    break;
  case FACTS:
    if (last)
      run_facts(pending, desc, last);
    break;
  case FAIL:
    return VYRE_ERROR_DISPATCH_FAILED;
  default:
    break;
  }
  return VYRE_OK;
}

static vyre_status check_dispatch(const vyre_dispatch_desc *desc, vyre_error *err)
{
  uint64_t items = (uint64_t)desc->workgroup[0] * desc->workgroup[1] * desc->workgroup[2];
  int i;
  if (desc->struct_size < VYRE_DISPATCH_DESC_SIZE_0_1)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "struct_size is %" PRIu32, desc->struct_size);
  if (desc->flags & (VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE))
    return fail(err, VYRE_ERROR_UNSUPPORTED, "the fixture has ordinary launches only");
  if (desc->flags)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "unknown flags");
  if (desc->push_size > 128 || desc->binding_count > 64 ||
      (desc->binding_count && desc->binding_stride < VYRE_BINDING_SIZE_0_1))
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                "%" PRIu32 " push bytes (at most 128), %" PRIu32 " bindings (at most 64)",
                desc->push_size, desc->binding_count);
  for (i = 0; i < 3; i++)
    if (!desc->groups[i] || !desc->workgroup[i] || desc->workgroup[i] > (i < 2 ? 1024 : 64))
      return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "a grid outside of the limits");
  if (items > 1024)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "%" PRIu64 " items per group, at most 1024",
                items);
  return VYRE_OK;
}

/* Host bytes that may be written are copied; the others are used where they are (DISP-001..003). */
static vyre_status make_view(const vyre_binding *binding, view *to, vyre_error *err)
{
  bool is_host = binding->kind == VYRE_BINDING_HOST;
  to->binding = *binding;
  if (binding->kind == VYRE_BINDING_BUFFER) {
    if (!binding->buffer || binding->offset > binding->buffer->size ||
        binding->size > binding->buffer->size - binding->offset)
      return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "binding %" PRIu32 " exceeds its buffer",
                  binding->id);
    to->bytes = binding->buffer->bytes + binding->offset;
    return VYRE_OK;
  }
  if (is_host && binding->access == VYRE_READ_ONLY && binding->data) {
    to->bytes = (unsigned char *)binding->data;
    return VYRE_OK;
  }
  to->bytes = to->own = allocate(binding->size);
  if (!to->own)
    return no_memory(err);
  if (is_host && binding->data && binding->size)
    memcpy(to->own, binding->data, (size_t)binding->size);
  return VYRE_OK;
}

static void free_pending(vyre_backend_pending *pending)
{
  uint32_t i;
  for (i = 0; i < pending->count; i++)
    deallocate(pending->views[i].own);
  deallocate(pending);
}

/* True at the n-th dispatch from when `lose_at` was set to n. */
static bool loses_now(void)
{
  int64_t at = value(LOSE_AT);
  while (at > 0)
    if (__atomic_compare_exchange_n(&values[LOSE_AT], &at, at - 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return at == 1;
  return false;
}

static vyre_status dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                            vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = check_lost(device, err);
  uint32_t i;
  if (!status)
    status = check_dispatch(desc, err);
  if (status)
    return status;
  if (value(DISPATCH_ERROR))
    return fail(err, value(DISPATCH_ERROR), "the fixture does not dispatch");
  pending = allocate(sizeof *pending + desc->binding_count * sizeof pending->views[0]);
  if (!pending)
    return no_memory(err);
  pending->device = device;
  pending->count = desc->binding_count;
  for (i = 0; !status && i < desc->binding_count; i++)
    status = make_view((const void *)((const char *)desc->bindings + i * desc->binding_stride),
                       &pending->views[i], err);
  if (status) {
    free_pending(pending);
    return status;
  }
  if (loses_now())
    __atomic_store_n(&device->lost, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_lock(&device->lock);
  pending->result = run(pending, desc);
  pthread_mutex_unlock(&device->lock);
  add(DISPATCHES, 1);
  add(PENDINGS_LIVE, 1);
  *out_pending = pending;
  return VYRE_OK;
}

/* Waits while `hold` is set: false if the time ran out. */
static bool wait_for_hold(uint64_t timeout_ns)
{
  struct timespec until;
  bool ended;
  int result = 0;
  clock_gettime(CLOCK_MONOTONIC, &until);
  if (timeout_ns > 1000000000ull * 3600)
    timeout_ns = 1000000000ull * 3600;
  until.tv_sec += (time_t)(timeout_ns / 1000000000u);
  until.tv_nsec += (long)(timeout_ns % 1000000000u);
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec += 1;
  }
  pthread_mutex_lock(&hold_lock);
  while (value(HOLD) && !result && timeout_ns)
    result = pthread_cond_clockwait(&hold_changed, &hold_lock, CLOCK_MONOTONIC, &until);
  ended = !value(HOLD);
  pthread_mutex_unlock(&hold_lock);
  return ended;
}

static vyre_status pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  vyre_status status;
  add(WAITS, 1);
  if (!wait_for_hold(timeout_ns))
    return fail(err, VYRE_ERROR_TIMEOUT, "the launch has not ended");
  status = check_lost(pending->device, err);
  if (status)
    return status;
  if (value(WAIT_ERROR))
    return fail(err, value(WAIT_ERROR), "the fixture's launch failed");
  if (pending->result)
    return fail(err, pending->result, "the kernel 'fail' did what it is for");
  return VYRE_OK;
}

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (void *)((char *)slots + index * stride);
}

static vyre_status fill_slots(vyre_backend_pending *pending, vyre_slot *slots, uint32_t count,
                              uint64_t stride, vyre_error *err)
{
  uint32_t i, next = 0;
  for (i = 0; i < pending->count; i++) {
    const view *from = &pending->views[i];
    vyre_slot *slot = NULL;
    if (from->binding.kind != VYRE_BINDING_HOST || !may_write(from))
      continue;
    if (next == count)
      return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "too few slots: %" PRIu32, count);
    if (IS(one_output_less) && next == count - 1)
      return VYRE_OK;
    slot = slot_at(slots, stride, next++);
    if (slot->capacity != from->binding.size)
      return fail(err, VYRE_ERROR_INVALID_ARGUMENT,
                  "slot of %" PRIu64 " bytes for a binding of %" PRIu64, slot->capacity,
                  from->binding.size);
    if (slot->capacity)
      memcpy(slot->data, from->bytes, (size_t)slot->capacity);
    slot->size = slot->capacity;
    slot->binding_id = from->binding.id;
  }
  if (next != count)
    return fail(err, VYRE_ERROR_INVALID_ARGUMENT, "too many slots: %" PRIu32, count);
  if (IS(wrong_output_tag) && count > 1) {
    uint32_t id = slots->binding_id;
    slots->binding_id = slot_at(slots, stride, count - 1)->binding_id;
    slot_at(slots, stride, count - 1)->binding_id = id;
  } else if (IS(wrong_output_tag) && count) {
    slots->binding_id += 1;
  }
  return VYRE_OK;
}

static vyre_status pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                uint32_t slot_count, uint64_t slot_stride,
                                vyre_backend_times *out_times, vyre_error *err)
{
  vyre_status status = pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status)
    return status;
  if (value(READ_ERROR))
    return fail(err, value(READ_ERROR), "the fixture does not read");
  status = fill_slots(pending, slots, slot_count, slot_stride, err);
  if (status)
    return status;
  if (out_times) {
    out_times->struct_size = VYRE_BACKEND_TIMES_SIZE_0_1;
    out_times->device_ns = VYRE_TIME_ABSENT;
    out_times->enqueue_ns = out_times->wait_ns = 0;
  }
  add(READS, 1);
  return VYRE_OK;
}

static void pending_release(vyre_backend_pending *pending)
{
  if (!pending)
    return;
  wait_for_hold(VYRE_NO_TIMEOUT);
  free_pending(pending);
  add(PENDINGS_LIVE, -1);
}

/* ---- the table ---- */

static const vyre_backend_format formats[] = {
    {(uint32_t)sizeof(vyre_backend_format), 0, IS(no_prelude) ? "vyre-c" : "fixture", ""},
};

#define NAME                                                                                       \
  (IS(bad_name)               ? "Bad Name!"                                                        \
   : IS(reserved_name)        ? "gpu"                                                              \
   : IS(none) || IS(shadowed) ? "fixture"                                                          \
                              : "fixture_" FIXTURE_FAULT_NAME)

#define HAS_TIER_2 (!IS(caps_disagree) && !IS(tier_1))

/* The table of a later version: what this header does not know comes behind. */
typedef struct later_backend {
  vyre_backend known;
  void (*later_slot)(void);
} later_backend;

static const later_backend table = {
    .known =
        {
            .struct_size = IS(short_struct)  ? (uint32_t)offsetof(vyre_backend, pending_read)
                           : IS(large_table) ? (uint32_t)sizeof(later_backend)
                                             : (uint32_t)sizeof(vyre_backend),
            .abi_major = IS(wrong_abi) ? VYRE_ABI_MAJOR + 7 : VYRE_ABI_MAJOR,
            .abi_minor = IS(minor_too_new) ? VYRE_ABI_MINOR + 40 : VYRE_ABI_MINOR,
            .header_version = IS(header_mismatch) ? VYRE_ABI_VERSION + (3u << 16)
                              : IS(wrong_abi)     ? VYRE_ABI_VERSION + (7u << 16)
                                                  : VYRE_ABI_VERSION,
            .flags = IS(unknown_flags) ? 1ull << 40
                     : IS(no_unload)   ? 0
                                       : VYRE_BACKEND_MAY_UNLOAD,
            .sanitizer = IS(says_asan) ? VYRE_SANITIZER_ADDRESS : VYRE_SANITIZER_NONE,
            .format_count = IS(no_formats)       ? 0
                            : IS(absurd_formats) ? UINT32_MAX
                            : IS(absurd_stride)  ? 2
                                                 : 1,
            .name = NAME,
            .version = IS(no_version) ? NULL : "1.0",
            .vendor = "the tests",
            .build_id = "",
            .formats = formats,
            .format_stride = IS(absurd_stride) ? 1ull << 62 : sizeof formats[0],
            .device_count = device_count,
            .device_info = device_info,
            .device_open = device_open,
            .device_close = device_close,
            .module_load = module_load,
            .module_unload = module_unload,
            .kernel_find = kernel_find,
            .dispatch = IS(slot_null) ? NULL : dispatch,
            .pending_wait = pending_wait,
            .pending_read = pending_read,
            .pending_release = pending_release,
            .buffer_alloc = HAS_TIER_2 ? buffer_alloc : NULL,
            .buffer_free = HAS_TIER_2 ? buffer_free : NULL,
            .buffer_upload = HAS_TIER_2 ? buffer_upload : NULL,
            .buffer_download = HAS_TIER_2 ? buffer_download : NULL,
            .buffer_fill = HAS_TIER_2 && !IS(half_tier_2) ? buffer_fill : NULL,
            .buffer_copy = HAS_TIER_2 ? buffer_copy : NULL,
        },
    .later_slot = NULL,
};

#if FIXTURE_NO_SYMBOL
/* The same code under a name that nobody looks for. */
#define vyre_backend_query fixture_backend_query
VYRE_BACKEND_EXPORT vyre_status fixture_backend_query(const vyre_host *from,
                                                      const vyre_backend **out_backend,
                                                      vyre_error *err);
#endif

#if FIXTURE_NEEDS_MISSING
/* Of the library that is not there when the plugin is opened. */
extern int vyre_gone(void);
#endif

vyre_status vyre_backend_query(const vyre_host *from, const vyre_backend **out_backend,
                               vyre_error *err)
{
  add(QUERIES, 1);
#if FIXTURE_NEEDS_MISSING
  if (vyre_gone())
    return VYRE_ERROR_INTERNAL;
#endif
  if (IS(refuses_abi) || from->abi_major != VYRE_ABI_MAJOR ||
      from->abi_minor_min > VYRE_ABI_MINOR || from->abi_minor_max < VYRE_ABI_MINOR)
    return fail(err, VYRE_ERROR_ABI_MISMATCH,
                "the fixture speaks ABI 9.1, the host %" PRIu32 ".%" PRIu32, from->abi_major,
                from->abi_minor_max);
  if (IS(refusing) || IS(refusing_silently))
    return fail(err, VYRE_ERROR_REFUSED, "the fixture does not like this host");
  if (IS(null_with_ok))
    return VYRE_OK;
  __atomic_store_n(&the_host, from, __ATOMIC_RELEASE);
  from->log(from->self, VYRE_LOG_DEBUG, "the fixture is asked");
  *out_backend = &table.known;
  return VYRE_OK;
}
