/*
 * cmd_scan.c - `vyre scan`: byte strings in files and trees.  The verb's own part: the command
 * line, the kernel's code, messages and statistics.  The work is done in tools/scan/.
 */
#include "tools/cli.h"
#include "tools/devices_of.h"
#include "tools/scan/automaton.h"
#include "tools/scan/engine_scan.h"
#include "tools/scan/printer.h"
#include "tools/scan/rules.h"
#include "tools/scan/walk.h"

#include "embed/vyre__scan_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: vyre scan -r RULES [-r RULES...] [--device SEL...] [--engine auto|force|disable]\n"
    "                 [--json] [--count] [--quiet] [--stats] PATH...\n"
    "\n"
    "Finds every occurrence of many byte strings in files and trees.\n"
    "\n"
    "  -r, --rules FILE   rules, one a line: ID PATTERN.  `#` begins a comment line.  The pattern\n"
    "                     is the rest of the line after the first blanks; it knows \\xHH \\n \\r\n"
    "                     \\t \\0 \\\\, and (?i) in front ignores ASCII case.  Several files are "
    "one\n"
    "  -d, --device SEL   which device, see `vyre devices`; default: VYRE_DEVICE, else the best.\n"
    "                     Given again, all of them share the work; NAME:* is every device that\n"
    "                     plugin NAME has\n"
    "      --engine MODE  auto: persistent if the device promises it, else batched launches;\n"
    "                     force: persistent or an error; disable: batched launches\n"
    "      --json         one object a line: path, offset, length, rule; path_b64 in place of\n"
    "                     path where it is not UTF-8.  With --count: path, count\n"
    "  -c, --count        PATH:N for each file with matches\n"
    "  -q, --quiet        print no matches and no notes, only errors\n"
    "      --stats        on stderr: files, bytes, matches, device, engine, seconds, GB/s, "
    "launches\n"
    "      --piece-size N tuning: bytes of a file that one work item takes, as in 128k\n"
    "      --bank-size N  tuning: matches that each half of the output bank takes at first\n"
    "  -h, --help         this text\n"
    "\n"
    "Prints PATH:OFFSET:ID, in the order of the path's bytes, then of offsets, then of the id's\n"
    "bytes; the same on every run and device.  Overlapping matches are all told.  A path is\n"
    "printed as it is, whatever bytes it has; --json escapes.\n"
    "\n"
    "Hidden files are scanned.  A link is followed if it is named as a PATH, and passed over\n"
    "inside a tree; so are devices, sockets and pipes, with a note.  A regular file is scanned up\n"
    "to the size that it had when it was opened.\n"
    "\n"
    "Exit status: 0 there are matches, 1 there is none, 2 an error; matches that were found are\n"
    "printed all the same.  If a scan ended early, stderr says `truncated`.\n";

/* Where the bundle may be, from the folder of this program: in a build, and installed. */
#define BUILD_BUNDLE "../lib/vyre/scan.vyreb"
#define INSTALLED_BUNDLE "../" VYRE_INSTALL_LIBDIR "/vyre/scan.vyreb"

#define MAX_CODE 64u

typedef struct request {
  const char **rules; /* room for every argument */
  size_t rule_files;
  const char **devices; /* likewise */
  size_t device_count;
  vyre__scan_options scan;
  bool json, count, quiet, stats;
} request;

typedef struct job {
  vyre__rules *rules;
  vyre__automaton automaton;
  vyre__walk_list list;
  vyre__printer printer;
  cli_devices devices;
  char *image; /* of the bundle */
  vyre_bundle *bundle;
  vyre_code code[MAX_CODE];
  uint32_t code_count;
  vyre__scan_stats stats;
  bool quiet;
  bool print_failed;
  bool progress; /* a line of progress stands on the terminal */
} job;

/* ---- the command line ---- */

static bool parse_mode(const char *text, vyre_engine_mode *out_mode)
{
  static const char *const names[] = {"auto", "force", "disable"};
  vyre_engine_mode mode;

  for (mode = VYRE_ENGINE_AUTO; mode <= VYRE_ENGINE_DISABLE; mode++) {
    if (strcmp(text, names[mode]) == 0) {
      *out_mode = mode;
      return true;
    }
  }
  cli_usage("--engine '%s': give auto, force or disable", text);
  return false;
}

static bool parse_size(const char *option, const char *text, uint32_t *out_size)
{
  uint64_t number;

  if (!cli_number(text, 1, UINT32_C(1) << 30, &number)) {
    cli_usage("%s '%s': give a number from 1 to 1g", option, text);
    return false;
  }
  *out_size = (uint32_t)number;
  return true;
}

