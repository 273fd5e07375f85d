/*
 * manifest.c - from JSON to a description; manifest.h and docs/manifest.md are the contract.
 *
 * Each value is read by a function that knows its place, so that every message names file, line,
 * column and field.  What the library checks itself (names, bindings, grids) is left to it.
 */
#include "tools/manifest.h"

#include "tools/cli.h"
#include "tools/json_place.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A manifest being read; the first error stays. */
typedef struct reader {
  const char *name;
  manifest *m;
  vyre_error *err;
  vyre_status status;
} reader;

/* A word and what it stands for. */
typedef struct word {
  const char *text;
  uint32_t value;
} word;

static const word access_words[] = {{"read_only", VYRE_READ_ONLY},
                                    {"read_write", VYRE_READ_WRITE},
                                    {"write_only", VYRE_WRITE_ONLY},
                                    {"workgroup", VYRE_WORKGROUP},
                                    {NULL, 0}};
static const word element_words[] = {{"u8", 1},  {"i8", 1},  {"u16", 2}, {"i16", 2},
                                     {"u32", 4}, {"i32", 4}, {"f32", 4}, {"u64", 8},
                                     {"i64", 8}, {"f64", 8}, {NULL, 0}};
static const word converge_words[] = {{"exact", VYRE_CONVERGE_EXACT},
                                      {"declared", VYRE_CONVERGE_DECLARED},
                                      {"off", VYRE_CONVERGE_OFF},
                                      {NULL, 0}};

/* ---- errors ---- */

__attribute__((format(printf, 4, 5))) static void wrong(reader *r, const json_place *place,
                                                        const char *fix, const char *format, ...)
{
  char field[256], text[1024];
  size_t line, column;
  va_list args;

  if (r->status != VYRE_OK) {
    return;
  }
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  json_place_find(r->m->text, r->m->text_size, place, &line, &column);
  json_place_text(place, field, sizeof field);
  r->status = cli_fail(r->err, VYRE_ERROR_INVALID_ARGUMENT, 0,
                       fix != NULL ? fix : "see docs/manifest.md for the keys and their values",
                       "%s:%zu:%zu: %s%s%s", r->name, line, column, field,
                       field[0] != '\0' ? ": " : "", text);
}

static void *take(reader *r, size_t count, size_t size)
{
  void *memory = calloc(count + 1, size);

  if (memory == NULL && r->status == VYRE_OK) {
    r->status =
        cli_fail(r->err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for %s", r->name);
  }
  return memory;
}

/* ---- values ---- */

static json_place member_of(const json_place *up, const char *key)
{
  const json_place place = {up, key, 0};

  return place;
}

static json_place element_of(const json_place *up, size_t index)
{
  const json_place place = {up, NULL, index};

  return place;
}

/* An object with no keys but `keys` (ended by NULL). */
static bool check_object(reader *r, const json_t *value, const json_place *place,
                         const char *const *keys)
{
  char known[256] = "";
  const char *key;
  json_t *member;
  size_t i;

  if (!json_is_object(value)) {
    wrong(r, place, NULL, "must be an object");
    return false;
  }
  json_object_foreach((json_t *)(uintptr_t)value, key, member)
  {
    for (i = 0; keys[i] != NULL && strcmp(keys[i], key) != 0; i++) {
    }
    if (keys[i] == NULL) {
      const json_place at = member_of(place, key);
      for (i = 0; keys[i] != NULL; i++) {
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i != 0 ? ", " : "",
                 keys[i]);
      }
      wrong(r, &at, NULL, "unknown key; known here: %s", known);
      return false;
    }
  }
  return r->status == VYRE_OK;
}

/* The member, or NULL; an error if it has to be there. */
static const json_t *get(reader *r, const json_t *object, const json_place *up, const char *key,
                         bool required)
{
  const json_t *value = json_object_get(object, key);

  if (value == NULL && required) {
    wrong(r, up, NULL, "\"%s\" is missing", key);
  }
  return value;
}

