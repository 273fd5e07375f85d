/* resident.c - tier 2: launches on buffers of the device, in place and in order. */
#include "conformance/buffers.h"

#include <string.h>

#define WORDS 2304u

/* ---- bindings ---- */

/* Read and written in place; what is only read stays. */
static void run_in_place(conform *c)
{
  static uint32_t a[1025], b[1025];
  vyre_backend_buffer *first = NULL, *second = NULL;
  conform_random_fill(c, a, sizeof a);
  conform_random_fill(c, b, sizeof b);
  first = conform_buffer(c, sizeof a, a);
  second = conform_buffer(c, sizeof b, b);
  for (uint32_t turn = 0; turn < 4; ++turn) {
    const uint32_t n = turn % 2 ? 1025 : 1000;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "move"));
    conform_launch_grid(&launch, 17, 64);
    conform_launch_buffer(&launch, VYRE_READ_ONLY, first, n, 4);
    conform_launch_buffer(&launch, turn < 2 ? VYRE_WRITE_ONLY : VYRE_READ_WRITE, second, n, 4);
    conform_run_buffers(c, &launch);
    for (uint32_t i = 0; i < n; ++i)
      b[i] = a[(i * 7 + 3) % n] * 5 + i;
    conform_expect_bytes(c, second, b, sizeof b, "a buffer that is written (DISP-004)");
    conform_expect_bytes(c, first, a, sizeof a, "a buffer that is only read (DISP-001)");
    conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
    conform_launch_grid(&launch, 17, 64);
    conform_launch_buffer(&launch, VYRE_READ_WRITE, first, n, 4);
    conform_run_buffers(c, &launch);
    for (uint32_t i = 0; i < n; ++i)
      a[i] = a[i] * 3 + 1;
    conform_expect_bytes(c, first, a, sizeof a, "a buffer read and written (DISP-004)");
  }
  conform_free(c, first);
  conform_free(c, second);
}

/* A part of a buffer; the bytes before and behind it stay. */
static void run_offsets(conform *c)
{
  static const uint32_t offsets[] = {0, 16, 32, 48, 64, 4, 12, 20, 128, 1024, 4080, 4096};
  static uint32_t words[WORDS];
  vyre_backend_buffer *buffer = NULL;
  conform_random_fill(c, words, sizeof words);
  buffer = conform_buffer(c, sizeof words, words);
  for (uint32_t o = 0; o < COUNT_OF(offsets); ++o)
    for (uint32_t n = 1; n < 300; n = n * 4 + 1) {
      conform_launch launch;
      conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
      conform_launch_grid(&launch, n / 32 + 1, 32);
      conform_launch_part(&launch, VYRE_READ_WRITE, buffer, offsets[o], n, 4);
      conform_run_buffers(c, &launch);
      for (uint32_t i = 0; i < n; ++i)
        words[offsets[o] / 4 + i] = words[offsets[o] / 4 + i] * 3 + 1;
      conform_expect_bytes(c, buffer, words, sizeof words, "a binding at an offset (DISP-004)");
    }
  /* Two parts of one buffer. */
  for (uint32_t turn = 0; turn < 6; ++turn) {
    const uint32_t n = 100 + turn, to = turn % 2 ? 0 : 1024, from = turn % 2 ? 1024 : 0;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "move"));
    conform_launch_grid(&launch, 4, 32);
    conform_launch_part(&launch, VYRE_READ_ONLY, buffer, from, n, 4);
    conform_launch_part(&launch, VYRE_WRITE_ONLY, buffer, to, n, 4);
    conform_run_buffers(c, &launch);
    for (uint32_t i = 0; i < n; ++i)
      words[to / 4 + i] = words[from / 4 + (i * 7 + 3) % n] * 5 + i;
    conform_expect_bytes(c, buffer, words, sizeof words, "two parts of one buffer (DISP-004)");
  }
  conform_free(c, buffer);
}

/* DISP-006, from each offset that is a multiple of 16. */
static void run_alignment(conform *c)
{
  uint64_t address = 0, first = 0;
  for (uint32_t size = 8; size < 5000; size = size * 3 + 5) {
    vyre_backend_buffer *buffer = conform_buffer(c, size + 160, NULL);
    for (uint32_t offset = 0; offset <= 144; offset += 16) {
      conform_launch launch;
      conform_launch_init(&launch, conform_kernel(c, "buffer", "place"));
      conform_launch_part(&launch, VYRE_READ_WRITE, buffer, offset, 1, 8);
      conform_run_buffers(c, &launch);
      conform_get(c, buffer, offset, &address, 8);
      first = offset ? first : address;
      CHECK(c, address && address % 16 == 0, "a buffer from byte %u is at 0x%llx (DISP-006)",
            offset, (unsigned long long)address);
      CHECK(c, address - first == offset, "byte %u of a buffer is %llu bytes behind its start",
            offset, (unsigned long long)(address - first));
    }
    conform_free(c, buffer);
  }
}

