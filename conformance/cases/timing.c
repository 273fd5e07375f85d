/*
 * timing.c - the device's clock, and when launches began and ended on it.
 */
#include "conformance/buffers.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static void read_clock(conform *c, uint64_t *device, uint64_t *host)
{
  vyre_backend_device *const opened = conform_open(c);
  *device = *host = VYRE_TIME_ABSENT;
  CHECK_OK(c, c->counted.device_clock(opened, device, host, err));
  CHECK(c, *device != VYRE_TIME_ABSENT && *host != VYRE_TIME_ABSENT,
        "device_clock succeeded and stored nothing (TIME-003)");
}

/* ---- the clock ---- */

/* It never goes back; the host's time lies around the call. */
static void run_clock(conform *c)
{
  uint64_t last_device = 0, last_host = 0, around = 0;
  for (uint32_t turn = 0; turn < 5000; ++turn) {
    const uint64_t before = conform_now_ns();
    uint64_t device, host, after;
    read_clock(c, &device, &host);
    after = conform_now_ns();
    CHECK(c, device >= last_device, "the device's clock goes back by %llu ns (TIME-003)",
          (unsigned long long)(last_device - device));
    CHECK(c, host >= before && host <= after,
          "the host's time 0x%llx is not within the call, 0x%llx to 0x%llx (TIME-003)",
          (unsigned long long)host, (unsigned long long)before, (unsigned long long)after);
    CHECK(c, host >= last_host, "the host's time goes back (TIME-003)");
    last_device = device;
    last_host = host;
    around += after - before;
  }
  CHECK(c, around, "the host's clock does not go on");
}

/* Both clocks count nanoseconds: they go on by the same, within 2 in 1000 and the calls' own time.
 */
static void run_rate(conform *c)
{
  const struct timespec rest = {0, 60000000};
  uint64_t device[2], host[2], slack = 0;
  for (int k = 0; k < 2; ++k) {
    uint64_t best = UINT64_MAX;
    /* The closest of several readings. */
    for (int turn = 0; turn < 50; ++turn) {
      const uint64_t before = conform_now_ns();
      uint64_t d, h, took;
      read_clock(c, &d, &h);
      took = conform_now_ns() - before;
      if (took < best) {
        best = took;
        device[k] = d;
        host[k] = h;
      }
    }
    slack += best;
    if (!k)
      nanosleep(&rest, NULL);
  }
  const uint64_t on_device = device[1] - device[0], on_host = host[1] - host[0];
  const uint64_t apart = on_device > on_host ? on_device - on_host : on_host - on_device;
  CHECK(c, apart <= on_host / 500 + slack,
        "in %llu ns of the host the device's clock goes on by %llu (TIME-003)",
        (unsigned long long)on_host, (unsigned long long)on_device);
}

static void *read_often(void *argument)
{
  conform *c = argument;
  uint64_t last = 0, wrong = 0;
  for (uint32_t turn = 0; turn < 3000; ++turn) {
    uint64_t device = 0, host = 0;
    wrong += c->counted.device_clock(c->device, &device, &host, NULL) != VYRE_OK || device < last;
    last = device;
  }
  return (void *)(uintptr_t)wrong;
}

static void run_clock_threads(conform *c)
{
  pthread_t threads[4];
  conform_open(c);
  for (uint32_t i = 0; i < COUNT_OF(threads); ++i)
    CHECK(c, !pthread_create(&threads[i], NULL, read_often, c), "no thread");
  for (uint32_t i = 0; i < COUNT_OF(threads); ++i) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    CHECK(c, !wrong, "from several threads the clock fails or goes back %llu times (TIME-003)",
          (unsigned long long)(uintptr_t)wrong);
  }
}

/* ---- launches ---- */

/* A launch of that many nanoseconds; its times. */
static vyre_backend_times times_of(conform *c, uint64_t ns)
{
  static uint32_t value[16], out[16];
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "grid", "delay"));
  conform_launch_grid(&launch, 1, 1);
  conform_launch_host(&launch, VYRE_READ_ONLY, value, 1, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 1, 4, out);
  launch.desc.push = &ns;
  launch.desc.push_size = sizeof ns;
  conform_run(c, &launch);
  return launch.times;
}

