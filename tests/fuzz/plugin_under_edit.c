/*
 * plugin_under_edit.c - the sound plugin, its slots, and the edits; see plugin_under_edit.h.
 */
#include "tests/fuzz/plugin_under_edit.h"

/* Every handle is one of these; the host may only give back what is alive and of the right kind. */
typedef enum handle_kind {
  HANDLE_DEVICE = 0x5ee1,
  HANDLE_MODULE,
  HANDLE_BUFFER,
  HANDLE_PENDING
} handle_kind;

typedef struct handle {
  handle_kind kind;
  const vyre_dispatch_desc *unused;
  uint32_t count; /* PENDING: bindings that come back */
  uint32_t ids[64];
  uint64_t sizes[64];
  uint64_t size; /* BUFFER */
  unsigned char *bytes;
} handle;

static struct {
  vyre_backend table; /* before it is laid out */
  vyre_backend_format formats[EDIT_FORMATS];
  vyre_backend_device_info infos[EDIT_DEVICES];
  uint32_t info_sizes[EDIT_DEVICES]; /* that device_info claims to have filled; 0: the truth */
  edit_answer answers[CALL_COUNT];
  uint32_t calls[CALL_COUNT];
  uint32_t device_count;
  bool no_formats;
  uint32_t groups;
  uint32_t skipped; /* EDIT_SKIP_… */
  uint32_t live;
  vyre_backend *laid;
} plugin;

/* ---- answers ---- */

static bool is_odd(edit_call call, uint8_t how)
{
  return plugin.answers[call].how & how;
}

/* A page that nobody may touch: address 16. */
static void *poison(void)
{
  return (void *)(uintptr_t)16;
}

static void fill_error(edit_call call, vyre_error *err)
{
  if (!err || is_odd(call, EDIT_SILENT))
    return;
  err->code = plugin.answers[call].status;
  if (is_odd(call, EDIT_ENDLESS)) {
    memset(err->message, 'x', sizeof err->message);
    memset(err->fix, 'y', sizeof err->fix);
    memset(err->where, 'z', sizeof err->where);
    return;
  }
  snprintf(err->message, sizeof err->message, "call %d was to fail", (int)call);
}

static vyre_status answer(edit_call call, vyre_error *err)
{
  const edit_answer *row = &plugin.answers[call];
  const uint32_t number = plugin.calls[call]++;
  if (number < row->from || (row->errors && number - row->from >= row->errors) || !row->status)
    return VYRE_OK;
  fill_error(call, err);
  return row->status;
}

/* Stores a handle as the edits say; returns the status. */
static vyre_status give(edit_call call, handle_kind kind, void **out, handle **out_handle,
                        vyre_error *err)
{
  vyre_status status = answer(call, err);
  handle *made = NULL;
  *out_handle = NULL;
  if (status != VYRE_OK) {
    if (is_odd(call, EDIT_POISON))
      *out = poison();
    return status;
  }
  if (is_odd(call, EDIT_NOTHING))
    return VYRE_OK;
  made = calloc(1, sizeof *made);
  if (!made)
    exit(2);
  made->kind = kind;
  plugin.live += 1;
  *out = *out_handle = made;
  return VYRE_OK;
}

static handle *check(void *given, handle_kind kind)
{
  handle *h = given;
  FUZZ_REQUIRE(h && h->kind == kind);
  return h;
}

static void take_back(void *given, handle_kind kind)
{
  handle *h = given;
  if (!h)
    return;
  check(h, kind);
  plugin.live -= 1;
  free(h->bytes);
  free(h);
}

/* ---- slots ---- */

static vyre_status device_count(uint32_t *out_count, vyre_error *err)
{
  const vyre_status status = answer(CALL_device_count, err);
  if (status == VYRE_OK || is_odd(CALL_device_count, EDIT_POISON))
    *out_count = plugin.device_count;
  return status;
}

static vyre_status device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  const vyre_status status = answer(CALL_device_info, err);
  const uint32_t row = index % EDIT_DEVICES;
  const uint32_t room = out_info->struct_size;
  FUZZ_REQUIRE(room == sizeof *out_info);
  if (status != VYRE_OK && !is_odd(CALL_device_info, EDIT_POISON))
    return status;
  if (status == VYRE_OK && is_odd(CALL_device_info, EDIT_NOTHING))
    return status;
  *out_info = plugin.infos[row];
  out_info->struct_size = plugin.info_sizes[row] ? plugin.info_sizes[row] : room;
  if (index >= EDIT_DEVICES) /* more of them than were made: with ids of their own */
    snprintf(out_info->id, sizeof out_info->id, "more-%u", index);
  return status;
}

