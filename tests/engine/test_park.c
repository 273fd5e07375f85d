/*
 * test_park.c - calls that would wait for a resident launch park the engines of their device: the
 * launch leaves, the call runs, the launch comes back, and no item notices.
 *
 * The steer plugin is a cpu plugin that needs it, and counts calls that came at the wrong time.
 */
#include "tests/engine/engine_help.h"
#include "tests/engine/ordinary.h"
#include "tests/engine/steer.h"

#include "core/base/alloc.h"
#include "core/device/device.h"

#include <pthread.h>
#include <time.h>

static steer plugin;
static test_rig rig;

static int open_steer(void **state)
{
  (void)state;
  plugin = steer_attach();
  assert_non_null(plugin.set);
  rig_open(&rig, STEER_FILE, "steer");
  return 0;
}

static int close_steer(void **state)
{
  (void)state;
  rig_close(&rig);
  assert_int_equal(plugin.get("violations"), 0);
  assert_int_equal(plugin.get("buffers"), 0);
  assert_int_equal(plugin.get("resident"), 0);
  steer_detach(&plugin);
  return 0;
}

static vyre_engine *start(vyre_engine_mode mode)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  options.mode = mode;
  options.input_size = 64;
  options.workers = 2;
  options.max_idle_ms = 100000;
  options.max_resident_ms = 100000;
  return rig_start(&rig, &options);
}

static uint32_t one_item(vyre_engine *engine, uint32_t correlation)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = correlation};
  vyre_completion c = {0};
  uint64_t ticket = 0;
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.status, VYRE_OK);
  return c.result;
}

static void nap(void)
{
  const struct timespec time = {0, 500000};
  nanosleep(&time, NULL);
}

/* The launch is there, and one call makes it leave exactly once; it comes back for the next item.
 */
#define PARKS(call)                                                                                \
  do {                                                                                             \
    assert_int_equal(one_item(engine, 7), 7);                                                      \
    assert_int_equal(plugin.get("resident"), 1);                                                   \
    call;                                                                                          \
    assert_int_equal(plugin.get("violations"), 0);                                                 \
    assert_int_equal(stats_of(engine).parks, ++parks);                                             \
  } while (0)

static void each_call_parks(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_FORCE), *other = NULL;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_device *handle = NULL;
  vyre_program *program = NULL;
  vyre_buffer *buffer = NULL;
  uint64_t parks = 0;
  (void)state;
  plugin.set("reset", 0);
  request.selector = "steer";
  PARKS(assert_ok(vyre_buffer_create(rig.device, 100, &buffer, NULL)));
  PARKS(vyre_buffer_destroy(buffer));
  PARKS(assert_ok(ordinary_create(rig.device, &program, NULL)));
  assert_int_equal(one_item(engine, 8), 8);
  assert_true(ordinary_run(program)); /* a dispatch runs beside it */
  assert_int_equal(stats_of(engine).parks, parks);
  PARKS(vyre_program_destroy(program));
  PARKS(assert_ok(vyre_device_open(rig.context, &request, &handle, NULL)));
  PARKS(assert_ok(vyre_buffer_create(handle, 100, &buffer, NULL))); /* the same hardware */
  PARKS(vyre_buffer_destroy(buffer));
  PARKS(vyre_device_close(handle));
  PARKS(other = start(VYRE_ENGINE_DISABLE));
  PARKS(vyre_engine_destroy(other));
  assert_true(plugin.get("guarded") > 15);
  assert_int_equal(stats_of(engine).idle_exits, 0);
  vyre_engine_destroy(engine);
}

static vyre_form form_of(vyre_program *program)
{
  uint32_t number = 1;
  const vyre_bytes input = {&number, sizeof number};
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_dispatch_result result = VYRE_DISPATCH_RESULT_INIT;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  options.route = VYRE_ROUTE_RESIDENT;
  options.iterations = 5;
  assert_ok(vyre_dispatch(program, &options, &input, 1, &outputs, &result, NULL));
  assert_int_equal(*(const uint32_t *)outputs.slots[0].data, 6);
  vyre_outputs_reset(&outputs);
  return result.form;
}

/* Recording is never worth an engine's leave: it is done only while none is there.  What was
   recorded before is started all the same. */
