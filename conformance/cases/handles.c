/* handles.c - launches in flight: waiting, reading, releasing, what is borrowed until then. */
#include "conformance/steps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- handles ---- */

typedef struct delayed {
  conform_launch launch;
  uint64_t ns;
  uint32_t value[16], out[16];
} delayed;

/* The kernel "delay": sixteen items that take that long. */
static void prepare(conform *c, delayed *d, uint64_t ns)
{
  memset(d, 0, sizeof *d);
  d->ns = ns;
  conform_random_fill(c, d->value, sizeof d->value);
  conform_launch_init(&d->launch, conform_kernel(c, "grid", "delay"));
  conform_launch_grid(&d->launch, 1, 16);
  conform_launch_host(&d->launch, VYRE_READ_ONLY, d->value, 16, 4, NULL);
  conform_launch_host(&d->launch, VYRE_WRITE_ONLY, NULL, 16, 4, NULL);
  d->launch.desc.push = &d->ns;
  d->launch.desc.push_size = sizeof d->ns;
}

static void check_delayed(conform *c, const delayed *d)
{
  for (uint32_t i = 0; i < 16; ++i)
    CHECK(c, d->out[i] == d->value[i] * 3 + 1, "element %u is %u, expected is %u (DISP-030)", i,
          d->out[i], d->value[i] * 3 + 1);
}

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define LONG_NS 80000000u

/*
 * 0 polls, TIMEOUT leaves the handle valid.  A plugin may have run the launch before dispatch()
 * returned; then a poll says so at once.  A busy machine may be late once, not five times.
 */
static void run_poll(conform *c)
{
  static delayed d;
  uint32_t late = 0;
  for (int turn = 0; turn < 5 && late == (uint32_t)turn; ++turn) {
    vyre_backend_pending *pending = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    vyre_status status = VYRE_OK;
    uint64_t begin = 0;
    prepare(c, &d, LONG_NS);
    pending = conform_start(c, conform_open(c), &d.launch);
    begin = now_ns();
    status = c->counted.pending_wait(pending, 0, &record);
    late += now_ns() - begin > LONG_NS / 2;
    for (int polls = 0; status == VYRE_ERROR_TIMEOUT && polls < 10; ++polls) {
      CHECK(c, record.message[0] && record.code == VYRE_ERROR_TIMEOUT,
            "a timeout has no code or no text (ABI-009)");
      status = c->counted.pending_wait(pending, polls * 1000u, &record);
    }
    CHECK(c, status == VYRE_OK || status == VYRE_ERROR_TIMEOUT,
          "pending_wait returned %d: %.300s (DISP-031)", (int)status, record.message);
    conform_finish(c, pending, d.out, sizeof d.out);
    check_delayed(c, &d);
  }
  CHECK(c, late < 5, "pending_wait(0) waits for the launch (DISP-031)");
}

/* A limit that runs out does so, and not much sooner. */
static void run_timeout(conform *c)
{
  static delayed d;
  vyre_backend_pending *pending = NULL;
  vyre_status status = VYRE_OK;
  uint64_t begin = 0, took = 0;
  prepare(c, &d, 2 * LONG_NS);
  pending = conform_start(c, conform_open(c), &d.launch);
  begin = now_ns();
  status = c->counted.pending_wait(pending, LONG_NS / 4, NULL);
  took = now_ns() - begin;
  CHECK(c, status == VYRE_OK || status == VYRE_ERROR_TIMEOUT, "pending_wait returned %d (DISP-031)",
        (int)status);
  CHECK(c, status == VYRE_OK || took >= LONG_NS / 4 - LONG_NS / 40,
        "the limit of %u ns ran out after %llu ns (DISP-031)", LONG_NS / 4,
        (unsigned long long)took);
  /* Well within a long limit the launch ends; the limit is not waited out. */
  begin = now_ns();
  CHECK_OK(c, c->counted.pending_wait(pending, 30000000000u, err));
  CHECK(c, now_ns() - begin < 20000000000u, "pending_wait waits out its limit (DISP-031)");
  CHECK_OK(c, c->counted.pending_wait(pending, 0, err));
  CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT - 1, err));
  conform_finish(c, pending, d.out, sizeof d.out);
  check_delayed(c, &d);
}

