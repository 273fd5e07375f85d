/*
 * test_automaton.c - the automaton in all its forms and its handler, against the plain matcher.
 */
#include "tests/scan/scan_run.h"

#include "tools/scan/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_RULES 512
#define MAX_MATCHES SCAN_RUN_MAX

/* The forms that every set is built in. */
static const vyre__automaton_options forms[] = {
    {VYRE__AUTOMATON_DENSE, 0, false},
    {VYRE__AUTOMATON_DENSE, 0, true},
    {VYRE__AUTOMATON_COMPACT, 0, false},
};
#define FORMS (sizeof forms / sizeof forms[0])

/* A rule set as the oracle sees it, with its bytes, and its automata. */
typedef struct fixture {
  oracle_rule rules[MAX_RULES];
  size_t count;
  uint8_t bytes[65536];
  size_t used;
  vyre__automaton automata[FORMS];
} fixture;

static oracle_match expected[MAX_MATCHES], found[MAX_MATCHES];

static void add_rule(fixture *f, const void *bytes, size_t length, bool ignore_case)
{
  oracle_rule *rule = &f->rules[f->count++];

  assert_true(f->count <= MAX_RULES && f->used + length <= sizeof f->bytes);
  memcpy(f->bytes + f->used, bytes, length);
  rule->bytes = f->bytes + f->used;
  rule->length = length;
  rule->ignore_case = ignore_case;
  f->used += length;
}

static void build(fixture *f)
{
  vyre__rules *set = scan_run_rules(f->rules, f->count);
  vyre_error err = VYRE_ERROR_INIT;
  size_t form;

  for (form = 0; form < FORMS; form++) {
    vyre__automaton again = {0};
    vyre__automaton *a = &f->automata[form];
    assert_int_equal(vyre__automaton_build(set, &forms[form], a, &err), VYRE_OK);
    assert_int_equal(a->form, forms[form].form);
    assert_int_equal(a->rules, f->count);
    assert_int_equal((uintptr_t)a->blob % VYRE__AUTOMATON_ALIGNMENT, 0);
    assert_int_equal(vyre__automaton_build(set, &forms[form], &again, &err), VYRE_OK);
    assert_int_equal(again.blob_size, a->blob_size);
    assert_memory_equal(again.blob, a->blob, a->blob_size);
    vyre__automaton_destroy(&again);
  }
  vyre__rules_destroy(set);
}

static void finish(fixture *f)
{
  size_t form;

  for (form = 0; form < FORMS; form++) {
    vyre__automaton_destroy(&f->automata[form]);
  }
  f->count = f->used = 0;
}

static fixture *fixture_create(void)
{
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  return f;
}

/* Holds every form against the oracle on data[0 .. size); returns the number of matches. */
static size_t check(const fixture *f, const uint8_t *data, size_t size)
{
  const size_t want = match_oracle(f->rules, f->count, data, size, expected, MAX_MATCHES);
  size_t form, i;

  assert_true(want <= MAX_MATCHES);
  for (form = 0; form < FORMS; form++) {
    const size_t got = scan_run(&f->automata[form], f->rules, data, size, found, MAX_MATCHES);
    for (i = 0; i < want && i < got; i++) {
      if (found[i].offset != expected[i].offset || found[i].rule != expected[i].rule) {
        fail_msg("form %zu, match %zu: offset %llu rule %u, expected offset %llu rule %u", form, i,
                 (unsigned long long)found[i].offset, found[i].rule,
                 (unsigned long long)expected[i].offset, expected[i].rule);
      }
    }
    assert_int_equal(got, want);
  }
  return want;
}

/* The same with the data against the guard page behind, then against the one before. */
static size_t check_guarded(const fixture *f, scan_guard *guard, const uint8_t *data, size_t size)
{
  size_t matches;

  assert_true(size <= guard->max);
  memcpy(guard->end - size, data, size);
  matches = check(f, guard->end - size, size);
  memcpy(guard->first, data, size);
  assert_int_equal(check(f, guard->first, size), matches);
  return matches;
}