/* True: go on; else `*out_exit` is the exit status. */
static bool parse(int argc, char **argv, request *r, int *out_exit)
{
  static const struct option longs[] = {{"rules", required_argument, NULL, 'r'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"engine", required_argument, NULL, 'e'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"count", no_argument, NULL, 'c'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"stats", no_argument, NULL, 's'},
                                        {"piece-size", required_argument, NULL, 'p'},
                                        {"bank-size", required_argument, NULL, 'b'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  int option;

  *out_exit = CLI_ERROR;
  while ((option = cli_next_option(&cli_verb_scan, argc, argv, "r:d:cqh", longs)) !=
         CLI_OPTIONS_END) {
    switch (option) {
    case 'r':
      r->rules[r->rule_files++] = optarg;
      break;
    case 'd':
      r->devices[r->device_count++] = optarg;
      break;
    case 'e':
      if (!parse_mode(optarg, &r->scan.mode)) {
        return false;
      }
      break;
    case 'j':
      r->json = true;
      break;
    case 'c':
      r->count = true;
      break;
    case 'q':
      r->quiet = true;
      break;
    case 's':
      r->stats = true;
      break;
    case 'p':
      if (!parse_size("--piece-size", optarg, &r->scan.piece)) {
        return false;
      }
      break;
    case 'b':
      if (!parse_size("--bank-size", optarg, &r->scan.bank_records)) {
        return false;
      }
      break;
    default:
      *out_exit = option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
      return false;
    }
  }
  if (r->rule_files == 0) {
    cli_usage("-r RULES is missing");
    return false;
  }
  if (optind == argc) {
    cli_usage("a PATH is missing");
    return false;
  }
  r->scan.count_only = r->count || r->quiet;
  return true;
}

/* ---- the kernel's code ---- */

/* The bundle that the build made, from beside this program.  Without it, or if it is not for this
   library, the source is compiled when it is needed. */
static void open_bundle(job *j)
{
  static const char *const places[] = {INSTALLED_BUNDLE, BUILD_BUNDLE};
  vyre_error ignored = VYRE_ERROR_INIT;
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  size_t i, size = 0;

  if (length <= 0) {
    return;
  }
  self[length] = '\0';
  for (i = 0; i < sizeof places / sizeof places[0] && j->bundle == NULL; i++) {
    char *path = cli_beside(self, places[i]);
    if (path != NULL && cli_read_file(path, &j->image, &size, &ignored) == VYRE_OK &&
        vyre_bundle_open(j->image, size, &j->bundle, &ignored) != VYRE_OK) {
      free(j->image);
      j->image = NULL;
    }
    free(path);
  }
}

static void collect_code(job *j)
{
  const vyre_code empty = VYRE_CODE_INIT;
  const vyre_code *rows = NULL;
  vyre_code *source;
  uint32_t count = 0, i;

  open_bundle(j);
  if (j->bundle != NULL) {
    rows = vyre_bundle_code(j->bundle, &count);
  }
  for (i = 0; i < count && j->code_count < MAX_CODE - 1; i++) {
    j->code[j->code_count++] = rows[i];
  }
  source = &j->code[j->code_count++];
  *source = empty;
  source->format = "vyre-c";
  source->data = vyre__scan_source;
  source->size = vyre__scan_source_size;
  source->name = "scan_kernel.c";
}

/* ---- what the scan tells ---- */

static void clear_progress(job *j)
{
  if (j->progress) {
    fputs("\r\033[K", stderr);
    j->progress = false;
  }
}

static void on_progress(void *self, uint64_t files, uint64_t bytes)
{
  job *j = self;

  fprintf(stderr, "\r\033[K%" PRIu64 " of %zu files, %.1f MB", files, j->list.count,
          (double)bytes * 1e-6);
  fflush(stderr);
  j->progress = true;
}

static void on_trouble(void *self, vyre__walk_level level, const char *path, const char *cause)
{
  job *j = self;

  clear_progress(j);
  if (level == VYRE__WALK_ERROR) {
    cli_error("%s: %s", path, cause);
  } else if (!j->quiet) {
    cli_note("%s: %s", path, cause);
  }
}

static bool on_file(void *self, const char *path, const vyre__scan_match *matches, uint64_t count)
{
  job *j = self;

  if (count != 0) {
    clear_progress(j);
  }
  if (!vyre__printer_file(&j->printer, path, matches, count)) {
    cli_stdout_errno = errno;
    j->print_failed = true;
  }
  return !j->print_failed;
}

static void print_devices(const job *j)
{
  char device[256];
  uint32_t i;

  for (i = 0; i < j->devices.count; i++) {
    fprintf(stderr,
            "device    %s, %" PRIu64 " pieces\n"
            "engine    %s\n",
            cli_device_text(j->devices.devices[i], device, sizeof device), j->stats.share[i],
            j->stats.choice[i]);
  }
}

static void print_stats(const job *j, double seconds)
{
  fflush(stdout);
  fprintf(stderr,
          "files     %" PRIu64 "\n"
          "bytes     %" PRIu64 "\n"
          "matches   %" PRIu64 "\n"
          "errors    %" PRIu64 "\n"
          "rules     %" PRIu32 ", %s automaton of %" PRIu32 " states, %" PRIu32 " bytes\n",
          j->stats.files, j->stats.bytes, j->stats.matches,
          j->stats.errors + (uint64_t)j->list.errors, vyre__rules_count(j->rules),
          j->automaton.form == VYRE__AUTOMATON_DENSE ? "dense" : "compact", j->automaton.states,
          j->automaton.blob_size);
  print_devices(j);
  fprintf(stderr,
          "workers   %" PRIu32 "\n"
          "seconds   %.6f\n"
          "GB/s      %.3f\n"
          "launches  %" PRIu64 "\n"
          "pieces    %" PRIu64 ", %" PRIu64 " of them again for want of room\n",
          j->stats.workers, seconds, seconds > 0 ? (double)j->stats.bytes * 1e-9 / seconds : 0.0,
          j->stats.launches, j->stats.pieces, j->stats.retries);
}

/* ---- the scan ---- */

static vyre_status prepare(job *j, const request *r, vyre_error *err)
{
  const vyre__print_form form = r->quiet              ? VYRE__PRINT_NOTHING
                                : r->count && r->json ? VYRE__PRINT_COUNT_JSON
                                : r->count            ? VYRE__PRINT_COUNT
                                : r->json             ? VYRE__PRINT_JSON
                                                      : VYRE__PRINT_LINES;
  vyre_status status = vyre__rules_create(&j->rules, err);
  size_t i;

  for (i = 0; status == VYRE_OK && i < r->rule_files; i++) {
    status = vyre__rules_add_file(j->rules, r->rules[i], err);
  }
  if (status == VYRE_OK) {
    status = vyre__rules_finish(j->rules, err);
  }
  if (status == VYRE_OK) {
    status = vyre__automaton_build(j->rules, NULL, &j->automaton, err);
  }
  if (status == VYRE_OK) {
    status = vyre__printer_open(&j->printer, stdout, form, j->rules, err);
  }
  return status;
}

static vyre_status scan(job *j, const request *r, char **paths, size_t count, vyre_error *err)
{
  vyre__scan_sink sink = {j, on_file, on_trouble, NULL};
  vyre_status status;

  status = vyre__walk((const char *const *)(void *)paths, count, on_trouble, j, &j->list, err);
  if (status != VYRE_OK) {
    return status;
  }
  sink.progress = isatty(STDERR_FILENO) && !r->quiet ? on_progress : NULL;
  errno = 0;
  status = vyre__scan_run(j->devices.devices, j->devices.count, j->rules, &j->automaton, j->code,
                          j->code_count, &j->list, &r->scan, &sink, &j->stats, err);
  clear_progress(j);
  return status;
}

static double now(void)
{
  struct timespec time;

  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int scan_paths(job *j, const request *r, char **paths, size_t count)
{
  vyre_error err = VYRE_ERROR_INIT;
  double start;

  if (prepare(j, r, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return CLI_ERROR;
  }
  if (!cli_devices_open(r->devices, r->device_count, VYRE__TEAM_MOST, &j->devices)) {
    return CLI_ERROR;
  }
  collect_code(j);
  start = now();
  if (scan(j, r, paths, count, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    if (j->stats.choice[0][0] != '\0') { /* it had begun */
      cli_error("truncated: the scan ended early; %" PRIu64 " of %zu files are complete",
                j->stats.files, j->list.count);
    }
    return CLI_ERROR;
  }
  if (r->stats) {
    print_stats(j, now() - start);
  }
  if (j->print_failed && !ferror(stdout)) {
    cli_error("truncated: no memory to print the matches");
  }
  if (j->print_failed || j->stats.errors != 0 || j->list.errors != 0) {
    return CLI_ERROR;
  }
  return j->stats.matches != 0 ? CLI_OK : CLI_NONE;
}

static int run(int argc, char **argv)
{
  static job j; /* zero */
  request r;
  int exit_status = CLI_ERROR;

  memset(&r, 0, sizeof r);
  r.rules = calloc((size_t)argc, sizeof *r.rules);
  r.devices = calloc((size_t)argc, sizeof *r.devices);
  if (r.rules == NULL || r.devices == NULL) {
    cli_error("no memory for the command line");
  } else if (parse(argc, argv, &r, &exit_status)) {
    j.quiet = r.quiet;
    exit_status = scan_paths(&j, &r, argv + optind, (size_t)(argc - optind));
    vyre__printer_close(&j.printer);
    vyre__walk_destroy(&j.list);
    cli_devices_close(&j.devices);
    vyre_bundle_destroy(j.bundle);
    free(j.image);
    vyre__automaton_destroy(&j.automaton);
    vyre__rules_destroy(j.rules);
  }
  free(r.rules);
  free(r.devices);
  return exit_status;
}

const cli_verb cli_verb_scan = {"scan", "find byte strings in files and trees", help, run};
