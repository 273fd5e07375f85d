/*
 * bundle_build.c - compiling a program's or a handler set's source for several targets, and packing
 * the results.
 *
 * No device is opened: the plugins' compile slots do the work.
 */
#include "core/base/checked.h"
#include "core/device/process.h"
#include "core/loader/plugin.h"
#include "core/program/bundle.h"
#include "core/program/code.h"
#include "core/program/program.h"

#define INVALID(fix, ...) VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, __VA_ARGS__)

/* One compiled kernel object. */
typedef struct kernel_object {
  const char *format; /* of the plugin's table */
  const char *arch;
  void *data; /* the plugin's blob */
  uint64_t size;
} kernel_object;

typedef struct build {
  vyre_context *context;
  vyre_allocator allocator; /* for everything that is ours */
  const vyre_code *source;  /* the `vyre-c` row */
  const char *name;
  vyre__entries entries;
  uint64_t flags; /* VYRE_MODULE_… */
  kernel_object *items;
  uint32_t count;
  uint32_t capacity;
} build;

static void free_items(build *builder)
{
  for (uint32_t i = 0; i < builder->count; ++i)
    vyre__host.deallocate(vyre__host.self, builder->items[i].data);
  vyre__deallocate(&builder->allocator, builder->items);
}

static const vyre_backend_format *format_at(const vyre_backend *backend, uint32_t index)
{
  return (const void *)((const char *)backend->formats + index * backend->format_stride);
}

static const char *arch_of(const vyre_backend_format *format)
{
  return format->arch ? format->arch : "";
}

/* ---- compiling ---- */

static bool has_item(const build *builder, const char *format, const char *arch)
{
  for (uint32_t i = 0; i < builder->count; ++i)
    if (!strcmp(builder->items[i].format, format) && !strcmp(builder->items[i].arch, arch))
      return true;
  return false;
}

static vyre_status make_room(build *builder, vyre_error *err)
{
  uint32_t capacity = builder->capacity ? builder->capacity * 2 : 8;
  kernel_object *items = NULL;
  if (builder->count < builder->capacity)
    return VYRE_OK;
  items = vyre__allocate_zeroed(&builder->allocator, capacity, sizeof *items);
  if (!items)
    return VYRE_FAIL_MEMORY(err, "a bundle's kernels");
  if (builder->count)
    memcpy(items, builder->items, builder->count * sizeof *items);
  vyre__deallocate(&builder->allocator, builder->items);
  builder->items = items;
  builder->capacity = capacity;
  return VYRE_OK;
}

/* `arch` lives as long as the builder: it is the plugin's text or the caller's target. */
static vyre_status compile(build *builder, const vyre_backend *backend, const char *format,
                           const char *arch, vyre_error *err)
{
  vyre_compile_desc desc = {.struct_size = sizeof desc, .flags = builder->flags};
  vyre_blob blob = {.struct_size = sizeof blob};
  vyre_error said = VYRE_ERROR_INIT;
  char *text = NULL;
  vyre_status status = VYRE_OK;
  if (has_item(builder, format, arch))
    return VYRE_OK;
  if (strlen(format) >= VYRE__BUNDLE_FORMAT_SIZE || strlen(arch) >= VYRE__BUNDLE_ARCH_SIZE)
    return INVALID("use a shorter name", "target '%.200s:%.200s' is too long for a bundle", format,
                   arch);
  status = make_room(builder, err);
  if (status == VYRE_OK)
    status =
        vyre__code_compose(backend->prelude, backend->prelude_size, builder->source,
                           &builder->entries, &builder->allocator, &text, &desc.source_size, err);
  if (status != VYRE_OK)
    return status;
  desc.format = format;
  desc.arch = arch;
  desc.source = text;
  desc.name = builder->source->name ? builder->source->name : builder->name;
  status = backend->compile(&desc, &blob, &said);
  if (status != VYRE_OK)
    status = vyre__plugin_error(err, backend, "compile", status, &said);
  vyre__deallocate(&builder->allocator, text);
  if (status == VYRE_OK && (!blob.data || !blob.size)) {
    vyre__host.deallocate(vyre__host.self, blob.data);
    status = VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                       "plugin %s compiled to nothing and reported no error", backend->name);
  }
  if (status != VYRE_OK) {
    vyre__error_prefix(err, "target %s%s%s: ", format, *arch ? ":" : "", arch);
    return status;
  }
  builder->items[builder->count++] = (kernel_object){format, arch, blob.data, blob.size};
  return VYRE_OK;
}

