/*
 * main.c - vyre-conform: checks a plugin by its shared object alone.
 */
#include "conformance/job.h"
#include "conformance/kernels.h"
#include "conformance/reports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/* CONFORM_EXIT_PASSED: go on. */
static int probe(const conform_options *options, const char *self, conform_results *results)
{
  char text[CONFORM_TEXT_SIZE];
  conform_probe *found = &results->probe;
  if (!conform_run_probe(options, self, found, text, sizeof text)) {
    fprintf(stderr, "vyre-conform: %s: %s\n", options->plugin, text);
    return CONFORM_EXIT_NOT_A_PLUGIN;
  }
  if (found->status != VYRE_OK || options->device >= found->device_count) {
    fprintf(stderr, "vyre-conform: %s: there is no device %u: %s\n", options->plugin,
            options->device,
            found->status != VYRE_OK ? text
            : found->device_count    ? "give a lower number to --device"
                                     : "the plugin has none on this machine");
    return CONFORM_EXIT_NO_DEVICE;
  }
  if (!options->kernels &&
      !(found->takes_vyre_c && (found->device.capabilities & VYRE_CAP_COMPILER))) {
    fprintf(stderr,
            "vyre-conform: %s: it has no compiler for vyre-c (%.255s); compile the kernels of "
            "--write-kernels for one of its formats (%s) and give them with --kernels\n",
            options->plugin, found->device.compiler_reason, found->formats);
    return CONFORM_EXIT_NO_FORMAT;
  }
  return CONFORM_EXIT_PASSED;
}

static bool write_reports(const conform_options *options, const conform_results *results)
{
  bool good = true;
  if (options->json) {
    json_t *object = conform_json(options, results, &exceptions);
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
  good = write_reports(options, &results) && good;
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

int main(int argc, char **argv)
{
  static conform_options options;
  if (argc >= 2 && !strcmp(argv[1], "verify")) {
    if (argc == 3 || argc == 4)
      return conform_verify(argv[2], argc == 4 ? argv[3] : NULL);
    fprintf(stderr, "vyre-conform: error: use: vyre-conform verify CERTIFICATE [PLUGIN.so]\n");
    return CONFORM_EXIT_USAGE;
  }
  conform_parse(argc, argv, &options);
  if (options.child)
    return conform_run_child(&options);
  if (options.list) {
    conform_print_list(&options);
    return CONFORM_EXIT_PASSED;
  }
  if (options.write_kernels)
    return write_kernels(options.write_kernels);
  return run(&options, "/proc/self/exe");
}
