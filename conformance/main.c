/*
 * main.c - vyre-conform: checks a plugin by its shared object alone.
 */
#include "conformance/job.h"
#include "conformance/kernels.h"
#include "conformance/plain.h"
#include "conformance/reports.h"
#include "conformance/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- --write-kernels ---- */

static int write_kernels(const char *folder)
{
  for (uint32_t i = 0; i < conform_text_count(); ++i) {
    const conform_text text = conform_text_at(i);
    char path[4096];
    FILE *file = NULL;
    bool good = false;
    snprintf(path, sizeof path, "%s/%s.c", folder, text.name);
    file = fopen(path, "w");
    good = file && fputs("#include \"vyre_kernel.h\"\n", file) != EOF &&
           fwrite(text.text, 1, text.size, file) == text.size;
    if (file && fclose(file))
      good = false;
    if (!good) {
      fprintf(stderr, "vyre-conform: error: %s: %s\n", path, strerror(errno));
      return CONFORM_EXIT_USAGE;
    }
    printf("%s\n", path);
  }
  return CONFORM_EXIT_PASSED;
}

/* ---- a run ---- */

static conform_exceptions exceptions;

/* Sorts out what does not run; the rest goes to `out_rows`. */
static uint32_t choose(const conform_options *options, conform_results *results,
                       conform_result **out_rows)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < results->count; ++i) {
    conform_result *result = &results->rows[i];
    const char *missing = NULL;
    result->row = conform_case_at(i);
    if (!conform_is_wanted(options, result->row)) {
      result->verdict = CONFORM_SKIPPED;
      continue;
    }
    missing = conform_missing(options, &results->probe, result->row);
    if (!missing) {
      out_rows[count++] = result;
      continue;
    }
    result->verdict = CONFORM_NOT_SUPPORTED;
    snprintf(result->text, sizeof result->text, "the plugin does not declare %s", missing);
  }
  return count;
}

/* The texts may be the plugin's. */
static void say(const conform_options *options, const char *first, const char *second)
{
  fprintf(stderr, "vyre-conform: %s: ", options->plugin);
  conform_print_plain(stderr, first, "\n    ");
  conform_print_plain(stderr, second, "\n    ");
  fputc('\n', stderr);
}

/* dlopen() would wait for a pipe. */
static bool is_file(const conform_options *options)
{
  struct stat about;
  if (stat(options->plugin, &about) || S_ISREG(about.st_mode))
    return true;
  say(options, "it is no regular file; give the plugin's shared object", "");
  return false;
}

/* A file that is made anew while it is checked is another plugin. */
static bool is_same_plugin(const conform_options *options, const conform_results *results)
{
  char now[65] = "";
  if (!conform_hash_file(options->plugin, now))
    now[0] = '\0';
  if (!strcmp(now, results->plugin_sha256))
    return true;
  say(options, "its file was changed while the cases ran; run them again", "");
  return false;
}

/* CONFORM_EXIT_PASSED: go on. */
static int probe(const conform_options *options, const char *self, conform_results *results)
{
  char text[CONFORM_TEXT_SIZE];
  conform_probe *found = &results->probe;
  if (!conform_run_probe(options, self, found, text, sizeof text)) {
    say(options, text, "");
    return CONFORM_EXIT_NOT_A_PLUGIN;
  }
  if (found->status != VYRE_OK || options->device >= found->device_count) {
    char number[48];
    snprintf(number, sizeof number, "there is no device %u: ", options->device);
    say(options, number,
        found->status != VYRE_OK ? text
        : found->device_count    ? "give a lower number to --device"
                                 : "the plugin has none on this machine");
    return CONFORM_EXIT_NO_DEVICE;
  }
  if (!options->kernels &&
      !(found->takes_vyre_c && (found->device.capabilities & VYRE_CAP_COMPILER))) {
    snprintf(text, sizeof text,
             "it has no compiler for vyre-c (%.255s); compile the kernels of --write-kernels for "
             "one of its formats (%s) and give them with --kernels",
             found->device.compiler_reason, found->formats);
    say(options, text, "");
    return CONFORM_EXIT_NO_FORMAT;
  }
  return CONFORM_EXIT_PASSED;
}

static bool write_reports(const conform_options *options, const conform_results *results)
{
  bool good = true;
  if (options->json) {
    json_t *object = conform_json(results, &exceptions);
    good = conform_write_json(options->json, object) && good;
    json_decref(object);
  }
  if (options->junit)
    good = conform_write_junit(options->junit, results) && good;
  return good;
}