/* ---- targets ---- */

static vyre_status no_compiler(const vyre_backend *backend, vyre_error *err)
{
  return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, "name a plugin that compiles ahead of time",
                   "plugin %s does not compile ahead of time", backend->name);
}

static bool is_name(const char *name, const char *text, size_t length)
{
  return strlen(name) == length && !memcmp(name, text, length);
}

/* "cpu": everything that the plugin's list names, except source. */
static vyre_status add_plugin(build *builder, const vyre_backend *backend, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint32_t found = 0;
  if (!VYRE__HAS_SLOT(backend, compile))
    return no_compiler(backend, err);
  for (uint32_t f = 0; f < backend->format_count && status == VYRE_OK; ++f) {
    const vyre_backend_format *format = format_at(backend, f);
    if (!strcmp(format->format, "vyre-c"))
      continue;
    ++found;
    status = compile(builder, backend, format->format, arch_of(format), err);
  }
  return status == VYRE_OK && !found ? no_compiler(backend, err) : status;
}

/* The first of the plugin's formats that is code for `arch`; one of this name, unless that is NULL.
 */
static const vyre_backend_format *find_format(const vyre_backend *backend, const char *name,
                                              size_t length, const char *arch)
{
  for (uint32_t f = 0; f < backend->format_count; ++f) {
    const vyre_backend_format *format = format_at(backend, f);
    if (!strcmp(format->format, "vyre-c") || (name && !is_name(format->format, name, length)))
      continue;
    if (!*arch_of(format) || !strcmp(arch_of(format), arch))
      return format;
  }
  return NULL;
}

/* "hip:gfx90a": that plugin's best format; "native:x86-64-v3": the first plugin with that format.
 */
static vyre_status add_pair(build *builder, const char *target, const char *colon, vyre_error *err)
{
  const vyre_backend *backend = NULL, *silent = NULL;
  const size_t length = (size_t)(colon - target);
  for (int by_format = 0; by_format < 2; ++by_format) {
    for (uint32_t i = 0; (backend = vyre__context_backend_at(builder->context, i)); ++i) {
      const vyre_backend_format *format = NULL;
      if (by_format || is_name(backend->name, target, length))
        format = find_format(backend, by_format ? target : NULL, length, colon + 1);
      if (format && VYRE__HAS_SLOT(backend, compile))
        return compile(builder, backend, format->format, colon + 1, err);
      if (format)
        silent = backend;
    }
  }
  if (silent)
    return no_compiler(silent, err);
  return VYRE_FAIL(err, VYRE_ERROR_NOT_FOUND,
                   "give PLUGIN, PLUGIN:ARCH or FORMAT:ARCH as `vyre devices --verbose` lists them",
                   "no plugin makes '%.200s'", target);
}

static void list_plugins(const vyre_context *context, vyre__text *list)
{
  const vyre_backend *backend = NULL;
  for (uint32_t i = 0; (backend = vyre__context_backend_at(context, i)); ++i)
    vyre__text_format(list, "%s%s", i ? ", " : "", backend->name);
}