static void run_wait_twice(conform *c)
{
  static delayed d;
  vyre_slot slot = {.struct_size = sizeof slot, .data = d.out, .capacity = sizeof d.out};
  vyre_backend_pending *pending = NULL;
  prepare(c, &d, 1000);
  pending = conform_start(c, conform_open(c), &d.launch);
  for (int i = 0; i < 4; ++i)
    CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
  CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
  check_delayed(c, &d);
  CHECK_OK(c, c->counted.pending_wait(pending, 0, err));
  CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, NULL));
  c->counted.pending_release(pending);
}

/* pending_read() waits by itself. */
static void run_read_waits(conform *c)
{
  static delayed d;
  vyre_slot slot = {.struct_size = sizeof slot, .data = d.out, .capacity = sizeof d.out};
  vyre_backend_pending *pending = NULL;
  prepare(c, &d, LONG_NS / 2);
  pending = conform_start(c, conform_open(c), &d.launch);
  CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
  check_delayed(c, &d);
  c->counted.pending_release(pending);
}

/* pending_release() without wait or read: it waits, then nothing of the host's is touched. */
static void run_release(conform *c)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  static delayed d;
  for (int turn = 0; turn < 4; ++turn) {
    vyre_backend_pending *pending = NULL;
    uint32_t *data = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(c, data != MAP_FAILED, "no memory");
    prepare(c, &d, LONG_NS / 8);
    d.launch.bindings[0].data = data;
    if (turn % 2)
      d.launch.bindings[1].data = data + 64;
    pending = conform_start(c, conform_open(c), &d.launch);
    c->counted.pending_release(pending);
    munmap(data, page);
  }
  conform_tour(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (DISP-033)",
        (unsigned long long)conform_live_blocks(c));
}

static void run_several(conform *c)
{
  static delayed d[64];
  vyre_backend_pending *pending[64];
  static uint32_t order[64];
  for (uint32_t i = 0; i < 64; ++i) {
    prepare(c, &d[i], i % 5 * 100000u);
    order[i] = i;
  }
  for (uint32_t i = 0; i < 64; ++i)
    pending[i] = conform_start(c, conform_open(c), &d[i].launch);
  for (uint32_t i = 0; i < 64; ++i)
    for (uint32_t k = 0; k < i; ++k)
      CHECK(c, pending[i] != pending[k], "two launches in flight have one handle");
  for (uint32_t i = 63; i > 0; --i) { /* finish them in any order */
    const uint32_t k = (uint32_t)conform_random_below(c, i + 1), kept = order[i];
    order[i] = order[k];
    order[k] = kept;
  }
  for (uint32_t i = 0; i < 64; ++i) {
    conform_finish(c, pending[order[i]], d[order[i]].out, sizeof d[0].out);
    check_delayed(c, &d[order[i]]);
  }
}

/* DISP-022: descriptor, bindings and push constants are gone when dispatch() has returned. */
static void run_borrowed(conform *c)
{
  static delayed d;
  for (int turn = 0; turn < 3; ++turn) {
    vyre_dispatch_desc *desc = malloc(sizeof *desc);
    vyre_binding *bindings = malloc(2 * sizeof *bindings);
    uint64_t *push = malloc(sizeof *push);
    vyre_backend_pending *pending = NULL;
    CHECK(c, desc && bindings && push, "out of memory");
    prepare(c, &d, LONG_NS / 8);
    conform_open(c);
    *desc = d.launch.desc;
    memcpy(bindings, d.launch.bindings, 2 * sizeof *bindings);
    *push = d.ns;
    desc->bindings = bindings;
    desc->push = push;
    CHECK_OK(c, c->counted.dispatch(c->device, desc, &pending, err));
    memset(desc, 0xff, sizeof *desc);
    memset(bindings, 0xff, 2 * sizeof *bindings);
    memset(push, 0, sizeof *push);
    free(desc);
    free(bindings);
    free(push);
    conform_finish(c, pending, d.out, sizeof d.out);
    check_delayed(c, &d);
  }
}