static vyre_status device_open(uint32_t index, const vyre_backend_device_options *options,
                               vyre_backend_device **out_device, vyre_error *err)
{
  handle *made = NULL;
  void *out = *out_device;
  vyre_status status;
  FUZZ_REQUIRE(index < plugin.device_count && options->struct_size == sizeof *options);
  status = give(CALL_device_open, HANDLE_DEVICE, &out, &made, err);
  *out_device = out;
  return status;
}

static void device_close(vyre_backend_device *device)
{
  take_back(device, HANDLE_DEVICE);
}

static vyre_status module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                               vyre_backend_module **out_module, vyre_error *err)
{
  handle *made = NULL;
  void *out = *out_module;
  vyre_status status;
  check(device, HANDLE_DEVICE);
  FUZZ_REQUIRE(desc->format && desc->arch && desc->data);
  status = give(CALL_module_load, HANDLE_MODULE, &out, &made, err);
  *out_module = out;
  return status;
}

static void module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  check(device, HANDLE_DEVICE);
  take_back(module, HANDLE_MODULE);
}

/* A kernel is its module. */
static vyre_status kernel_find(vyre_backend_module *module, const char *name,
                               vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                               vyre_error *err)
{
  const vyre_status status = answer(CALL_kernel_find, err);
  check(module, HANDLE_MODULE);
  FUZZ_REQUIRE(name && name[0]);
  if (status != VYRE_OK && is_odd(CALL_kernel_find, EDIT_POISON))
    *out_kernel = poison();
  if (status != VYRE_OK || is_odd(CALL_kernel_find, EDIT_NOTHING))
    return status;
  *out_kernel = (void *)module;
  if (out_info)
    out_info->max_workgroup_items = 256;
  return VYRE_OK;
}

/* What a launch writes comes back in its slots. */
static void keep_outputs(handle *pending, const vyre_dispatch_desc *desc)
{
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding =
        (const void *)((const char *)desc->bindings + i * desc->binding_stride);
    FUZZ_REQUIRE(binding->id < desc->id_limit);
    if (binding->kind == VYRE_BINDING_BUFFER)
      FUZZ_REQUIRE(binding->offset + binding->size <= check(binding->buffer, HANDLE_BUFFER)->size);
    if (binding->kind != VYRE_BINDING_HOST || binding->access == VYRE_READ_ONLY)
      continue;
    FUZZ_REQUIRE(pending->count < 64);
    pending->ids[pending->count] = binding->id;
    pending->sizes[pending->count++] = binding->size;
  }
}

static vyre_status dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                            vyre_backend_pending **out_pending, vyre_error *err)
{
  handle *made = NULL;
  void *out = *out_pending;
  vyre_status status;
  check(device, HANDLE_DEVICE);
  check(desc->kernel, HANDLE_MODULE);
  FUZZ_REQUIRE(desc->groups[0] && desc->groups[1] && desc->groups[2]);
  status = give(CALL_dispatch, HANDLE_PENDING, &out, &made, err);
  *out_pending = out;
  if (made)
    keep_outputs(made, desc);
  return status;
}

static vyre_status pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns, vyre_error *err)
{
  (void)timeout_ns;
  check(pending, HANDLE_PENDING);
  return answer(CALL_pending_wait, err);
}

static vyre_status pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                uint32_t slot_count, uint64_t slot_stride,
                                vyre_backend_times *out_times, vyre_error *err)
{
  const handle *h = check(pending, HANDLE_PENDING);
  const vyre_status status = answer(CALL_pending_read, err);
  const bool odd = is_odd(CALL_pending_read, EDIT_ODD_SLOT);
  FUZZ_REQUIRE(slot_count == h->count);
  if (status != VYRE_OK && !is_odd(CALL_pending_read, EDIT_POISON))
    return status;
  for (uint32_t i = 0; i < slot_count; ++i) {
    vyre_slot *slot = (void *)((char *)slots + i * slot_stride);
    FUZZ_REQUIRE(slot->capacity == h->sizes[i]);
    if (slot->capacity)
      memset(slot->data, 0x77, slot->capacity);
    slot->binding_id = odd ? h->ids[slot_count - 1 - i] : h->ids[i];
    slot->size = odd ? slot->capacity + i + (slot_count == 1) : slot->capacity;
    if (odd && i == 1)
      slot->size = UINT64_MAX;
  }
  if (out_times && odd)
    memset((char *)out_times + 4, 0xf5, out_times->struct_size - 4);
  return status;
}

