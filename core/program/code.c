/*
 * code.c - from vyre_code to a loaded module: checking the rows, composing `vyre-c` text, choosing
 * a format by the device's own list.
 */
#include "core/program/code.h"
#include "core/program/rows.h"

#include <string.h>

static const char *or_empty(const char *text)
{
  return text ? text : "";
}

vyre_status vyre__code_check(const vyre_code *code, uint32_t count, const char *what,
                             vyre_error *err)
{
  static const char fix[] = "start every row from VYRE_CODE_INIT and set format, data and size";
  if (!count || !code)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give the source (format \"vyre-c\") or a bundle's code", "%s has no code",
                     what);
  if (!vyre__rows_fit(code, count, VYRE__SIZE_TO(vyre_code, name)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "%s: a code row's struct_size is wrong",
                     what);
  for (uint32_t i = 0; i < count; ++i) {
    const vyre_code *row = vyre__code_at(code, i);
    if (!row->format || !*row->format)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "%s: code row %u has no format", what,
                       i);
    if (!row->data || !row->size)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "%s: code row %u (%s) holds no bytes",
                       what, i, row->format);
  }
  return VYRE_OK;
}

/* A C string literal.  '?' too: `??/` is a backslash to a C11 compiler. */
static void add_quoted(vyre__text *text, const char *name)
{
  vyre__text_add(text, "\"", 1);
  for (const unsigned char *c = (const unsigned char *)name; *c; ++c) {
    if (*c == '"' || *c == '\\' || *c == '?' || *c < 0x20 || *c == 0x7f)
      vyre__text_format(text, "\\%03o", (unsigned)*c);
    else
      vyre__text_add(text, (const char *)c, 1);
  }
  vyre__text_add(text, "\"", 1);
}

vyre_status vyre__code_compose(const char *prelude, uint64_t prelude_size, const vyre_code *code,
                               const vyre__entries *entries, const vyre_allocator *allocator,
                               char **out_text, uint64_t *out_size, vyre_error *err)
{
  vyre__text text;
  char *taken = NULL;
  vyre__text_init(&text, allocator);
  if (prelude)
    vyre__text_add(&text, prelude, prelude_size);
  vyre__text_format(&text, "\n#line 1 \"vyre generated\"\n%s", entries->head);
  vyre__text_format(&text, "\n#line 1 ");
  add_quoted(&text, code->name && *code->name ? code->name : "vyre-c source");
  vyre__text_add(&text, "\n", 1);
  vyre__text_add(&text, code->data, code->size);
  /* Two line ends: the source may lack its last one, or end in a backslash. */
  vyre__text_format(&text, "\n\n#line 1 \"vyre generated\"\n%s\n", entries->tail);
  taken = vyre__text_take(&text, out_size);
  if (!taken)
    return VYRE_FAIL_MEMORY(err, "a kernel's text");
  *out_text = taken;
  return VYRE_OK;
}

static const vyre_backend_format *format_at(const vyre_backend *backend, uint32_t index)
{
  return (const void *)((const char *)backend->formats + index * backend->format_stride);
}

/* An architecture that one side leaves open is for the plugin to judge. */
static bool matches(const vyre_backend_format *format, const vyre_code *code)
{
  const char *have = or_empty(code->arch), *want = or_empty(format->arch);
  return !strcmp(format->format, code->format) && (!*have || !*want || !strcmp(have, want));
}

static vyre_status load_one(vyre_device *device, const vyre_code *code,
                            const vyre__entries *entries, uint64_t flags, const char *name,
                            vyre_backend_module **out_module, vyre_error *err)
{
  vyre_module_desc desc = {.struct_size = sizeof desc, .flags = flags, .format = code->format};
  vyre_error said = VYRE_ERROR_INIT;
  char *text = NULL;
  vyre_status status = VYRE_OK;
  desc.arch = or_empty(code->arch);
  desc.data = code->data;
  desc.size = code->size;
  desc.name = code->name && *code->name ? code->name : name;
  if (!strcmp(code->format, "vyre-c")) {
    status = vyre__code_compose(device->backend->prelude, device->backend->prelude_size, code,
                                entries, &device->allocator, &text, &desc.size, err);
    if (status != VYRE_OK)
      return status;
    desc.data = text;
  }
  *out_module = NULL; /* whatever a row that was refused left there is nobody's module */
  status = device->backend->module_load(device->handle, &desc, out_module, &said);
  status = vyre__device_result(device, "module_load", status, &said, err);
  vyre__deallocate(&device->allocator, text);
  if (status == VYRE_OK && !*out_module)
    status = VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                       "plugin %s loaded no module and reported no error", device->backend->name);
  return status;
}

/* "native:x86-64-v3, vyre-c"; failure to build it only shortens a message. */
static void add_pair(vyre__text *list, const char *format, const char *arch)
{
  vyre__text_format(list, "%s%s%s%s", list->size ? ", " : "", format, *arch ? ":" : "", arch);
}

static vyre_status no_format(const vyre_device *device, const vyre_code *code, uint32_t count,
                             const char *name, vyre_error *err)
{
  vyre__text have, want;
  vyre_status status = VYRE_OK;
  vyre__text_init(&have, &device->allocator);
  vyre__text_init(&want, &device->allocator);
  for (uint32_t i = 0; i < count; ++i)
    add_pair(&have, vyre__code_at(code, i)->format, or_empty(vyre__code_at(code, i)->arch));
  for (uint32_t i = 0; i < device->backend->format_count; ++i)
    add_pair(&want, format_at(device->backend, i)->format,
             or_empty(format_at(device->backend, i)->arch));
  status = VYRE_FAIL(err, VYRE_ERROR_MODULE_FORMAT, NULL,
                     "'%s' has code in %.800s; device %s takes %.800s", name, or_empty(have.data),
                     device->info.selector, or_empty(want.data));
  vyre__text_free(&have);
  vyre__text_free(&want);
  return status;
}

vyre_status vyre__module_load(vyre_device *device, const vyre_code *code, uint32_t count,
                              const vyre__entries *entries, uint64_t module_flags, const char *name,
                              vyre_backend_module **out_module, const char **out_format,
                              vyre_error *err)
{
  const vyre_backend *backend = device->backend;
  vyre_backend_module *module = NULL;
  vyre_status status = VYRE_OK, refused = VYRE_OK;
  vyre_error tried = VYRE_ERROR_INIT;
  name = name && *name ? name : "kernel";
  for (uint32_t f = 0; f < backend->format_count; ++f) {
    for (uint32_t i = 0; i < count; ++i) {
      const vyre_code *row = vyre__code_at(code, i);
      if (!matches(format_at(backend, f), row))
        continue;
      status = load_one(device, row, entries, module_flags, name, &module, &tried);
      if (status == VYRE_OK) {
        *out_module = module;
        if (out_format)
          *out_format = format_at(backend, f)->format;
        return VYRE_OK;
      }
      /*
       * Code for another machine, or a source and no compiler: the next row may do.  Every other
       * error is about this code, which would be the right one.
       */
      if (status != VYRE_ERROR_MODULE_FORMAT && status != VYRE_ERROR_UNSUPPORTED)
        return vyre__error_copy(err, &tried);
      if (refused == VYRE_OK) {
        refused = status;
        vyre__error_copy(err, &tried);
      }
    }
  }
  return refused != VYRE_OK ? refused : no_format(device, code, count, name, err);
}
