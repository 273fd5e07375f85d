/* buffers.c - device memory for cases; see buffers.h. */
#include "conformance/buffers.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define CANARY 0x6eu
#define POISON 0xb3u
#define CANARY_SIZE 64u
#define PATIENCE_NS 25000000000u

vyre_backend_buffer *conform_buffer(conform *c, uint64_t size, const void *data)
{
  vyre_backend_device *device = conform_open(c);
  vyre_backend_buffer *buffer = NULL;
  CHECK_OK(c, c->counted.buffer_alloc(device, size, &buffer, err));
  CHECK(c, buffer, "buffer_alloc succeeded and gave no buffer");
  if (data)
    conform_put(c, buffer, 0, data, size);
  return buffer;
}

void conform_free(conform *c, vyre_backend_buffer *buffer)
{
  c->counted.buffer_free(conform_open(c), buffer);
}

void conform_put(conform *c, vyre_backend_buffer *buffer, uint64_t offset, const void *data,
                 uint64_t size)
{
  CHECK_OK(c, c->counted.buffer_upload(conform_open(c), buffer, offset, data, size, err));
}

void conform_get(conform *c, vyre_backend_buffer *buffer, uint64_t offset, void *out, uint64_t size)
{
  unsigned char *memory = malloc(size + 2 * CANARY_SIZE);
  CHECK(c, memory, "out of memory");
  memset(memory, CANARY, CANARY_SIZE);
  memset(memory + CANARY_SIZE, POISON, size);
  memset(memory + CANARY_SIZE + size, CANARY, CANARY_SIZE);
  CHECK_OK(c, c->counted.buffer_download(conform_open(c), buffer, offset, memory + CANARY_SIZE,
                                         size, err));
  for (uint32_t i = 0; i < CANARY_SIZE; ++i)
    CHECK(c, memory[i] == CANARY && memory[CANARY_SIZE + size + i] == CANARY,
          "a download of %llu bytes has written outside its place (BUF-002)",
          (unsigned long long)size);
  if (size)
    memcpy(out, memory + CANARY_SIZE, size);
  free(memory);
}

void conform_expect_bytes(conform *c, vyre_backend_buffer *buffer, const void *want, uint64_t size,
                          const char *what)
{
  const unsigned char *bytes = want;
  unsigned char *got = malloc(size + 1);
  CHECK(c, got, "out of memory");
  conform_get(c, buffer, 0, got, size);
  for (uint64_t i = 0; i < size; ++i)
    CHECK(c, got[i] == bytes[i], "%s: byte %llu of %llu is 0x%02x, expected is 0x%02x", what,
          (unsigned long long)i, (unsigned long long)size, got[i], bytes[i]);
  free(got);
}

void conform_launch_part(conform_launch *launch, vyre_access access, vyre_backend_buffer *buffer,
                         uint64_t offset, uint64_t count, uint32_t element_size)
{
  conform_launch_buffer(launch, access, buffer, count, element_size);
  launch->bindings[launch->desc.binding_count - 1].offset = offset;
}

void conform_run_buffers(conform *c, const conform_launch *launch)
{
  conform_finish(c, conform_start(c, conform_open(c), launch), NULL, 0);
}

vyre_coherent_memory conform_coherent(conform *c, uint64_t size)
{
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_device *device = conform_open(c);
  CHECK_OK(c, c->counted.coherent_alloc(device, size, &memory, err));
  CHECK(c, memory.buffer && memory.host, "coherent_alloc succeeded and gave no %s",
        memory.buffer ? "address" : "buffer");
  return memory;
}

void conform_watch(conform *c, uint64_t begin_ns, const char *what)
{
  CHECK(c, conform_now_ns() - begin_ns < PATIENCE_NS, "%s: nothing came for %llu s", what,
        (unsigned long long)(PATIENCE_NS / 1000000000u));
  sched_yield();
}
