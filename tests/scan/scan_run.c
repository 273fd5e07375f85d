/*
 * scan_run.c - shared parts of the scan tests; the handler is compiled in here as plain C.
 */
#include "tests/scan/scan_run.h"

#include "tools/scan/scan_kernel.c" /* NOLINT(bugprone-suspicious-include) */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The kernel cannot include the host's header, so its numbers are held against it here. */
_Static_assert(SCAN_FORM == VYRE__AUTOMATON_W_FORM, "word");
_Static_assert(SCAN_CLASSES == VYRE__AUTOMATON_W_CLASSES, "word");
_Static_assert(SCAN_CLASS_MAP == VYRE__AUTOMATON_W_CLASS_MAP, "word");
_Static_assert(SCAN_TRANSITIONS == VYRE__AUTOMATON_W_TRANSITIONS, "word");
_Static_assert(SCAN_FIRST_REPORT == VYRE__AUTOMATON_W_FIRST_REPORT, "word");
_Static_assert(SCAN_REPORT == VYRE__AUTOMATON_W_REPORT, "word");
_Static_assert(SCAN_ENTRIES == VYRE__AUTOMATON_W_ENTRIES, "word");
_Static_assert(SCAN_ITEMS == VYRE__AUTOMATON_W_ITEMS, "word");
_Static_assert(SCAN_CHILDREN == VYRE__AUTOMATON_W_CHILDREN, "word");
_Static_assert(SCAN_LABELS == VYRE__AUTOMATON_W_LABELS, "word");
_Static_assert(SCAN_FAILURES == VYRE__AUTOMATON_W_FAILURES, "word");
_Static_assert(SCAN_PAIRS == VYRE__AUTOMATON_W_PAIRS, "word");
_Static_assert(SCAN_FORM_DENSE == VYRE__AUTOMATON_DENSE, "form");

vyre__rules *scan_run_rules(const oracle_rule *rules, size_t count)
{
  size_t size = 1, used = 0, i, at;
  vyre_error err = VYRE_ERROR_INIT;
  vyre__rules *set = NULL;
  char *text;

  for (i = 0; i < count; i++) {
    size += 32 + 4 * rules[i].length;
  }
  text = malloc(size);
  assert_non_null(text);
  for (i = 0; i < count; i++) {
    used += (size_t)sprintf(text + used, "r%08zu %s", i, rules[i].ignore_case ? "(?i)" : "");
    for (at = 0; at < rules[i].length; at++) {
      used += (size_t)sprintf(text + used, "\\x%02x", rules[i].bytes[at]);
    }
    text[used++] = '\n';
  }
  assert_int_equal(vyre__rules_create(&set, &err), VYRE_OK);
  assert_int_equal(vyre__rules_add_text(set, "generated", text, used, &err), VYRE_OK);
  assert_int_equal(vyre__rules_finish(set, &err), VYRE_OK);
  free(text);
  return set;
}

static int compare_matches(const void *left, const void *right)
{
  const oracle_match *a = left, *b = right;

  if (a->offset != b->offset) {
    return a->offset < b->offset ? -1 : 1;
  }
  return a->rule < b->rule ? -1 : a->rule > b->rule;
}

size_t scan_run(const vyre__automaton *automaton, const oracle_rule *rules, const uint8_t *data,
                size_t size, oracle_match *out_matches, size_t capacity)
{
  static vyre_job_record records[SCAN_RUN_MAX]; /* an allocation a run would take most time */
  vyre_u32 cursor = 0, result, i;
  vyre_ctx ctx;
  vyre_job job;

  assert_true(capacity <= SCAN_RUN_MAX);
  memset(&ctx, 0, sizeof ctx);
  memset(&job, 0, sizeof job);
  job.ticket = 77;
  job.records = records;
  job.cursor = &cursor;
  job.capacity = (vyre_u32)capacity;
  result =
      vyre_handler_scan(&ctx, data, (vyre_u32)size, automaton->blob, automaton->blob_size, &job);
  assert_int_equal(result, job.wanted);
  assert_int_equal(job.stored, result < capacity ? result : capacity);
  for (i = 0; i < job.stored; i++) {
    const uint32_t rule = records[i].value[1];
    assert_true(rule < automaton->rules);
    assert_int_equal(records[i].ticket, 77);
    assert_true(records[i].value[0] >= rules[rule].length && records[i].value[0] <= size);
    assert_true(i == 0 || records[i].value[0] >= records[i - 1].value[0]);
    out_matches[i].offset = records[i].value[0] - rules[rule].length;
    out_matches[i].rule = rule;
  }
  qsort(out_matches, job.stored, sizeof *out_matches, compare_matches);
  return result;
}

void scan_guard_open(scan_guard *guard, size_t max)
{
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t inner = (max + page - 1) / page * page;

  guard->max = max;
  guard->map_size = inner + 2 * page;
  guard->map = mmap(NULL, guard->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(guard->map != MAP_FAILED);
  guard->first = guard->map + page;
  guard->end = guard->first + inner;
  assert_int_equal(mprotect(guard->first, inner, PROT_READ | PROT_WRITE), 0);
}

void scan_guard_close(scan_guard *guard)
{
  assert_int_equal(munmap(guard->map, guard->map_size), 0);
}

uint64_t scan_seed(void)
{
  const char *given = getenv("VYRE_TEST_SEED");
  uint64_t seed;

  if (given != NULL) {
    seed = strtoull(given, NULL, 0);
  } else {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    seed = (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
  }
  print_message("seed: VYRE_TEST_SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

/* splitmix64 */
uint64_t scan_random(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

uint32_t scan_below(uint64_t *state, uint32_t bound)
{
  return (uint32_t)(scan_random(state) % bound);
}