/* DISP-001, DISP-003: the host's own bytes may lie where nobody can write. */
static void run_sealed(conform *c)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  unsigned char *bytes =
      mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static unsigned char out[2048];
  CHECK(c, bytes != MAP_FAILED, "no memory");
  conform_random_fill(c, bytes, 2 * page);
  CHECK(c, !mprotect(bytes, 2 * page, PROT_READ), "no memory");
  for (uint32_t n = 1; n <= 2048; n *= 2) {
    vyre_backend_pending *pending = NULL;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "basic", "bump"));
    conform_launch_grid(&launch, (n + 63) / 64, 64);
    conform_launch_host(&launch, VYRE_READ_ONLY, bytes, n, 1, NULL);
    conform_launch_host(&launch, VYRE_READ_WRITE, bytes + page, n, 1, NULL);
    pending = conform_start(c, conform_open(c), &launch);
    conform_finish(c, pending, out, n);
    for (uint32_t i = 0; i < n; ++i)
      CHECK(c, out[i] == (unsigned char)(bytes[i] + 1u), "byte %u of %u is wrong", i, n);
  }
}

/* ---- slots ---- */

static void run_wrong_slots(conform *c)
{
  static delayed d;
  static const struct {
    uint32_t count, size;
    int64_t more;
    uint64_t stride;
  } wrong[] = {{0, sizeof(vyre_slot), 0, sizeof(vyre_slot)},
               {2, sizeof(vyre_slot), 0, sizeof(vyre_slot)},
               {1, sizeof(vyre_slot), 1, sizeof(vyre_slot)},
               {1, sizeof(vyre_slot), -1, sizeof(vyre_slot)},
               {1, sizeof(vyre_slot), -64, sizeof(vyre_slot)},
               {1, VYRE_SLOT_SIZE_0_1 - 1, 0, sizeof(vyre_slot)},
               {1, 0, 0, sizeof(vyre_slot)}};
  vyre_slot slots[2], kept[2];
  unsigned char room[sizeof d.out + 64];
  vyre_backend_pending *pending = NULL;
  uint64_t before = 0;
  prepare(c, &d, 1000);
  pending = conform_start(c, conform_open(c), &d.launch);
  CHECK_OK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err));
  before = conform_live_blocks(c);
  for (uint32_t i = 0; i < COUNT_OF(wrong); ++i) {
    memset(room, 0x91, sizeof room);
    memset(slots, 0, sizeof slots);
    for (int k = 0; k < 2; ++k) {
      slots[k].struct_size = wrong[i].size;
      slots[k].binding_id = 77;
      slots[k].data = room;
      slots[k].capacity = (uint64_t)((int64_t)sizeof d.out + wrong[i].more);
      slots[k].size = 99;
    }
    memcpy(kept, slots, sizeof kept);
    CHECK_FAILS(c,
                c->counted.pending_read(pending, slots, wrong[i].count, wrong[i].stride, NULL, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    CHECK(c,
          c->counted.pending_read(pending, slots, wrong[i].count, wrong[i].stride, NULL, NULL) ==
              VYRE_ERROR_INVALID_ARGUMENT,
          "without an error record pending_read ends otherwise (ABI-009)");
    CHECK(c, !memcmp(kept, slots, sizeof kept),
          "a failed pending_read has changed a slot (ABI-008)");
    for (uint32_t k = 0; k < sizeof room; ++k)
      CHECK(c, room[k] == 0x91, "a failed pending_read has written a result (ABI-008, READ-002)");
  }
  CHECK(c, conform_live_blocks(c) == before,
        "a failed pending_read leaves blocks in use (ABI-008)");
  conform_finish(c, pending, d.out, sizeof d.out);
  check_delayed(c, &d);
}

/* No output: no slots. */
static void run_no_output(conform *c)
{
  static const unsigned char byte = 1;
  conform_launch launch;
  vyre_backend_pending *pending = NULL;
  vyre_slot slot = {.struct_size = sizeof slot};
  conform_launch_init(&launch, conform_kernel(c, "bound", "idle"));
  for (uint32_t i = 0; i < 2; ++i)
    conform_launch_host(&launch, VYRE_READ_ONLY, &byte, 1, 1, NULL);
  launch.bindings[0].id = 40;
  launch.bindings[1].id = 3;
  launch.desc.id_limit = 41;
  pending = conform_start(c, conform_open(c), &launch);
  CHECK_FAILS(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_OK(c, c->counted.pending_read(pending, NULL, 0, 0, NULL, err));
  c->counted.pending_release(pending);
}

/* ---- times ---- */

static void run_times(conform *c)
{
  const vyre_backend *b = conform_load(c);
  static const uint32_t sizes[] = {VYRE_BACKEND_TIMES_SIZE_0_1, VYRE_BACKEND_TIMES_SIZE_0_2,
                                   sizeof(vyre_backend_times) + 32};
  for (uint32_t turn = 0; turn < 2 * COUNT_OF(sizes); ++turn) {
    const uint32_t i = turn / 2;
    static delayed d;
    struct {
      vyre_backend_times times;
      unsigned char behind[64];
    } to;
    vyre_slot slot = {.struct_size = sizeof slot, .data = d.out, .capacity = sizeof d.out};
    vyre_backend_pending *pending = NULL;
    uint64_t begin = now_ns(), took = 0;
    prepare(c, &d, 2000000);
    d.launch.desc.untimed = turn % 2; /* a hint: nothing else depends on it */
    pending = conform_start(c, conform_open(c), &d.launch);
    memset(&to, 0x2b, sizeof to);
    to.times.struct_size = VYRE_BACKEND_TIMES_SIZE_0_1 - 1;
    CHECK_FAILS(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, &to.times, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    to.times.struct_size = sizes[i];
    CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, &to.times, err));
    took = now_ns() - begin;
    CHECK(c,
          to.times.struct_size <= sizes[i] && to.times.struct_size >= VYRE_BACKEND_TIMES_SIZE_0_1,
          "times of %u bytes say %u (ABI-002)", sizes[i], to.times.struct_size);
    CHECK(c, to.times.struct_size <= sizeof to.times || b->header_version > VYRE_ABI_VERSION,
          "times say %u bytes, which is more than the plugin's header has (ABI-002)",
          to.times.struct_size);
    for (uint32_t k = to.times.struct_size; k < sizeof to; ++k)
      CHECK(c, ((unsigned char *)&to)[k] == 0x2b,
            "times of %u bytes: byte %u was written (ABI-002)", sizes[i], k);
    CHECK(c, to.times.device_ns == VYRE_TIME_ABSENT || to.times.device_ns <= took,
          "device_ns is %llu, the whole took %llu (TIME-002)",
          (unsigned long long)to.times.device_ns, (unsigned long long)took);
    CHECK(c, to.times.enqueue_ns == VYRE_TIME_ABSENT || to.times.enqueue_ns <= took,
          "enqueue_ns is %llu, the whole took %llu (TIME-002)",
          (unsigned long long)to.times.enqueue_ns, (unsigned long long)took);
    CHECK(c, to.times.wait_ns == VYRE_TIME_ABSENT || to.times.wait_ns <= took,
          "wait_ns is %llu, the whole took %llu (TIME-002)", (unsigned long long)to.times.wait_ns,
          (unsigned long long)took);
    c->counted.pending_release(pending);
    check_delayed(c, &d);
  }
}

static const conform_case rows[] = {
    CORE_CASE("handles.poll", "DISP-031 ABI-009", CONFORM_NEEDS_KERNELS, run_poll),
    CORE_CASE("handles.timeout", "DISP-031", CONFORM_NEEDS_KERNELS, run_timeout),
    CORE_CASE("handles.wait_twice", "DISP-030 DISP-032", CONFORM_NEEDS_KERNELS, run_wait_twice),
    CORE_CASE("handles.read_waits", "READ-003", CONFORM_NEEDS_KERNELS, run_read_waits),
    CORE_CASE("handles.release", "DISP-033 ABI-014", CONFORM_NEEDS_KERNELS, run_release),
    CORE_CASE("handles.several", "DISP-030", CONFORM_NEEDS_KERNELS, run_several),
    CORE_CASE("handles.borrowed", "DISP-022", CONFORM_NEEDS_KERNELS, run_borrowed),
    CORE_CASE("handles.sealed", "DISP-001 DISP-003", CONFORM_NEEDS_KERNELS, run_sealed),
    CORE_CASE("handles.wrong_slots", "READ-001 READ-002 ABI-001 ABI-008", CONFORM_NEEDS_KERNELS,
              run_wrong_slots),
    CORE_CASE("handles.no_output", "READ-001 READ-003", CONFORM_NEEDS_KERNELS, run_no_output),
    CORE_CASE("handles.times", "TIME-002 ABI-001 ABI-002", CONFORM_NEEDS_KERNELS, run_times),
};
CONFORM_TABLE(conform_cases_handles, rows);