static void fill_random(uint64_t *random, uint8_t *data, size_t size, uint32_t alphabet)
{
  /* Letters in both cases, a NUL and a byte above 127 come first. */
  static const uint8_t first[] = {'a', 'A', 'b', 'B', 0, 0xff, '@', '[', '`', '{'};
  size_t i;

  for (i = 0; i < size; i++) {
    const uint32_t pick = scan_below(random, alphabet);
    data[i] = alphabet == 256 ? (uint8_t)pick : pick < sizeof first ? first[pick] : (uint8_t)pick;
  }
}

static void random_set(fixture *f, uint64_t *random, uint32_t alphabet)
{
  const size_t count = 1 + scan_below(random, scan_below(random, 4) == 0 ? 100 : 12);
  const bool mixed = scan_below(random, 2) == 0;
  uint8_t pattern[80];
  size_t i;

  for (i = 0; i < count; i++) {
    const size_t longest = scan_below(random, 8) == 0 ? sizeof pattern : 6;
    const size_t length = 1 + scan_below(random, (uint32_t)longest);
    fill_random(random, pattern, length, alphabet);
    add_rule(f, pattern, length, mixed && scan_below(random, 2) == 0);
  }
  build(f);
}

/* Random data with copies of the patterns strewn in, some with the case of a letter changed. */
static void random_data(const fixture *f, uint64_t *random, uint8_t *data, size_t size,
                        uint32_t alphabet)
{
  size_t copies = scan_below(random, 8);

  fill_random(random, data, size, alphabet);
  while (copies-- > 0) {
    const oracle_rule *rule = &f->rules[scan_below(random, (uint32_t)f->count)];
    if (rule->length <= size) {
      const size_t at = scan_below(random, (uint32_t)(size - rule->length + 1));
      memcpy(data + at, rule->bytes, rule->length);
      if (scan_below(random, 2) == 0) {
        data[at + scan_below(random, (uint32_t)rule->length)] ^= 0x20;
      }
    }
  }
}

static void test_random_sets(void **state)
{
  static const uint32_t alphabets[] = {1, 2, 4, 10, 256};
  uint64_t random = scan_seed();
  fixture *f = fixture_create();
  scan_guard guard;
  uint8_t data[320];
  uint64_t matches = 0;
  size_t set, input;

  (void)state;
  scan_guard_open(&guard, sizeof data);
  for (set = 0; set < 1000; set++) {
    const uint32_t alphabet = alphabets[scan_below(&random, 5)];
    random_set(f, &random, alphabet);
    for (input = 0; input < 6; input++) {
      const size_t size = scan_below(&random, sizeof data + 1);
      random_data(f, &random, data, size, alphabet);
      matches += check_guarded(f, &guard, data, size);
    }
    finish(f);
  }
  assert_true(matches > 1000);
  print_message("matches compared: %llu\n", (unsigned long long)matches);
  scan_guard_close(&guard);
  free(f);
}

/* One pattern of each length, at every position of data of each length, and one byte off. */
static void test_every_position(void **state)
{
  static const size_t lengths[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  static const size_t sizes[] = {0,  1,  2,  3,  4,  5,  15,  16,  17,
                                 31, 32, 33, 63, 64, 65, 127, 128, 129};
  fixture *f = fixture_create();
  uint8_t pattern[65], data[129];
  scan_guard guard;
  size_t l, s, at;

  (void)state;
  scan_guard_open(&guard, sizeof data);
  for (at = 0; at < sizeof pattern; at++) {
    pattern[at] = (uint8_t)(at + 1);
  }
  for (l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
    const size_t length = lengths[l];
    add_rule(f, pattern, length, false);
    build(f);
    for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      const size_t size = sizes[s];
      memset(data, 0xee, size);
      assert_int_equal(check_guarded(f, &guard, data, size), 0);
      for (at = 0; at + length <= size; at++) {
        memset(data, 0xee, size);
        memcpy(data + at, pattern, length);
        assert_int_equal(check_guarded(f, &guard, data, size), 1);
        data[at + length - 1] ^= 0x80;
        assert_int_equal(check_guarded(f, &guard, data, size), 0);
      }
      /* Begun at the end, or ended at the start, and not whole. */
      if (length > 1 && length - 1 <= size) {
        memset(data, 0xee, size);
        memcpy(data + size - (length - 1), pattern, length - 1);
        assert_int_equal(check_guarded(f, &guard, data, size), 0);
        memset(data, 0xee, size);
        memcpy(data, pattern + 1, length - 1);
        assert_int_equal(check_guarded(f, &guard, data, size), 0);
      }
    }
    finish(f);
  }
  scan_guard_close(&guard);
  free(f);
}

