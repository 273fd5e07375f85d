/* report.c - rows of results, as a table and as JSON. */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_report_init(bench_report *report)
{
  memset(report, 0, sizeof *report);
}

void bench_report_free(bench_report *report)
{
  free(report->rows);
  free(report->notes);
  bench_report_init(report);
}

static bench_row *add_row(bench_report *report, const char *name, double value, const char *unit)
{
  bench_row *row;
  if (report->count == report->capacity) {
    const uint32_t capacity = report->capacity ? 2 * report->capacity : 16;
    bench_row *rows = realloc(report->rows, capacity * sizeof *rows);
    if (!rows) {
      report->failed = true;
      return NULL;
    }
    report->rows = rows;
    report->capacity = capacity;
  }
  row = &report->rows[report->count++];
  memset(row, 0, sizeof *row);
  snprintf(row->name, sizeof row->name, "%s", name);
  snprintf(row->unit, sizeof row->unit, "%s", unit);
  row->value = value;
  return row;
}

void bench_report_value(bench_report *report, const char *name, double value, const char *unit)
{
  add_row(report, name, value, unit);
}

void bench_report_at_least(bench_report *report, const char *name, double value, const char *unit,
                           double target)
{
  bench_row *row = add_row(report, name, value, unit);
  if (!row)
    return;
  snprintf(row->target, sizeof row->target, ">= %g", target);
  row->verdict = value >= target ? BENCH_PASS : BENCH_MISS;
}

void bench_report_at_most(bench_report *report, const char *name, double value, const char *unit,
                          double target)
{
  bench_row *row = add_row(report, name, value, unit);
  if (!row)
    return;
  snprintf(row->target, sizeof row->target, "<= %g", target);
  row->verdict = value <= target ? BENCH_PASS : BENCH_MISS;
}

void bench_report_remark(bench_report *report, const char *format, ...)
{
  va_list arguments;
  bench_row *row = report->count ? &report->rows[report->count - 1] : NULL;
  if (!row || report->failed)
    return;
  va_start(arguments, format);
  vsnprintf(row->note, sizeof row->note, format, arguments);
  va_end(arguments);
}

void bench_report_note(bench_report *report, const char *format, ...)
{
  va_list arguments;
  char(*notes)[BENCH_NOTE_SIZE] = realloc(report->notes, (report->note_count + 1) * sizeof *notes);
  if (!notes) {
    report->failed = true;
    return;
  }
  report->notes = notes;
  va_start(arguments, format);
  vsnprintf(notes[report->note_count++], sizeof *notes, format, arguments);
  va_end(arguments);
}

bool bench_report_passed(const bench_report *report)
{
  for (uint32_t i = 0; i < report->count; ++i)
    if (report->rows[i].verdict == BENCH_MISS)
      return false;
  return !report->failed && !report->wrong;
}

static const char *verdict_text(bench_verdict verdict)
{
  switch (verdict) {
  case BENCH_PASS:
    return "pass";
  case BENCH_MISS:
    return "MISS";
  default:
    return "";
  }
}

bool bench_report_print(const bench_report *report, FILE *out)
{
  size_t width = 4;
  for (uint32_t i = 0; i < report->count; ++i)
    if (strlen(report->rows[i].name) > width)
      width = strlen(report->rows[i].name);
  fprintf(out, "%s\ndevice: %s\n", report->title, report->device);
  for (uint32_t i = 0; i < report->count; ++i) {
    const bench_row *row = &report->rows[i];
    fprintf(out, "  %-*s %12.4g %-8s", (int)width, row->name, row->value, row->unit);
    if (row->target[0])
      fprintf(out, " %-10s %s", row->target, verdict_text(row->verdict));
    if (row->note[0])
      fprintf(out, "  (%s)", row->note);
    fputc('\n', out);
  }
  for (uint32_t i = 0; i < report->note_count; ++i)
    fprintf(out, "%s\n", report->notes[i]);
  if (report->failed)
    fprintf(out, "rows are missing: no memory\n");
  return !ferror(out);
}

