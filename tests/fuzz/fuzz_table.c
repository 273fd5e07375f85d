/*
 * A plugin's table, its devices and its answers, through the loader's real path: a file that is
 * opened, the handshake, the devices, then a short life on what was accepted.
 *
 * What the host refuses it tells; what it accepts keeps its promises; no result of a call that
 * failed is used; and everything that the plugin gave comes back.
 */
#include "tests/fuzz/plugin_under_edit.h"
#include "tests/fuzz/served.h"
#include "vyre.h"

#include <dlfcn.h>

static const char path[] = VYRE_TEST_PLUGIN_DIR "/libvyre_served.so";

/* The plugin stays in the process, and is told what to answer. */
static void serve(const served *what)
{
  static served_set_fn set;
  if (!set) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "served_set") : NULL;
    if (!symbol) {
      fprintf(stderr, "%s: %s\n", path, dlerror());
      exit(2);
    }
    memcpy(&set, &symbol, sizeof set);
  }
  set(what);
}

/* ---- what was accepted ---- */

#define ENDS(text) FUZZ_REQUIRE(memchr((text), 0, sizeof(text)))

static void check_info(const vyre_device_info *info, const vyre_backend *table)
{
  ENDS(info->selector);
  ENDS(info->backend);
  ENDS(info->name);
  ENDS(info->id);
  ENDS(info->pci);
  ENDS(info->uuid);
  ENDS(info->arch);
  ENDS(info->driver);
  ENDS(info->persistent_reason);
  ENDS(info->compiler_reason);
  ENDS(info->grid_sync_reason);
  FUZZ_REQUIRE(info->name[0] && info->id[0] && !strcmp(info->backend, table->name));
  FUZZ_REQUIRE(info->compute_units && info->max_workgroup_items && info->max_push_bytes >= 128);
  FUZZ_REQUIRE(info->max_bindings >= 16 && info->max_groups[0] && info->max_workgroup[2]);
  FUZZ_REQUIRE(info->device_class >= VYRE_DEVICE_CPU && info->device_class <= VYRE_DEVICE_OTHER);
  if (info->capabilities & VYRE_CAP_BUFFERS)
    FUZZ_REQUIRE(table->buffer_alloc && table->buffer_free && table->buffer_upload &&
                 table->buffer_download && table->buffer_fill && table->buffer_copy);
  if (table->abi_minor < 2)
    FUZZ_REQUIRE(!info->grid_sync && !(info->capabilities & VYRE_CAP_TIMESTAMPS));
}

static void check_candidates(const vyre_context *context)
{
  const uint32_t count = vyre_context_candidate_count(context);
  FUZZ_REQUIRE(count == 1);
  for (uint32_t i = 0; i < count; ++i) {
    vyre_candidate row = VYRE_CANDIDATE_INIT;
    FUZZ_REQUIRE(vyre_context_candidate(context, i, &row, NULL) == VYRE_OK);
    FUZZ_REQUIRE(!strcmp(row.path, path) && row.name && row.version && row.message && row.fix);
    FUZZ_REQUIRE(row.stage == VYRE_CANDIDATE_LOADED || row.stage == VYRE_CANDIDATE_DEVICES);
    FUZZ_REQUIRE(row.stage == VYRE_CANDIDATE_LOADED || (row.message[0] && row.fix[0]));
  }
}

/* ---- a short life ---- */

#define WORDS 16u

static void use_buffer(vyre_device *device)
{
  vyre_buffer *buffer = NULL, *other = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t words[WORDS] = {1, 2, 3};
  vyre_status status = vyre_buffer_create(device, sizeof words, &buffer, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (buffer != NULL));
  if (!buffer)
    return;
  err.message[0] = '\0';
  fuzz_check_error(vyre_buffer_upload(buffer, 4, words, 12, &err), &err);
  fuzz_check_error(vyre_buffer_fill(buffer, 0, 64, 7, &err), &err);
  if (vyre_buffer_create(device, 32, &other, NULL) == VYRE_OK)
    fuzz_check_error(vyre_buffer_copy(other, 0, buffer, 32, 32, &err), &err);
  fuzz_check_error(vyre_buffer_download(buffer, 0, words, sizeof words, &err), &err);
  vyre_buffer_destroy(other);
  vyre_buffer_destroy(buffer);
}

