/*
 * gridsync_subject.c - a program with its memory, the ways to run it, and whether they are right.
 */
#include "bench/gridsync_bench.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  vyre_route route;
  bool buffers; /* on the device's; else on host bytes */
} ways[GRIDSYNC_WAYS] = {
    [GRIDSYNC_NATIVE] = {"native", VYRE_ROUTE_NATIVE, true},
    [GRIDSYNC_RESIDENT] = {"resident", VYRE_ROUTE_RESIDENT, true},
    [GRIDSYNC_AUTO] = {"auto", VYRE_ROUTE_AUTO, true},
    [GRIDSYNC_NATIVE_BYTES] = {"native, bytes", VYRE_ROUTE_NATIVE, false},
    [GRIDSYNC_RESIDENT_BYTES] = {"resident, bytes", VYRE_ROUTE_RESIDENT, false},
    [GRIDSYNC_HOST] = {"host", VYRE_ROUTE_HOST, false},
    [GRIDSYNC_AUTO_BYTES] = {"auto, bytes", VYRE_ROUTE_AUTO, false}};

vyre_status gridsync_program(const gridsync_bench *bench, vyre_program_desc *desc, const char *name,
                             const char *text, size_t size, vyre_program **out_program,
                             vyre_error *err)
{
  vyre_code code = VYRE_CODE_INIT;
  code.format = "vyre-c";
  code.data = text;
  code.size = size;
  code.name = name;
  desc->code = &code;
  desc->code_count = 1;
  return vyre_program_create(bench->device.device, desc, out_program, err);
}

/* ---- memory ---- */

static vyre_status open_buffers(gridsync_subject *subject, vyre_device *device, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  for (uint32_t b = 0; b < subject->buffer_count && status == VYRE_OK; ++b) {
    status = vyre_buffer_create(device, subject->sizes[b], &subject->buffers[b], err);
    if (status == VYRE_OK && subject->first[b])
      status =
          vyre_buffer_upload(subject->buffers[b], 0, subject->first[b], subject->sizes[b], err);
  }
  return status;
}

vyre_status gridsync_subject_open(gridsync_subject *subject, const gridsync_bench *bench,
                                  vyre_error *err)
{
  const vyre_outputs none = VYRE_OUTPUTS_INIT;
  subject->outputs = none;
  for (uint32_t w = 0; w < GRIDSYNC_WAYS; ++w)
    subject->ways[w] = (gridsync_way){subject, w};
  for (uint32_t b = 0; b < subject->buffer_count; ++b)
    if (subject->input[b])
      subject->inputs[subject->input_count++] =
          (vyre_bytes){subject->first[b], subject->first[b] ? subject->sizes[b] : 0};
  subject->has_buffers = (bench->device.info.capabilities & VYRE_CAP_BUFFERS) != 0;
  return subject->has_buffers ? open_buffers(subject, bench->device.device, err) : VYRE_OK;
}

void gridsync_subject_close(gridsync_subject *subject)
{
  for (uint32_t b = 0; b < subject->buffer_count; ++b)
    vyre_buffer_destroy(subject->buffers[b]);
  vyre_outputs_reset(&subject->outputs);
  vyre_program_destroy(subject->program);
}

/* ---- one run ---- */

/* `all`: every buffer that has first bytes begins with them again. */
static vyre_status renew(gridsync_subject *subject, bool all, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  for (uint32_t b = 0; b < subject->buffer_count && status == VYRE_OK; ++b)
    if (subject->first[b] && (all || subject->renewed[b]))
      status =
          vyre_buffer_upload(subject->buffers[b], 0, subject->first[b], subject->sizes[b], err);
  return status;
}

static vyre_status run(void *self, vyre_dispatch_result *out_result, vyre_error *err)
{
  const gridsync_way *way = self;
  gridsync_subject *subject = way->subject;
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_status status;
  options.route = ways[way->way].route;
  if (!ways[way->way].buffers)
    return vyre_dispatch(subject->program, &options, subject->inputs, subject->input_count,
                         &subject->outputs, out_result, err);
  status = renew(subject, false, err);
  return status != VYRE_OK ? status
                           : vyre_dispatch_buffers(subject->program, &options, subject->buffers,
                                                   subject->buffer_count, out_result, err);
}

/* ---- is it right? ---- */

/* What came out of the run before, to be freed; NULL without memory or bytes. */
static void *result_of(gridsync_subject *subject, uint32_t way, vyre_error *err)
{
  const uint64_t size = subject->sizes[subject->result_buffer];
  const vyre_output_slot *slot;
  void *bytes = malloc(size);
  if (!bytes)
    return NULL;
  if (ways[way].buffers) {
    if (vyre_buffer_download(subject->buffers[subject->result_buffer], 0, bytes, size, err) ==
        VYRE_OK)
      return bytes;
  } else if (subject->outputs.count > subject->result_output) {
    slot = &subject->outputs.slots[subject->result_output];
    if (slot->size == size) {
      memcpy(bytes, slot->data, size);
      return bytes;
    }
  }
  free(bytes);
  return NULL;
}