static void recording_parks_nobody(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_FORCE);
  vyre_program *program = NULL, *recorded = NULL;
  uint64_t parks = 0;
  (void)state;
  plugin.set("reset", 0);
  rig.device->recording = VYRE__RECORDING_NEVER;
  assert_ok(ordinary_create(rig.device, &program, NULL));
  assert_ok(ordinary_create(rig.device, &recorded, NULL));
  assert_int_equal(form_of(program), VYRE_FORM_LAUNCHES); /* and has its buffers now */
  rig.device->recording = VYRE__RECORDING_ALWAYS;
  assert_int_equal(form_of(recorded), VYRE_FORM_REPLAYS);
  assert_int_equal(one_item(engine, 7), 7);
  assert_int_equal(plugin.get("resident"), 1);
  parks = stats_of(engine).parks;
  assert_int_equal(form_of(program), VYRE_FORM_LAUNCHES);
  assert_int_equal(form_of(recorded), VYRE_FORM_REPLAYS);
  assert_int_equal(stats_of(engine).parks, parks);
  assert_int_equal(plugin.get("resident"), 1);
  rig.device->recording = VYRE__RECORDING_WORTH;
  vyre_program_destroy(recorded);
  vyre_program_destroy(program);
  vyre_engine_destroy(engine);
  assert_int_equal(plugin.get("violations"), 0);
}

/* Two resident engines park each other at their starts and ends. */
static void two_residents(void **state)
{
  vyre_engine *a = start(VYRE_ENGINE_FORCE), *b = NULL;
  vyre_buffer *buffer = NULL;
  (void)state;
  plugin.set("reset", 0);
  assert_int_equal(one_item(a, 1), 1);
  b = start(VYRE_ENGINE_FORCE);
  assert_int_equal(stats_of(a).parks, 1);
  assert_int_equal(one_item(a, 2), 2);
  assert_int_equal(one_item(b, 3), 3);
  assert_int_equal(plugin.get("resident"), 2);
  assert_ok(vyre_buffer_create(rig.device, 100, &buffer, NULL));
  assert_int_equal(plugin.get("resident"), 0); /* nothing to do: neither came back */
  assert_int_equal(stats_of(a).parks, 2);
  assert_int_equal(stats_of(b).parks, 1);
  assert_int_equal(one_item(a, 4), 4);
  vyre_engine_destroy(b);
  assert_int_equal(stats_of(a).parks, 3);
  vyre_buffer_destroy(buffer);
  assert_int_equal(one_item(a, 5), 5);
  vyre_engine_destroy(a);
  assert_int_equal(plugin.get("violations"), 0);
}

/* ---- under load ---- */

#define ITEMS 500u

typedef struct load {
  vyre_engine *engine;
  uint32_t first;
  uint32_t *reaping; /* atomic */
} load;

static void *submit_load(void *self)
{
  load *l = self;
  for (uint32_t i = 0; i < ITEMS; ++i) {
    const uint8_t bytes[4] = {(uint8_t)i, (uint8_t)(i >> 8), 3, 4};
    if (vyre_engine_submit_bytes(l->engine, bytes, sizeof bytes, RULE_SUM, l->first + i, PATIENCE,
                                 NULL) != VYRE_OK)
      return NULL;
  }
  return l;
}

static void *reap_load(void *self)
{
  load *l = self;
  static uint8_t seen[2 * ITEMS];
  uint32_t reaped = 0;
  memset(seen, 0, sizeof seen);
  while (reaped < 2 * ITEMS) {
    vyre_completion c[32];
    uint32_t n = 0;
    if (vyre_engine_reap(l->engine, c, 32, PATIENCE, &n) != VYRE_OK)
      break;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t id = c[i].correlation % ITEMS;
      if (c[i].status != VYRE_OK || c[i].correlation >= 2 * ITEMS || seen[c[i].correlation]++ ||
          c[i].result != 1 + (id & 255) + (id >> 8) + 7)
        return NULL;
    }
    reaped += n;
  }
  __atomic_store_n(l->reaping, 0, __ATOMIC_RELEASE);
  return reaped == 2 * ITEMS ? l : NULL;
}

static void *churn(void *self)
{
  const load *l = self;
  while (__atomic_load_n(l->reaping, __ATOMIC_ACQUIRE)) {
    vyre_buffer *buffer = NULL;
    vyre_program *program = NULL;
    if (vyre_buffer_create(rig.device, 100, &buffer, NULL) != VYRE_OK ||
        ordinary_create(rig.device, &program, NULL) != VYRE_OK || !ordinary_run(program))
      return NULL;
    vyre_program_destroy(program);
    vyre_buffer_destroy(buffer);
    nap(); /* holds that overlap without end would keep the engine away */
  }
  return self;
}

