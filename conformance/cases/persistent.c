/*
 * persistent.c - launches that stay: what goes on beside them, what they may be bound to, how they
 * end.
 */
#include "conformance/buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Words of kernels/coherent.c, "stay". */
#define CAME(g) (32u + 96u * (g))
#define REQUEST(g) (64u + 96u * (g))
#define ANSWER(g) (96u + 96u * (g))

#define MOST_GROUPS 256u
#define WORDS (32u + 96u * MOST_GROUPS)

static uint32_t look(const uint32_t *word)
{
  return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* pairs with the kernel's release */
}

static void tell(uint32_t *word, uint32_t value)
{
  __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with the kernel's acquire */
}

static void await(conform *c, const uint32_t *word, uint32_t want, const char *what)
{
  const uint64_t begin = conform_now_ns();
  while (look(word) != want)
    conform_watch(c, begin, what);
}

/* A launch that stays, and the memory by which one talks to it. */
typedef struct resident {
  vyre_coherent_memory memory;
  uint32_t *words;
  uint32_t groups;
  vyre_backend_pending *pending;
} resident;

static void make(conform *c, resident *r, uint32_t groups)
{
  r->memory = conform_coherent(c, WORDS * 4);
  r->words = r->memory.host;
  r->groups = groups;
}

static void launch(conform *c, resident *r)
{
  conform_launch stay;
  memset(r->words, 0, WORDS * 4);
  conform_launch_init(&stay, conform_kernel(c, "coherent", "stay"));
  conform_launch_grid(&stay, r->groups, 1);
  stay.desc.flags = VYRE_DISPATCH_PERSISTENT;
  conform_launch_buffer(&stay, VYRE_READ_WRITE, r->memory.buffer, WORDS, 4);
  r->pending = conform_start(c, c->device, &stay);
  for (uint32_t g = 0; g < r->groups; ++g)
    await(c, &r->words[CAME(g)], 1, "a group of a persistent launch (DISP-010)");
}

/* It is there, and answers. */
static void check_lives(conform *c, resident *r, uint32_t number)
{
  vyre_error record = VYRE_ERROR_INIT;
  for (uint32_t g = 0; g < r->groups; ++g)
    tell(&r->words[REQUEST(g)], number + g);
  for (uint32_t g = 0; g < r->groups; ++g)
    await(c, &r->words[ANSWER(g)], (number + g) * 2, "an answer of a persistent launch (DISP-010)");
  CHECK(c, c->counted.pending_wait(r->pending, 0, &record) == VYRE_ERROR_TIMEOUT,
        "a persistent launch that answers has ended (DISP-010)");
  CHECK(c, record.code == VYRE_ERROR_TIMEOUT && record.message[0],
        "a timeout has no code or no text (ABI-009)");
}

static void stop(conform *c, resident *r)
{
  tell(&r->words[0], 1);
  CHECK_OK(c, c->counted.pending_wait(r->pending, 20000000000u, err));
  for (uint32_t g = 0; g < r->groups; ++g)
    CHECK(c, look(&r->words[ANSWER(g)]) == UINT32_MAX,
          "a persistent launch has ended and group %u has not (DISP-030)", g);
  conform_finish(c, r->pending, NULL, 0);
}

static void begin(conform *c, resident *r, uint32_t groups)
{
  conform_open(c);
  make(c, r, groups);
  launch(c, r);
}

static void end(conform *c, resident *r)
{
  stop(c, r);
  conform_free(c, r->memory.buffer);
}

/* ---- what goes on ---- */

static void run_launches(conform *c)
{
  resident r;
  conform_kernel(c, "basic", "add"); /* loaded before, for devices that cannot meanwhile */
  conform_kernel(c, "grid", "push");
  conform_kernel(c, "shared", "reverse");
  begin(c, &r, 1);
  for (uint32_t turn = 1; turn < 10; ++turn) {
    conform_tour(c);
    check_lives(c, &r, turn);
  }
  end(c, &r);
}