static void pending_release(vyre_backend_pending *pending)
{
  take_back(pending, HANDLE_PENDING);
}

static vyre_status buffer_alloc(vyre_backend_device *device, uint64_t size,
                                vyre_backend_buffer **out_buffer, vyre_error *err)
{
  handle *made = NULL;
  void *out = *out_buffer;
  vyre_status status;
  check(device, HANDLE_DEVICE);
  status = give(CALL_buffer_alloc, HANDLE_BUFFER, &out, &made, err);
  *out_buffer = out;
  if (made) {
    FUZZ_REQUIRE(size < 1u << 24);
    made->size = size;
    made->bytes = calloc(1, size ? size : 1);
    if (!made->bytes)
      exit(2);
  }
  return status;
}

static void buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  check(device, HANDLE_DEVICE);
  take_back(buffer, HANDLE_BUFFER);
}

static unsigned char *range(vyre_backend_buffer *buffer, uint64_t offset, uint64_t size)
{
  handle *h = check(buffer, HANDLE_BUFFER);
  FUZZ_REQUIRE(offset <= h->size && size <= h->size - offset);
  return h->bytes + offset;
}

static vyre_status buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, const void *data, uint64_t size, vyre_error *err)
{
  unsigned char *at = range(buffer, offset, size);
  check(device, HANDLE_DEVICE);
  if (size)
    memcpy(at, data, size);
  return answer(CALL_buffer_upload, err);
}

static vyre_status buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                   uint64_t offset, void *out_data, uint64_t size, vyre_error *err)
{
  const unsigned char *at = range(buffer, offset, size);
  check(device, HANDLE_DEVICE);
  if (size)
    memcpy(out_data, at, size);
  return answer(CALL_buffer_download, err);
}

static vyre_status buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                               uint64_t offset, uint64_t size, uint32_t value, vyre_error *err)
{
  unsigned char *at = range(buffer, offset, size);
  check(device, HANDLE_DEVICE);
  memset(at, (int)(value & 0xff), size);
  return answer(CALL_buffer_fill, err);
}

static vyre_status buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                               uint64_t destination_offset, vyre_backend_buffer *source,
                               uint64_t source_offset, uint64_t size, vyre_error *err)
{
  unsigned char *to = range(destination, destination_offset, size);
  const unsigned char *from = range(source, source_offset, size);
  check(device, HANDLE_DEVICE);
  memmove(to, from, size);
  return answer(CALL_buffer_copy, err);
}

static vyre_status cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                      const uint32_t workgroup[3], uint64_t workgroup_memory,
                                      uint32_t *out_groups, vyre_error *err)
{
  const vyre_status status = answer(CALL_cooperative_groups, err);
  (void)workgroup, (void)workgroup_memory;
  check(device, HANDLE_DEVICE);
  check(kernel, HANDLE_MODULE);
  if (status == VYRE_OK || is_odd(CALL_cooperative_groups, EDIT_POISON))
    *out_groups = plugin.groups;
  return status;
}

static vyre_status dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                   vyre_backend_pending **out_pending, vyre_error *err)
{
  handle *made = NULL;
  void *out = *out_pending;
  vyre_status status;
  check(device, HANDLE_DEVICE);
  FUZZ_REQUIRE(desc->step_count && desc->max_passes && desc->control_offset % 128 == 0);
  check(desc->control, HANDLE_BUFFER);
  status = give(CALL_dispatch_passes, HANDLE_PENDING, &out, &made, err);
  *out_pending = out;
  return status;
}

static vyre_status device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                uint64_t *out_host_ns, vyre_error *err)
{
  check(device, HANDLE_DEVICE);
  *out_device_ns = *out_host_ns = 1;
  return answer(CALL_device_clock, err);
}

