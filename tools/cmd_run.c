/*
 * cmd_run.c - `vyre run`: a program described by a manifest, on files.
 */
#include "tools/cli.h"
#include "tools/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES VYRE_MAX_BUFFERS

static const char help[] =
    "Usage: vyre run MANIFEST.json|FILE.vyreb [--in NAME=FILE...] [--out NAME=FILE...]\n"
    "                [--device SEL] [--route ROUTE] [--iterations N] [--push FILE] [--json]\n"
    "\n"
    "Runs a program once: each input is the bytes of a file, each output that is asked for is\n"
    "written to one.  Then prints the device and how it was chosen, the route, launches,\n"
    "passes and times.  docs/manifest.md describes manifests.\n"
    "\n"
    "  -i, --in NAME=FILE...   the bytes of an input buffer; every input has to be given\n"
    "  -o, --out NAME=FILE...  where an output buffer goes.  Files are written once all is well,\n"
    "                          each replaced as a whole; after an error none is touched\n"
    "  -d, --device SEL        which device, see `vyre devices`; default: VYRE_DEVICE, else the\n"
    "                          best one\n"
    "      --route ROUTE       auto, native, resident or host; default auto\n"
    "      --iterations N      upper bound of passes, instead of the manifest's\n"
    "      --push FILE         the bytes of the push constants\n"
    "      --json              one JSON object on stdout\n"
    "  -h, --help              this text\n"
    "\n"
    "Exit status: 0 it ran and the outputs are written, 2 an error.\n";

/* NAME=FILE of the command line. */
typedef struct named_file {
  const char *name;
  size_t name_length;
  const char *path;
  bool used;
} named_file;

typedef struct named_files {
  const char *option; /* "--in" */
  named_file rows[MAX_FILES];
  uint32_t count;
} named_files;

typedef struct request {
  const char *manifest;
  const char *device;
  const char *push;
  named_files in, out;
  vyre_dispatch_options options;
  bool json;
} request;

/* A run, and everything to free after it. */
typedef struct job {
  manifest m;
  vyre_context *context;
  vyre_device *device;
  vyre_program *program;
  char *push;
  vyre_bytes inputs[MAX_FILES];
  uint32_t input_count;
  vyre_outputs outputs;
  cli_output files[MAX_FILES];
  uint32_t file_count;
  vyre_dispatch_result result;
} job;

/* ---- the command line ---- */

static bool add_named(named_files *files, const char *text)
{
  const char *equals = strchr(text, '=');
  named_file *row = &files->rows[files->count];
  uint32_t i;

  if (equals == NULL || equals == text || equals[1] == '\0') {
    cli_usage("%s '%s': give NAME=FILE", files->option, text);
    return false;
  }
  if (files->count == MAX_FILES) {
    cli_usage("%s is given more than %u times", files->option, MAX_FILES);
    return false;
  }
  row->name = text;
  row->name_length = (size_t)(equals - text);
  row->path = equals + 1;
  row->used = false;
  for (i = 0; i < files->count; i++) {
    if (files->rows[i].name_length == row->name_length &&
        memcmp(files->rows[i].name, row->name, row->name_length) == 0) {
      cli_usage("%s gives '%.*s' twice", files->option, (int)row->name_length, row->name);
      return false;
    }
  }
  files->count++;
  return true;
}

static bool parse_route(const char *text, vyre_route *out_route)
{
  vyre_route route;

  for (route = VYRE_ROUTE_AUTO; route <= VYRE_ROUTE_HOST; route++) {
    if (strcmp(vyre_route_name(route), text) == 0) {
      *out_route = route;
      return true;
    }
  }
  cli_usage("--route '%s': give auto, native, resident or host", text);
  return false;
}

/* What stands alone: more files of the option before it, or the manifest. */
static bool add_argument(request *r, named_files *open_list, const char *text)
{
  if (open_list != NULL && strchr(text, '=') != NULL) {
    return add_named(open_list, text);
  }
  if (r->manifest != NULL) {
    cli_usage("unexpected argument '%s'", text);
    return false;
  }
  r->manifest = text;
  return true;
}