/* Every item exactly once and right, however often the launch has to leave. */
static void under_load(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_FORCE), *other;
  uint32_t reaping = 1, starts = 0;
  load l[5];
  pthread_t threads[5];
  (void)state;
  plugin.set("reset", 0);
  for (uint32_t i = 0; i < 5; ++i) {
    l[i] = (load){engine, i * ITEMS, &reaping};
    assert_int_equal(pthread_create(&threads[i], NULL,
                                    i < 2    ? submit_load
                                    : i == 2 ? reap_load
                                             : churn,
                                    &l[i]),
                     0);
  }
  while (__atomic_load_n(&reaping, __ATOMIC_ACQUIRE)) {
    other = start(starts++ % 2 ? VYRE_ENGINE_FORCE : VYRE_ENGINE_DISABLE);
    assert_int_equal(one_item(other, starts), starts);
    vyre_engine_destroy(other);
    nap();
  }
  for (uint32_t i = 0; i < 5; ++i) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    assert_ptr_equal(result, &l[i]);
  }
  assert_true(stats_of(engine).parks > 0);
  assert_int_equal(plugin.get("violations"), 0);
  print_message("parks: %llu, launches: %llu, guarded calls: %lld\n",
                (unsigned long long)stats_of(engine).parks,
                (unsigned long long)stats_of(engine).launches, (long long)plugin.get("guarded"));
  vyre_engine_destroy(engine);
}

/* ---- an item that does not end ---- */

static void stuck_item(void **state)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  const vyre_work_item gate = {0, 4, RULE_GATE, 6};
  vyre_buffer *first = NULL, *second = NULL;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_engine *engine;
  vyre_completion c;
  uint64_t ticket = 0;
  int64_t buffers;
  (void)state;
  plugin.set("reset", 0);
  assert_ok(vyre_buffer_create(rig.device, 100, &first, NULL));
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 64;
  options.workers = 2;
  options.max_item_ms = 30;
  options.max_idle_ms = 100000;
  engine = gates_start(&rig, &options);
  buffers = plugin.get("buffers");
  assert_ok(vyre_engine_submit(engine, &gate, &ticket));
  assert_int_equal(vyre_engine_wait(engine, ticket, VYRE_NO_TIMEOUT, &c), VYRE_ERROR_TIMEOUT);
  assert_int_equal(vyre_buffer_create(rig.device, 100, &second, &err), VYRE_ERROR_TIMEOUT);
  assert_null(second);
  assert_non_null(strstr(err.message, "steer:0"));
  assert_true(err.fix[0]);
  assert_int_equal(ordinary_create(rig.device, &program, &err), VYRE_ERROR_TIMEOUT);
  vyre_buffer_destroy(first); /* waits for its chance */
  assert_int_equal(plugin.get("buffers"), buffers);
  assert_int_equal(one_item(engine, 5), 5); /* the other worker has not gone */
  assert_int_equal(stats_of(engine).parks, 0);
  assert_int_equal(stats_of(engine).launches, 1);
  set_gate(engine, 0, 9);
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.result, 9);
  assert_ok(vyre_buffer_create(rig.device, 100, &second, &err));
  assert_int_equal(plugin.get("buffers"), buffers); /* one came, the first went */
  assert_int_equal(one_item(engine, 6), 6);
  vyre_buffer_destroy(second);
  gates_end(engine);
  assert_int_equal(plugin.get("violations"), 0);
}

/* ---- while it is parked ---- */

static void *allocate(void *out)
{
  return vyre_buffer_create(rig.device, 100, out, NULL) == VYRE_OK ? out : NULL;
}

/* A call on the device is under way and does not return; the engine is parked meanwhile. */
static void begin_hold(pthread_t *thread, vyre_buffer **out_buffer)
{
  plugin.set("hold", 1);
  assert_int_equal(pthread_create(thread, NULL, allocate, out_buffer), 0);
  while (!plugin.get("holding"))
    nap();
}