/* Two segments, three passes: every route has something to do. */
static vyre_status make_program(vyre_device *device, const char *format, uint32_t iterations,
                                vyre_program **out_program, vyre_error *err)
{
  static const vyre_buffer_decl buffers[] = {
      {sizeof(vyre_buffer_decl), VYRE_READ_ONLY, "in", 4, 0, WORDS, 0, 0},
      {sizeof(vyre_buffer_decl), VYRE_READ_WRITE, "out", 4, VYRE_BUFFER_OUTPUT, WORDS, 0, 0},
      {sizeof(vyre_buffer_decl), VYRE_WORKGROUP, "tile", 4, 0, 16, 0, 0},
  };
  static const vyre_segment_binding bindings[] = {
      {sizeof(vyre_segment_binding), VYRE_READ_ONLY, "in", 0, 0},
      {sizeof(vyre_segment_binding), VYRE_READ_WRITE, "out", 0, 0},
      {sizeof(vyre_segment_binding), VYRE_WORKGROUP, "tile", 0, 0},
  };
  static const vyre_segment_decl segments[] = {
      {sizeof(vyre_segment_decl), 3, "one", bindings, {0, 0, 0}, {0, 0, 0}, 0},
      {sizeof(vyre_segment_decl), 2, "two", bindings, {0, 0, 0}, {0, 0, 0}, 0},
  };
  vyre_code codes[] = {{sizeof(vyre_code), 0, "no such", "", "x", 1, NULL},
                       {sizeof(vyre_code), 0, format, "", "x", 1, NULL},
                       {sizeof(vyre_code), 0, format, "", "y", 1, NULL}};
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  desc.buffers = buffers;
  desc.buffer_count = 3;
  desc.segments = segments;
  desc.segment_count = iterations > 1 ? 2 : 1;
  desc.code = codes;
  desc.code_count = 3;
  desc.iterations = iterations;
  return vyre_program_create(device, &desc, out_program, err);
}

static void use_dispatch(vyre_program *program, vyre_route route, vyre_outputs *outputs)
{
  uint32_t words[WORDS] = {5, 6, 7};
  const vyre_bytes input = {words, sizeof words};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  const vyre_outputs before = *outputs;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status;
  options.route = route;
  status = vyre_dispatch(program, &options, &input, 1, outputs, &result, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE(words[0] == 5 && words[WORDS - 1] == 0);
  if (status != VYRE_OK) {
    FUZZ_REQUIRE(!memcmp(&before, outputs, sizeof before) && !result.launches);
    return;
  }
  ENDS(result.reason);
  FUZZ_REQUIRE(outputs->count == 1 && outputs->slots[0].size == sizeof words);
}

static void use_program(vyre_device *device, const vyre_backend *table, uint32_t iterations)
{
  vyre_program *program = NULL;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = make_program(device, table->formats->format, iterations, &program, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (program != NULL));
  for (vyre_route route = VYRE_ROUTE_AUTO; program && route <= VYRE_ROUTE_HOST; ++route)
    if (route != VYRE_ROUTE_AUTO || iterations == 1 || !edit_skips(EDIT_SKIP_MEASURING))
      use_dispatch(program, route, &outputs);
  vyre_program_destroy(program);
  vyre_outputs_reset(&outputs);
}

/* An engine that is given no items: nothing is launched, but everything is made. */
static void use_engine(vyre_device *device, const vyre_backend *table, vyre_engine_mode mode)
{
  static const vyre_handler_decl handler = {sizeof handler, VYRE_HANDLER_RECORDS, "scan"};
  static const vyre_rule_set rules = {sizeof rules, 0, "constants", 9};
  const vyre_code code = {sizeof code, 0, table->formats->format, "", "x", 1, NULL};
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status;
  handlers.handlers = &handler;
  handlers.handler_count = 1;
  handlers.rule_sets = &rules;
  handlers.rule_set_count = 1;
  handlers.code = &code;
  handlers.code_count = 1;
  options.mode = mode;
  options.capacity = 4;
  options.bank_records = 16;
  options.input_size = 256;
  status = vyre_engine_start(device, &handlers, &options, &engine, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (engine != NULL));
  if (engine)
    FUZZ_REQUIRE(vyre_engine_choice(engine)[0]);
  vyre_engine_destroy(engine);
}

static void use_device(vyre_context *context, const char *selector, const vyre_backend *table)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_device_info info;
  vyre_device *device = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status;
  request.selector = selector;
  status = vyre_device_open(context, &request, &device, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (device != NULL));
  if (!device)
    return;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  FUZZ_REQUIRE(vyre_device_get_info(device, &info, NULL) == VYRE_OK);
  FUZZ_REQUIRE(!strcmp(info.selector, selector));
  FUZZ_REQUIRE(strstr(vyre_device_choice(device, NULL), "chosen"));
  use_buffer(device);
  use_program(device, table, 1);
  use_program(device, table, 3);
  if (!edit_skips(EDIT_SKIP_ENGINE)) {
    use_engine(device, table, VYRE_ENGINE_FORCE);
    use_engine(device, table, VYRE_ENGINE_DISABLE);
  }
  vyre_device_close(device);
}

static void use_context(vyre_context *context, const vyre_backend *table)
{
  const uint32_t count = vyre_context_device_count(context);
  check_candidates(context);
  for (uint32_t i = 0; i < count; ++i) {
    vyre_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    FUZZ_REQUIRE(vyre_context_device_info(context, i, &info, NULL) == VYRE_OK);
    check_info(&info, table);
    if (i < 3)
      use_device(context, info.selector, table);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const files[] = {path};
  fuzz_input in = {data, size};
  fuzz_pool pool = {.count = 0};
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_context *context = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  served what = {.fill = edit_fill_error};
  vyre_status status;
  edit_make(&in, &pool);
  what.status = edit_query_status();
  what.table = edit_table();
  serve(&what);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.plugin_files = files;
  options.plugin_file_count = 1;
  status = vyre_context_create(&options, &context, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (context != NULL));
  if (context)
    use_context(context, what.table);
  vyre_context_destroy(context);
  FUZZ_REQUIRE(edit_live() == 0);
  fuzz_free(&pool);
  return 0;
}
