/* host.c - the host that the suite gives to a plugin; see host.h. */
#include "conformance/host.h"

#include <stdlib.h>
#include <string.h>

#define CANARY 0xc3u
#define CANARY_SIZE 64u

/* In front of each block, after the first canary's place was aligned. */
typedef struct block_head {
  void *memory; /* what free() takes */
  uint64_t size;
} block_head;

static void count(uint64_t *counter, int64_t change)
{
  /* Relaxed: the counters are compared when the threads that count have been joined. */
  __atomic_fetch_add(counter, (uint64_t)change, __ATOMIC_RELAXED);
}

/* [head][canary][block][canary] */
static void *allocate(void *self, uint64_t size, uint64_t align)
{
  conform_host *host = self;
  uint64_t before = 0, total = 0, fail = 0;
  unsigned char *memory = NULL, *block = NULL;
  block_head head;
  count(&host->calls, 1);
  if (!align || (align & (align - 1)) || align > 4096) {
    count(&host->bad_requests, 1);
    return NULL;
  }
  fail = __atomic_load_n(&host->fail_at, __ATOMIC_RELAXED);
  if (fail && __atomic_sub_fetch(&host->fail_at, 1, __ATOMIC_RELAXED) == 0)
    return NULL;
  align = align < 64 ? 64 : align;
  before = (sizeof head + CANARY_SIZE + align - 1) & ~(align - 1);
  if (__builtin_add_overflow(size, before + align + CANARY_SIZE, &total))
    return NULL;
  memory = malloc(total);
  if (!memory)
    return NULL;
  block = memory + before;
  block += (align - (uint64_t)(uintptr_t)block % align) % align;
  head.memory = memory;
  head.size = size;
  memset(block - CANARY_SIZE, CANARY, CANARY_SIZE);
  memset(block + size, CANARY, CANARY_SIZE);
  memcpy(block - CANARY_SIZE - sizeof head, &head, sizeof head);
  memset(block, 0xa5, size); /* nobody may count on zeros */
  count(&host->live_blocks, 1);
  count(&host->live_bytes, (int64_t)size);
  return block;
}

static bool is_canary(const unsigned char *bytes)
{
  for (uint32_t i = 0; i < CANARY_SIZE; ++i)
    if (bytes[i] != CANARY)
      return false;
  return true;
}

static void deallocate(void *self, void *memory)
{
  conform_host *host = self;
  unsigned char *block = memory;
  block_head head;
  count(&host->calls, 1);
  if (!block)
    return;
  memcpy(&head, block - CANARY_SIZE - sizeof head, sizeof head);
  if (!is_canary(block - CANARY_SIZE) || !is_canary(block + head.size))
    count(&host->broken, 1);
  memset(block, 0x5a, head.size);
  count(&host->live_blocks, -1);
  count(&host->live_bytes, -(int64_t)head.size);
  free(head.memory);
}

static void log_line(void *self, vyre_log_level level, const char *text)
{
  conform_host *host = self;
  (void)level;
  count(&host->calls, 1);
  if (!text || strchr(text, '\n'))
    count(&host->bad_requests, 1);
}

void conform_host_init(conform_host *host)
{
  memset(host, 0, sizeof *host);
  host->table.struct_size = sizeof host->table;
  host->table.abi_major = VYRE_ABI_MAJOR;
  host->table.abi_minor_min = 1;
  host->table.abi_minor_max = VYRE_ABI_MINOR;
  host->table.self = host;
  host->table.allocate = allocate;
  host->table.deallocate = deallocate;
  host->table.log = log_line;
}