static void check_times(conform *c, const vyre_backend_times *times)
{
  CHECK(c,
        times->started_ns != VYRE_TIME_ABSENT && times->ended_ns != VYRE_TIME_ABSENT &&
            times->device_ns != VYRE_TIME_ABSENT,
        "with VYRE_CAP_TIMESTAMPS a launch has no times (TIME-001)");
  CHECK(c, times->started_ns <= times->ended_ns,
        "a launch ended %llu ns before it began (TIME-001)",
        (unsigned long long)(times->started_ns - times->ended_ns));
  CHECK(c, times->device_ns == times->ended_ns - times->started_ns,
        "a launch from %llu to %llu took %llu ns (TIME-001)", (unsigned long long)times->started_ns,
        (unsigned long long)times->ended_ns, (unsigned long long)times->device_ns);
}

/* Between two readings of the device's clock around the launch. */
static void run_launches(conform *c)
{
  uint64_t last = 0, host;
  times_of(c, 0); /* loads the kernel */
  for (uint32_t turn = 0; turn < 60; ++turn) {
    const uint64_t ns = turn % 4 * 300000;
    uint64_t before, after;
    vyre_backend_times times;
    read_clock(c, &before, &host);
    times = times_of(c, ns);
    read_clock(c, &after, &host);
    check_times(c, &times);
    CHECK(c, times.started_ns >= before && times.ended_ns <= after,
          "a launch from %llu to %llu is not within %llu to %llu, read around it (TIME-001)",
          (unsigned long long)times.started_ns, (unsigned long long)times.ended_ns,
          (unsigned long long)before, (unsigned long long)after);
    CHECK(c, times.device_ns + ns / 50 >= ns, "a launch that waits %llu ns took %llu (TIME-001)",
          (unsigned long long)ns, (unsigned long long)times.device_ns);
    CHECK(c, times.started_ns >= last,
          "a later launch began before an earlier one ended (TIME-001)");
    last = times.ended_ns;
  }
}

/* All started before any is waited for; on one buffer they run one after the other. */
static void run_row(conform *c)
{
  enum { ROW = 50 };
  vyre_backend_pending *pending[ROW];
  vyre_backend_times times[ROW];
  vyre_backend_buffer *buffer = conform_buffer(c, 4000, NULL);
  for (uint32_t k = 0; k < ROW; ++k) {
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
    conform_launch_grid(&launch, 20, 50);
    conform_launch_buffer(&launch, VYRE_READ_WRITE, buffer, 1000, 4);
    pending[k] = conform_start(c, c->device, &launch);
  }
  for (uint32_t k = ROW; k-- > 0;) {
    memset(&times[k], 0, sizeof times[k]);
    times[k].struct_size = sizeof times[k];
    CHECK_OK(c, c->counted.pending_read(pending[k], NULL, 0, 0, &times[k], err));
    c->counted.pending_release(pending[k]);
    check_times(c, &times[k]);
  }
  for (uint32_t k = 1; k < ROW; ++k)
    CHECK(c, times[k].started_ns >= times[k - 1].ended_ns,
          "launch %u of a row began %llu ns before the end of the one before it (TIME-001)", k,
          (unsigned long long)(times[k - 1].ended_ns - times[k].started_ns));
  conform_free(c, buffer);
}

/* A structure of 0.1 has no room for start and end; a larger one keeps its rest. */
static void run_sizes(conform *c)
{
  static uint32_t value[1], out[1];
  for (int large = 0; large < 2; ++large) {
    struct {
      vyre_backend_times times;
      unsigned char more[32];
    } room;
    const uint32_t size = large ? (uint32_t)sizeof room : VYRE_BACKEND_TIMES_SIZE_0_1;
    const uint64_t ns = 100000;
    vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = 4};
    vyre_backend_pending *pending = NULL;
    conform_launch launch;
    memset(&room, 0xee, sizeof room);
    room.times.struct_size = size;
    conform_launch_init(&launch, conform_kernel(c, "grid", "delay"));
    conform_launch_host(&launch, VYRE_READ_ONLY, value, 1, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 1, 4, NULL);
    launch.desc.push = &ns;
    launch.desc.push_size = sizeof ns;
    pending = conform_start(c, conform_open(c), &launch);
    CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, &room.times, err));
    c->counted.pending_release(pending);
    CHECK(c,
          room.times.struct_size <= size && room.times.struct_size >= VYRE_BACKEND_TIMES_SIZE_0_1,
          "times of %u bytes come back with %u (ABI-002)", size, room.times.struct_size);
    for (uint32_t i = 0; i < sizeof room.more; ++i)
      CHECK(c, room.more[i] == 0xee, "pending_read writes behind the times (ABI-002)");
    CHECK(c,
          large || (room.times.started_ns == 0xeeeeeeeeeeeeeeeeu &&
                    room.times.ended_ns == 0xeeeeeeeeeeeeeeeeu),
          "pending_read writes fields that times of 0.1 do not have (ABI-002)");
    if (large)
      check_times(c, &room.times);
  }
}