/* True: go on; else `*out_exit` is the exit status. */
static bool parse(int argc, char **argv, request *r, int *out_exit)
{
  static const struct option longs[] = {{"in", required_argument, NULL, 'i'},
                                        {"out", required_argument, NULL, 'o'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"route", required_argument, NULL, 'r'},
                                        {"push", required_argument, NULL, 'p'},
                                        {"iterations", required_argument, NULL, 'n'},
                                        {"json", no_argument, NULL, 'j'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  named_files *open_list = NULL;
  uint64_t number;
  int option;

  *out_exit = CLI_ERROR;
  /* The dash: arguments come in order, so that files follow their option. */
  while ((option = cli_next_option(&cli_verb_run, argc, argv, "-i:o:d:h", longs)) !=
         CLI_OPTIONS_END) {
    if (option != 1) {
      open_list = option == 'i' ? &r->in : option == 'o' ? &r->out : NULL;
    }
    switch (option) {
    case 1:
      if (!add_argument(r, open_list, optarg)) {
        return false;
      }
      break;
    case 'i':
    case 'o':
      if (!add_named(open_list, optarg)) {
        return false;
      }
      break;
    case 'd':
      r->device = optarg;
      break;
    case 'r':
      if (!parse_route(optarg, &r->options.route)) {
        return false;
      }
      break;
    case 'p':
      r->push = optarg;
      break;
    case 'n':
      if (!cli_number(optarg, 1, UINT32_MAX, &number)) {
        cli_usage("--iterations '%s': give a number from 1", optarg);
        return false;
      }
      r->options.iterations = (uint32_t)number;
      break;
    case 'j':
      r->json = true;
      break;
    default:
      *out_exit = option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
      return false;
    }
  }
  for (; optind < argc; optind++) { /* behind `--` */
    if (!add_argument(r, NULL, argv[optind])) {
      return false;
    }
  }
  if (r->manifest == NULL) {
    cli_usage("a manifest is missing");
    return false;
  }
  return true;
}

/* ---- the run ---- */

static named_file *find_file(named_files *files, const char *name)
{
  uint32_t i;

  for (i = 0; i < files->count; i++) {
    if (strlen(name) == files->rows[i].name_length &&
        memcmp(name, files->rows[i].name, files->rows[i].name_length) == 0) {
      files->rows[i].used = true;
      return &files->rows[i];
    }
  }
  return NULL;
}

typedef const char *(*name_fn)(const vyre_program *program, uint32_t position);

/* Every row has to name a buffer of the program. */
static vyre_status check_used(const named_files *files, const vyre_program *program, name_fn name,
                              uint32_t count, vyre_error *err)
{
  char known[512] = "none";
  uint32_t i, at;

  for (i = 0; i < files->count; i++) {
    if (!files->rows[i].used) {
      for (at = 0; at < count; at++) {
        const size_t used = at == 0 ? 0 : strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", at != 0 ? ", " : "", name(program, at));
      }
      return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give a name of the list",
                      "%s %.*s: the program has no such buffer there; it has: %s", files->option,
                      (int)files->rows[i].name_length, files->rows[i].name, known);
    }
  }
  return VYRE_OK;
}

static vyre_status read_inputs(job *j, request *r, vyre_error *err)
{
  const uint32_t count = vyre_program_input_count(j->program);
  vyre_status status = VYRE_OK;
  named_file *row;
  char *data = NULL;
  size_t size = 0;
  uint32_t i;

  for (i = 0; i < count; i++) {
    const char *name = vyre_program_input_name(j->program, i);
    row = find_file(&r->in, name);
    if (row == NULL) {
      return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "add --in NAME=FILE for it",
                      "input '%s' is not given", name);
    }
    status = cli_read_file(row->path, &data, &size, err);
    if (status != VYRE_OK) {
      return status;
    }
    j->inputs[j->input_count].data = data;
    j->inputs[j->input_count++].size = size;
  }
  status = check_used(&r->in, j->program, vyre_program_input_name, count, err);
  if (status == VYRE_OK && r->push != NULL) {
    status = cli_read_file(r->push, &j->push, &size, err);
    if (status == VYRE_OK && size > UINT32_MAX) {
      return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give the manifest's number of bytes",
                      "%s: too large for push constants", r->push);
    }
    r->options.push = j->push;
    r->options.push_size = (uint32_t)size;
  }
  return status;
}

