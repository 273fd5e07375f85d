/*
 * coherent.c - memory that host and device see at once: stores of each side, their order, and that
 * none of a million is lost.
 */
#include "conformance/buffers.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct rounds_push {
  uint32_t rounds, slots, block, unused;
} rounds_push;

/* The same as in kernels/coherent.c. */
static uint32_t value_of(uint32_t round, uint32_t k)
{
  uint32_t v = round * 0x9e3779b1u + k * 0x85ebca77u;
  v ^= v >> 15;
  v *= 0x2c1b3c6du;
  return v ^ (v >> 12);
}

static uint32_t look(const uint32_t *word)
{
  return __atomic_load_n(word, __ATOMIC_ACQUIRE); /* pairs with the kernel's release */
}

static void tell(uint32_t *word, uint32_t value)
{
  __atomic_store_n(word, value, __ATOMIC_RELEASE); /* pairs with the kernel's acquire */
}

/* Until the device has stored it. */
static void await(conform *c, const uint32_t *word, uint32_t want, const char *what)
{
  const uint64_t begin = conform_now_ns();
  for (uint32_t turn = 0; look(word) != want; ++turn)
    if (turn > 1000)
      conform_watch(c, begin, what);
}

static vyre_backend_pending *start_resident(conform *c, const char *entry,
                                            const vyre_coherent_memory *words,
                                            const vyre_coherent_memory *data, uint64_t data_size,
                                            const rounds_push *push)
{
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "coherent", entry));
  launch.desc.flags = VYRE_DISPATCH_PERSISTENT;
  conform_launch_buffer(&launch, VYRE_READ_WRITE, words->buffer, 4096, 4);
  if (data)
    conform_launch_buffer(&launch, VYRE_READ_WRITE, data->buffer, data_size / 4, 4);
  launch.desc.push = push;
  launch.desc.push_size = push ? sizeof *push : 0;
  return conform_start(c, c->device, &launch);
}

/* ---- alloc and free ---- */

static void run_alloc(conform *c)
{
  static const uint32_t sizes[] = {1, 2, 63, 64, 4095, 4096, 4097, 65537, 1u << 20};
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (int turn = 0; turn < 4; ++turn) {
      vyre_coherent_memory memory = conform_coherent(c, sizes[s]);
      unsigned char *bytes = memory.host;
      CHECK(c, (uintptr_t)bytes % 4096 == 0, "coherent memory is at %p (COH-002)", memory.host);
      for (uint32_t i = 0; i < sizes[s]; ++i)
        CHECK(c, !bytes[i], "byte %u of %u of coherent memory is 0x%02x at first (COH-002)", i,
              sizes[s], bytes[i]);
      memset(bytes, 0xa5, sizes[s]);
      conform_free(c, memory.buffer);
    }
}

static void run_refused(conform *c)
{
  static const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 4096, UINT64_MAX / 2 + 1, 1ull << 60};
  conform_open(c);
  for (uint32_t i = 0; i <= COUNT_OF(absurd); ++i) {
    vyre_coherent_memory memory = {.struct_size = sizeof memory};
    const uint64_t before = conform_live_blocks(c), size = i ? absurd[i - 1] : 0;
    CHECK_FAILS(c, c->counted.coherent_alloc(c->device, size, &memory, err),
                i ? VYRE_ERROR_OUT_OF_DEVICE_MEMORY : VYRE_ERROR_INVALID_ARGUMENT,
                i ? VYRE_ERROR_OUT_OF_HOST_MEMORY : -1);
    CHECK(c, !memory.buffer && !memory.host && !memory.device_address,
          "a failed coherent_alloc has stored something (ABI-008)");
    CHECK(c, conform_live_blocks(c) == before, "a failed coherent_alloc leaves blocks (ABI-008)");
  }
  vyre_coherent_memory small = {.struct_size = VYRE_COHERENT_MEMORY_SIZE_0_1 - 1};
  CHECK_FAILS(c, c->counted.coherent_alloc(c->device, 64, &small, err), VYRE_ERROR_INVALID_ARGUMENT,
              -1);
  struct {
    vyre_coherent_memory memory;
    unsigned char more[16];
  } large;
  memset(&large, 0xee, sizeof large);
  large.memory.struct_size = sizeof large;
  CHECK_OK(c, c->counted.coherent_alloc(c->device, 64, &large.memory, err));
  CHECK(c, large.memory.struct_size <= sizeof large.memory && large.more[0] == 0xee,
        "coherent_alloc fills more than it knows (ABI-002)");
  conform_free(c, large.memory.buffer);
}