static void run_transfers(conform *c)
{
  static unsigned char data[70001], want[70001];
  resident r;
  vyre_backend_buffer *a = conform_buffer(c, sizeof data, NULL);
  vyre_backend_buffer *b = conform_buffer(c, sizeof data, NULL);
  begin(c, &r, 1);
  for (uint32_t turn = 1; turn < 12; ++turn) {
    conform_random_fill(c, data, sizeof data);
    conform_put(c, a, 0, data, sizeof data);
    CHECK_OK(c, c->counted.buffer_fill(c->device, a, turn, 5000, turn, err));
    CHECK_OK(c, c->counted.buffer_copy(c->device, b, 1, a, 0, sizeof data - 1, err));
    memset(data + turn, (int)turn, 5000);
    memcpy(want + 1, data, sizeof data - 1);
    want[0] = 0;
    conform_expect_bytes(c, b, want, sizeof want, "copies beside a persistent launch (DISP-012)");
    check_lives(c, &r, turn);
  }
  end(c, &r);
  conform_free(c, a);
  conform_free(c, b);
}

/* Launches on buffers, waited for, polled, and let go without a wait. */
static void run_waits(conform *c)
{
  static uint32_t words[3000];
  resident r;
  vyre_backend_buffer *buffer = conform_buffer(c, sizeof words, NULL);
  vyre_backend_kernel *chain = conform_kernel(c, "buffer", "chain");
  begin(c, &r, 2);
  for (uint32_t turn = 1; turn < 40; ++turn) {
    const uint64_t started = conform_now_ns();
    vyre_backend_pending *pending = NULL;
    vyre_status status = VYRE_OK;
    conform_launch launch_of;
    conform_launch_init(&launch_of, chain);
    conform_launch_grid(&launch_of, 50, 60);
    conform_launch_buffer(&launch_of, VYRE_READ_WRITE, buffer, 3000, 4);
    pending = conform_start(c, c->device, &launch_of);
    while (turn % 3 == 1 &&
           (status = c->counted.pending_wait(pending, 0, NULL)) == VYRE_ERROR_TIMEOUT)
      conform_watch(c, started, "a launch beside a persistent one (DISP-012)");
    CHECK(c, status == VYRE_OK, "pending_wait returned %d", (int)status);
    if (turn % 3 == 0)
      conform_finish(c, pending, NULL, 0);
    else
      c->counted.pending_release(pending);
    for (uint32_t i = 0; i < 3000; ++i)
      words[i] = words[i] * 3 + 1;
  }
  conform_expect_bytes(c, buffer, words, sizeof words, "launches beside a persistent one");
  check_lives(c, &r, 9);
  end(c, &r);
  conform_free(c, buffer);
}

typedef struct beside {
  conform *c;
  vyre_backend_kernel *chain;
  vyre_backend_buffer *buffer;
  uint32_t wrong;
} beside;

static void *work_beside(void *argument)
{
  beside *w = argument;
  const vyre_backend *b = &w->c->counted;
  for (uint32_t turn = 0; turn < 60; ++turn) {
    vyre_backend_pending *pending = NULL;
    uint32_t word = turn;
    conform_launch launch_of;
    conform_launch_init(&launch_of, w->chain);
    conform_launch_buffer(&launch_of, VYRE_READ_WRITE, w->buffer, 1, 4);
    if (b->buffer_upload(w->c->device, w->buffer, 0, &word, 4, NULL) != VYRE_OK ||
        b->dispatch(w->c->device, &launch_of.desc, &pending, NULL) != VYRE_OK ||
        b->pending_wait(pending, VYRE_NO_TIMEOUT, NULL) != VYRE_OK ||
        b->buffer_download(w->c->device, w->buffer, 0, &word, 4, NULL) != VYRE_OK ||
        word != turn * 3 + 1)
      w->wrong += 1;
    b->pending_release(pending);
  }
  return NULL;
}