static vyre_status add_target(build *builder, const char *target, vyre_error *err)
{
  const char *colon = target ? strchr(target, ':') : NULL;
  const vyre_backend *backend = NULL;
  vyre__text list;
  vyre_status status = VYRE_OK;
  if (!target || !*target)
    return INVALID("give PLUGIN, PLUGIN:ARCH or FORMAT:ARCH", "a target is empty");
  if (colon)
    return add_pair(builder, target, colon, err);
  backend = vyre__context_backend(builder->context, target);
  if (backend)
    return add_plugin(builder, backend, err);
  vyre__text_init(&list, &builder->allocator);
  list_plugins(builder->context, &list);
  status = VYRE_FAIL(
      err, VYRE_ERROR_NOT_FOUND,
      "give the name of a loaded plugin, PLUGIN:ARCH or FORMAT:ARCH; `vyre devices --verbose` "
      "tells why a plugin was not loaded",
      "no plugin is named '%.200s'; loaded are: %.800s", target, list.data ? list.data : "none");
  vyre__text_free(&list);
  return status;
}

/* ---- packing ---- */

/* Offsets in order, everything aligned; false if the sum does not fit. */
static bool lay_out(const build *builder, uint64_t manifest_size, uint64_t *out_manifest,
                    uint64_t *out_total)
{
  uint64_t end = VYRE__BUNDLE_HEADER + (uint64_t)builder->count * VYRE__BUNDLE_ENTRY;
  *out_manifest = end;
  if (!vyre__checked_add(end, manifest_size, &end))
    return false;
  for (uint32_t i = 0; i < builder->count; ++i)
    if (!vyre__checked_align(end, VYRE__BUNDLE_ALIGN, &end) ||
        !vyre__checked_add(end, builder->items[i].size, &end))
      return false;
  *out_total = end;
  return true;
}

static void write_image(const build *builder, const char *manifest, uint64_t manifest_size,
                        uint64_t manifest_at, unsigned char *image, uint64_t total)
{
  uint64_t end = manifest_at + manifest_size;
  memset(image, 0, (size_t)total);
  memcpy(image, VYRE__BUNDLE_MAGIC, sizeof VYRE__BUNDLE_MAGIC - 1);
  vyre__put_u32(image + VYRE__BUNDLE_AT_VERSION, VYRE__BUNDLE_VERSION);
  vyre__put_u32(image + VYRE__BUNDLE_AT_COUNT, builder->count);
  vyre__put_u64(image + VYRE__BUNDLE_AT_SIZE, total);
  if (manifest_size) {
    vyre__put_u64(image + VYRE__BUNDLE_AT_MANIFEST, manifest_at);
    vyre__put_u64(image + VYRE__BUNDLE_AT_MANIFEST_SIZE, manifest_size);
    memcpy(image + manifest_at, manifest, (size_t)manifest_size);
  }
  for (uint32_t i = 0; i < builder->count; ++i) {
    const kernel_object *item = &builder->items[i];
    unsigned char *entry = image + VYRE__BUNDLE_HEADER + (uint64_t)i * VYRE__BUNDLE_ENTRY;
    vyre__checked_align(end, VYRE__BUNDLE_ALIGN, &end);
    memcpy(entry, item->format, strlen(item->format));
    memcpy(entry + VYRE__BUNDLE_ENTRY_AT_ARCH, item->arch, strlen(item->arch));
    vyre__put_u64(entry + VYRE__BUNDLE_ENTRY_AT_OFFSET, end);
    vyre__put_u64(entry + VYRE__BUNDLE_ENTRY_AT_SIZE, item->size);
    memcpy(image + end, item->data, (size_t)item->size);
    end += item->size;
  }
  vyre__put_u64(image + VYRE__BUNDLE_AT_HASH, vyre__bundle_hash(image, total));
}

static vyre_status pack(const build *builder, const char *manifest, const vyre_allocator *allocator,
                        void **out_image, uint64_t *out_size, vyre_error *err)
{
  uint64_t manifest_size = manifest ? strlen(manifest) + 1 : 0, manifest_at = 0, total = 0;
  unsigned char *image = NULL;
  if (lay_out(builder, manifest_size, &manifest_at, &total))
    image = vyre__allocate(allocator, total, VYRE__BUNDLE_ALIGN);
  if (!image)
    return VYRE_FAIL_MEMORY(err, "a bundle's image");
  write_image(builder, manifest, manifest_size, manifest_at, image, total);
  *out_image = image;
  *out_size = total;
  return VYRE_OK;
}

