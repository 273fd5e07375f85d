/* everywhere.c - see everywhere.h. */
#include "tests/gridsync/everywhere.h"

#include "tests/gridsync/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TRIALS 300u

uint64_t everywhere_number(const char *name, uint64_t otherwise)
{
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

bool everywhere_open(rig rigs[EVERYWHERE_RIGS])
{
  static const uint32_t threads[EVERYWHERE_RIGS] = {1, 2, 3, 8};
  char text[RIG_TEXT];
  for (uint32_t t = 0; t < EVERYWHERE_RIGS; ++t)
    if (!rig_open(&rigs[t], threads[t], text)) {
      fprintf(stderr, "%s\n", text);
      return false;
    }
  return true;
}

void everywhere_close(rig rigs[EVERYWHERE_RIGS])
{
  for (uint32_t t = 0; t < EVERYWHERE_RIGS; ++t)
    rig_close(&rigs[t]);
}

void everywhere_create(const rig *rigs, uint32_t n, const drawn *d, vyre_program **out_programs)
{
  for (uint32_t t = 0; t < n; ++t) {
    vyre_error err = VYRE_ERROR_INIT;
    out_programs[t] = NULL;
    if (rig_create(&rigs[t], &d->program, &out_programs[t], &err)) {
      drawn_print(d, stderr);
      fail_msg("%s (%s)", err.message, err.fix);
    }
  }
}

/* ---- one way to run a program ---- */

typedef struct way {
  rig *on;
  vyre_route route;
  bool buffers; /* of the device, else host bytes */
  vyre__recording recording;
} way;

static const char *recording_name(const way *w)
{
  return w->recording == VYRE__RECORDING_ALWAYS  ? ", recorded"
         : w->recording == VYRE__RECORDING_NEVER ? ", launch by launch"
                                                 : "";
}

static bool run_way(const way *w, vyre_program *program, const drawn *d, const plain_result *want,
                    char out_text[RIG_TEXT])
{
  bool equal = true;
  rig_record(w->on, w->recording);
  equal = w->buffers ? rig_dispatch_buffers(w->on, program, &d->program, w->route, want, out_text)
                     : rig_dispatch(w->on, program, &d->program, w->route, want, out_text);
  rig_record(w->on, VYRE__RECORDING_WORTH);
  return equal;
}

/* A program of its own; true if it gives what it must. */
static bool run_alone(const way *w, const drawn *d, char out_text[RIG_TEXT])
{
  vyre_program *program = NULL;
  plain_result want;
  bool equal = true;
  if (rig_create(w->on, &d->program, &program, NULL))
    return true;
  plain_run(&d->program, w->buffers, &want);
  equal = run_way(w, program, d, &want, out_text);
  plain_free(&want);
  vyre_program_destroy(program);
  return equal;
}

static bool still_fails(void *self, const drawn *d)
{
  char text[RIG_TEXT];
  return !run_alone(self, d, text);
}

static void report(const way *w, const drawn *d, const char *again, const char *text)
{
  way same = *w;
  char smaller_text[RIG_TEXT];
  drawn smaller;
  drawn_copy(d, &smaller);
  if (still_fails(&same, &smaller))
    shrink(&smaller, still_fails, &same, TRIALS);
  if (run_alone(w, &smaller, smaller_text))
    snprintf(smaller_text, sizeof smaller_text, "it does not fail by itself");
  fprintf(stderr, "\n%s\n%u threads, route %s%s, %s\nfirst seen: %s\nmade smaller: %s\n", again,
          w->on->threads, vyre_route_name(w->route), recording_name(w),
          w->buffers ? "device buffers" : "host bytes", text, smaller_text);
  drawn_print(&smaller, stderr);
  drawn_free(&smaller);
  fail_msg("%s: %s", again, text);
}

/* ---- every way ---- */

/* A card may have no room for one group of 1024 items of some fused kernel; the cpu plugin has. */
static bool has_no_room(const way *w, const char *text)
{
  return w->route == VYRE_ROUTE_NATIVE && getenv("VYRE_TEST_DEVICE") &&
         strstr(text, "not one group of the fused kernel can be resident");
}

/* One route; the resident one recorded and launch by launch. */
static void every_form(const way *w, vyre_program *program, const drawn *d,
                       const plain_result *want, const char *again)
{
  char text[RIG_TEXT];
  way forced = *w;
  for (vyre__recording r = VYRE__RECORDING_ALWAYS; r <= VYRE__RECORDING_NEVER; ++r) {
    /* Recorded it runs twice: the second time it may be what was kept. */
    const uint32_t times = w->route == VYRE_ROUTE_RESIDENT && r == VYRE__RECORDING_ALWAYS ? 2 : 1;
    forced.recording = w->route == VYRE_ROUTE_RESIDENT ? r : VYRE__RECORDING_WORTH;
    for (uint32_t i = 0; i < times; ++i)
      if (!run_way(&forced, program, d, want, text) && !has_no_room(&forced, text))
        report(&forced, d, again, text);
    if (w->route != VYRE_ROUTE_RESIDENT)
      break;
  }
}

void everywhere_dispatch(rig *rigs, uint32_t n, vyre_program *const *programs, const drawn *d,
                         bool buffers, const char *again)
{
  static const vyre_route on_buffers[] = {VYRE_ROUTE_NATIVE, VYRE_ROUTE_RESIDENT};
  plain_result want;
  plain_run(&d->program, false, &want);
  for (uint32_t t = 0; t < n; ++t)
    for (vyre_route route = 0; route < RIG_ROUTES; ++route) {
      const way w = {&rigs[t], route, false, VYRE__RECORDING_WORTH};
      every_form(&w, programs[t], d, &want, again);
    }
  plain_free(&want);
  if (!buffers)
    return;
  plain_run(&d->program, true, &want);
  for (uint32_t t = 0; t < n; ++t)
    for (uint32_t i = 0; i < 2; ++i) {
      const way w = {&rigs[t], on_buffers[i], true, VYRE__RECORDING_WORTH};
      every_form(&w, programs[t], d, &want, again);
    }
  plain_free(&want);
}