static vyre_status check_outputs(job *j, request *r, vyre_error *err)
{
  const uint32_t count = vyre_program_output_count(j->program);
  uint32_t i;

  for (i = 0; i < count; i++) {
    (void)find_file(&r->out, vyre_program_output_name(j->program, i));
  }
  return check_used(&r->out, j->program, vyre_program_output_name, count, err);
}

/* All temporary files first; the renames only once each of them is whole. */
static vyre_status write_outputs(job *j, request *r, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  const named_file *row;
  uint32_t i;

  for (i = 0; i < j->outputs.count; i++) {
    row = find_file(&r->out, vyre_program_output_name(j->program, i));
    if (row != NULL) {
      status = cli_output_begin(&j->files[j->file_count++], row->path, j->outputs.slots[i].data,
                                (size_t)j->outputs.slots[i].size, err);
    }
    if (status != VYRE_OK) {
      return status;
    }
  }
  return cli_outputs_commit(j->files, j->file_count, err);
}

static vyre_status run_job(job *j, request *r, vyre_error *err)
{
  const vyre_dispatch_result empty = VYRE_DISPATCH_RESULT_INIT;
  vyre_device_request request_device = VYRE_DEVICE_REQUEST_INIT;
  vyre_status status = manifest_open(r->manifest, &j->m, err);

  if (status != VYRE_OK) {
    return status;
  }
  if (!j->m.is_program) {
    return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give a manifest with \"segments\"",
                    "%s describes handlers of an engine, not a program", r->manifest);
  }
  request_device.selector = r->device;
  status = vyre_context_create(NULL, &j->context, err);
  if (status == VYRE_OK) {
    status = vyre_device_open(j->context, &request_device, &j->device, err);
  }
  if (status == VYRE_OK) {
    status = vyre_program_create(j->device, &j->m.program, &j->program, err);
  }
  if (status == VYRE_OK) {
    status = check_outputs(j, r, err);
  }
  if (status == VYRE_OK) {
    status = read_inputs(j, r, err);
  }
  if (status == VYRE_OK) {
    j->result = empty;
    status = vyre_dispatch(j->program, &r->options, j->inputs, j->input_count, &j->outputs,
                           &j->result, err);
  }
  return status == VYRE_OK ? write_outputs(j, r, err) : status;
}

/* ---- the report ---- */

static const char *converged_text(vyre_converged converged)
{
  return converged == VYRE_CONVERGED_YES  ? "yes"
         : converged == VYRE_CONVERGED_NO ? "no"
                                          : "not tested";
}

static void print_time(const char *name, uint64_t nanoseconds)
{
  if (nanoseconds == VYRE_TIME_ABSENT) {
    printf("  %-9s not measured\n", name);
  } else {
    printf("  %-9s %.3f ms\n", name, (double)nanoseconds * 1e-6);
  }
}

/* The lines of a text, each behind the name of the row. */
static void print_lines(const char *name, const char *text)
{
  while (*text != '\0') {
    const size_t length = strcspn(text, "\n");
    printf("%-9s %.*s\n", name, (int)length, text);
    text += length + (text[length] != '\0');
    name = "";
  }
}