/* One result, as it comes. */
static void take(conform_result *result)
{
  conform_apply_exception(&exceptions, result);
  conform_text_result(result);
}

static int run(const conform_options *options, const char *self)
{
  static conform_results results;
  conform_result **rows = NULL;
  uint32_t count = 0, wrong = 0;
  int status = CONFORM_EXIT_PASSED;
  bool good = false;
  if (!conform_read_exceptions(options->exceptions, &exceptions))
    return CONFORM_EXIT_USAGE;
  if (!is_file(options))
    return CONFORM_EXIT_NOT_A_PLUGIN;
  conform_watch_begin();
  if (!conform_hash_file(options->plugin, results.plugin_sha256))
    results.plugin_sha256[0] = '\0';
  status = probe(options, self, &results);
  if (status != CONFORM_EXIT_PASSED)
    return status;
  while (conform_case_at(results.count))
    results.count += 1;
  results.rows = calloc(results.count, sizeof *results.rows);
  rows = calloc(results.count, sizeof *rows);
  if (!results.rows || !rows) {
    fprintf(stderr, "vyre-conform: error: out of memory\n");
    status = CONFORM_EXIT_USAGE;
    goto done;
  }
  results.seed = options->seed;
  conform_text_begin(options, &results.probe);
  count = choose(options, &results, rows);
  results.wall_ns = now_ns();
  good = conform_run_jobs(options, self, rows, count, results.calls, take);
  results.wall_ns = now_ns() - results.wall_ns;
  for (uint32_t i = 0; i < results.count; ++i) {
    if (results.rows[i].verdict == CONFORM_NOT_SUPPORTED ||
        results.rows[i].verdict == CONFORM_SKIPPED)
      conform_apply_exception(&exceptions, &results.rows[i]); /* it has met its case */
    results.of[results.rows[i].verdict] += 1;
  }
  wrong = conform_wrong_exceptions(&exceptions, !options->filter_count && !options->profile);
  conform_text_end(options, &results);
  if (conform_watch_stopped()) {
    fflush(stdout);
    fprintf(stderr, "vyre-conform: stopped by signal %d (%s): not all cases have run\n",
            conform_watch_stopped(), strsignal(conform_watch_stopped()));
  }
  good = write_reports(options, &results) && good;
  good = is_same_plugin(options, &results) && good;
  if (!good)
    status = CONFORM_EXIT_USAGE;
  else if (results.of[CONFORM_FAIL] || wrong)
    status = CONFORM_EXIT_FAILED;
  else if (!results.of[CONFORM_PASS]) {
    fprintf(stderr, "vyre-conform: nothing ran\n");
    status = CONFORM_EXIT_NOTHING_RAN;
  }
  if (options->certificate && good && !conform_write_certificate(options, &results, &exceptions) &&
      status == CONFORM_EXIT_PASSED)
    status = CONFORM_EXIT_USAGE;

done:
  free(rows);
  free(results.rows);
  return status;
}

/* A stream that the caller has closed goes nowhere, and its number to no other file. */
static void open_streams(void)
{
  int fd = 0;
  do
    fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  if (fd > 2)
    close(fd);
}

/* What was to be read has been written, or the status says that it was not. */
static int check_output(int status)
{
  errno = 0;
  if (!fflush(stdout) && !ferror(stdout))
    return status;
  fprintf(stderr, "vyre-conform: error: standard output: %s\n",
          errno ? strerror(errno) : "it cannot be written");
  return status == CONFORM_EXIT_PASSED ? CONFORM_EXIT_USAGE : status;
}

int main(int argc, char **argv)
{
  static conform_options options;
  int status = CONFORM_EXIT_PASSED;
  open_streams();
  if (argc >= 2 && !strcmp(argv[1], "verify")) {
    if (argc == 3 || argc == 4)
      return check_output(conform_verify(argv[2], argc == 4 ? argv[3] : NULL));
    fprintf(stderr, "vyre-conform: error: use: vyre-conform verify CERTIFICATE [PLUGIN.so]\n");
    return CONFORM_EXIT_USAGE;
  }
  conform_parse(argc, argv, &options);
  if (options.child)
    return conform_run_child(&options);
  if (!conform_check_filters(&options))
    return CONFORM_EXIT_USAGE;
  if (options.list)
    conform_print_list(&options);
  else if (options.write_kernels)
    status = write_kernels(options.write_kernels);
  else
    status = run(&options, "/proc/self/exe");
  status = check_output(status);
  if (conform_watch_stopped())
    conform_watch_end_self();
  return status;
}