static json_t *row_object(const bench_row *row)
{
  json_t *object =
      json_pack("{s:s, s:f, s:s}", "name", row->name, "value", row->value, "unit", row->unit);
  if (object && row->target[0] &&
      (json_object_set_new(object, "target", json_string(row->target)) ||
       json_object_set_new(object, "pass", json_boolean(row->verdict == BENCH_PASS)))) {
    json_decref(object);
    return NULL;
  }
  if (object && row->note[0] && json_object_set_new(object, "note", json_string(row->note))) {
    json_decref(object);
    return NULL;
  }
  return object;
}

static vyre_status fail(vyre_error *err, vyre_status code, const char *path, const char *what)
{
  if (err) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s: %s", path, what);
    snprintf(err->fix, sizeof err->fix, "%s", vyre_status_fix(code));
  }
  return code;
}

vyre_status bench_report_write_json(const bench_report *report, const char *path, vyre_error *err)
{
  vyre_status status = VYRE_ERROR_OUT_OF_HOST_MEMORY;
  json_t *rows = json_array();
  json_t *notes = json_array();
  json_t *whole = NULL;
  char date[16] = "";
  struct tm utc;
  const time_t now = time(NULL);
  if (gmtime_r(&now, &utc))
    strftime(date, sizeof date, "%Y-%m-%d", &utc);
  for (uint32_t i = 0; rows && i < report->count; ++i)
    if (json_array_append_new(rows, row_object(&report->rows[i])))
      goto done;
  for (uint32_t i = 0; notes && i < report->note_count; ++i)
    if (json_array_append_new(notes, json_string(report->notes[i])))
      goto done;
  whole = json_pack("{s:s, s:s, s:s, s:s, s:b, s:O, s:O}", "title", report->title, "device",
                    report->device, "date", date, "version", vyre_version(), "passed",
                    (int)bench_report_passed(report), "rows", rows, "notes", notes);
  if (whole && !report->failed)
    status = json_dump_file(whole, path, JSON_INDENT(2)) ? VYRE_ERROR_IO : VYRE_OK;

done:
  if (status == VYRE_ERROR_IO)
    fail(err, status, path, strerror(errno));
  else if (status != VYRE_OK)
    fail(err, status, path, "no memory for the report");
  json_decref(whole);
  json_decref(notes);
  json_decref(rows);
  return status;
}

static int by_value(const void *left, const void *right)
{
  const double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

double bench_median(double *values, uint32_t count)
{
  if (!count)
    return 0;
  qsort(values, count, sizeof *values, by_value);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const bench_entry entries[] = {
    {"engine", "10 000 jobs of 1 KiB: engine, plain loop, a dispatch a job; start of a process",
     bench_engine, BENCH_JOBS | BENCH_ROUNDS | BENCH_DEVICE | BENCH_SOAK},
    {"flow", "what an item costs among a thousand and ten million; several devices together",
     bench_flow, BENCH_JOBS | BENCH_ROUNDS | BENCH_DEVICE},
    {"gridsync", "grid-sync programs on each route; reachability beside other searches",
     bench_gridsync,
     BENCH_ROUNDS | BENCH_MS | BENCH_DEVICE | BENCH_CELLS | BENCH_PEERS | BENCH_SIZES},
    {"ring", "the ring against other queues, with 1, 2 and 4 threads a side; --soak", bench_ring,
     BENCH_ROUNDS | BENCH_MS | BENCH_SOAK | BENCH_CELLS | BENCH_PEERS},
    {"scan", "bytes a second of the scan's handler, on the device and from host memory", bench_scan,
     BENCH_JOBS | BENCH_ROUNDS | BENCH_DEVICE},
    {"start", "a fresh process up to its first result, beside an empty one", bench_start,
     BENCH_JOBS | BENCH_ROUNDS | BENCH_DEVICE}};

const bench_entry *bench_at(uint32_t index)
{
  return index < sizeof entries / sizeof entries[0] ? &entries[index] : NULL;
}

const bench_entry *bench_find(const char *name)
{
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i)
    if (!strcmp(entries[i].name, name))
      return &entries[i];
  return NULL;
}
