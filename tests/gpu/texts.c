/*
 * texts.c FOLDER - writes the `vyre-c` text of every kernel that ships or is generated, a file
 * each, as a plugin gets it but without a prelude: NAME.vyre.c.
 *
 *   example_*   the examples' programs, with their fused launches and convergence tests
 *   engine_*    the engine's entries with handlers: those of `vyre scan`, of the benchmark and
 *               of the engine's tests
 *   conform_*   the kernels of the conformance suite
 *   trial       the kernel that tries coherent memory
 *   names       names that compilers have of their own
 *   drawn_*     random programs of the vocabulary and of generated expressions
 */
#include "core/program/code.h"
#include "tests/gridsync/generate.h"
#include "tests/gridsync/rig.h"
#include "tools/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20261130u
#define DRAWN 6u
#define GENERATED 4u

/* Of tools/cli.h, which the manifest's reader speaks through. */
extern const char *cli_name;
const char *cli_name = "gpu_texts";

static const char *folder;

static void fail(const char *what, const vyre_error *err)
{
  fprintf(stderr, "gpu_texts: %s: %s\n", what, err ? err->message : "cannot be written");
  exit(1);
}

static void write_text(const char *name, const char *text, uint64_t size)
{
  char path[4096];
  FILE *to = NULL;
  snprintf(path, sizeof path, "%s/%s.vyre.c", folder, name);
  to = fopen(path, "w");
  if (!to || fwrite(text, 1, size, to) != size || fclose(to) != 0)
    fail(path, NULL);
}

/* The file's bytes, from malloc(). */
static char *read_file(const char *name, uint64_t *out_size)
{
  char path[4096];
  FILE *from = NULL;
  char *data = NULL;
  long size = 0;
  snprintf(path, sizeof path, "%s/%s", VYRE_TEST_SOURCE_DIR, name);
  from = fopen(path, "r");
  if (!from || fseek(from, 0, SEEK_END) != 0 || (size = ftell(from)) < 0)
    fail(path, NULL);
  rewind(from);
  data = malloc((size_t)size + 1);
  if (!data || fread(data, 1, (size_t)size, from) != (size_t)size)
    fail(path, NULL);
  fclose(from);
  *out_size = (uint64_t)size;
  return data;
}

static void example(const char *name, const char *manifest_file)
{
  vyre_error err = VYRE_ERROR_INIT;
  char path[4096], as[64], *text = NULL;
  uint64_t size = 0;
  manifest m;
  snprintf(path, sizeof path, "%s/examples/%s", VYRE_TEST_SOURCE_DIR, manifest_file);
  if (manifest_open(path, &m, &err) != VYRE_OK ||
      vyre_program_source(&m.program, NULL, &text, &size, &err) != VYRE_OK)
    fail(path, &err);
  snprintf(as, sizeof as, "example_%s", name);
  write_text(as, text, size);
  free(text);
  manifest_close(&m);
}

/* `names`: the handlers, separated by blanks; "" for a text that brings its own entries. */
static void handlers(const char *as, const char *file, const char *names)
{
  const vyre_allocator allocator = vyre__allocator_or_default(NULL);
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre_handler_decl rows[8] = {VYRE_HANDLER_DECL_INIT};
  vyre_code code = VYRE_CODE_INIT;
  vyre__entries entries = {"", ""};
  vyre_error err = VYRE_ERROR_INIT;
  vyre__text head, tail;
  char copy[256], *next = copy, *text = NULL;
  uint64_t size = 0;
  code.format = "vyre-c";
  code.data = read_file(file, &code.size);
  code.name = file;
  snprintf(copy, sizeof copy, "%s", names);
  for (char *name = NULL; *names && (name = strsep(&next, " ")) != NULL;) {
    rows[set.handler_count] = rows[0];
    rows[set.handler_count++].name = name;
  }
  set.name = as;
  set.handlers = rows;
  vyre__text_init(&head, &allocator);
  vyre__text_init(&tail, &allocator);
  if (*names) {
    if (vyre__engine_entries(&set, true, &head, &tail, &err) != VYRE_OK)
      fail(as, &err);
    entries.head = head.data;
    entries.tail = tail.data;
  }
  if (vyre__code_compose(NULL, 0, &code, &entries, &allocator, &text, &size, &err) != VYRE_OK)
    fail(as, &err);
  write_text(as, text, size);
  vyre__deallocate(&allocator, text);
  vyre__text_free(&head);
  vyre__text_free(&tail);
  free((void *)(uintptr_t)code.data);
}

/* As the plugins embed it: the layout in front. */
static void trial(void)
{
  uint64_t sizes[2] = {0, 0};
  char *parts[2] = {read_file("plugins/gpu/trial_layout.h", &sizes[0]),
                    read_file("plugins/gpu/trial_kernel.c", &sizes[1])};
  char *text = malloc(sizes[0] + sizes[1] + 1);
  if (!text)
    fail("trial", NULL);
  memcpy(text, parts[0], sizes[0]);
  memcpy(text + sizes[0], parts[1], sizes[1]);
  write_text("trial", text, sizes[0] + sizes[1]);
  free(text);
  free(parts[0]);
  free(parts[1]);
}

static void drawn_text(const char *kind, uint32_t number, drawn *d)
{
  vyre_error err = VYRE_ERROR_INIT;
  char as[64], *text = NULL;
  uint64_t size = 0;
  snprintf(as, sizeof as, "drawn_%s_%u", kind, (unsigned)number);
  draw_variation(d, SEED + number);
  if (rig_source(&d->program, &text, &size, &err) != VYRE_OK)
    fail(as, &err);
  write_text(as, text, size);
  free(text);
  drawn_free(d);
}

static void random_programs(void)
{
  static generated_set set;
  const word_source source = {generated_next, &set, false};
  drawn d;
  for (uint32_t i = 0; i < DRAWN; ++i) {
    draw_shape(&d, SEED + i);
    drawn_text("words", i, &d);
  }
  for (uint32_t i = 0; i < GENERATED; ++i) {
    draw_shape_of(&d, SEED + i, &source);
    drawn_text("expressions", i, &d);
    generated_free(&set);
  }
}

int main(int argc, char **argv)
{
  static const char *const kernels[] = {
#define KERNEL(name) #name,
#include "conformance/kernels.def"
#undef KERNEL
  };
  if (argc != 2) {
    fprintf(stderr, "Usage: gpu_texts FOLDER\n");
    return 2;
  }
  folder = argv[1];
  example("components", "components/manifest.json");
  example("histogram", "histogram/manifest.json");
  example("prefix_sum", "prefix_sum/manifest.json");
  example("reachability", "reachability/manifest.json");
  example("stencil", "stencil/manifest.json");
  example("stencil_float", "stencil/float.json");
  handlers("engine_scan", "tools/scan/scan_kernel.c", "scan");
  handlers("engine_checksum", "bench/checksum.c", "checksum");
  handlers("engine_tests", "tests/engine/handlers.c", "sum find gate nothing");
  for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
    char as[64], file[128];
    snprintf(as, sizeof as, "conform_%s", kernels[i]);
    snprintf(file, sizeof file, "conformance/kernels/%s.c", kernels[i]);
    handlers(as, file, "");
  }
  handlers("names", "tests/gpu/names.c", "");
  trial();
  random_programs();
  return 0;
}