static void run_threads(conform *c)
{
  enum { THREADS = 3 };
  static beside all[THREADS];
  pthread_t threads[THREADS];
  resident r;
  for (uint32_t i = 0; i < THREADS; ++i)
    all[i] = (beside){c, conform_kernel(c, "buffer", "chain"), conform_buffer(c, 4, NULL), 0};
  begin(c, &r, 1);
  for (uint32_t i = 0; i < THREADS; ++i)
    CHECK(c, !pthread_create(&threads[i], NULL, work_beside, &all[i]), "no thread");
  check_lives(c, &r, 5);
  for (uint32_t i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  check_lives(c, &r, 6);
  end(c, &r);
  for (uint32_t i = 0; i < THREADS; ++i) {
    CHECK(c, !all[i].wrong,
          "%u launches of thread %u beside a persistent one went wrong (DISP-012)", all[i].wrong,
          i);
    conform_free(c, all[i].buffer);
  }
}

/* With VYRE_CAP_ALLOC_WHILE_RESIDENT: none of these calls waits for the launch. */
static void run_allocs(conform *c)
{
  static const unsigned char data[64] = {1};
  resident r;
  begin(c, &r, 1);
  for (uint32_t turn = 1; turn < 6; ++turn) {
    static const vyre_backend_device_options options = {.struct_size = sizeof options};
    vyre_backend_device *other = NULL;
    vyre_backend_buffer *small = conform_buffer(c, 64, data),
                        *large = conform_buffer(c, 5u << 20, 0);
    vyre_coherent_memory memory = conform_coherent(c, 5000);
    uint64_t size = 0;
    const char *text = conform_kernel_text("basic", &size);
    vyre_backend_module *module = NULL;
    char *copy = strndup(text, size);
    CHECK(c, copy, "out of memory");
    if (!c->kernels) {
      module = conform_load_text(c, c->device, "basic", copy, 0);
      conform_run_add(c, conform_find(c, module, "add"), 1000, 64);
      c->counted.module_unload(c->device, module);
    }
    free(copy);
    conform_expect_bytes(c, small, data, sizeof data, "a buffer made beside a persistent launch");
    if (c->counted.buffer_import && (conform_info(c)->capabilities & VYRE_CAP_IMPORT_EXPORT)) {
      vyre_native_memory native = {.struct_size = sizeof native};
      vyre_backend_buffer *window = NULL;
      CHECK_OK(c, c->counted.buffer_export(c->device, small, &native, err));
      CHECK_OK(c, c->counted.buffer_import(c->device, &native, &window, err));
      conform_free(c, window);
    }
    CHECK_OK(c, c->counted.device_open(c->device_index, &options, &other, err));
    c->counted.device_close(other);
    conform_free(c, memory.buffer);
    conform_free(c, large);
    conform_free(c, small);
    check_lives(c, &r, turn);
  }
  end(c, &r);
}

/* ---- several, many groups, again ---- */

static void run_second(conform *c)
{
  resident first, second;
  conform_open(c);
  make(c, &first, 1);
  make(c, &second, 1); /* before one stays: an allocation might wait for it (DISP-012) */
  launch(c, &first);
  launch(c, &second);
  check_lives(c, &first, 3);
  check_lives(c, &second, 4);
  stop(c, &first);
  check_lives(c, &second, 5);
  launch(c, &first);
  check_lives(c, &first, 6);
  stop(c, &second);
  check_lives(c, &first, 7);
  end(c, &first);
  conform_free(c, second.memory.buffer);
}

/* As many groups as the device says truly run at once. */
static void run_groups(conform *c)
{
  const uint32_t units = conform_info(c)->compute_units;
  resident r;
  begin(c, &r, units < MOST_GROUPS ? units : MOST_GROUPS);
  for (uint32_t turn = 1; turn < 50; ++turn)
    check_lives(c, &r, turn * 1000);
  end(c, &r);
}

/* A launch takes what the last one has given back. */
static void run_again(conform *c)
{
  uint64_t blocks = 0;
  uint32_t threads = 0;
  resident r;
  conform_open(c);
  make(c, &r, 2);
  for (uint32_t turn = 0; turn < 80; ++turn) {
    launch(c, &r);
    stop(c, &r);
    if (turn == 20) {
      blocks = conform_live_blocks(c);
      threads = conform_threads();
    }
  }
  CHECK(c, conform_live_blocks(c) == blocks,
        "60 persistent launches leave %llu more blocks in use (ABI-008)",
        (unsigned long long)(conform_live_blocks(c) - blocks));
  CHECK(c, conform_threads_settle(threads) <= threads,
        "60 persistent launches leave %u more threads", conform_threads() - threads);
  conform_free(c, r.memory.buffer);
}

/* ---- the end ---- */

static void run_stop(conform *c)
{
  resident r;
  begin(c, &r, 2);
  for (uint32_t turn = 1; turn < 20; ++turn) {
    const uint64_t started = conform_now_ns();
    CHECK_FAILS(c, c->counted.pending_wait(r.pending, turn * 100000, err), VYRE_ERROR_TIMEOUT, -1);
    CHECK(c, conform_now_ns() - started >= turn * 90000, "a limit of %u us ended sooner (DISP-031)",
          turn * 100);
  }
  check_lives(c, &r, 1);
  tell(&r.words[0], 1);
  for (int turn = 0; turn < 5; ++turn)
    CHECK_OK(c, c->counted.pending_wait(r.pending, 20000000000u, err));
  conform_finish(c, r.pending, NULL, 0);
  launch(c, &r);
  end(c, &r);
  conform_tour(c);
}

/* pending_wait(0) and short waits come back; a poll takes no time worth naming. */
static void run_poll(conform *c)
{
  resident r;
  uint32_t late = 0;
  begin(c, &r, 1);
  for (uint32_t turn = 0; turn < 2000; ++turn) {
    const uint64_t started = conform_now_ns();
    const vyre_status status = c->counted.pending_wait(r.pending, 0, NULL);
    CHECK(c, status == VYRE_ERROR_TIMEOUT, "a poll of a launch that stays returned %d (DISP-031)",
          (int)status);
    late += conform_now_ns() - started > 20000000u;
  }
  CHECK(c, late < 200, "%u of 2000 polls took more than 20 ms (DISP-031)", late);
  check_lives(c, &r, 1);
  end(c, &r);
}

static void *stop_later(void *argument)
{
  resident *r = argument;
  const uint64_t started = conform_now_ns();
  while (conform_now_ns() - started < 30000000u) {
  }
  tell(&r->words[0], 1);
  return NULL;
}

/* pending_release() waits for the end. */
static void run_release(conform *c)
{
  pthread_t thread;
  resident r;
  begin(c, &r, 2);
  CHECK(c, !pthread_create(&thread, NULL, stop_later, &r), "no thread");
  c->counted.pending_release(r.pending);
  for (uint32_t g = 0; g < 2; ++g)
    CHECK(c, look(&r.words[ANSWER(g)]) == UINT32_MAX,
          "pending_release() did not wait for group %u of a persistent launch (DISP-033)", g);
  pthread_join(thread, NULL);
  conform_free(c, r.memory.buffer);
  conform_close(c);
  conform_tour(c);
}

/* ---- what is refused ---- */

static void run_host_bindings(conform *c)
{
  static uint32_t word = 5;
  vyre_coherent_memory memory = conform_coherent(c, WORDS * 4);
  for (int turn = 0; turn < 3; ++turn) {
    vyre_backend_pending *pending = NULL;
    conform_launch stay;
    conform_launch_init(&stay, conform_kernel(c, "coherent", "produce"));
    const uint64_t before = conform_live_blocks(c);
    stay.desc.flags = VYRE_DISPATCH_PERSISTENT;
    if (turn)
      conform_launch_buffer(&stay, VYRE_READ_WRITE, memory.buffer, WORDS, 4);
    conform_launch_host(&stay, turn == 1 ? VYRE_READ_ONLY : VYRE_READ_WRITE, &word, 1, 4, NULL);
    if (!turn)
      conform_launch_buffer(&stay, VYRE_READ_WRITE, memory.buffer, WORDS, 4);
    CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &stay.desc, &pending, err),
                VYRE_ERROR_INVALID_ARGUMENT, VYRE_ERROR_UNSUPPORTED);
    CHECK(c, !pending && conform_live_blocks(c) == before,
          "a refused persistent launch leaves something (ABI-008)");
  }
  conform_free(c, memory.buffer);
}