/* a, aa, aaa, ... over a run of a: every one ends at nearly every position. */
static void test_overlapping(void **state)
{
  fixture *f = fixture_create();
  uint8_t run[300];
  size_t length;

  (void)state;
  memset(run, 'a', sizeof run);
  for (length = 1; length <= 100; length++) {
    add_rule(f, run, length, length % 3 == 0);
  }
  build(f);
  assert_int_equal(check(f, run, sizeof run), 100 * 301 - 100 * 101 / 2);
  run[150] = 'A';
  (void)check(f, run, sizeof run);
  run[150] = 0;
  (void)check(f, run, sizeof run);
  finish(f);
  free(f);
}

/* Rules that are inside one another, and rules with the same bytes under several ids. */
static void test_nested_and_equal(void **state)
{
  static const char text[] = "ushers say she is his, he SHE Hers uSHERs";
  fixture *f = fixture_create();

  (void)state;
  add_rule(f, "he", 2, false);
  add_rule(f, "she", 3, false);
  add_rule(f, "his", 3, false);
  add_rule(f, "hers", 4, false);
  add_rule(f, "she", 3, false);
  build(f);
  assert_int_equal(check(f, (const uint8_t *)text, sizeof text), 9);
  finish(f);
  add_rule(f, "she", 3, false);
  add_rule(f, "SHE", 3, false);
  add_rule(f, "sHe", 3, true);
  add_rule(f, "she", 3, true);
  add_rule(f, ", ", 2, false);
  add_rule(f, "s\0", 2, false);
  build(f);
  (void)check(f, (const uint8_t *)text, sizeof text);
  finish(f);
  free(f);
}

/* Only ASCII letters fold: the bytes around them and those 0x20 or 0x80 away do not. */
static void test_fold_edges(void **state)
{
  fixture *f = fixture_create();
  uint8_t all[512];
  uint32_t i, byte;

  (void)state;
  for (i = 0; i < sizeof all; i++) {
    all[i] = (uint8_t)i;
  }
  for (i = 0; i < 2; i++) {
    for (byte = 0; byte < 256; byte++) {
      const uint8_t pattern = (uint8_t)byte;
      add_rule(f, &pattern, 1, i == 0);
    }
    build(f);
    /* Twice each byte for itself, and with case ignored each letter also for its other case. */
    assert_int_equal(check(f, all, sizeof all), 512 + (i == 0 ? 2 * 52 : 0));
    finish(f);
  }
  for (byte = 0; byte < 256; byte++) {
    const uint8_t pattern[2] = {(uint8_t)byte, 'q'};
    add_rule(f, pattern, 2, byte % 2 == 0);
  }
  build(f);
  for (byte = 0; byte < 256; byte++) {
    const uint8_t data[4] = {(uint8_t)byte, 'Q', (uint8_t)byte, 'q'};
    (void)check(f, data, sizeof data);
  }
  finish(f);
  free(f);
}

/* All 256 bytes used and no class left for others; long patterns with shared tails. */
static void test_full_alphabet(void **state)
{
  fixture *f = fixture_create();
  uint64_t random = scan_seed();
  uint8_t *data = malloc(20000);
  uint8_t pattern[64];
  size_t i;

  (void)state;
  assert_non_null(data);
  for (i = 0; i < 500; i++) {
    const size_t length = 1 + scan_below(&random, sizeof pattern);
    fill_random(&random, pattern, length, 256);
    if (i > 0 && i % 3 == 0) { /* ends like an earlier rule */
      const oracle_rule *rule = &f->rules[scan_below(&random, (uint32_t)i)];
      const size_t tail = rule->length < length ? rule->length : length;
      memcpy(pattern + length - tail, rule->bytes + rule->length - tail, tail);
    }
    add_rule(f, pattern, length, false);
  }
  build(f);
  assert_int_equal(f->automata[0].classes, 256);
  for (i = 0; i < 3; i++) {
    size_t at = 0;
    fill_random(&random, data, 20000, 256);
    while (at < 19000) {
      const oracle_rule *rule = &f->rules[scan_below(&random, (uint32_t)f->count)];
      memcpy(data + at, rule->bytes, rule->length);
      at += rule->length;
    }
    assert_true(check(f, data, 20000) > 100);
  }
  finish(f);
  free(data);
  free(f);
}

