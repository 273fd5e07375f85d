/*
 * test_idle.c - an engine that has nothing to do costs no host time: counted by getrusage() over a
 * second, all threads of the process together.
 */
#include "tests/engine/engine_help.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

static test_rig cpu;

static int open_cpu(void **state)
{
  (void)state;
  rig_open(&cpu, NULL, test_device());
  return 0;
}

static int close_cpu(void **state)
{
  (void)state;
  rig_close(&cpu);
  return 0;
}

static uint64_t spent_ns(void)
{
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * SECOND +
         ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

static void rest(uint64_t ns)
{
  const struct timespec time = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
  nanosleep(&time, NULL);
}

static void one_item(vyre_engine *engine)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 3};
  vyre_completion c;
  assert_ok(vyre_engine_submit(engine, &item, NULL));
  assert_ok(vyre_engine_reap(engine, &c, 1, PATIENCE, NULL));
  assert_int_equal(c.result, 3);
}

static uint64_t second_of(const char *what)
{
  const uint64_t before = spent_ns();
  uint64_t spent;
  rest(SECOND);
  spent = spent_ns() - before;
  print_message("%s: %llu us of host time in a second\n", what, (unsigned long long)spent / 1000);
  return spent;
}

static void after_the_idle_exit(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_idle_ms = 5;
  engine = rig_start(&cpu, &options);
  one_item(engine);
  while (!stats_of(engine).idle_exits)
    rest(1000000);
  assert_true(second_of("left") < SECOND / 50);
  one_item(engine); /* it comes back */
  vyre_engine_destroy(engine);
}

static void batched(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  (void)state;
  options.mode = VYRE_ENGINE_DISABLE;
  engine = rig_start(&cpu, &options);
  one_item(engine);
  assert_true(second_of("batched") < SECOND / 50);
  one_item(engine);
  vyre_engine_destroy(engine);
}

/*
 * While the launch is there its workers look at the ring now and then, every 50 us.  On the cpu
 * plugin they are the host's own threads, so this is what residency costs; the limit only proves
 * that they rest.
 */
static void resident(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_idle_ms = 100000;
  options.max_resident_ms = 100000;
  options.workers = 2;
  engine = rig_start(&cpu, &options);
  one_item(engine);
  assert_true(second_of("resident, two workers") < SECOND);
  assert_int_equal(stats_of(engine).launches, 1);
  one_item(engine);
  vyre_engine_destroy(engine);
}

/* Sleeping in a call costs nothing either, on a device that wakes the host. */
static void *reap_forever(void *engine)
{
  vyre_completion c;
  return vyre_engine_reap(engine, &c, 1, VYRE_NO_TIMEOUT, NULL) == VYRE_ERROR_CLOSED ? engine
                                                                                     : NULL;
}

static void waiting(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_engine *engine;
  pthread_t thread;
  void *result = NULL;
  (void)state;
  options.mode = VYRE_ENGINE_FORCE;
  options.max_idle_ms = 5;
  engine = rig_start(&cpu, &options);
  one_item(engine);
  assert_int_equal(pthread_create(&thread, NULL, reap_forever, engine), 0);
  while (!stats_of(engine).idle_exits)
    rest(1000000);
  assert_true(second_of("left, a thread in reap") < SECOND / 50);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  pthread_join(thread, &result);
  assert_ptr_equal(result, engine);
  vyre_engine_destroy(engine);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(after_the_idle_exit),
                                     cmocka_unit_test(batched), cmocka_unit_test(resident),
                                     cmocka_unit_test(waiting)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