/* Without the capability it is refused; with it, a launch that ends by itself is one like any. */
static void run_flag(conform *c)
{
  const bool able = (conform_info(c)->capabilities & VYRE_CAP_PERSISTENT) != 0;
  uint32_t word = 5;
  vyre_backend_buffer *buffer = able ? conform_buffer(c, 4, &word) : NULL;
  vyre_backend_pending *pending = NULL;
  conform_launch launch_of;
  conform_launch_init(&launch_of, conform_kernel(c, "buffer", "chain"));
  launch_of.desc.flags = VYRE_DISPATCH_PERSISTENT;
  if (able) {
    conform_launch_buffer(&launch_of, VYRE_READ_WRITE, buffer, 1, 4);
    conform_run_buffers(c, &launch_of);
    word = word * 3 + 1;
    conform_expect_bytes(c, buffer, &word, 4, "a persistent launch that ends (DISP-010)");
    conform_free(c, buffer);
    return;
  }
  conform_launch_host(&launch_of, VYRE_READ_WRITE, &word, 1, 4, NULL);
  CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &launch_of.desc, &pending, err),
              VYRE_ERROR_UNSUPPORTED, -1);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  CHECK(c, conform_info(c)->persistent_reason[0],
        "the device has no VYRE_CAP_PERSISTENT and gives no reason (DISP-010)");
}