static const char *get_text(reader *r, const json_t *object, const json_place *up, const char *key,
                            bool required)
{
  const json_t *value = get(r, object, up, key, required);
  const json_place place = member_of(up, key);

  if (value == NULL) {
    return NULL;
  }
  if (!json_is_string(value) || json_string_length(value) == 0) {
    wrong(r, &place, NULL, "must be a text that is not empty");
    return NULL;
  }
  return json_string_value(value);
}

static bool get_bool(reader *r, const json_t *object, const json_place *up, const char *key)
{
  const json_t *value = json_object_get(object, key);
  const json_place place = member_of(up, key);

  if (value != NULL && !json_is_boolean(value)) {
    wrong(r, &place, NULL, "must be true or false");
  }
  return json_is_true(value);
}

static uint64_t number(reader *r, const json_t *value, const json_place *place, uint64_t low,
                       uint64_t high)
{
  if (!json_is_integer(value) || json_integer_value(value) < 0 ||
      (uint64_t)json_integer_value(value) < low || (uint64_t)json_integer_value(value) > high) {
    wrong(r, place, NULL, "must be a whole number from %llu to %llu", (unsigned long long)low,
          (unsigned long long)high);
    return low;
  }
  return (uint64_t)json_integer_value(value);
}

static uint32_t get_number(reader *r, const json_t *object, const json_place *up, const char *key,
                           uint32_t low, uint32_t otherwise)
{
  const json_t *value = json_object_get(object, key);
  const json_place place = member_of(up, key);

  return value == NULL ? otherwise : (uint32_t)number(r, value, &place, low, UINT32_MAX);
}

static uint32_t find_word(reader *r, const json_t *value, const json_place *place,
                          const word *words)
{
  const char *text = json_string_value(value);
  char known[128] = "";
  const word *row;

  for (row = words; row->text != NULL; row++) {
    if (text != NULL && strcmp(text, row->text) == 0) {
      return row->value;
    }
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s\"%s\"",
             row != words ? ", " : "", row->text);
  }
  wrong(r, place, NULL, "must be one of %s", known);
  return words[0].value;
}

static uint32_t get_word(reader *r, const json_t *object, const json_place *up, const char *key,
                         const word *words, bool required)
{
  const json_t *value = get(r, object, up, key, required);
  const json_place place = member_of(up, key);

  return value == NULL ? words[0].value : find_word(r, value, &place, words);
}

/* One to three numbers; those that are not given are 1.  False if the key is not there. */
static bool get_extent(reader *r, const json_t *object, const json_place *up, const char *key,
                       uint64_t high, uint64_t out[3])
{
  const json_t *value = json_object_get(object, key);
  const json_place place = member_of(up, key);
  size_t i;

  if (value == NULL) {
    return false;
  }
  if (!json_is_array(value) || json_array_size(value) < 1 || json_array_size(value) > 3) {
    wrong(r, &place, NULL, "must be a list of one to three numbers");
    return false;
  }
  for (i = 0; i < 3; i++) {
    const json_place at = element_of(&place, i);
    const json_t *element = json_array_get(value, i);
    out[i] = element == NULL ? 1 : number(r, element, &at, 1, high);
  }
  return true;
}

/* A list of at least one element, or NULL. */
static const json_t *get_list(reader *r, const json_t *object, const json_place *up,
                              const char *key, bool may_be_empty)
{
  const json_t *value = get(r, object, up, key, true);
  const json_place place = member_of(up, key);

  if (value == NULL) {
    return NULL;
  }
  if (!json_is_array(value) || (!may_be_empty && json_array_size(value) == 0) ||
      json_array_size(value) > UINT16_MAX) {
    wrong(r, &place, NULL, "must be a list%s", may_be_empty ? "" : " that is not empty");
    return NULL;
  }
  return value;
}

