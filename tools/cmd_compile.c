/*
 * cmd_compile.c - `vyre compile`: kernels ahead of time, so that no compiler is needed later.
 */
#include "tools/cli.h"
#include "tools/keep_source.h"
#include "tools/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TARGETS 32u

static const char help[] =
    "Usage: vyre compile MANIFEST.json -o FILE.vyreb --target TARGET [--target TARGET...]\n"
    "                    [--keep-temps[=DIR]]\n"
    "\n"
    "Compiles the kernels of a program or a handler set and packs them, with the manifest,\n"
    "into one bundle.  `vyre run` takes the bundle in place of the manifest, and needs no\n"
    "compiler then.  docs/manifest.md describes manifests.\n"
    "\n"
    "  -o, --output FILE    the bundle; replaced as a whole, or left as it was\n"
    "  -t, --target TARGET  cpu: all architectures that the cpu plugin compiles for by default;\n"
    "                       PLUGIN:ARCH: one of them, as in cpu:x86-64-v3, hip:gfx90a, "
    "cuda:sm_90;\n"
    "                       FORMAT:ARCH: in this format, as in native:x86-64-v3, ptx:sm_80\n"
    "      --keep-temps[=DIR]  write the text that is compiled, with the entries and the fused\n"
    "                       kernel that vyre adds, to DIR/NAME.vyre.c; default: this folder.\n"
    "                       Of programs only\n"
    "  -h, --help           this text\n"
    "\n"
    "Exit status: 0 it is written, 2 an error.\n";

/* `keep` is the folder of --keep-temps, or NULL. */
static vyre_status compile(const char *path, const char *output, const char *keep,
                           const char *const *targets, uint32_t target_count, vyre_error *err)
{
  vyre_context *context = NULL;
  cli_output file;
  vyre_status status;
  void *image = NULL;
  char *kept = NULL;
  uint64_t size = 0;
  manifest m;

  memset(&file, 0, sizeof file);
  status = manifest_open(path, &m, err);
  if (status == VYRE_OK && m.source.data == NULL) {
    status = cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0,
                      "give the manifest whose \"kernel\" is a vyre-c source",
                      "%s: a bundle is compiled already", path);
  }
  if (status == VYRE_OK && keep != NULL) {
    status = keep_source(&m, keep, &kept, err);
  }
  if (status == VYRE_OK) {
    status = vyre_context_create(NULL, &context, err);
  }
  if (status == VYRE_OK) {
    status = vyre_bundle_build(context, m.is_program ? &m.program : NULL,
                               m.is_program ? NULL : &m.handlers, targets, target_count, m.text,
                               NULL, &image, &size, err);
  }
  if (status == VYRE_OK) {
    status = cli_output_begin(&file, output, image, (size_t)size, err);
  }
  if (status == VYRE_OK) {
    status = cli_output_commit(&file, err);
  }
  cli_output_end(&file);
  free(image);
  free(kept);
  vyre_context_destroy(context);
  manifest_close(&m);
  return status;
}

static int run(int argc, char **argv)
{
  static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                        {"target", required_argument, NULL, 't'},
                                        {"keep-temps", optional_argument, NULL, 'k'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  const char *targets[MAX_TARGETS], *output = NULL, *keep = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t target_count = 0;
  int option;

  while ((option = cli_next_option(&cli_verb_compile, argc, argv, "o:t:h", longs)) !=
         CLI_OPTIONS_END) {
    switch (option) {
    case 'o':
      output = optarg;
      break;
    case 't':
      if (target_count == MAX_TARGETS) {
        return cli_usage("more than %u targets", MAX_TARGETS);
      }
      targets[target_count++] = optarg;
      break;
    case 'k':
      keep = optarg == NULL ? "." : optarg;
      break;
    default:
      return option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
    }
  }
  if (optind + 1 != argc) {
    return cli_usage(optind == argc ? "a manifest is missing" : "give one manifest");
  }
  if (output == NULL) {
    return cli_usage("-o FILE.vyreb is missing");
  }
  if (target_count == 0) {
    return cli_usage("--target is missing; --target cpu is the one that every build has");
  }
  if (keep != NULL && keep[0] == '\0') {
    return cli_usage("--keep-temps=: give a folder");
  }
  if (compile(argv[optind], output, keep, targets, target_count, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return CLI_ERROR;
  }
  return CLI_OK;
}

const cli_verb cli_verb_compile = {"compile", "compile a program's kernels ahead of time", help,
                                   run};
