/*
 * gridsync_bare.c - steps over words by bare calls, as contestants: a cooperative loop, a replayed
 * graph, a launch a step.  What AUTO took is held against the best of them.
 */
#include "bench/gridsync_bench.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[BENCH_BARE_STEP_FORMS] = {[BENCH_BARE_LOOP] = "by hand, loop",
                                                         [BENCH_BARE_GRAPH] = "by hand, graph",
                                                         [BENCH_BARE_LAUNCHES] =
                                                             "by hand, launches"};

static vyre_status run(void *self, vyre_dispatch_result *out_result, vyre_error *err)
{
  const gridsync_bare *one = self;
  const bench_bare_peer *peer = &one->bench->bare;
  (void)out_result;
  return bench_bare_check(
      peer, peer->calls->steps_run(peer->self, one->form, one->segments, one->passes), err);
}

/* Begins anew, runs once and compares. */
static vyre_status check(gridsync_bare *one, const gridsync_bare_work *work, const char *cell,
                         gridsync_contestant *contestant, vyre_error *err)
{
  const bench_bare_peer *peer = &one->bench->bare;
  const size_t size = (size_t)work->words * sizeof(uint32_t);
  uint32_t *found = malloc(size + 1);
  vyre_status status;
  if (!found)
    return gridsync_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the words");
  status = bench_bare_check(peer, peer->calls->steps_renew(peer->self), err);
  if (status == VYRE_OK)
    status = run(one, NULL, err);
  if (status == VYRE_OK)
    status = bench_bare_check(peer, peer->calls->steps_read(peer->self, work->which, found), err);
  if (status == VYRE_OK && memcmp(found, work->expected, size) != 0) {
    contestant->absent = true;
    one->bench->report->wrong = true;
    bench_report_note(one->bench->report, "%s: %s: another result: not measured", cell,
                      contestant->name);
  }
  free(found);
  return status;
}

vyre_status gridsync_enter_bare(const gridsync_bench *bench, const char *cell,
                                const gridsync_bare_work *work,
                                gridsync_bare bare[BENCH_BARE_STEP_FORMS],
                                gridsync_contestant out_contestants[BENCH_BARE_STEP_FORMS],
                                vyre_error *err)
{
  const bench_bare_peer *peer = &bench->bare;
  vyre_status status = VYRE_OK;
  for (uint32_t form = 0; form < BENCH_BARE_STEP_FORMS; ++form) {
    bare[form] = (gridsync_bare){bench, form, work->segments, work->passes};
    out_contestants[form] = (gridsync_contestant){
        .name = names[form], .self = &bare[form], .run = run, .absent = !peer->calls};
  }
  if (!peer->calls)
    return VYRE_OK;
  status =
      bench_bare_check(peer, peer->calls->steps_open(peer->self, work->first, work->words), err);
  for (uint32_t form = 0; form < BENCH_BARE_STEP_FORMS && status == VYRE_OK; ++form)
    status = check(&bare[form], work, cell, &out_contestants[form], err);
  return status;
}

void gridsync_report_bare(const gridsync_bench *bench, const char *cell, gridsync_figures *figures,
                          const gridsync_contestant *list, uint32_t first, uint32_t steps,
                          uint32_t words)
{
  uint32_t best = 0;
  char name[BENCH_NAME_SIZE];
  for (uint32_t k = first; k < first + BENCH_BARE_STEP_FORMS; ++k) {
    if (list[k].absent)
      continue;
    bench_report_value(bench->report, gridsync_row_name(name, cell, list[k].name),
                       gridsync_seconds(figures, k) * 1e6 / steps, "us/seg");
    if (!best || gridsync_seconds(figures, k) < gridsync_seconds(figures, best))
      best = k;
  }
  if (!best || list[GRIDSYNC_AUTO].absent)
    return;
  bench_report_at_most(bench->report, gridsync_row_name(name, cell, "auto / best by hand"),
                       gridsync_ratio(figures, GRIDSYNC_AUTO, best), "ratio", 1.1);
  bench_report_remark(bench->report, "best: %s", list[best].name);
  best = first + BENCH_BARE_LAUNCHES;
  if (list[best].absent || steps < GRIDSYNC_MANY_STEPS)
    return;
  gridsync_row_name(name, cell, "launches by hand / auto");
  if (words <= GRIDSYNC_FEW_WORDS)
    bench_report_at_least(bench->report, name, gridsync_ratio(figures, best, GRIDSYNC_AUTO),
                          "ratio", 3);
  else
    bench_report_value(bench->report, name, gridsync_ratio(figures, best, GRIDSYNC_AUTO), "ratio");
}