/* Elements or groups, of the program or a segment. */
static void read_grid(reader *r, const json_t *object, const json_place *place,
                      uint64_t elements[3], uint32_t groups[3])
{
  uint64_t extent[3];
  int i;

  if (get_extent(r, object, place, "elements", INT64_MAX, extent)) {
    const json_place at = member_of(place, "groups");
    memcpy(elements, extent, sizeof extent);
    if (json_object_get(object, "groups") != NULL) {
      wrong(r, &at, "give one of them", "\"elements\" is given already");
    }
  } else if (get_extent(r, object, place, "groups", UINT32_MAX, extent)) {
    for (i = 0; i < 3; i++) {
      groups[i] = (uint32_t)extent[i];
    }
  }
}

/* ---- programs ---- */

static void read_count(reader *r, const json_t *object, const json_place *up,
                       vyre_buffer_decl *buffer)
{
  const json_t *value = get(r, object, up, "count", true);
  const json_place place = member_of(up, "count");

  if (json_is_string(value)) {
    if (strcmp(json_string_value(value), "input") != 0) {
      wrong(r, &place, NULL, "must be a number or \"input\"");
    }
    buffer->element_count = VYRE_COUNT_FROM_INPUT;
  } else if (value != NULL) {
    buffer->element_count = number(r, value, &place, 0, INT64_MAX);
  }
}

static void read_range(reader *r, const json_t *object, const json_place *up,
                       vyre_buffer_decl *buffer)
{
  const json_t *value = json_object_get(object, "range");
  const json_place place = member_of(up, "range");
  const json_place first = element_of(&place, 0), second = element_of(&place, 1);

  if (value == NULL) {
    return;
  }
  if (!json_is_array(value) || json_array_size(value) != 2) {
    wrong(r, &place, NULL, "must be a list of two numbers, offset and size in bytes");
    return;
  }
  buffer->flags |= VYRE_BUFFER_RANGE;
  buffer->range_offset = number(r, json_array_get(value, 0), &first, 0, INT64_MAX);
  buffer->range_size = number(r, json_array_get(value, 1), &second, 0, INT64_MAX);
}

static void read_buffer(reader *r, const json_t *object, const json_place *place,
                        vyre_buffer_decl *buffer)
{
  static const char *const keys[] = {"name", "access", "element", "count", "output", "range", NULL};
  const vyre_buffer_decl empty = VYRE_BUFFER_DECL_INIT;
  const json_place at = member_of(place, "element");
  const json_t *element;

  *buffer = empty;
  if (!check_object(r, object, place, keys)) {
    return;
  }
  buffer->name = get_text(r, object, place, "name", true);
  buffer->access = get_word(r, object, place, "access", access_words, true);
  element = get(r, object, place, "element", true);
  if (json_is_integer(element)) {
    buffer->element_size = (uint32_t)number(r, element, &at, 1, UINT32_MAX);
  } else if (element != NULL) {
    buffer->element_size = find_word(r, element, &at, element_words);
  }
  read_count(r, object, place, buffer);
  if (get_bool(r, object, place, "output")) {
    buffer->flags |= VYRE_BUFFER_OUTPUT;
  }
  read_range(r, object, place, buffer);
}

static void read_binding(reader *r, const json_t *object, const json_place *place,
                         vyre_segment_binding *binding)
{
  static const char *const keys[] = {"buffer", "access", "writes_all", NULL};
  const vyre_segment_binding empty = VYRE_SEGMENT_BINDING_INIT;

  *binding = empty;
  if (!check_object(r, object, place, keys)) {
    return;
  }
  binding->buffer = get_text(r, object, place, "buffer", true);
  binding->access = get_word(r, object, place, "access", access_words, true);
  if (get_bool(r, object, place, "writes_all")) {
    binding->flags |= VYRE_BINDING_WRITES_ALL;
  }
}