/* AUTO takes the dense form while it fits, else the compact one; DENSE alone is refused. */
static void test_limit(void **state)
{
  static const oracle_rule rule = {(const uint8_t *)"abc", 3, false};
  vyre__rules *set = scan_run_rules(&rule, 1);
  vyre__automaton_options options = {0};
  vyre__automaton a = {0};
  vyre_error err = VYRE_ERROR_INIT;

  (void)state;
  options.dense_limit = 4 * 4 * 4; /* states times classes times bytes */
  assert_int_equal(vyre__automaton_build(set, &options, &a, &err), VYRE_OK);
  assert_int_equal(a.form, VYRE__AUTOMATON_DENSE);
  assert_int_equal(a.states, 4);
  assert_int_equal(a.classes, 4);
  assert_int_equal(a.min_length, 3);
  assert_int_equal(a.max_length, 3);
  vyre__automaton_destroy(&a);
  options.dense_limit--;
  assert_int_equal(vyre__automaton_build(set, &options, &a, &err), VYRE_OK);
  assert_int_equal(a.form, VYRE__AUTOMATON_COMPACT);
  vyre__automaton_destroy(&a);
  options.form = VYRE__AUTOMATON_DENSE;
  assert_int_equal(vyre__automaton_build(set, &options, &a, &err), VYRE_ERROR_UNSUPPORTED);
  assert_non_null(strstr(err.message, "63 bytes"));
  assert_true(err.fix[0] != 0);
  assert_null(a.blob);
  assert_int_equal(vyre__automaton_build(set, NULL, &a, NULL), VYRE_OK);
  vyre__automaton_destroy(&a);
  vyre__rules_destroy(set);
}

/* A bank that is too small: the count stays right. */
static void test_overflow(void **state)
{
  fixture *f = fixture_create();
  size_t form;

  (void)state;
  add_rule(f, "a", 1, false);
  build(f);
  for (form = 0; form < FORMS; form++) {
    assert_int_equal(
        scan_run(&f->automata[form], f->rules, (const uint8_t *)"aaaaabaaaa", 10, found, 4), 9);
    assert_int_equal(found[3].offset, 3);
  }
  finish(f);
  free(f);
}

static void test_allocation_failures(void **state)
{
  static const oracle_rule rules[] = {{(const uint8_t *)"abc", 3, false},
                                      {(const uint8_t *)"Bc", 2, true}};
  vyre__rules *set = scan_run_rules(rules, 2);
  size_t form;
  uint64_t nth;

  (void)state;
  for (form = 0; form < FORMS; form++) {
    for (nth = 1;; nth++) {
      vyre__automaton a = {0};
      vyre_error err = VYRE_ERROR_INIT;
      vyre_status status;
      vyre__scan_fail_nth(nth);
      status = vyre__automaton_build(set, &forms[form], &a, &err);
      if (!vyre__scan_fail_happened()) {
        vyre__scan_fail_nth(0);
        assert_int_equal(status, VYRE_OK);
        vyre__automaton_destroy(&a);
        break;
      }
      assert_int_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
      assert_int_equal(err.code, status);
      assert_null(a.blob);
    }
    assert_true(nth > 8);
  }
  vyre__rules_destroy(set);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_sets),
      cmocka_unit_test(test_every_position),
      cmocka_unit_test(test_overlapping),
      cmocka_unit_test(test_nested_and_equal),
      cmocka_unit_test(test_fold_edges),
      cmocka_unit_test(test_full_alphabet),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_allocation_failures),
  };
  return cmocka_run_group_tests_name("automaton", tests, NULL, NULL);
}
