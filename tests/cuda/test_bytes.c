/*
 * test_bytes.c - bytes in and out through the pinned chunks: every size around a chunk, coherent
 * memory at either end, more threads than there are chunks.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROOM ((uint64_t)(3u << 20) + 4096)

static vyre_backend_device *device;
static unsigned char *in, *out;

static int set_up(void **state)
{
  (void)state;
  driver->reset();
  device = open_device(0);
  in = malloc(ROOM);
  out = malloc(ROOM);
  if (!in || !out)
    return -1;
  for (uint64_t i = 0; i < ROOM; ++i)
    in[i] = (unsigned char)(i * 7 + i / 253 + i / 65537);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  free(in);
  free(out);
  backend->device_close(device);
  assert_clean();
  return 0;
}

static void around_a_chunk(void **state)
{
  static const uint64_t sizes[] = {0,       1,        65535,   65536,          65537,
                                   1048575, 1u << 20, 1048577, (2u << 20) + 1, (3u << 20) + 7};
  vyre_backend_buffer *buffer = make_buffer(device, ROOM);
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    const uint64_t size = sizes[i], at = i * 3 + 1;
    OK(backend->buffer_fill(device, buffer, 0, ROOM, 0x1ee, &fresh));
    OK(backend->buffer_upload(device, buffer, at, in + i, size, &fresh));
    memset(out, 0, ROOM);
    OK(backend->buffer_download(device, buffer, at - 1, out, size + 2, &fresh));
    assert_int_equal(out[0], 0xee);
    assert_memory_equal(out + 1, in + i, size);
    assert_int_equal(out[size + 1], 0xee);
    assert_int_equal(out[size + 2], 0);
  }
  backend->buffer_free(device, buffer);
}

static void coherent_ends(void **state)
{
  enum { SIZE = 5001 };
  vyre_coherent_memory memory[2] = {{.struct_size = sizeof memory[0]},
                                    {.struct_size = sizeof memory[0]}};
  vyre_backend_buffer *plain = make_buffer(device, SIZE);
  (void)state;
  for (int i = 0; i < 2; ++i) {
    OK(backend->coherent_alloc(device, SIZE, &memory[i], &fresh));
    for (uint32_t k = 0; k < SIZE; ++k)
      assert_int_equal(((unsigned char *)memory[i].host)[k], 0);
  }
  unsigned char *const first = memory[0].host, *const second = memory[1].host;
  OK(backend->buffer_upload(device, memory[0].buffer, 1, in, 5000, &fresh));
  assert_memory_equal(first + 1, in, 5000);
  OK(backend->buffer_copy(device, memory[1].buffer, 0, memory[0].buffer, 1, 5000, &fresh));
  assert_memory_equal(second, in, 5000);
  OK(backend->buffer_copy(device, plain, 3, memory[1].buffer, 100, 900, &fresh));
  OK(backend->buffer_fill(device, memory[1].buffer, 7, 11, 0x55, &fresh));
  for (uint32_t k = 7; k < 18; ++k)
    assert_int_equal(second[k], 0x55);
  assert_int_equal(second[6], in[6]);
  assert_int_equal(second[18], in[18]);
  OK(backend->buffer_copy(device, memory[0].buffer, 2000, plain, 3, 900, &fresh));
  assert_memory_equal(first + 2000, in + 100, 900);
  OK(backend->buffer_download(device, memory[0].buffer, 2000, out, 900, &fresh));
  assert_memory_equal(out, in + 100, 900);
  backend->buffer_free(device, plain);
  backend->buffer_free(device, memory[0].buffer);
  backend->buffer_free(device, memory[1].buffer);
}

static void what_is_too_large(void **state)
{
  vyre_backend_buffer *buffer = NULL;
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_error err = VYRE_ERROR_INIT;
  (void)state;
  assert_int_equal(backend->buffer_alloc(device, UINT64_MAX, &buffer, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_int_equal(backend->coherent_alloc(device, 1ull << 60, &memory, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  (driver->fail)("cuMemAllocFromPoolAsync", 1, 2);
  assert_int_equal(backend->buffer_alloc(device, 12345, &buffer, &err),
                   VYRE_ERROR_OUT_OF_DEVICE_MEMORY);
  assert_contains(err.message, "12345");
  assert_int_equal(err.vendor_code, 2);
  assert_null(buffer);
  assert_null(memory.buffer);
}

#define THREADS 12u
#define PART 100003u

typedef struct worker {
  vyre_backend_buffer *common; /* each thread has a part of it */
  uint32_t number, wrong;
} worker;

static void *work(void *argument)
{
  worker *const w = argument;
  unsigned char *const mine = malloc(PART), *const got = malloc(PART);
  const uint64_t at = (uint64_t)w->number * PART;
  for (uint32_t turn = 0; turn < 20 && mine && got; ++turn) {
    vyre_backend_buffer *own = NULL;
    for (uint32_t i = 0; i < PART; ++i)
      mine[i] = (unsigned char)(i * 7 + turn * 13 + w->number);
    w->wrong += backend->buffer_alloc(device, PART, &own, NULL) != VYRE_OK ||
                backend->buffer_upload(device, own, 0, mine, PART, NULL) != VYRE_OK ||
                backend->buffer_copy(device, w->common, at, own, 0, PART, NULL) != VYRE_OK ||
                backend->buffer_download(device, w->common, at, got, PART, NULL) != VYRE_OK ||
                memcmp(mine, got, PART) != 0;
    backend->buffer_free(device, own);
  }
  w->wrong += !mine || !got;
  free(mine);
  free(got);
  return NULL;
}

static void more_threads_than_chunks(void **state)
{
  pthread_t threads[THREADS];
  worker workers[THREADS];
  vyre_backend_buffer *common = make_buffer(device, (uint64_t)THREADS * PART);
  (void)state;
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i] = (worker){.common = common, .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(workers[i].wrong, 0);
  }
  backend->buffer_free(device, common);
}

int main(void)
{
#define LIFE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      LIFE(around_a_chunk),
      LIFE(coherent_ends),
      LIFE(what_is_too_large),
      LIFE(more_threads_than_chunks),
  };
  return cmocka_run_group_tests(tests, plugin_set_up, NULL);
}
