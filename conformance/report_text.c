/* report_text.c - what a person reads of a run; see reports.h. */
#include "conformance/plain.h"
#include "conformance/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool quiet;

static const char *colour(conform_verdict verdict)
{
  const char *term = getenv("TERM");
  if (!isatty(1) || getenv("NO_COLOR") || (term && !strcmp(term, "dumb")))
    return "";
  return verdict == CONFORM_PASS ? "\033[32m" : verdict == CONFORM_FAIL ? "\033[31m" : "\033[2m";
}

static const char *plain(void)
{
  return *colour(CONFORM_FAIL) ? "\033[0m" : "";
}

static void print_text(const char *text)
{
  conform_print_plain(stdout, text, "\n    ");
  putchar('\n');
}

/* Parts of one line, up to NULL. */
static void print_parts(const char *const *parts)
{
  for (; *parts; ++parts)
    conform_print_plain(stdout, *parts, " ");
}

void conform_text_begin(const conform_options *options, const conform_probe *probe)
{
  quiet = options->quiet;
  printf("plugin   %s\n", options->plugin);
  const vyre_backend_device_info *device = &probe->device;
  const char *const names[] = {"         ", probe->name,   " ", probe->version,
                               ", ",        probe->vendor, NULL};
  const char *const formats[] = {"formats  ", probe->formats, NULL};
  const char *const about[] = {device->name, " (", device->id, "), ", device->driver, NULL};
  print_parts(names);
  printf(", built with ABI %u.%u, speaks %u.%u\n", probe->header_version >> 16,
         probe->header_version & 0xffffu, VYRE_ABI_MAJOR, probe->abi_minor);
  print_parts(formats);
  printf("\ndevice   %u of %u: ", options->device, probe->device_count);
  print_parts(about);
  printf("\nseed     %llu\n", (unsigned long long)options->seed);
  fflush(stdout);
}

void conform_text_result(const conform_result *result)
{
  if (quiet && result->verdict != CONFORM_FAIL)
    return;
  printf("%s%-13s%s %s (%.2f s)\n", colour(result->verdict), conform_verdict_name(result->verdict),
         plain(), result->row->name, (double)result->wall_ns * 1e-9);
  if (result->verdict != CONFORM_PASS && result->text[0]) {
    printf("    %s%s", result->row->rules, *result->row->rules ? ": " : "");
    print_text(result->text);
  }
  fflush(stdout);
}

static void print_profiles(const conform_results *results)
{
  for (conform_profile p = 0; p < CONFORM_PROFILES; ++p) {
    uint32_t of[5] = {0}, all = 0;
    for (uint32_t i = 0; i < results->count; ++i)
      if (results->rows[i].row->profile == p) {
        of[results->rows[i].verdict] += 1;
        all += 1;
      }
    if (all)
      printf("  %-18s %u passed, %u failed, %u expected to fail, %u not supported, %u skipped\n",
             conform_profile_name(p), of[CONFORM_PASS], of[CONFORM_FAIL], of[CONFORM_EXPECTED],
             of[CONFORM_NOT_SUPPORTED], of[CONFORM_SKIPPED]);
  }
}

/* What the plugin lacks, with the number of cases that need it: they are not told one by one. */
static void print_missing(const conform_results *results)
{
  for (uint32_t i = 0; i < results->count; ++i) {
    const conform_result *row = &results->rows[i];
    uint32_t same = 0, first = results->count;
    for (uint32_t k = 0; k < results->count; ++k)
      if (results->rows[k].verdict == CONFORM_NOT_SUPPORTED &&
          !strcmp(results->rows[k].text, row->text)) {
        first = k < first ? k : first;
        same += 1;
      }
    if (row->verdict == CONFORM_NOT_SUPPORTED && first == i) {
      printf("  not supported, %u %s: ", same, same == 1 ? "case" : "cases");
      print_text(row->text);
    }
  }
}

void conform_text_end(const conform_options *options, const conform_results *results)
{
  printf(
      "\n%u cases in %.1f s: %s%u passed, %u failed%s, %u expected to fail, %u not supported, %u "
      "skipped\n",
      results->count, (double)results->wall_ns * 1e-9,
      colour(results->of[CONFORM_FAIL] ? CONFORM_FAIL : CONFORM_PASS), results->of[CONFORM_PASS],
      results->of[CONFORM_FAIL], plain(), results->of[CONFORM_EXPECTED],
      results->of[CONFORM_NOT_SUPPORTED], results->of[CONFORM_SKIPPED]);
  print_profiles(results);
  if (!quiet)
    print_missing(results);
  if (!options->coverage)
    return;
  printf("calls of each slot of the table\n");
  for (uint32_t s = 0; *conform_slot_name(s); ++s)
    printf("  %-20s %u%s\n", conform_slot_name(s), results->calls[s],
           results->calls[s] ? "" : "  never");
}