static void one_life(conform *c)
{
  vyre_coherent_memory a = conform_coherent(c, 100), b = conform_coherent(c, 100000);
  memset(a.host, 1, 100);
  conform_free(c, b.buffer);
  conform_free(c, a.buffer);
}

static void run_growth(conform *c)
{
  conform_open(c);
  conform_check_growth(c, one_life, 100, "making and freeing coherent memory");
}

/* ---- with ordinary launches ---- */

#define MANY (1u << 18)

/* A million stores of the device, then a million of the host. */
static void run_ends(conform *c)
{
  vyre_coherent_memory words = conform_coherent(c, 16384), data = conform_coherent(c, MANY * 4);
  uint32_t *const control = words.host, *const value = data.host;
  for (uint32_t turn = 1; turn <= 5; ++turn)
    for (uint32_t back = 0; back < 2; ++back) {
      conform_launch launch;
      control[0] = turn * 2 + back;
      control[32] = 0;
      for (uint32_t i = 0; back && i < MANY; ++i)
        value[i] = value_of(control[0], i);
      conform_launch_init(&launch, conform_kernel(c, "coherent", back ? "check" : "fill"));
      conform_launch_grid(&launch, MANY / 64, 64);
      conform_launch_buffer(&launch, VYRE_READ_WRITE, words.buffer, 4096, 4);
      conform_launch_buffer(&launch, back ? VYRE_READ_ONLY : VYRE_WRITE_ONLY, data.buffer, MANY, 4);
      conform_run_buffers(c, &launch);
      for (uint32_t i = 0; !back && i < MANY; ++i)
        CHECK(c, value[i] == value_of(control[0], i),
              "word %u of %u that a launch stored is not there at its end (DISP-030, COH-001)", i,
              MANY);
      CHECK(c, control[32] == 0, "the device does not see %u of %u words of the host (COH-001)",
            control[32], MANY);
    }
  conform_free(c, words.buffer);
  conform_free(c, data.buffer);
}

/* It is a buffer like any. */
static void run_as_buffer(conform *c)
{
  static uint32_t words[1025], other[1025];
  vyre_coherent_memory memory = conform_coherent(c, sizeof words);
  vyre_backend_buffer *plain = conform_buffer(c, sizeof words, NULL);
  uint32_t *const host = memory.host;
  conform_launch launch;
  conform_random_fill(c, words, sizeof words);
  conform_put(c, memory.buffer, 0, words, sizeof words);
  CHECK(c, !memcmp(host, words, sizeof words), "the host does not see an upload (COH-001)");
  host[3] = words[3] = 77;
  conform_expect_bytes(c, memory.buffer, words, sizeof words, "a download of coherent memory");
  CHECK_OK(c, c->counted.buffer_fill(c->device, memory.buffer, 5, 10, 0x11, err));
  memset((unsigned char *)words + 5, 0x11, 10);
  CHECK(c, !memcmp(host, words, sizeof words), "the host does not see a fill (COH-001)");
  CHECK_OK(c, c->counted.buffer_copy(c->device, plain, 0, memory.buffer, 0, sizeof words, err));
  conform_expect_bytes(c, plain, words, sizeof words, "a copy of coherent memory (BUF-006)");
  conform_random_fill(c, other, sizeof other);
  conform_put(c, plain, 0, other, sizeof other);
  CHECK_OK(c, c->counted.buffer_copy(c->device, memory.buffer, 400, plain, 4, 1000, err));
  memcpy(words + 100, other + 1, 1000);
  CHECK(c, !memcmp(host, words, sizeof words), "the host does not see a copy (COH-001)");
  CHECK_FAILS(c,
              c->counted.buffer_fill(c->device, memory.buffer, 0, sizeof words + 16384 + 1, 1, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
  conform_launch_grid(&launch, 17, 64);
  conform_launch_buffer(&launch, VYRE_READ_WRITE, memory.buffer, 1025, 4);
  conform_run_buffers(c, &launch);
  for (uint32_t i = 0; i < 1025; ++i)
    CHECK(c, host[i] == words[i] * 3 + 1,
          "word %u of a launch on coherent memory is %u, expected is %u (COH-001)", i, host[i],
          words[i] * 3 + 1);
  conform_free(c, memory.buffer);
  conform_free(c, plain);
}

static void run_address(conform *c)
{
  for (uint32_t offset = 0; offset < 64; offset += 16) {
    vyre_coherent_memory memory = conform_coherent(c, 4096);
    uint64_t *const host = memory.host;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "coherent", "address"));
    conform_launch_part(&launch, VYRE_READ_WRITE, memory.buffer, offset, 1, 8);
    conform_run_buffers(c, &launch);
    CHECK(c, host[offset / 8] == memory.device_address + offset,
          "a kernel finds the memory at 0x%llx, device_address is 0x%llx (COH-003)",
          (unsigned long long)host[offset / 8], (unsigned long long)memory.device_address);
    conform_free(c, memory.buffer);
  }
}