static void end_hold(pthread_t thread, vyre_buffer **buffer)
{
  void *result = NULL;
  plugin.set("hold", 0);
  pthread_join(thread, &result);
  assert_ptr_equal(result, buffer);
  vyre_buffer_destroy(*buffer);
}

static void life_while_parked(void **state)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING, .correlation = 3};
  vyre_buffer *buffer = NULL;
  vyre_engine *engine;
  vyre_completion c;
  pthread_t thread;
  uint64_t ticket = 0;
  (void)state;
  plugin.set("reset", 0);
  /* Items wait and are served after. */
  engine = start(VYRE_ENGINE_FORCE);
  begin_hold(&thread, &buffer);
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  assert_int_equal(vyre_engine_wait(engine, ticket, SECOND / 50, &c), VYRE_ERROR_TIMEOUT);
  assert_int_equal(plugin.get("resident"), 0);
  end_hold(thread, &buffer);
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, &c));
  assert_int_equal(c.result, 3);
  /* A stop that finds nothing unfinished ends at once. */
  begin_hold(&thread, &buffer);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  end_hold(thread, &buffer);
  vyre_engine_destroy(engine);
  /* One that has to give up an item does, at its limit. */
  engine = start(VYRE_ENGINE_FORCE);
  begin_hold(&thread, &buffer);
  assert_ok(vyre_engine_submit(engine, &item, &ticket));
  assert_int_equal(vyre_engine_stop(engine, SECOND / 50, NULL), VYRE_ERROR_TIMEOUT);
  assert_ok(vyre_engine_wait(engine, ticket, 0, &c));
  assert_int_equal(c.status, VYRE_ERROR_CLOSED);
  assert_ok(vyre_engine_stop(engine, PATIENCE, NULL));
  vyre_engine_destroy(engine); /* another call on the device is no obstacle */
  end_hold(thread, &buffer);
  /* Engines begin and end while another call holds the device. */
  begin_hold(&thread, &buffer);
  plugin.set("hold", 0);
  engine = start(VYRE_ENGINE_FORCE);
  assert_int_equal(one_item(engine, 4), 4);
  end_hold(thread, &buffer);
  vyre_engine_destroy(engine);
  assert_int_equal(plugin.get("violations"), 0);
}

/* ---- who is not parked ---- */

static void nobody_to_park(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_DISABLE);
  vyre_buffer *buffer = NULL;
  test_rig cpu;
  (void)state;
  assert_int_equal(one_item(engine, 7), 7);
  assert_ok(vyre_buffer_create(rig.device, 100, &buffer, NULL));
  vyre_buffer_destroy(buffer);
  assert_int_equal(one_item(engine, 8), 8);
  assert_int_equal(stats_of(engine).parks, 0); /* batched launches are ordinary */
  vyre_engine_destroy(engine);
  rig_open(&cpu, NULL, test_device());
  if (rig_parks(&cpu)) { /* the cpu plugin's says that it needs none of this */
    print_message("left out: this device parks\n");
    rig_close(&cpu);
    return;
  }
  {
    vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
    options.mode = VYRE_ENGINE_FORCE;
    options.max_idle_ms = 100000;
    engine = rig_start(&cpu, &options);
  }
  assert_int_equal(one_item(engine, 7), 7);
  assert_ok(vyre_buffer_create(cpu.device, 100, &buffer, NULL));
  vyre_buffer_destroy(buffer);
  assert_int_equal(one_item(engine, 8), 8);
  assert_int_equal(stats_of(engine).parks, 0);
  assert_int_equal(stats_of(engine).launches, 1);
  vyre_engine_destroy(engine);
  rig_close(&cpu);
}

/* ---- failures ---- */

/* True if a launch failed: the engine takes no more. */
static bool gave_up(vyre_engine *engine)
{
  const vyre_work_item item = {.rule_set_id = RULE_NOTHING};
  uint64_t ticket = 0;
  if (vyre_engine_submit(engine, &item, &ticket) != VYRE_OK)
    return true;
  assert_ok(vyre_engine_wait(engine, ticket, PATIENCE, NULL));
  return false;
}

