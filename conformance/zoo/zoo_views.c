/*
 * zoo_views.c - coherent memory that is not: the host has a copy, and a thread carries words
 * between the two sides.  Allocations that are made first (flags) are looked at first and, where
 * the order is kept, told last; so whoever sees a flag sees what was stored before it.
 */
#include "conformance/zoo/zoo.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST_VIEWS 16u
#define LOST_EVERY 100000u
#define AGAIN_EVERY 5000u

typedef struct view {
  const vyre_backend_buffer *buffer;
  uint32_t *sides[2]; /* the device's, the host's */
  uint32_t *shadow;   /* what both sides are known to hold */
  uint32_t *seen;     /* one side, as it was looked at */
  uint64_t words, bytes;
} view;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static view views[MOST_VIEWS];
static uint32_t view_count;
static pthread_t carrier;
static bool running;

bool zoo__has_views(void)
{
  return ZOO_IS(early_completion) || ZOO_IS(lost_store) || ZOO_IS(stale_store);
}

static void rest(long ns)
{
  const struct timespec moment = {0, ns};
  nanosleep(&moment, NULL);
}

static void look(view *v, int side)
{
  for (uint64_t i = 0; i < v->words; ++i)
    v->seen[i] = __atomic_load_n(&v->sides[side][i], __ATOMIC_ACQUIRE);
}

/* A word that the host has seen with its new value gets the old one again. */
static void store_again(uint32_t *word, uint32_t old)
{
  static uint32_t *last_word, last_old, told;
  if (last_word)
    __atomic_store_n(last_word, last_old, __ATOMIC_RELEASE);
  last_word = NULL;
  if (++told % AGAIN_EVERY)
    return;
  last_word = word;
  last_old = old;
}

/* What is new on that side goes to the other one; returns whether there was anything. */
static bool tell(view *v, int side)
{
  static uint32_t told;
  bool any = false;
  for (uint64_t i = 0; i < v->words; ++i) {
    if (v->seen[i] == v->shadow[i])
      continue;
    if (ZOO_IS(stale_store) && side == 0)
      store_again(&v->sides[1][i], v->shadow[i]);
    v->shadow[i] = v->seen[i];
    any = true;
    if (ZOO_IS(lost_store) && side == 0 && ++told % LOST_EVERY == 0)
      continue;
    __atomic_store_n(&v->sides[!side][i], v->seen[i], __ATOMIC_RELEASE);
  }
  return any;
}

static bool carry(int side)
{
  bool any = false;
  for (uint32_t k = 0; k < view_count; ++k)
    look(&views[k], side);
  for (uint32_t k = 0; k < view_count; ++k) {
    const bool flags_first = ZOO_IS(early_completion) && side == 0;
    any = tell(&views[flags_first ? k : view_count - 1 - k], side) || any;
    if (flags_first && any && k + 1 < view_count)
      rest(100000);
  }
  return any;
}

static void *carry_on(void *argument)
{
  (void)argument;
  for (;;) {
    bool any = false;
    pthread_mutex_lock(&lock);
    if (!view_count) {
      pthread_mutex_unlock(&lock);
      return NULL;
    }
    any = carry(0);
    any = carry(1) || any;
    pthread_mutex_unlock(&lock);
    rest(any ? 1000 : 20000);
  }
}

static bool make(view *v, uint64_t size)
{
  v->words = size / 4;
  v->bytes = (size + 4095) / 4096 * 4096;
  v->sides[1] = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  v->shadow = calloc(v->words + 1, sizeof *v->shadow);
  v->seen = calloc(v->words + 1, sizeof *v->seen);
  return v->sides[1] != MAP_FAILED && v->shadow && v->seen;
}

bool zoo__view_add(vyre_backend_device *device, vyre_coherent_memory *memory, uint64_t size)
{
  bool good = false;
  (void)device;
  pthread_mutex_lock(&lock);
  if (view_count < MOST_VIEWS && make(&views[view_count], size)) {
    view *v = &views[view_count++];
    v->buffer = memory->buffer;
    v->sides[0] = memory->host;
    memory->host = v->sides[1];
    good = running || !pthread_create(&carrier, NULL, carry_on, NULL);
    running = good;
  }
  pthread_mutex_unlock(&lock);
  return good;
}

void zoo__view_remove(const vyre_backend_buffer *buffer)
{
  bool last = false;
  pthread_mutex_lock(&lock);
  for (uint32_t k = 0; k < view_count; ++k) {
    if (views[k].buffer != buffer)
      continue;
    munmap(views[k].sides[1], views[k].bytes);
    free(views[k].shadow);
    free(views[k].seen);
    view_count -= 1;
    memmove(&views[k], &views[k + 1], (view_count - k) * sizeof views[0]);
    last = !view_count && running;
    break;
  }
  if (last)
    running = false;
  pthread_mutex_unlock(&lock);
  if (last)
    pthread_join(carrier, NULL);
}