static vyre_status coherent_alloc(vyre_backend_device *device, uint64_t size,
                                  vyre_coherent_memory *out_memory, vyre_error *err)
{
  const uint64_t room = (size + 4095) / 4096 * 4096;
  handle *made = NULL;
  void *out = out_memory->buffer;
  vyre_status status;
  check(device, HANDLE_DEVICE);
  FUZZ_REQUIRE(size && size < 1u << 24);
  status = give(CALL_coherent_alloc, HANDLE_BUFFER, &out, &made, err);
  out_memory->buffer = out;
  if (status != VYRE_OK && is_odd(CALL_coherent_alloc, EDIT_POISON))
    out_memory->host = poison();
  if (!made)
    return status;
  made->size = size;
  made->bytes = aligned_alloc(4096, room);
  if (!made->bytes)
    exit(2);
  memset(made->bytes, 0, room);
  if (!is_odd(CALL_coherent_alloc, EDIT_ODD_SLOT))
    out_memory->host = made->bytes;
  out_memory->device_address = (uintptr_t)made->bytes;
  return status;
}

/* ---- the sound plugin ---- */

static const vyre_backend sound = {
    VYRE_BACKEND_HEADER,
    .flags = VYRE_BACKEND_MAY_UNLOAD,
    .format_count = 1,
    .name = "served",
    .version = "1.0",
    .vendor = "the fuzz targets",
    .build_id = "",
    .format_stride = sizeof(vyre_backend_format),
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .module_load = module_load,
    .module_unload = module_unload,
    .kernel_find = kernel_find,
    .dispatch = dispatch,
    .pending_wait = pending_wait,
    .pending_read = pending_read,
    .pending_release = pending_release,
    .buffer_alloc = buffer_alloc,
    .buffer_free = buffer_free,
    .buffer_upload = buffer_upload,
    .buffer_download = buffer_download,
    .buffer_fill = buffer_fill,
    .buffer_copy = buffer_copy,
    .coherent_alloc = coherent_alloc,
    .cooperative_groups = cooperative_groups,
    .dispatch_passes = dispatch_passes,
    .device_clock = device_clock,
};

static void start(void)
{
  static const char *const names[EDIT_FORMATS] = {"words", "more", "vyre-c"};
  memset(&plugin, 0, sizeof plugin);
  plugin.table = sound;
  plugin.device_count = 1;
  plugin.groups = 4;
  for (uint32_t i = 0; i < EDIT_FORMATS; ++i) {
    plugin.formats[i].struct_size = sizeof plugin.formats[i];
    plugin.formats[i].format = names[i];
    plugin.formats[i].arch = "";
  }
  for (uint32_t i = 0; i < EDIT_DEVICES; ++i) {
    vyre_backend_device_info *info = &plugin.infos[i];
    info->device_class = VYRE_DEVICE_GPU + i;
    info->capabilities = VYRE_CAP_BUFFERS;
    if (i == 0)
      info->capabilities |= VYRE_CAP_TIMESTAMPS | VYRE_CAP_COHERENT | VYRE_CAP_PERSISTENT;
    info->coherent_atomics = VYRE_COHERENT_LOAD_STORE_32 | VYRE_COHERENT_LOAD_STORE_64;
    snprintf(info->name, sizeof info->name, "device %u", i);
    snprintf(info->id, sizeof info->id, "id-%u", i);
    info->max_workgroup_memory = 32768;
    info->max_workgroup[0] = info->max_workgroup[1] = info->max_workgroup[2] = 1024;
    info->max_workgroup_items = 1024;
    info->max_groups[0] = info->max_groups[1] = info->max_groups[2] = 65535;
    info->compute_units = 2;
    info->max_push_bytes = 128;
    info->max_bindings = 16;
    info->grid_sync =
        i ? i == 1 ? VYRE_GRID_SYNC_EMULATED : VYRE_GRID_SYNC_NONE : VYRE_GRID_SYNC_NATIVE;
  }
}

/* ---- edits ---- */

typedef struct field {
  uint32_t offset, size;
} field;
#define FIELD(type, name)                                                                          \
  {                                                                                                \
    offsetof(type, name), sizeof(((type *)0)->name)                                                \
  }
#define FIELD_COUNT(fields) (sizeof(fields) / sizeof(fields)[0])