/* Once for all cells: a route that is not there is there in none. */
static void miss(const gridsync_bench *bench, gridsync_contestant *contestant, const char *why)
{
  const bench_report *report = bench->report;
  char note[BENCH_NOTE_SIZE];
  contestant->absent = true;
  snprintf(note, sizeof note, "%.32s: not measured: %.140s", contestant->name, why);
  for (uint32_t i = 0; i < report->note_count; ++i)
    if (!strcmp(report->notes[i], note))
      return;
  bench_report_note(bench->report, "%s", note);
}

static void refuse(const gridsync_bench *bench, const char *cell, gridsync_contestant *contestant,
                   const char *why)
{
  contestant->absent = true;
  bench->report->wrong = true;
  bench_report_note(bench->report, "%s: %s: %s", cell, contestant->name, why);
}

static void check(gridsync_subject *subject, const gridsync_bench *bench, const char *cell,
                  uint32_t way, const vyre_dispatch_result *result, gridsync_contestant *contestant)
{
  void *bytes = result_of(subject, way, NULL);
  if (result->passes != subject->passes)
    refuse(bench, cell, contestant, "another number of passes: not measured");
  else if (!bytes || memcmp(bytes, subject->expected, subject->sizes[subject->result_buffer]) != 0)
    refuse(bench, cell, contestant, "another result: not measured");
  free(bytes);
}

vyre_status gridsync_enter(gridsync_subject *subject, const gridsync_bench *bench, const char *cell,
                           uint32_t way, gridsync_contestant *out_contestant, vyre_error *err)
{
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  *out_contestant =
      (gridsync_contestant){.name = ways[way].name, .self = &subject->ways[way], .run = run};
  if (ways[way].buffers && !subject->has_buffers) {
    miss(bench, out_contestant, "this device has no buffers");
    return VYRE_OK;
  }
  if (ways[way].buffers)
    status = renew(subject, true, &said);
  if (status == VYRE_OK)
    status = run(&subject->ways[way], &result, &said);
  if ((status == VYRE_ERROR_UNSUPPORTED || status == VYRE_ERROR_RESIDENCY_EXCEEDED) &&
      ways[way].route != VYRE_ROUTE_AUTO) {
    miss(bench, out_contestant, said.message);
    return VYRE_OK;
  }
  if (status != VYRE_OK) {
    if (err)
      *err = said;
    return status;
  }
  check(subject, bench, cell, way, &result, out_contestant);
  return VYRE_OK;
}

/* ---- what AUTO took ---- */

const char *gridsync_row_name(char buffer[BENCH_NAME_SIZE], const char *cell, const char *what)
{
  snprintf(buffer, BENCH_NAME_SIZE, "%.30s: %.30s", cell, what);
  return buffer;
}

/* The quickest of ways `from` … `to`, none of which is AUTO; `to` if there is none. */
static uint32_t best_of(gridsync_figures *figures, const gridsync_contestant *list, uint32_t from,
                        uint32_t to)
{
  uint32_t best = to;
  double least = 0, seconds;
  for (uint32_t k = from; k < to; ++k) {
    if (list[k].absent)
      continue;
    seconds = gridsync_seconds(figures, k);
    if (best == to || seconds < least) {
      best = k;
      least = seconds;
    }
  }
  return best;
}

static void report_one(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                       const gridsync_contestant *list, uint32_t from, uint32_t chosen)
{
  const uint32_t best = best_of(figures, list, from, chosen);
  char name[BENCH_NAME_SIZE];
  if (list[chosen].absent || best == chosen)
    return;
  gridsync_row_name(
      name, cell, ways[chosen].buffers ? "auto / best, device buffers" : "auto / best, host bytes");
  bench_report_at_most(bench->report, name, gridsync_ratio(figures, chosen, best), "ratio", 1.1);
  bench_report_remark(bench->report, "auto: %s; best: %s",
                      vyre_route_name(figures->last[chosen].route),
                      vyre_route_name(ways[best].route));
}

void gridsync_report_auto(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                          const gridsync_contestant *list)
{
  report_one(bench, cell, figures, list, GRIDSYNC_NATIVE, GRIDSYNC_AUTO);
  report_one(bench, cell, figures, list, GRIDSYNC_NATIVE_BYTES, GRIDSYNC_AUTO_BYTES);
}
