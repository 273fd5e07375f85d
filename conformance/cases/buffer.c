/* buffer.c - tier 2: memory on the device, its ranges, its life. */
#include "conformance/buffers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t sizes[] = {
    1,   2,   3,   4,    5,    7,    8,    15,   16,   17,   31,   63,    64,    65,      127,
    255, 256, 257, 1023, 1025, 2047, 2048, 2049, 2051, 4095, 4097, 65535, 65537, 1048575, 1048579};

/* ---- alloc and free ---- */

static void check_zeroed(conform *c, vyre_backend_buffer *buffer, uint64_t size, const char *what)
{
  unsigned char *bytes = malloc(size + 1);
  CHECK(c, bytes, "out of memory");
  conform_get(c, buffer, 0, bytes, size);
  for (uint64_t i = 0; i < size; ++i)
    CHECK(c, !bytes[i], "byte %llu of a %s buffer of %llu bytes is 0x%02x, expected is 0 (BUF-003)",
          (unsigned long long)i, what, (unsigned long long)size, bytes[i]);
  free(bytes);
}

/* Memory that was used and freed comes back as zeros. */
static void run_zeroed(conform *c)
{
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (int turn = 0; turn < 4; ++turn) {
      vyre_backend_buffer *buffer = conform_buffer(c, sizes[s], NULL);
      check_zeroed(c, buffer, sizes[s], turn ? "reused" : "new");
      CHECK_OK(c, c->counted.buffer_fill(c->device, buffer, 0, sizes[s], 0xa5, err));
      conform_free(c, buffer);
    }
}