static void put(void *structure, const field *at, uint64_t value)
{
  memcpy((char *)structure + at->offset, &value, at->size);
}

static void edit_scalar(fuzz_input *in)
{
  static const field fields[] = {
      FIELD(vyre_backend, struct_size),  FIELD(vyre_backend, abi_major),
      FIELD(vyre_backend, abi_minor),    FIELD(vyre_backend, header_version),
      FIELD(vyre_backend, flags),        FIELD(vyre_backend, sanitizer),
      FIELD(vyre_backend, format_count), FIELD(vyre_backend, format_stride),
      FIELD(vyre_backend, prelude_size),
  };
  const field *at = &fields[fuzz_byte(in) % FIELD_COUNT(fields)];
  put(&plugin.table, at, fuzz_number(in));
}

static void edit_text(fuzz_input *in, fuzz_pool *pool)
{
  const uint8_t what = fuzz_byte(in);
  const char **texts[] = {&plugin.table.name, &plugin.table.version, &plugin.table.vendor,
                          &plugin.table.build_id, &plugin.table.prelude};
  *texts[what % FIELD_COUNT(texts)] = fuzz_text(in, pool);
}

/* The slots are pointers, one behind the other. */
static void edit_slot(fuzz_input *in)
{
  const uint32_t first = offsetof(vyre_backend, device_count) / sizeof(void *);
  const uint32_t count = (uint32_t)(sizeof(vyre_backend) / sizeof(void *)) - first;
  memset((void **)(void *)&plugin.table + first + fuzz_byte(in) % count, 0, sizeof(void *));
}

static void edit_format(fuzz_input *in, fuzz_pool *pool)
{
  const uint8_t what = fuzz_byte(in);
  vyre_backend_format *row = &plugin.formats[what % EDIT_FORMATS];
  switch (what / EDIT_FORMATS % 4) {
  case 0:
    row->struct_size = (uint32_t)fuzz_number(in);
    break;
  case 1:
    row->format = fuzz_text(in, pool);
    break;
  case 2:
    row->arch = fuzz_text(in, pool);
    break;
  default:
    plugin.no_formats = true;
  }
}

static void edit_info(fuzz_input *in)
{
  static const field fields[] = {
      FIELD(vyre_backend_device_info, device_class),
      FIELD(vyre_backend_device_info, capabilities),
      FIELD(vyre_backend_device_info, memory_bytes),
      FIELD(vyre_backend_device_info, max_buffer_bytes),
      FIELD(vyre_backend_device_info, max_workgroup_memory),
      FIELD(vyre_backend_device_info, max_workgroup[0]),
      FIELD(vyre_backend_device_info, max_workgroup[1]),
      FIELD(vyre_backend_device_info, max_workgroup[2]),
      FIELD(vyre_backend_device_info, max_workgroup_items),
      FIELD(vyre_backend_device_info, max_groups[0]),
      FIELD(vyre_backend_device_info, max_groups[1]),
      FIELD(vyre_backend_device_info, max_groups[2]),
      FIELD(vyre_backend_device_info, compute_units),
      FIELD(vyre_backend_device_info, subgroup_size),
      FIELD(vyre_backend_device_info, progress),
      FIELD(vyre_backend_device_info, coherent_atomics),
      FIELD(vyre_backend_device_info, max_push_bytes),
      FIELD(vyre_backend_device_info, max_bindings),
      FIELD(vyre_backend_device_info, grid_sync),
      FIELD(vyre_backend_device_info, cooperative_items),
  };
  const uint8_t device = fuzz_byte(in);
  const field *at = &fields[fuzz_byte(in) % FIELD_COUNT(fields)];
  put(&plugin.infos[device % EDIT_DEVICES], at, fuzz_number(in));
}