/* Cooperative launches and passes have times too. */
static void run_cooperative(conform *c)
{
  const uint32_t one[3] = {1, 1, 1};
  vyre_backend_kernel *const meet = conform_kernel(c, "meet", "meet");
  uint32_t groups = 0, words[64] = {0}, sums[32];
  conform_launch launch;
  CHECK_OK(c, c->counted.cooperative_groups(c->device, meet, one, 0, &groups, err));
  groups = groups < 32 ? groups : 32;
  for (uint32_t turn = 0; turn < 10; ++turn) {
    uint64_t before, after, host;
    conform_launch_init(&launch, meet);
    conform_launch_grid(&launch, groups, 1);
    launch.desc.flags = VYRE_DISPATCH_COOPERATIVE;
    conform_launch_host(&launch, VYRE_READ_WRITE, words, 64, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 32, 4, sums);
    read_clock(c, &before, &host);
    conform_run(c, &launch);
    read_clock(c, &after, &host);
    check_times(c, &launch.times);
    CHECK(c, launch.times.started_ns >= before && launch.times.ended_ns <= after,
          "a cooperative launch is not within the clock's readings around it (TIME-001)");
  }
}

/* What is not promised is absent, and what is promised is there. */
static void run_promised(conform *c)
{
  const bool promised = (conform_info(c)->capabilities & VYRE_CAP_TIMESTAMPS) != 0;
  const vyre_backend_times times = times_of(c, 100000);
  CHECK(c, promised == (c->counted.device_clock != NULL),
        "VYRE_CAP_TIMESTAMPS is %d and device_clock is %sthere (ABI-003)", promised,
        c->counted.device_clock ? "" : "not ");
  if (promised)
    check_times(c, &times);
  else if (times.struct_size >= VYRE_BACKEND_TIMES_SIZE_0_2)
    CHECK(c, times.started_ns == VYRE_TIME_ABSENT && times.ended_ns == VYRE_TIME_ABSENT,
          "without VYRE_CAP_TIMESTAMPS a launch has a start or an end (TIME-001)");
}

#define TIMING_CASE(name, rules, more, needs, run)                                                 \
  {                                                                                                \
    name, rules, CONFORM_TIMING, VYRE_CAP_TIMESTAMPS | (more), needs, 0, run                       \
  }

static const conform_case rows[] = {
    {"timing.promised", "TIME-001 ABI-003 CAP-001", CONFORM_CORE, 0, CONFORM_NEEDS_KERNELS, 0,
     run_promised},
    TIMING_CASE("timing.clock", "TIME-003", 0, 0, run_clock),
    TIMING_CASE("timing.rate", "TIME-003", 0, 0, run_rate),
    TIMING_CASE("timing.clock_threads", "TIME-003", 0, 0, run_clock_threads),
    TIMING_CASE("timing.launches", "TIME-001", 0, CONFORM_NEEDS_KERNELS, run_launches),
    TIMING_CASE("timing.row", "TIME-001 DISP-020", VYRE_CAP_BUFFERS, CONFORM_NEEDS_KERNELS,
                run_row),
    TIMING_CASE("timing.sizes", "ABI-001 ABI-002 TIME-001", 0, CONFORM_NEEDS_KERNELS, run_sizes),
    TIMING_CASE("timing.cooperative", "TIME-001", 0, CONFORM_NEEDS_KERNELS | CONFORM_NEEDS_NATIVE,
                run_cooperative),
};
CONFORM_TABLE(conform_cases_timing, rows);