static void run_size_zero(conform *c)
{
  static const unsigned char byte = 7;
  vyre_backend_buffer *none = conform_buffer(c, 0, NULL), *some = conform_buffer(c, 4, "abc");
  vyre_backend_device *device = c->device;
  unsigned char out = 9;
  conform_launch launch;
  CHECK_OK(c, c->counted.buffer_upload(device, none, 0, &byte, 0, err));
  CHECK_OK(c, c->counted.buffer_upload(device, none, 0, NULL, 0, err));
  CHECK_OK(c, c->counted.buffer_download(device, none, 0, &out, 0, err));
  CHECK_OK(c, c->counted.buffer_fill(device, none, 0, 0, 1, err));
  CHECK_OK(c, c->counted.buffer_copy(device, none, 0, some, 2, 0, err));
  CHECK_OK(c, c->counted.buffer_copy(device, some, 4, none, 0, 0, err));
  CHECK_FAILS(c, c->counted.buffer_upload(device, none, 0, &byte, 1, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, c->counted.buffer_download(device, none, 0, &out, 1, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, c->counted.buffer_fill(device, none, 0, 1, 1, err), VYRE_ERROR_INVALID_ARGUMENT,
              -1);
  CHECK_FAILS(c, c->counted.buffer_fill(device, none, 1, 0, 1, err), VYRE_ERROR_INVALID_ARGUMENT,
              -1);
  CHECK(c, out == 9, "a download of no bytes has written one (BUF-002)");
  conform_expect_bytes(c, some, "abc", 4, "copies of no bytes (BUF-002)");
  conform_launch_init(&launch, conform_kernel(c, "buffer", "stamp"));
  conform_launch_buffer(&launch, VYRE_READ_WRITE, none, 0, 1);
  conform_run_buffers(c, &launch);
  conform_free(c, none);
  conform_free(c, some);
  conform_free(c, NULL);
}

static void run_too_large(conform *c)
{
  const uint64_t most = conform_info(c)->max_buffer_bytes;
  const uint64_t absurd[] = {UINT64_MAX,         UINT64_MAX - 1,     UINT64_MAX - 63,
                             UINT64_MAX - 64,    UINT64_MAX - 4095,  UINT64_MAX - 4096,
                             UINT64_MAX / 2 + 1, UINT64_MAX / 2,     1ull << 62,
                             1ull << 60,         most ? most + 1 : 0};
  vyre_backend_device *device = conform_open(c);
  for (uint32_t i = 0; i < COUNT_OF(absurd); ++i) {
    vyre_backend_buffer *const mark = (vyre_backend_buffer *)(void *)&device;
    vyre_backend_buffer *buffer = mark;
    const uint64_t before = conform_live_blocks(c);
    if (!absurd[i])
      continue;
    CHECK_FAILS(c, c->counted.buffer_alloc(device, absurd[i], &buffer, err),
                VYRE_ERROR_OUT_OF_DEVICE_MEMORY, -1);
    CHECK(c, buffer == mark, "a failed buffer_alloc has stored a buffer (ABI-008)");
    CHECK(c, c->counted.buffer_alloc(device, absurd[i], &buffer, NULL) != VYRE_OK,
          "without an error record %llu bytes were given (ABI-009)", (unsigned long long)absurd[i]);
    CHECK(c, conform_live_blocks(c) == before, "a failed buffer_alloc leaves %llu blocks (ABI-008)",
          (unsigned long long)(conform_live_blocks(c) - before));
  }
  conform_tour(c);
}

/* Where host memory ends: an error, and nothing stays. */
static void run_host_memory(conform *c)
{
  conform_open(c);
  for (uint64_t at = 1; at < 40; ++at) {
    vyre_backend_buffer *buffer = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    vyre_status status = VYRE_OK;
    __atomic_store_n(&c->host.fail_at, at, __ATOMIC_RELAXED); /* one thread */
    status = c->counted.buffer_alloc(c->device, 1000, &buffer, &record);
    if (status == VYRE_OK) {
      const uint64_t left = __atomic_exchange_n(&c->host.fail_at, 0, __ATOMIC_RELAXED);
      check_zeroed(c, buffer, 1000, "new");
      conform_free(c, buffer);
      if (left)
        return; /* all its allocations have been made to fail */
      continue;
    }
    __atomic_store_n(&c->host.fail_at, 0, __ATOMIC_RELAXED);
    CHECK(c, status == VYRE_ERROR_OUT_OF_HOST_MEMORY || status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY,
          "without host memory buffer_alloc returned %d", (int)status);
    CHECK(c, record.message[0] && record.code == status, "it has no text or code (ABI-009)");
    CHECK(c, !buffer && conform_live_blocks(c) == before,
          "a failed buffer_alloc leaves a buffer or blocks (ABI-008)");
  }
}

static void run_many(conform *c)
{
  enum { MANY = 700 };
  static vyre_backend_buffer *buffers[MANY];
  static unsigned char bytes[MANY];
  for (uint32_t i = 0; i < MANY; ++i) {
    memset(bytes, (int)(i * 37 + 1), sizeof bytes);
    buffers[i] = conform_buffer(c, i, bytes);
  }
  for (uint32_t k = 0; k < MANY; ++k) {
    const uint32_t i = (k * 263u) % MANY;
    memset(bytes, (int)(i * 37 + 1), sizeof bytes);
    conform_expect_bytes(c, buffers[i], bytes, i, "one of many buffers");
    conform_free(c, buffers[i]);
  }
}

static void one_life(conform *c)
{
  vyre_backend_buffer *small = conform_buffer(c, 100, NULL);
  vyre_backend_buffer *large = conform_buffer(c, 3u << 20, NULL);
  CHECK_OK(c, c->counted.buffer_copy(c->device, large, 5, small, 0, 100, err));
  CHECK(c, c->counted.buffer_fill(c->device, small, 90, 11, 0, NULL) != VYRE_OK,
        "a range outside is filled (BUF-001)");
  conform_free(c, large);
  conform_free(c, small);
}

static void run_growth(conform *c)
{
  conform_open(c);
  conform_check_growth(c, one_life, 200, "making and freeing buffers");
}

/* ---- ranges ---- */

#define SIZE 4099u /* of the buffer; no multiple of 2 */
#define ROOM 4608u

static unsigned char shadow[ROOM], bytes[ROOM];

/* A range that touches boundaries of words, lines and pages, and the ends. */
static void draw(conform *c, uint64_t *offset, uint64_t *size)
{
  static const uint32_t edges[] = {0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 127, 128, 4095, 4096, SIZE};
  uint64_t a = edges[conform_random_below(c, COUNT_OF(edges))];
  uint64_t b = conform_random_below(c, 4) ? conform_random_below(c, SIZE + 1)
                                          : edges[conform_random_below(c, COUNT_OF(edges))];
  if (!conform_random_below(c, 4))
    a = conform_random_below(c, SIZE + 1);
  *offset = a < b ? a : b;
  *size = a < b ? b - a : a - b;
}

static vyre_backend_buffer *shadowed(conform *c)
{
  conform_random_fill(c, shadow, SIZE);
  return conform_buffer(c, SIZE, shadow);
}

#define DRAWS 160

static void run_upload_ranges(conform *c)
{
  vyre_backend_buffer *buffer = shadowed(c);
  for (int turn = 0; turn < DRAWS; ++turn) {
    uint64_t offset, size;
    const uint64_t shift = conform_random_below(c, 64);
    draw(c, &offset, &size);
    conform_random_fill(c, bytes, size + shift);
    conform_put(c, buffer, offset, bytes + shift, size);
    memcpy(shadow + offset, bytes + shift, size);
    conform_expect_bytes(c, buffer, shadow, SIZE, "an upload of a range (BUF-002)");
  }
  conform_free(c, buffer);
}

static void run_download_ranges(conform *c)
{
  vyre_backend_buffer *buffer = shadowed(c);
  for (int turn = 0; turn < 4 * DRAWS; ++turn) {
    uint64_t offset, size;
    draw(c, &offset, &size);
    conform_get(c, buffer, offset, bytes, size);
    for (uint64_t i = 0; i < size; ++i)
      CHECK(c, bytes[i] == shadow[offset + i],
            "byte %llu of %llu from %llu is 0x%02x, expected is 0x%02x (BUF-002)",
            (unsigned long long)i, (unsigned long long)size, (unsigned long long)offset, bytes[i],
            shadow[offset + i]);
  }
  conform_expect_bytes(c, buffer, shadow, SIZE, "downloads of ranges");
  conform_free(c, buffer);
}

static void run_fill_ranges(conform *c)
{
  vyre_backend_buffer *buffer = shadowed(c);
  for (int turn = 0; turn < DRAWS; ++turn) {
    uint64_t offset, size;
    const uint32_t value = (uint32_t)conform_random(c); /* its low byte counts */
    draw(c, &offset, &size);
    CHECK_OK(c, c->counted.buffer_fill(c->device, buffer, offset, size, value, err));
    memset(shadow + offset, (int)(value & 255u), size);
    conform_expect_bytes(c, buffer, shadow, SIZE, "a fill of a range (BUF-002, BUF-005)");
  }
  conform_free(c, buffer);
}

static void run_copy_ranges(conform *c)
{
  static unsigned char other[SIZE];
  vyre_backend_buffer *to = shadowed(c), *from = NULL;
  conform_random_fill(c, other, sizeof other);
  from = conform_buffer(c, sizeof other, other);
  for (int turn = 0; turn < DRAWS; ++turn) {
    uint64_t offset, size, source;
    draw(c, &offset, &size);
    source = conform_random_below(c, SIZE - size + 1);
    CHECK_OK(c, c->counted.buffer_copy(c->device, to, offset, from, source, size, err));
    memcpy(shadow + offset, other + source, size);
    conform_expect_bytes(c, to, shadow, SIZE, "a copy of a range (BUF-002, BUF-006)");
  }
  conform_expect_bytes(c, from, other, sizeof other, "the source of copies (BUF-006)");
  conform_free(c, to);
  conform_free(c, from);
}

/* Within one buffer: ranges that touch and do not overlap. */
static void run_copy_within(conform *c)
{
  vyre_backend_buffer *buffer = shadowed(c);
  for (int turn = 0; turn < DRAWS; ++turn) {
    const uint64_t size = turn < 40 ? (uint64_t)turn : conform_random_below(c, SIZE / 2);
    const uint64_t low = conform_random_below(c, SIZE - 2 * size + 1);
    const uint64_t high =
        turn % 3 ? low + size : low + size + conform_random_below(c, SIZE - 2 * size - low + 1);
    const uint64_t to = turn % 2 ? low : high, from = turn % 2 ? high : low;
    CHECK_OK(c, c->counted.buffer_copy(c->device, buffer, to, buffer, from, size, err));
    memcpy(shadow + to, shadow + from, size);
    conform_expect_bytes(c, buffer, shadow, SIZE, "a copy within a buffer (BUF-002, BUF-006)");
  }
  conform_free(c, buffer);
}

/* What a kernel wrote comes back to the last byte, at every size. */
static void run_tails(conform *c)
{
  for (uint32_t n = 1; n < 2100; n += n < 70 || n > 2040             ? 1
                                      : n % 256 > 253 || n % 256 < 3 ? 1
                                                                     : 63) {
    vyre_backend_buffer *buffer = NULL;
    conform_launch launch;
    conform_random_fill(c, shadow, n);
    buffer = conform_buffer(c, n, shadow);
    conform_launch_init(&launch, conform_kernel(c, "buffer", "stamp"));
    conform_launch_grid(&launch, (n + 63) / 64, 64);
    conform_launch_buffer(&launch, VYRE_READ_WRITE, buffer, n, 1);
    conform_run_buffers(c, &launch);
    for (uint32_t i = 0; i < n; ++i)
      shadow[i] = (unsigned char)(shadow[i] * 3u + i + 1u);
    conform_expect_bytes(c, buffer, shadow, n, "what a kernel wrote (BUF-002, DISP-004)");
    /* The last bytes alone, and all but them. */
    for (uint32_t tail = 1; tail <= 3 && tail <= n; ++tail) {
      conform_get(c, buffer, n - tail, bytes, tail);
      CHECK(c, !memcmp(bytes, shadow + n - tail, tail),
            "the last %u bytes of %u come back otherwise (BUF-002)", tail, n);
      conform_put(c, buffer, n - tail, "xyz", tail);
      memcpy(shadow + n - tail, "xyz", tail);
      conform_expect_bytes(c, buffer, shadow, n, "an upload of the last bytes (BUF-002)");
    }
    conform_free(c, buffer);
  }
}

static void refuse_range(conform *c, vyre_backend_buffer *buffer, vyre_backend_buffer *other,
                         uint64_t offset, uint64_t size)
{
  const vyre_backend *b = &c->counted;
  vyre_backend_device *device = c->device;
  CHECK_FAILS(c, b->buffer_upload(device, buffer, offset, bytes, size, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, b->buffer_download(device, buffer, offset, bytes, size, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, b->buffer_fill(device, buffer, offset, size, 1, err), VYRE_ERROR_INVALID_ARGUMENT,
              -1);
  CHECK_FAILS(c, b->buffer_copy(device, buffer, offset, other, 0, size, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, b->buffer_copy(device, other, 0, buffer, offset, size, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, b->buffer_upload(device, buffer, offset, bytes, size, NULL) != VYRE_OK,
        "without an error record a range outside is written (BUF-001)");
}

static void run_ranges_refused(conform *c)
{
  static const uint64_t ranges[][2] = {{0, SIZE + 1},
                                       {1, SIZE},
                                       {SIZE, 1},
                                       {SIZE + 1, 0},
                                       {SIZE + 1, 1},
                                       {UINT64_MAX, 0},
                                       {UINT64_MAX, 1},
                                       {UINT64_MAX, 2},
                                       {UINT64_MAX - SIZE + 1, SIZE},
                                       {UINT64_MAX - 3, 4},
                                       {UINT64_MAX - 3, 8},
                                       {4, UINT64_MAX},
                                       {4, UINT64_MAX - 3},
                                       {8, UINT64_MAX - 3},
                                       {SIZE, UINT64_MAX - SIZE + 1},
                                       {SIZE, UINT64_MAX},
                                       {1ull << 32, 4},
                                       {0, 1ull << 32},
                                       {(1ull << 32) + 8, UINT64_MAX - (1ull << 32)},
                                       {UINT64_MAX / 2 + 1, UINT64_MAX / 2 + 1}};
  vyre_backend_buffer *buffer = shadowed(c), *other = conform_buffer(c, ROOM, NULL);
  memset(bytes, 0x99, sizeof bytes);
  for (uint32_t i = 0; i < COUNT_OF(ranges); ++i)
    refuse_range(c, buffer, other, ranges[i][0], ranges[i][1]);
  for (uint32_t i = 0; i < sizeof bytes; ++i)
    CHECK(c, bytes[i] == 0x99, "a refused download has written byte %u (ABI-008)", i);
  conform_expect_bytes(c, buffer, shadow, SIZE, "refused calls (ABI-008)");
  check_zeroed(c, other, ROOM, "new");
  /* A binding is a range too. */
  for (uint32_t i = 0; i < COUNT_OF(ranges); ++i) {
    vyre_backend_pending *pending = NULL;
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "buffer", "stamp"));
    conform_launch_part(&launch, VYRE_READ_WRITE, buffer, ranges[i][0], ranges[i][1], 1);
    CHECK_FAILS(c, c->counted.dispatch(c->device, &launch.desc, &pending, err),
                VYRE_ERROR_INVALID_ARGUMENT, -1);
    CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  }
  conform_expect_bytes(c, buffer, shadow, SIZE, "refused launches (ABI-008)");
  conform_free(c, buffer);
  conform_free(c, other);
}

/* ---- native memory ---- */

/* Memory of the host's own, on a device that takes it: what a launch wrote is there at its end. */
static void import_own(conform *c, vyre_native_memory native)
{
  static _Alignas(4096) uint32_t own[4096];
  vyre_backend_buffer *window = NULL;
  conform_launch launch;
  native.handle = (uint64_t)(uintptr_t)own;
  native.size = sizeof own;
  conform_random_fill(c, own, sizeof own);
  memcpy(shadow, own, 4000);
  CHECK_OK(c, c->counted.buffer_import(c->device, &native, &window, err));
  conform_launch_init(&launch, conform_kernel(c, "buffer", "stamp"));
  conform_launch_grid(&launch, 63, 64);
  conform_launch_buffer(&launch, VYRE_READ_WRITE, window, 4000, 1);
  conform_run_buffers(c, &launch);
  for (uint32_t i = 0; i < 4000; ++i)
    shadow[i] = (unsigned char)(shadow[i] * 3u + i + 1u);
  conform_expect_bytes(c, window, shadow, 4000, "host memory that was imported (BUF-007)");
  conform_free(c, window);
  CHECK(c, !memcmp(own, shadow, 4000),
        "imported host memory does not hold what was written (BUF-007)");
}

static void run_import_export(conform *c)
{
  static uint32_t words[1025];
  vyre_backend_buffer *buffer = NULL, *window = NULL;
  conform_launch launch;
  struct {
    vyre_native_memory memory;
    unsigned char more[16];
  } native;
  conform_random_fill(c, words, sizeof words);
  buffer = conform_buffer(c, sizeof words, words);
  memset(&native, 0xee, sizeof native);
  native.memory.struct_size = sizeof native;
  CHECK_OK(c, c->counted.buffer_export(c->device, buffer, &native.memory, err));
  CHECK(c, native.memory.struct_size <= sizeof native.memory,
        "buffer_export says %u bytes of a structure of %u (ABI-002)", native.memory.struct_size,
        (uint32_t)sizeof native.memory);
  for (uint32_t i = 0; i < sizeof native.more; ++i)
    CHECK(c, native.more[i] == 0xee, "buffer_export writes behind its structure (ABI-002)");
  CHECK(c, native.memory.handle && native.memory.size == sizeof words,
        "an exported buffer has handle 0x%llx and %llu bytes, expected are %u (BUF-007)",
        (unsigned long long)native.memory.handle, (unsigned long long)native.memory.size,
        (uint32_t)sizeof words);
  native.memory.struct_size = sizeof native.memory;
  CHECK_OK(c, c->counted.buffer_import(c->device, &native.memory, &window, err));
  CHECK(c, window, "buffer_import succeeded and gave no buffer");
  conform_expect_bytes(c, window, words, sizeof words, "imported memory (BUF-007)");
  conform_launch_init(&launch, conform_kernel(c, "buffer", "chain"));
  conform_launch_grid(&launch, 17, 64);
  conform_launch_buffer(&launch, VYRE_READ_WRITE, window, 1025, 4);
  conform_run_buffers(c, &launch);
  for (uint32_t i = 0; i < 1025; ++i)
    words[i] = words[i] * 3 + 1;
  conform_free(c, window);
  conform_expect_bytes(c, buffer, words, sizeof words,
                       "a buffer whose memory was imported, used and let go (BUF-007)");
  if (native.memory.type == VYRE_NATIVE_HOST_POINTER)
    import_own(c, native.memory);
  native.memory.type = 0x7fffffffu;
  window = NULL;
  CHECK_FAILS(c, c->counted.buffer_import(c->device, &native.memory, &window, err),
              VYRE_ERROR_UNSUPPORTED, VYRE_ERROR_INVALID_ARGUMENT);
  CHECK(c, !window, "a failed buffer_import has stored a buffer (ABI-008)");
  native.memory.struct_size = VYRE_NATIVE_MEMORY_SIZE_0_1 - 1;
  CHECK_FAILS(c, c->counted.buffer_import(c->device, &native.memory, &window, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, c->counted.buffer_export(c->device, buffer, &native.memory, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  conform_free(c, buffer);
}

/* ---- threads ---- */

typedef struct worker {
  conform *c;
  vyre_backend_buffer *common; /* each thread has a part of it */
  vyre_backend_kernel *chain;
  uint32_t number;
  char wrong[200];
} worker;

#define PART 1003u

static void *work(void *argument)
{
  worker *w = argument;
  const vyre_backend *b = &w->c->counted;
  vyre_backend_device *device = w->c->device;
  static _Thread_local unsigned char mine[PART], got[PART];
  for (uint32_t turn = 0; turn < 60 && !w->wrong[0]; ++turn) {
    vyre_backend_buffer *own = NULL;
    for (uint32_t i = 0; i < PART; ++i)
      mine[i] = (unsigned char)(i * 7 + turn * 13 + w->number);
    if (b->buffer_alloc(device, PART, &own, NULL) != VYRE_OK ||
        b->buffer_upload(device, own, 0, mine, PART, NULL) != VYRE_OK ||
        b->buffer_copy(device, w->common, w->number * PART, own, 0, PART, NULL) != VYRE_OK ||
        b->buffer_fill(device, own, 0, PART, 0, NULL) != VYRE_OK ||
        b->buffer_download(device, w->common, w->number * PART, got, PART, NULL) != VYRE_OK)
      snprintf(w->wrong, sizeof w->wrong, "thread %u: a call failed", w->number);
    else if (memcmp(mine, got, PART) != 0)
      snprintf(w->wrong, sizeof w->wrong, "thread %u: its part of a buffer holds other bytes",
               w->number);
    b->buffer_free(device, own);
  }
  return NULL;
}

static void run_threads(conform *c)
{
  enum { THREADS = 4 };
  static worker workers[THREADS];
  pthread_t threads[THREADS];
  conform_open(c);
  vyre_backend_buffer *common = conform_buffer(c, THREADS * PART, NULL);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i] = (worker){.c = c, .common = common, .number = i};
    CHECK(c, !pthread_create(&threads[i], NULL, work, &workers[i]), "no thread");
  }
  for (uint32_t i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  for (uint32_t i = 0; i < THREADS; ++i)
    CHECK(c, !workers[i].wrong[0], "%s (BUF-002, BUF-004)", workers[i].wrong);
  conform_free(c, common);
}

/* ---- rows ---- */

#define BUFFER_CASE(name, rules, needs, run)                                                       \
  {                                                                                                \
    name, rules, CONFORM_RESIDENT, VYRE_CAP_BUFFERS, needs, 0, run                                 \
  }

static const conform_case rows[] = {
    BUFFER_CASE("buffer.zeroed", "BUF-003", 0, run_zeroed),
    BUFFER_CASE("buffer.size_zero", "BUF-001 BUF-002 BUF-003 DISP-005", CONFORM_NEEDS_KERNELS,
                run_size_zero),
    BUFFER_CASE("buffer.too_large", "BUF-003 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
                run_too_large),
    BUFFER_CASE("buffer.host_memory", "ABI-008 ABI-009", 0, run_host_memory),
    BUFFER_CASE("buffer.many", "BUF-002", 0, run_many),
    BUFFER_CASE("buffer.growth", "ABI-008", 0, run_growth),
    BUFFER_CASE("buffer.upload_ranges", "BUF-002", 0, run_upload_ranges),
    BUFFER_CASE("buffer.download_ranges", "BUF-002", 0, run_download_ranges),
    BUFFER_CASE("buffer.fill_ranges", "BUF-002 BUF-005", 0, run_fill_ranges),
    BUFFER_CASE("buffer.copy_ranges", "BUF-002 BUF-006", 0, run_copy_ranges),
    BUFFER_CASE("buffer.copy_within", "BUF-002 BUF-006", 0, run_copy_within),
    BUFFER_CASE("buffer.tails", "BUF-002 DISP-004", CONFORM_NEEDS_KERNELS, run_tails),
    BUFFER_CASE("buffer.ranges_refused", "BUF-001 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
                run_ranges_refused),
    BUFFER_CASE("buffer.import_export", "BUF-007 ABI-001 ABI-002",
                CONFORM_NEEDS_KERNELS | CONFORM_NEEDS_IMPORT, run_import_export),
    BUFFER_CASE("buffer.threads", "BUF-002 BUF-004", 0, run_threads),
};
CONFORM_TABLE(conform_cases_buffer, rows);