#define STAY (VYRE_CAP_PERSISTENT | VYRE_CAP_COHERENT | VYRE_CAP_BUFFERS)
#define STAY_CASE(name, rules, more, run)                                                          \
  {                                                                                                \
    name, rules, CONFORM_PERSISTENT, STAY | (more), CONFORM_NEEDS_KERNELS, 0, run                  \
  }

static const conform_case rows[] = {
    {"persistent.flag", "DISP-010", CONFORM_CORE, 0, CONFORM_NEEDS_KERNELS, 0, run_flag},
    STAY_CASE("persistent.launches", "DISP-010 DISP-012", 0, run_launches),
    STAY_CASE("persistent.transfers", "DISP-012", 0, run_transfers),
    STAY_CASE("persistent.waits", "DISP-012 DISP-020", 0, run_waits),
    STAY_CASE("persistent.threads", "DISP-012", 0, run_threads),
    STAY_CASE("persistent.allocs", "DISP-012", VYRE_CAP_ALLOC_WHILE_RESIDENT, run_allocs),
    STAY_CASE("persistent.second", "DISP-010", 0, run_second),
    STAY_CASE("persistent.groups", "DISP-010", 0, run_groups),
    STAY_CASE("persistent.again", "DISP-010 ABI-008", 0, run_again),
    STAY_CASE("persistent.stop", "DISP-010 DISP-030 DISP-031", 0, run_stop),
    STAY_CASE("persistent.poll", "DISP-031", 0, run_poll),
    STAY_CASE("persistent.release", "DISP-033", 0, run_release),
    STAY_CASE("persistent.host_bindings", "DISP-010 ABI-008", 0, run_host_bindings),
};
CONFORM_TABLE(conform_cases_persistent, rows);