/* ---- while a launch runs ---- */

static void run_ping(conform *c)
{
  vyre_coherent_memory memory = conform_coherent(c, 16384);
  uint32_t *const words = memory.host;
  vyre_backend_pending *pending = start_resident(c, "ping", &memory, NULL, 0, NULL);
  for (uint32_t round = 1; round <= 3000; ++round) {
    tell(&words[32], round);
    await(c, &words[64], round * 3, "an answer of the device (COH-001)");
  }
  tell(&words[0], 1);
  conform_finish(c, pending, NULL, 0);
  conform_free(c, memory.buffer);
}

#define SLOTS 40u
#define BLOCK 100u

/* `rounds` blocks from the device, `slots` of them on their way at a time. */
static void take_blocks(conform *c, uint32_t rounds, uint32_t slots)
{
  const rounds_push push = {rounds, slots, BLOCK, 0};
  vyre_coherent_memory control = conform_coherent(c, 16384);
  vyre_coherent_memory data = conform_coherent(c, SLOTS * BLOCK * 4);
  uint32_t *const words = control.host, *const value = data.host;
  vyre_backend_pending *pending =
      start_resident(c, "produce", &control, &data, SLOTS * BLOCK * 4, &push);
  for (uint32_t round = 1; round <= rounds; ++round) {
    const uint32_t slot = round % slots;
    await(c, &words[32 + 32 * slot], round, "a block of the device (COH-001)");
    for (uint32_t k = 0; k < BLOCK; ++k)
      CHECK(c, value[slot * BLOCK + k] == value_of(round, k),
            "word %u of block %u is 0x%x when its flag is seen, expected is 0x%x (COH-001)", k,
            round, value[slot * BLOCK + k], value_of(round, k));
    tell(&words[32 + 32 * (slots + slot)], round);
  }
  conform_finish(c, pending, NULL, 0);
  conform_free(c, control.buffer);
  conform_free(c, data.buffer);
}

/* And to the device, which counts what is not as it should be. */
static void give_blocks(conform *c, uint32_t rounds, uint32_t slots)
{
  const rounds_push push = {rounds, slots, BLOCK, 0};
  vyre_coherent_memory control = conform_coherent(c, 16384);
  vyre_coherent_memory data = conform_coherent(c, SLOTS * BLOCK * 4);
  uint32_t *const words = control.host, *const value = data.host;
  vyre_backend_pending *pending =
      start_resident(c, "consume", &control, &data, SLOTS * BLOCK * 4, &push);
  for (uint32_t round = 1; round <= rounds; ++round) {
    const uint32_t slot = round % slots;
    await(c, &words[32 + 32 * (slots + slot)], round > slots ? round - slots : 0,
          "a block to be taken by the device (COH-001)");
    for (uint32_t k = 0; k < BLOCK; ++k)
      value[slot * BLOCK + k] = value_of(round, k);
    tell(&words[32 + 32 * slot], round);
  }
  conform_finish(c, pending, NULL, 0);
  CHECK(c, !words[1],
        "%u words of the host were not there when the device saw their flag (COH-001)", words[1]);
  conform_free(c, control.buffer);
  conform_free(c, data.buffer);
}