/* A text of an info; one that is as long as its field has no end. */
static void edit_info_text(fuzz_input *in)
{
  static const field fields[] = {
      FIELD(vyre_backend_device_info, name),
      FIELD(vyre_backend_device_info, id),
      FIELD(vyre_backend_device_info, pci),
      FIELD(vyre_backend_device_info, uuid),
      FIELD(vyre_backend_device_info, arch),
      FIELD(vyre_backend_device_info, driver),
      FIELD(vyre_backend_device_info, persistent_reason),
      FIELD(vyre_backend_device_info, compiler_reason),
      FIELD(vyre_backend_device_info, grid_sync_reason),
  };
  const uint8_t device = fuzz_byte(in);
  const field *at = &fields[fuzz_byte(in) % FIELD_COUNT(fields)];
  const uint64_t length = fuzz_number(in);
  char *to = (char *)&plugin.infos[device % EDIT_DEVICES] + at->offset;
  const char fill = (char)fuzz_byte(in);
  memset(to, 0, at->size);
  memset(to, fill, length < at->size ? length : at->size);
}

static void edit_answer_row(fuzz_input *in)
{
  edit_answer *row = &plugin.answers[fuzz_byte(in) % CALL_COUNT];
  row->how = fuzz_byte(in);
  row->status = (vyre_status)fuzz_number(in);
  row->from = fuzz_byte(in);
  row->errors = fuzz_byte(in);
}

static void edit_rest(fuzz_input *in)
{
  const uint8_t what = fuzz_byte(in);
  const uint32_t value = (uint32_t)fuzz_number(in);
  switch (what % 4) {
  case 0:
    plugin.device_count = value;
    break;
  case 1:
    plugin.info_sizes[what / 4 % EDIT_DEVICES] = value;
    break;
  case 2:
    plugin.groups = value;
    break;
  default:
    plugin.skipped = value;
  }
}

/* ---- laying out ---- */

/* As many rows as a host may read of what the table says, and not a byte more. */
static const vyre_backend_format *lay_formats(fuzz_pool *pool)
{
  const uint64_t stride = plugin.table.format_stride;
  const uint32_t count = plugin.table.format_count < 1024 ? plugin.table.format_count : 1024;
  const bool steps = stride >= sizeof(vyre_backend_format) && stride <= 4096;
  unsigned char *rows = NULL;
  if (plugin.no_formats || !count)
    return plugin.no_formats ? NULL : plugin.formats;
  rows = fuzz_keep(pool, (steps ? (count - 1) * stride : 0) + sizeof(vyre_backend_format));
  for (uint32_t i = 0; i < (steps ? count : 1); ++i)
    memcpy(rows + i * stride, &plugin.formats[i % EDIT_FORMATS], sizeof(vyre_backend_format));
  return (const void *)rows;
}

/* A table of 4 bytes has no more than its size; one that is larger is filled with what is new. */
static void lay_table(fuzz_pool *pool)
{
  const uint32_t claimed = plugin.table.struct_size;
  const size_t size = claimed < 4                            ? 4
                      : claimed > sizeof(vyre_backend) + 256 ? sizeof(vyre_backend) + 256
                                                             : claimed;
  unsigned char *bytes = fuzz_keep(pool, size);
  plugin.table.formats = lay_formats(pool);
  if (plugin.table.prelude && plugin.table.prelude_size > strlen(plugin.table.prelude))
    plugin.table.prelude_size = strlen(plugin.table.prelude);
  memset(bytes, 0xc3, size);
  memcpy(bytes, &plugin.table, size < sizeof plugin.table ? size : sizeof plugin.table);
  plugin.laid = (void *)bytes;
}

void edit_make(fuzz_input *in, fuzz_pool *pool)
{
  start();
  while (in->left && pool->count < FUZZ_POOL_MOST / 2) {
    switch (fuzz_byte(in) % 8) {
    case 0:
      edit_scalar(in);
      break;
    case 1:
      edit_text(in, pool);
      break;
    case 2:
      edit_slot(in);
      break;
    case 3:
      edit_format(in, pool);
      break;
    case 4:
      edit_info(in);
      break;
    case 5:
      edit_info_text(in);
      break;
    case 6:
      edit_answer_row(in);
      break;
    default:
      edit_rest(in);
    }
  }
  lay_table(pool);
}

const vyre_backend *edit_table(void)
{
  return is_odd(CALL_query, EDIT_NOTHING) ? NULL : plugin.laid;
}

vyre_status edit_query_status(void)
{
  return plugin.answers[CALL_query].status;
}

void edit_fill_error(vyre_error *err)
{
  fill_error(CALL_query, err);
}

uint32_t edit_live(void)
{
  return plugin.live;
}

bool edit_skips(uint32_t part)
{
  return plugin.skipped & part;
}
