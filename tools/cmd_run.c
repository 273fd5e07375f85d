/*
 * cmd_run.c - `vyre run`: a program described by a manifest, on files.  The command line; the run
 * is in run_job.c, the report in run_report.c.
 */
#include "tools/run_job.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vyre run MANIFEST.json|FILE.vyreb [--in NAME=FILE...] [--out NAME=FILE...]\n"
    "                [--device SEL] [--route ROUTE] [--iterations N] [--no-converge]\n"
    "                [--push FILE] [--explain] [--keep-temps[=DIR]] [--json]\n"
    "\n"
    "Runs a program once: each input is the bytes of a file, each output that is asked for is\n"
    "written to one.  Then prints the device and how it was chosen, the route and why, launches,\n"
    "passes and times.  docs/manifest.md describes manifests.\n"
    "\n"
    "  -i, --in NAME=FILE...   the bytes of an input buffer.  One that is left out is zeros, if\n"
    "                          the manifest tells its size\n"
    "  -o, --out NAME=FILE...  where an output buffer goes.  Files are written once all is well,\n"
    "                          each replaced as a whole; after an error none is touched\n"
    "  -d, --device SEL        which device, see `vyre devices`; default: VYRE_DEVICE, else the\n"
    "                          best one\n"
    "      --route ROUTE       auto, native, resident or host; default auto\n"
    "      --iterations N      upper bound of passes, instead of the manifest's\n"
    "      --no-converge       run all passes, test nothing\n"
    "      --push FILE         the bytes of the push constants\n"
    "      --explain           print the plan: buffers, segments, what each route would launch\n"
    "                          and copy, and why which is taken.  Nothing runs unless --out is\n"
    "                          given too\n"
    "      --keep-temps[=DIR]  write the text that is compiled, with the entries and the fused\n"
    "                          kernel that vyre adds, to DIR/NAME.vyre.c; default: this folder\n"
    "      --json              one JSON object on stdout\n"
    "  -h, --help              this text\n"
    "\n"
    "Exit status: 0 it ran and the outputs are written, or the plan is printed; 2 an error.\n";

static bool add_named(named_files *files, const char *text)
{
  const char *equals = strchr(text, '=');
  named_file *row = &files->rows[files->count];
  uint32_t i;

  if (equals == NULL || equals == text || equals[1] == '\0') {
    cli_usage("%s '%s': give NAME=FILE", files->option, text);
    return false;
  }
  if (files->count == RUN_MAX_FILES) {
    cli_usage("%s is given more than %u times", files->option, RUN_MAX_FILES);
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

static bool parse_iterations(const char *text, uint32_t *out_iterations)
{
  uint64_t number = 0;

  if (!cli_number(text, 1, UINT32_MAX, &number)) {
    cli_usage("--iterations '%s': give a number from 1", text);
    return false;
  }
  *out_iterations = (uint32_t)number;
  return true;
}

/* What stands alone: more files of the option before it, or the manifest. */
static bool add_argument(run_request *r, named_files *open_list, const char *text)
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

/* One option with its `value` (NULL without); false if it is wrong, and then that is told. */
static bool take_option(run_request *r, int option, const char *value, named_files *open_list)
{
  switch (option) {
  case 1:
    return add_argument(r, open_list, value);
  case 'i':
  case 'o':
    return add_named(open_list, value);
  case 'd':
    r->device = value;
    return true;
  case 'r':
    return parse_route(value, &r->options.route);
  case 'n':
    return parse_iterations(value, &r->iterations);
  case 'c':
    r->no_converge = true;
    return true;
  case 'p':
    r->push = value;
    return true;
  case 'e':
    r->explain = true;
    return true;
  case 'k':
    r->keep = value == NULL ? "." : value;
    if (r->keep[0] == '\0') {
      cli_usage("--keep-temps=: give a folder");
      return false;
    }
    return true;
  default:
    r->json = true;
    return true;
  }
}

/* True: go on; else `*out_exit` is the exit status. */
static bool parse(int argc, char **argv, run_request *r, int *out_exit)
{
  static const struct option longs[] = {{"in", required_argument, NULL, 'i'},
                                        {"out", required_argument, NULL, 'o'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"route", required_argument, NULL, 'r'},
                                        {"push", required_argument, NULL, 'p'},
                                        {"iterations", required_argument, NULL, 'n'},
                                        {"no-converge", no_argument, NULL, 'c'},
                                        {"explain", no_argument, NULL, 'e'},
                                        {"keep-temps", optional_argument, NULL, 'k'},
                                        {"json", no_argument, NULL, 'j'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  named_files *open_list = NULL;
  int option;

  *out_exit = CLI_ERROR;
  /* The dash: arguments come in order, so that files follow their option. */
  while ((option = cli_next_option(&cli_verb_run, argc, argv, "-i:o:d:h", longs)) !=
         CLI_OPTIONS_END) {
    if (option == CLI_OPTIONS_HELP || option == CLI_OPTIONS_WRONG) {
      *out_exit = option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
      return false;
    }
    if (option != 1) {
      open_list = option == 'i' ? &r->in : option == 'o' ? &r->out : NULL;
    }
    if (!take_option(r, option, optarg, open_list)) {
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

static int run(int argc, char **argv)
{
  static run_request r; /* large, and zero */
  static run_job j;
  const vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  const vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  int exit_status;

  r.in.option = "--in";
  r.out.option = "--out";
  r.options = options;
  j.outputs = outputs;
  if (!parse(argc, argv, &r, &exit_status)) {
    return exit_status;
  }
  exit_status = CLI_OK;
  if (run_job_do(&j, &r, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    exit_status = CLI_ERROR;
  } else if (r.json) {
    exit_status = run_print_json(&j, &r) ? CLI_OK : CLI_ERROR;
  } else {
    run_print_text(&j, &r);
  }
  run_job_free(&j);
  return exit_status;
}

const cli_verb cli_verb_run = {"run", "run a program on files", help, run};