static void read_segment(reader *r, const json_t *object, const json_place *place, size_t index)
{
  static const char *const keys[] = {"kernel", "bindings", "elements", "groups", NULL};
  const vyre_segment_decl empty = VYRE_SEGMENT_DECL_INIT;
  vyre_segment_decl *segment = &r->m->segments[index];
  const json_place at = member_of(place, "bindings");
  const json_t *list;
  size_t i;

  *segment = empty;
  if (!check_object(r, object, place, keys)) {
    return;
  }
  segment->kernel = get_text(r, object, place, "kernel", true);
  read_grid(r, object, place, segment->elements, segment->groups);
  list = get_list(r, object, place, "bindings", true);
  if (list == NULL) {
    return;
  }
  r->m->bindings[index] = take(r, json_array_size(list), sizeof **r->m->bindings);
  segment->bindings = r->m->bindings[index];
  segment->binding_count = (uint32_t)json_array_size(list);
  for (i = 0; r->status == VYRE_OK && i < json_array_size(list); i++) {
    const json_place element = element_of(&at, i);
    read_binding(r, json_array_get(list, i), &element, &r->m->bindings[index][i]);
  }
}

static void read_lists(reader *r, const json_place *place)
{
  const json_place at_buffers = member_of(place, "buffers");
  const json_place at_segments = member_of(place, "segments");
  const json_t *buffers = get_list(r, r->m->root, place, "buffers", true);
  const json_t *segments = get_list(r, r->m->root, place, "segments", false);
  manifest *m = r->m;
  size_t i;

  if (buffers == NULL || segments == NULL) {
    return;
  }
  m->buffers = take(r, json_array_size(buffers), sizeof *m->buffers);
  m->segments = take(r, json_array_size(segments), sizeof *m->segments);
  m->bindings = take(r, json_array_size(segments), sizeof *m->bindings);
  m->program.segment_count = (uint32_t)json_array_size(segments); /* what close looks at */
  for (i = 0; r->status == VYRE_OK && i < json_array_size(buffers); i++) {
    const json_place element = element_of(&at_buffers, i);
    read_buffer(r, json_array_get(buffers, i), &element, &m->buffers[i]);
  }
  for (i = 0; r->status == VYRE_OK && i < json_array_size(segments); i++) {
    const json_place element = element_of(&at_segments, i);
    read_segment(r, json_array_get(segments, i), &element, i);
  }
  m->program.buffers = m->buffers;
  m->program.buffer_count = (uint32_t)json_array_size(buffers);
  m->program.segments = m->segments;
}

static void read_program(reader *r, const json_place *place)
{
  static const char *const keys[] = {"name",      "kernel",   "buffers", "segments",
                                     "workgroup", "elements", "groups",  "iterations",
                                     "converge",  "push",     NULL};
  const vyre_program_desc empty = VYRE_PROGRAM_DESC_INIT;
  vyre_program_desc *program = &r->m->program;
  const json_t *root = r->m->root;
  uint64_t extent[3];
  int i;

  *program = empty;
  if (!check_object(r, root, place, keys)) {
    return;
  }
  program->name = r->m->name;
  if (get_extent(r, root, place, "workgroup", UINT32_MAX, extent)) {
    for (i = 0; i < 3; i++) {
      program->workgroup[i] = (uint32_t)extent[i];
    }
  }
  read_grid(r, root, place, program->elements, program->groups);
  program->iterations = get_number(r, root, place, "iterations", 1, 1);
  program->converge = get_word(r, root, place, "converge", converge_words, false);
  program->push_size = get_number(r, root, place, "push", 0, 0);
  read_lists(r, place);
}

/* ---- handler sets ---- */