/*
 * Whoever sees a block's flag sees the block: 1.2 million stores each way.  First one block at a
 * time, so that the other side is looking at the flag when it comes.
 */
static void run_from_device(conform *c)
{
  conform_open(c);
  take_blocks(c, 2000, 1);
  take_blocks(c, 10000, SLOTS);
}

static void run_from_host(conform *c)
{
  conform_open(c);
  give_blocks(c, 2000, 1);
  give_blocks(c, 10000, SLOTS);
}

/* ---- the widths that are claimed ---- */

static void run_add_narrow(conform *c)
{
  static const rounds_push push = {200000, 0, 0, 0};
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_pending *pending = NULL;
  uint32_t *words = NULL;
  if (!(conform_info(c)->coherent_atomics & VYRE_COHERENT_RMW_32))
    conform_not_supported(c, "VYRE_COHERENT_RMW_32");
  memory = conform_coherent(c, 16384);
  words = memory.host;
  pending = start_resident(c, "add_narrow", &memory, NULL, 0, &push);
  for (uint32_t i = 0; i < push.rounds; ++i)
    __atomic_fetch_add(&words[32], 1, __ATOMIC_RELAXED); /* the count is all that matters */
  await(c, &words[16], 1, "the device's additions");
  CHECK(c, look(&words[32]) == 2 * push.rounds,
        "%u additions of each side make %u (COH-001, VYRE_COHERENT_RMW_32)", push.rounds,
        look(&words[32]));
  conform_finish(c, pending, NULL, 0);
  conform_free(c, memory.buffer);
}

static void run_add_wide(conform *c)
{
  static const rounds_push push = {200000, 0, 0, 0};
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_pending *pending = NULL;
  uint64_t *wide = NULL, want = 0x100000001u;
  if (!(conform_info(c)->coherent_atomics & VYRE_COHERENT_RMW_64))
    conform_not_supported(c, "VYRE_COHERENT_RMW_64");
  want *= 2 * push.rounds;
  memory = conform_coherent(c, 16384);
  wide = memory.host;
  pending = start_resident(c, "add_wide", &memory, NULL, 0, &push);
  for (uint32_t i = 0; i < push.rounds; ++i)
    __atomic_fetch_add(&wide[16], 0x100000001u, __ATOMIC_RELAXED); /* likewise */
  await(c, (uint32_t *)memory.host + 16, 1, "the device's additions");
  CHECK(c, __atomic_load_n(&wide[16], __ATOMIC_RELAXED) == want,
        "%u additions of each side make 0x%llx (COH-001, VYRE_COHERENT_RMW_64)", push.rounds,
        (unsigned long long)wide[16]);
  conform_finish(c, pending, NULL, 0);
  conform_free(c, memory.buffer);
}