/* ---- what is compiled ---- */

static vyre_status find_source(build *builder, const vyre_code *code, uint32_t count,
                               vyre_error *err)
{
  vyre_status status = vyre__code_check(code, count, builder->name, err);
  for (uint32_t i = 0; i < count && status == VYRE_OK && !builder->source; ++i)
    if (!strcmp(vyre__code_at(code, i)->format, "vyre-c"))
      builder->source = vyre__code_at(code, i);
  if (status == VYRE_OK && !builder->source)
    status =
        INVALID("give its source in format \"vyre-c\"", "'%s' has no `vyre-c` code", builder->name);
  return status;
}

static vyre_status describe(build *builder, const vyre_program_desc *program,
                            const vyre_engine_handlers *handlers, vyre__text *head,
                            vyre__text *tail, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (program) {
    status = vyre__program_validate(program, NULL, err);
    if (status != VYRE_OK)
      return status;
    builder->name = program->name ? program->name : "program";
    builder->flags = program->flags & VYRE_PROGRAM_DEBUG ? VYRE_MODULE_DEBUG : 0;
    status = find_source(builder, program->code, program->code_count, err);
    if (status == VYRE_OK)
      status = vyre__program_entries(program, head, tail, err);
  } else {
    if (handlers->struct_size < VYRE__SIZE_TO(vyre_engine_handlers, code_count))
      return INVALID("start from VYRE_ENGINE_HANDLERS_INIT", "the handlers' struct_size is %u",
                     handlers->struct_size);
    builder->name = handlers->name ? handlers->name : "handlers";
    status = find_source(builder, handlers->code, handlers->code_count, err);
    if (status == VYRE_OK)
      status = vyre__engine_entries(handlers, false, head, tail, err);
  }
  builder->entries.head = head->data ? head->data : "";
  builder->entries.tail = tail->data ? tail->data : "";
  return status;
}

static vyre_status check_arguments(const vyre_context *context, const vyre_program_desc *program,
                                   const vyre_engine_handlers *handlers, const char *const *targets,
                                   uint32_t target_count, void **out_image,
                                   const uint64_t *out_size, vyre_error *err)
{
  if (!context || !out_image || !out_size)
    return INVALID(NULL, "%s is NULL", context ? "out_image or out_size" : "context");
  if (!vyre__context_is_ours(context))
    return VYRE_FAIL(err, VYRE_ERROR_FORKED, NULL, "the context was made by the parent process");
  if (!program == !handlers)
    return INVALID("give one of them and NULL for the other",
                   "exactly one of program and handlers is compiled, not %s",
                   program ? "both" : "none");
  if (!targets || !target_count)
    return INVALID("give a plugin's name, such as \"cpu\", or FORMAT:ARCH", "there are no targets");
  return VYRE_OK;
}

vyre_status vyre_bundle_build(vyre_context *context, const vyre_program_desc *program,
                              const vyre_engine_handlers *handlers, const char *const *targets,
                              uint32_t target_count, const char *manifest,
                              const vyre_allocator *allocator, void **out_image, uint64_t *out_size,
                              vyre_error *err)
{
  const vyre_allocator image_allocator = vyre__allocator_or_default(allocator);
  build builder = {.context = context};
  vyre__text head, tail;
  vyre_status status =
      check_arguments(context, program, handlers, targets, target_count, out_image, out_size, err);
  if (status != VYRE_OK)
    return status;
  builder.allocator = *vyre__context_allocator(context);
  vyre__text_init(&head, &builder.allocator);
  vyre__text_init(&tail, &builder.allocator);
  status = describe(&builder, program, handlers, &head, &tail, err);
  for (uint32_t t = 0; t < target_count && status == VYRE_OK; ++t)
    status = add_target(&builder, targets[t], err);
  if (status == VYRE_OK)
    status = pack(&builder, manifest, &image_allocator, out_image, out_size, err);
  free_items(&builder);
  vyre__text_free(&head);
  vyre__text_free(&tail);
  return status;
}