static void read_handlers(reader *r, const json_place *place)
{
  static const char *const keys[] = {"name", "kernel", "handlers", NULL};
  static const char *const row_keys[] = {"name", "records", NULL};
  const vyre_engine_handlers empty = VYRE_ENGINE_HANDLERS_INIT;
  const vyre_handler_decl empty_row = VYRE_HANDLER_DECL_INIT;
  const json_place at = member_of(place, "handlers");
  manifest *m = r->m;
  const json_t *list;
  size_t i;

  m->handlers = empty;
  if (!check_object(r, m->root, place, keys)) {
    return;
  }
  list = get_list(r, m->root, place, "handlers", false);
  if (list == NULL) {
    return;
  }
  m->handler_decls = take(r, json_array_size(list), sizeof *m->handler_decls);
  for (i = 0; r->status == VYRE_OK && i < json_array_size(list); i++) {
    const json_place element = element_of(&at, i);
    const json_t *row = json_array_get(list, i);
    m->handler_decls[i] = empty_row;
    if (check_object(r, row, &element, row_keys)) {
      m->handler_decls[i].name = get_text(r, row, &element, "name", true);
      m->handler_decls[i].flags = get_bool(r, row, &element, "records") ? VYRE_HANDLER_RECORDS : 0;
    }
  }
  m->handlers.name = m->name;
  m->handlers.handlers = m->handler_decls;
  m->handlers.handler_count = (uint32_t)json_array_size(list);
}

/* ---- files ---- */

static bool ends_with(const char *text, const char *end)
{
  const size_t a = strlen(text), b = strlen(end);

  return a >= b && strcmp(text + a - b, end) == 0;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash == NULL ? path : slash + 1;
}

vyre_status manifest_parse(const char *name, const char *text, size_t size, manifest *out_manifest,
                           vyre_error *err)
{
  manifest *const m = out_manifest;
  reader r = {name, m, err, VYRE_OK};
  const json_place root = {NULL, NULL, 0};
  json_error_t wrong_text;

  memset(m, 0, sizeof *m);
  m->text = malloc(size + 1);
  if (m->text == NULL) {
    return cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for %s", name);
  }
  memcpy(m->text, text, size);
  m->text[size] = '\0';
  m->text_size = size;
  m->root = json_loadb(m->text, size, JSON_REJECT_DUPLICATES, &wrong_text);
  if (m->root == NULL) {
    r.status = cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "correct the JSON text",
                        "%s:%d:%d: %s", name, wrong_text.line > 0 ? wrong_text.line : 1,
                        wrong_text.column > 0 ? wrong_text.column : 1, wrong_text.text);
    goto done;
  }
  if (!json_is_object(m->root)) {
    wrong(&r, &root, NULL, "must be an object");
    goto done;
  }
  m->name = get_text(&r, m->root, &root, "name", false);
  m->name = m->name != NULL ? m->name : base_name(name);
  m->kernel = get_text(&r, m->root, &root, "kernel", true);
  m->is_program = json_object_get(m->root, "handlers") == NULL;
  if (!m->is_program && json_object_get(m->root, "segments") != NULL) {
    const json_place at = member_of(&root, "segments");
    wrong(&r, &at, "make two manifests of it", "\"handlers\" is given already");
  }
  if (r.status == VYRE_OK && m->is_program) {
    read_program(&r, &root);
  } else if (r.status == VYRE_OK) {
    read_handlers(&r, &root);
  }
done:
  if (r.status != VYRE_OK) {
    manifest_close(m);
  }
  return r.status;
}

static void set_code(manifest *m, const vyre_code *code, uint32_t count)
{
  if (m->is_program) {
    m->program.code = code;
    m->program.code_count = count;
  } else {
    m->handlers.code = code;
    m->handlers.code_count = count;
  }
}