/* 64 bits come whole. */
static void run_halves(conform *c)
{
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_pending *pending = NULL;
  uint64_t *wide = NULL, begin = 0;
  uint32_t changes = 0;
  if (!(conform_info(c)->coherent_atomics & VYRE_COHERENT_LOAD_STORE_64))
    conform_not_supported(c, "VYRE_COHERENT_LOAD_STORE_64");
  memory = conform_coherent(c, 16384);
  wide = memory.host;
  wide[16] = wide[32] = UINT32_MAX;
  pending = start_resident(c, "halves", &memory, NULL, 0, NULL);
  begin = conform_now_ns();
  for (uint64_t n = 1, last = wide[16]; changes < 20000; ++n) {
    const uint64_t seen = __atomic_load_n(&wide[16], __ATOMIC_RELAXED);
    CHECK(c, (uint32_t)seen == (uint32_t) ~(uint32_t)(seen >> 32),
          "a word of 64 bits is 0x%llx: half of it is older (COH-001, LOAD_STORE_64)",
          (unsigned long long)seen);
    __atomic_store_n(&wide[32], n << 32 | (uint32_t)~n, __ATOMIC_RELAXED);
    changes += seen != last;
    last = seen;
    if (n % 1024 == 0)
      conform_watch(c, begin, "words of the device");
    if (conform_now_ns() - begin > 300000000u)
      break; /* a core for both of them */
  }
  __atomic_store_n(&wide[0], 1, __ATOMIC_RELEASE); /* pairs with the kernel's acquire */
  conform_finish(c, pending, NULL, 0);
  CHECK(c, changes, "the host sees no store of a launch that runs (COH-001)");
  CHECK(c, !wide[48], "the device has seen %llu words of 64 bits with halves that differ (COH-001)",
        (unsigned long long)wide[48]);
  conform_free(c, memory.buffer);
}

/* ---- waking ---- */

/* CAP-001 for VYRE_CAP_NOTIFY_HOST: a thread that sleeps on the word is woken. */
static void run_notify(conform *c)
{
  vyre_coherent_memory memory = conform_coherent(c, 16384);
  uint32_t *const words = memory.host;
  vyre_backend_pending *pending = start_resident(c, "ping", &memory, NULL, 0, NULL);
  const struct timespec limit = {5, 0};
  uint32_t slept = 0;
  for (uint32_t round = 1; round <= 200; ++round) {
    uint32_t seen = look(&words[64]);
    tell(&words[32], round);
    while (seen != round * 3) {
      const long result = syscall(SYS_futex, &words[64], FUTEX_WAIT, seen, &limit, NULL, 0);
      slept += result == 0;
      CHECK(c, result == 0 || look(&words[64]) != seen,
            "vyre_notify_host() wakes nobody within 5 s (CAP-001)");
      seen = look(&words[64]);
    }
  }
  (void)slept; /* a device that is quick enough finds no sleeper */
  tell(&words[0], 1);
  conform_finish(c, pending, NULL, 0);
  conform_free(c, memory.buffer);
}

#define COHERENT_CASE(name, rules, more, needs, run)                                               \
  {                                                                                                \
    name, rules, CONFORM_PERSISTENT, VYRE_CAP_COHERENT | VYRE_CAP_BUFFERS | (more), needs, 0, run  \
  }

static const conform_case rows[] = {
    COHERENT_CASE("coherent.alloc", "COH-002", 0, 0, run_alloc),
    COHERENT_CASE("coherent.refused", "COH-002 ABI-001 ABI-002 ABI-008 ABI-009", 0, 0, run_refused),
    COHERENT_CASE("coherent.growth", "ABI-008", 0, 0, run_growth),
    COHERENT_CASE("coherent.ends", "COH-001 DISP-030", 0, CONFORM_NEEDS_KERNELS, run_ends),
    COHERENT_CASE("coherent.as_buffer", "COH-001 BUF-001 BUF-006", 0, CONFORM_NEEDS_KERNELS,
                  run_as_buffer),
    COHERENT_CASE("coherent.address", "COH-003", 0, CONFORM_NEEDS_KERNELS, run_address),
    COHERENT_CASE("coherent.ping", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS, run_ping),
    COHERENT_CASE("coherent.from_device", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS,
                  run_from_device),
    COHERENT_CASE("coherent.from_host", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS,
                  run_from_host),
    COHERENT_CASE("coherent.add_narrow", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS,
                  run_add_narrow),
    COHERENT_CASE("coherent.add_wide", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS,
                  run_add_wide),
    COHERENT_CASE("coherent.halves", "COH-001", VYRE_CAP_PERSISTENT, CONFORM_NEEDS_KERNELS,
                  run_halves),
    COHERENT_CASE("coherent.notify", "CAP-001", VYRE_CAP_PERSISTENT | VYRE_CAP_NOTIFY_HOST,
                  CONFORM_NEEDS_KERNELS, run_notify),
};
CONFORM_TABLE(conform_cases_coherent, rows);