static void print_text(const job *j, request *r)
{
  char device[256];
  bool fell_back = false;
  const char *choice = vyre_device_choice(j->device, &fell_back);
  uint32_t i;

  printf("program   %s\n", j->m.name);
  printf("device    %s\n", cli_device_text(j->device, device, sizeof device));
  print_lines("chosen", choice);
  printf("route     %s\n", vyre_route_name(j->result.route));
  printf("launches  %" PRIu64 "\n", j->result.launches);
  printf("passes    %" PRIu32 " (converged: %s)\n", j->result.passes,
         converged_text(j->result.converged));
  printf("time\n");
  print_time("wall", j->result.wall_ns);
  print_time("device", j->result.device_ns);
  print_time("enqueue", j->result.enqueue_ns);
  print_time("wait", j->result.wait_ns);
  for (i = 0; i < j->outputs.count; i++) {
    const char *name = vyre_program_output_name(j->program, i);
    const named_file *row = find_file(&r->out, name);
    printf("%-9s %s, %" PRIu64 " bytes%s%s\n", "output", name, j->outputs.slots[i].size,
           row != NULL ? " -> " : ", not written", row != NULL ? row->path : "");
  }
}

static json_t *json_text(const char *text)
{
  json_t *value = json_string(text);

  return value != NULL ? value : json_null();
}

static bool print_json(const job *j, request *r)
{
  bool fell_back = false, failed;
  const char *choice = vyre_device_choice(j->device, &fell_back);
  json_t *outputs = json_array(), *root;
  vyre_device_info info;
  uint32_t i;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  (void)vyre_device_get_info(j->device, &info, NULL);
  failed = outputs == NULL;
  for (i = 0; !failed && i < j->outputs.count; i++) {
    const char *name = vyre_program_output_name(j->program, i);
    const named_file *row = find_file(&r->out, name);
    failed = json_array_append_new(
                 outputs, json_pack("{s:s, s:I, s:o}", "name", name, "bytes",
                                    (json_int_t)j->outputs.slots[i].size, "file",
                                    row != NULL ? json_text(row->path) : json_null())) != 0;
  }
  if (failed) {
    json_decref(outputs);
    return cli_print_json(NULL, 0);
  }
  root = json_pack(
      "{s:o, s:{s:s, s:o, s:o, s:b}, s:s, s:I, s:I, s:s, s:{s:o, s:o, s:o, s:o}, s:o}", "program",
      json_text(j->m.name), "device", "selector", info.selector, "name", json_text(info.name),
      "choice", json_text(choice), "fell_back", (int)fell_back, "route",
      vyre_route_name(j->result.route), "launches", (json_int_t)j->result.launches, "passes",
      (json_int_t)j->result.passes, "converged", converged_text(j->result.converged), "seconds",
      "wall", cli_json_seconds(j->result.wall_ns), "device", cli_json_seconds(j->result.device_ns),
      "enqueue", cli_json_seconds(j->result.enqueue_ns), "wait",
      cli_json_seconds(j->result.wait_ns), "outputs", outputs);
  return cli_print_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static int run(int argc, char **argv)
{
  static request r; /* large, and zero */
  static job j;
  const vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  const vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  int exit_status;
  uint32_t i;

  r.in.option = "--in";
  r.out.option = "--out";
  r.options = options;
  j.outputs = outputs;
  if (!parse(argc, argv, &r, &exit_status)) {
    return exit_status;
  }
  exit_status = CLI_OK;
  if (run_job(&j, &r, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    exit_status = CLI_ERROR;
  } else if (r.json) {
    exit_status = print_json(&j, &r) ? CLI_OK : CLI_ERROR;
  } else {
    print_text(&j, &r);
  }
  for (i = 0; i < j.file_count; i++) {
    cli_output_end(&j.files[i]);
  }
  vyre_outputs_reset(&j.outputs);
  for (i = 0; i < j.input_count; i++) {
    free((void *)(uintptr_t)j.inputs[i].data);
  }
  free(j.push);
  vyre_program_destroy(j.program);
  vyre_device_close(j.device);
  vyre_context_destroy(j.context);
  manifest_close(&j.m);
  return exit_status;
}

const cli_verb cli_verb_run = {"run", "run a program on files", help, run};