/* Opens `image`, which the manifest owns from then on, also after an error. */
static vyre_status use_bundle(manifest *m, const char *path, char *image, size_t size,
                              vyre_error *err)
{
  const vyre_code *code;
  uint32_t count = 0;
  vyre_status status;

  m->kernel_data = image;
  m->kernel_size = size;
  status = vyre_bundle_open(image, size, &m->bundle, err);
  if (status != VYRE_OK) {
    char message[sizeof err->message];
    snprintf(message, sizeof message, "%s", err->message);
    return cli_fail(err, status, 0, "make it again with `vyre compile`", "%s: %.1800s", path,
                    message);
  }
  code = vyre_bundle_code(m->bundle, &count);
  set_code(m, code, count);
  return VYRE_OK;
}

static vyre_status open_bundle(const char *path, char *image, size_t size, manifest *m,
                               vyre_error *err)
{
  vyre_bundle *bundle = NULL;
  const char *text;
  vyre_status status;
  manifest holder;

  memset(&holder, 0, sizeof holder);
  status = use_bundle(&holder, path, image, size, err);
  bundle = holder.bundle;
  text = status == VYRE_OK ? vyre_bundle_manifest(bundle) : NULL;
  if (status == VYRE_OK && text == NULL) {
    status = cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "make it with `vyre compile`",
                      "%s: the bundle keeps no manifest", path);
  }
  if (status == VYRE_OK && text != NULL) {
    status = manifest_parse(path, text, strlen(text), m, err);
  }
  vyre_bundle_destroy(bundle);
  if (status != VYRE_OK) {
    free(image);
    return status;
  }
  m->kernel = NULL;
  return use_bundle(m, path, image, size, err);
}

static vyre_status open_kernel(const char *path, manifest *m, vyre_error *err)
{
  const vyre_code empty = VYRE_CODE_INIT;
  vyre_status status;
  char *data = NULL;
  size_t size = 0;

  m->kernel_path = cli_beside(path, m->kernel);
  if (m->kernel_path == NULL) {
    return cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for a path");
  }
  status = cli_read_file(m->kernel_path, &data, &size, err);
  if (status != VYRE_OK) {
    const json_place root = {NULL, NULL, 0}, at = member_of(&root, "kernel");
    char message[sizeof err->message];
    size_t line, column;
    snprintf(message, sizeof message, "%s", err->message);
    json_place_find(m->text, m->text_size, &at, &line, &column);
    return cli_fail(err, status, err->vendor_code, "\"kernel\" is relative to the manifest",
                    "%s:%zu:%zu: kernel: %.1800s", path, line, column, message);
  }
  if (ends_with(m->kernel_path, ".vyreb")) {
    return use_bundle(m, m->kernel_path, data, size, err);
  }
  m->kernel_data = data;
  m->kernel_size = size;
  m->source = empty;
  m->source.format = "vyre-c";
  m->source.data = data;
  m->source.size = size;
  m->source.name = m->kernel_path;
  set_code(m, &m->source, 1);
  return VYRE_OK;
}

vyre_status manifest_open(const char *path, manifest *out_manifest, vyre_error *err)
{
  manifest *const m = out_manifest;
  vyre_status status;
  char *text = NULL;
  size_t size = 0;

  memset(m, 0, sizeof *m);
  status = cli_read_file(path, &text, &size, err);
  if (status != VYRE_OK) {
    return status;
  }
  if (ends_with(path, ".vyreb")) {
    status = open_bundle(path, text, size, m, err);
  } else {
    status = manifest_parse(path, text, size, m, err);
    free(text);
    if (status == VYRE_OK) {
      status = open_kernel(path, m, err);
    }
  }
  if (status != VYRE_OK) {
    manifest_close(m);
  }
  return status;
}

void manifest_close(manifest *m)
{
  uint32_t i;

  for (i = 0; m->bindings != NULL && i < m->program.segment_count; i++) {
    free(m->bindings[i]);
  }
  vyre_bundle_destroy(m->bundle);
  free(m->bindings);
  free(m->buffers);
  free(m->segments);
  free(m->handler_decls);
  free(m->kernel_path);
  free(m->kernel_data);
  free(m->text);
  json_decref(m->root);
  memset(m, 0, sizeof *m);
}