/* ---- order ---- */

#define CHAIN 100u

static void chain_of(conform *c, uint32_t n, bool slow)
{
  static uint32_t a[4097];
  vyre_backend_pending *pending[CHAIN];
  vyre_backend_buffer *buffer = NULL;
  const uint64_t ns = 2000000;
  conform_random_fill(c, a, n * sizeof a[0]);
  buffer = conform_buffer(c, n * sizeof a[0], a);
  for (uint32_t k = 0; k < CHAIN; ++k) {
    conform_launch launch;
    const bool waits = slow && k % 25 == 0;
    conform_launch_init(&launch, conform_kernel(c, "buffer", waits ? "slow" : "chain"));
    if (!waits)
      conform_launch_grid(&launch, (n + 31) / 32, 32);
    conform_launch_buffer(&launch, VYRE_READ_WRITE, buffer, n, 4);
    launch.desc.push = waits ? &ns : NULL;
    launch.desc.push_size = waits ? sizeof ns : 0;
    pending[k] = conform_start(c, c->device, &launch);
    for (uint32_t i = 0; i < n; ++i)
      a[i] = a[i] * 3 + 1;
  }
  /* In any order: the end of the last one is the end of all. */
  for (uint32_t k = CHAIN; k-- > 0;)
    conform_finish(c, pending[k], NULL, 0);
  conform_expect_bytes(c, buffer, a, n * sizeof a[0], "100 launches in a row (DISP-020)");
  conform_free(c, buffer);
}

static void run_chain(conform *c)
{
  conform_open(c);
  chain_of(c, 1, false);
  chain_of(c, 257, true);
  chain_of(c, 4097, false);
  chain_of(c, 4097, true);
}

/* Back and forth between two buffers, so that reads wait for writes and writes for reads. */
static void run_chain_two(conform *c)
{
  static uint32_t words[2][4097];
  for (uint32_t n = 65; n <= 4097; n = n * 4 - 3) {
    vyre_backend_pending *pending[CHAIN];
    vyre_backend_buffer *buffers[2];
    for (int k = 0; k < 2; ++k) {
      conform_random_fill(c, words[k], n * 4u);
      buffers[k] = conform_buffer(c, n * 4u, words[k]);
    }
    for (uint32_t k = 0; k < CHAIN; ++k) {
      conform_launch launch;
      const uint32_t *from = words[k % 2];
      uint32_t *to = words[(k + 1) % 2];
      conform_launch_init(&launch, conform_kernel(c, "buffer", "move"));
      conform_launch_grid(&launch, (n + 15) / 16, 16);
      conform_launch_buffer(&launch, VYRE_READ_ONLY, buffers[k % 2], n, 4);
      conform_launch_buffer(&launch, VYRE_WRITE_ONLY, buffers[(k + 1) % 2], n, 4);
      pending[k] = conform_start(c, c->device, &launch);
      for (uint32_t i = 0; i < n; ++i)
        to[i] = from[((uint64_t)i * 7 + 3) % n] * 5 + i;
    }
    for (int k = 0; k < 2; ++k)
      conform_expect_bytes(c, buffers[k], words[k], n * 4u, "launches to and fro (DISP-020)");
    for (uint32_t k = 0; k < CHAIN; ++k)
      conform_finish(c, pending[k], NULL, 0);
    for (int k = 0; k < 2; ++k)
      conform_free(c, buffers[k]);
  }
}

#define ORDERED 500u

typedef struct ordered {
  vyre_backend_buffer *buffer, *other;
  vyre_backend_pending *pending;
  uint32_t words[ORDERED], after[ORDERED];
} ordered;

/* A launch that takes its time and then changes every word; `after` is what it leaves. */
static void start_slow(conform *c, ordered *o)
{
  const uint64_t ns = 15000000;
  conform_launch launch;
  conform_random_fill(c, o->words, sizeof o->words);
  for (uint32_t i = 0; i < ORDERED; ++i)
    o->after[i] = o->words[i] * 3 + 1;
  o->buffer = conform_buffer(c, sizeof o->words, o->words);
  o->other = conform_buffer(c, sizeof o->words, NULL);
  conform_launch_init(&launch, conform_kernel(c, "buffer", "slow"));
  conform_launch_buffer(&launch, VYRE_READ_WRITE, o->buffer, ORDERED, 4);
  launch.desc.push = &ns;
  launch.desc.push_size = sizeof ns;
  o->pending = conform_start(c, c->device, &launch);
}