/* What one round of parking calls and items needs; true if every part of it worked. */
static bool round_of_calls(vyre_engine *engine)
{
  vyre_engine *other = NULL;
  vyre_buffer *buffer = NULL;
  vyre_program *program = NULL;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_completion c = {0};
  uint64_t ticket = 0;
  bool good;
  options.mode = VYRE_ENGINE_FORCE;
  options.input_size = 64;
  options.workers = 1;
  good = vyre_buffer_create(rig.device, 100, &buffer, NULL) == VYRE_OK;
  good = ordinary_create(rig.device, &program, NULL) == VYRE_OK && good;
  good = rig_try_start(&rig, &options, &other, NULL) == VYRE_OK && good;
  good = other &&
         vyre_engine_submit_bytes(other, "abc", 3, RULE_SUM, 1, PATIENCE, &ticket) == VYRE_OK &&
         vyre_engine_wait(other, ticket, PATIENCE, &c) == VYRE_OK && c.status == VYRE_OK && good;
  vyre_engine_destroy(other);
  vyre_program_destroy(program);
  vyre_buffer_destroy(buffer);
  if (engine) /* its own relaunch may be the call that fails */
    good = vyre_engine_submit_bytes(engine, "abc", 3, RULE_SUM, 1, PATIENCE, &ticket) == VYRE_OK &&
           vyre_engine_wait(engine, ticket, PATIENCE, &c) == VYRE_OK && c.status == VYRE_OK && good;
  return good;
}

/* The n-th call of the plugin fails, for every n: nothing is held or left, the engine goes on. */
static void failing_calls(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_FORCE);
  bool good = false;
  (void)state;
  plugin.set("reset", 0);
  for (uint32_t n = 1; !good; ++n) {
    const int64_t buffers = plugin.get("buffers");
    bool reached;
    assert_int_equal(one_item(engine, n), n);
    plugin.set("fail_at", n);
    good = round_of_calls(engine);
    reached = plugin.get("fail_at") == 0;
    plugin.set("fail_at", 0);
    assert_int_equal(plugin.get("buffers"), buffers);
    assert_int_equal(good, !reached);
    if (vyre_engine_drain(engine, PATIENCE, NULL, 0, NULL) != VYRE_OK || gave_up(engine)) {
      vyre_engine_destroy(engine); /* it was its own relaunch that failed */
      engine = start(VYRE_ENGINE_FORCE);
    }
    assert_true(n < 200);
  }
  vyre_engine_destroy(engine);
  assert_int_equal(plugin.get("violations"), 0);
}

static void failing_allocations(void **state)
{
  vyre_engine *engine = start(VYRE_ENGINE_FORCE);
  bool good = false;
  (void)state;
  plugin.set("reset", 0);
  for (uint64_t n = 1; !good; ++n) {
    const int64_t buffers = plugin.get("buffers");
    assert_int_equal(one_item(engine, 1), 1);
    vyre__test_fail_allocation(n);
    good = round_of_calls(NULL);
    good = vyre__test_allocation_count() < n && good;
    vyre__test_fail_allocation(0);
    assert_int_equal(one_item(engine, 2), 2);
    assert_int_equal(plugin.get("buffers"), buffers);
    assert_true(n < 1000);
  }
  vyre_engine_destroy(engine);
  assert_int_equal(plugin.get("violations"), 0);
}

/* A second handle of the hardware cannot be had without its record. */
static void failing_open(void **state)
{
  bool good = false;
  (void)state;
  for (uint64_t n = 1; !good; ++n) {
    vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
    vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
    const char *file = STEER_FILE;
    vyre_context *context = NULL;
    vyre_device *device = NULL;
    options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
    options.plugin_files = &file;
    options.plugin_file_count = 1;
    request.selector = "steer";
    vyre__test_fail_allocation(n);
    if (vyre_context_create(&options, &context, NULL) == VYRE_OK)
      good = vyre_device_open(context, &request, &device, NULL) == VYRE_OK &&
             vyre__test_allocation_count() < n;
    vyre__test_fail_allocation(0);
    vyre_device_close(device);
    vyre_context_destroy(context);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_call_parks),
                                     cmocka_unit_test(recording_parks_nobody),
                                     cmocka_unit_test(two_residents),
                                     cmocka_unit_test(under_load),
                                     gate_test(stuck_item),
                                     cmocka_unit_test(life_while_parked),
                                     cmocka_unit_test(nobody_to_park),
                                     cmocka_unit_test(failing_calls),
                                     cmocka_unit_test(failing_allocations),
                                     cmocka_unit_test(failing_open)};
  return cmocka_run_group_tests(tests, open_steer, close_steer);
}