static void end_slow(conform *c, ordered *o)
{
  conform_finish(c, o->pending, NULL, 0);
  conform_free(c, o->buffer);
  conform_free(c, o->other);
}

static void run_upload_order(conform *c)
{
  static ordered o;
  for (uint32_t k = 0; k < 3; ++k) {
    start_slow(c, &o);
    conform_random_fill(c, o.words, sizeof o.words);
    conform_put(c, o.buffer, k * 4, o.words, 400);
    memcpy(o.after + k, o.words, 400);
    memset(o.words, 0xee, sizeof o.words); /* complete on return */
    conform_expect_bytes(c, o.buffer, o.after, sizeof o.after,
                         "an upload behind a launch (BUF-004)");
    end_slow(c, &o);
  }
}

static void run_download_order(conform *c)
{
  static ordered o;
  for (uint32_t k = 0; k < 3; ++k) {
    start_slow(c, &o);
    conform_get(c, o.buffer, k * 4, o.words, sizeof o.words - k * 4);
    CHECK(c, !memcmp(o.words, o.after + k, sizeof o.words - k * 4),
          "a download behind a launch does not see what it wrote (BUF-004)");
    end_slow(c, &o);
  }
}

static void run_fill_order(conform *c)
{
  static ordered o;
  start_slow(c, &o);
  CHECK_OK(c, c->counted.buffer_fill(c->device, o.buffer, 7, 90, 0x42, err));
  memset((unsigned char *)o.after + 7, 0x42, 90);
  conform_expect_bytes(c, o.buffer, o.after, sizeof o.after, "a fill behind a launch (BUF-004)");
  end_slow(c, &o);
}

/* From the launch's buffer, and to it. */
static void run_copy_order(conform *c)
{
  static ordered o;
  start_slow(c, &o);
  CHECK_OK(c, c->counted.buffer_copy(c->device, o.other, 0, o.buffer, 0, sizeof o.words, err));
  conform_expect_bytes(c, o.other, o.after, sizeof o.after, "a copy behind a launch (BUF-004)");
  end_slow(c, &o);
  start_slow(c, &o);
  CHECK_OK(c, c->counted.buffer_copy(c->device, o.buffer, 8, o.other, 0, 400, err));
  memset(o.after + 2, 0, 400);
  conform_expect_bytes(c, o.buffer, o.after, sizeof o.after, "a copy behind a launch (BUF-004)");
  end_slow(c, &o);
}

/* A launch on one buffer, calls on another: neither changes what the other does. */
static void run_independent(conform *c)
{
  static ordered o;
  for (int turn = 0; turn < 3; ++turn) {
    start_slow(c, &o);
    conform_random_fill(c, o.words, sizeof o.words);
    for (int k = 0; k < 5; ++k) {
      conform_put(c, o.other, 0, o.words, sizeof o.words);
      conform_expect_bytes(c, o.other, o.words, sizeof o.words, "a buffer that is not in use");
    }
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
    conform_launch_grid(&launch, 8, 64);
    conform_launch_buffer(&launch, VYRE_READ_WRITE, o.other, ORDERED, 4);
    conform_run_buffers(c, &launch);
    for (uint32_t i = 0; i < ORDERED; ++i)
      o.words[i] = o.words[i] * 3 + 1;
    conform_expect_bytes(c, o.other, o.words, sizeof o.words, "a launch beside a launch");
    conform_expect_bytes(c, o.buffer, o.after, sizeof o.after, "the first launch (DISP-020)");
    end_slow(c, &o);
  }
}

#define RESIDENT_CASE(name, rules, run)                                                            \
  {                                                                                                \
    name, rules, CONFORM_RESIDENT, VYRE_CAP_BUFFERS, CONFORM_NEEDS_KERNELS, 0, run                 \
  }

static const conform_case rows[] = {
    RESIDENT_CASE("resident.in_place", "DISP-001 DISP-004", run_in_place),
    RESIDENT_CASE("resident.offsets", "DISP-004", run_offsets),
    RESIDENT_CASE("resident.alignment", "DISP-006", run_alignment),
    RESIDENT_CASE("resident.chain", "DISP-020", run_chain),
    RESIDENT_CASE("resident.chain_two", "DISP-020", run_chain_two),
    RESIDENT_CASE("resident.upload_order", "BUF-004", run_upload_order),
    RESIDENT_CASE("resident.download_order", "BUF-004 DISP-030", run_download_order),
    RESIDENT_CASE("resident.fill_order", "BUF-004", run_fill_order),
    RESIDENT_CASE("resident.copy_order", "BUF-004", run_copy_order),
    RESIDENT_CASE("resident.independent", "DISP-020 BUF-004", run_independent),
};
CONFORM_TABLE(conform_cases_resident, rows);
