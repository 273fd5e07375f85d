/* mock_device.c - see mock_device.h. */
#include "tests/ring/mock_device.h"

#include "vyre_ring_layout.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- the link: all that may be done with shared memory ---- */

static uint64_t link_load_u64(const vyre_ring_u64 *word)
{
  /* Acquire; partners: the host's release stores of `published`. */
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint32_t link_load_u32(const vyre_ring_u32 *word)
{
  /* Acquire; partner: the host's store of `stop`. */
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void link_store_u64(vyre_ring_u64 *word, uint64_t value)
{
  /* Relaxed: a store that another one with release follows, or that orders nothing. */
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void link_release_u64(vyre_ring_u64 *word, uint64_t value)
{
  /* Release; partners: the host's acquire loads of `released` and of a result's status. */
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void link_store_u32(vyre_ring_u32 *word, uint32_t value)
{
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Plain loads: only of items that an acquired `published` word covers. */
static void link_copy_item(uint32_t out[4], const vyre_ring_u32 item[4])
{
  for (int i = 0; i < 4; ++i)
    out[i] = item[i];
}

/* ---- the device's own memory: read-modify-write is allowed here, and only here ---- */

struct mock_device {
  vyre_ring_header *header;
  vyre_ring_cell *cells;
  vyre_ring_u64 *released;
  vyre_ring_result *results;
  uint64_t capacity_mask;
  uint64_t completions_mask;
  uint64_t tail;   /* a ticket */
  uint32_t *taken; /* for each place: items copied out of a cell that is taken in parts */
};

static bool own_cas(uint64_t *word, uint64_t *expected, uint64_t desired)
{
  /* Relaxed: the tail only hands out tickets; `published` orders what they stand for. */
  return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

static uint32_t own_add(uint32_t *word, uint32_t n)
{
  /* Acquire and release: the last one of a cell has all copies of the others before its store. */
  return __atomic_fetch_add(word, n, __ATOMIC_ACQ_REL);
}

/* ---- attaching ---- */

static bool array_fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t bytes)
{
  return offset % VYRE_RING_LINE == 0 && offset >= VYRE_RING_HEADER_BYTES && offset <= bytes &&
         count <= (bytes - offset) / size;
}

static const char *refuse(const vyre_ring_header *h, uint64_t bytes)
{
  if (h->magic != VYRE_RING_MAGIC || h->version != VYRE_RING_LAYOUT_VERSION ||
      h->header_bytes != VYRE_RING_HEADER_BYTES)
    return "no ring of this version";
  if ((h->flags & (VYRE_RING_FLAG_DEVICE | VYRE_RING_FLAG_COMPLETION)) !=
      (VYRE_RING_FLAG_DEVICE | VYRE_RING_FLAG_COMPLETION))
    return "no ring for a device";
  if (h->capacity_log2 > 31 || h->completions_log2 > 31 || h->completions_log2 < h->capacity_log2)
    return "impossible counts";
  if (h->region_bytes > bytes ||
      !array_fits(h->cells_offset, 1ull << h->capacity_log2, sizeof(vyre_ring_cell),
                  h->region_bytes) ||
      !array_fits(h->released_offset, 1ull << h->completions_log2, 8, h->region_bytes) ||
      !array_fits(h->results_offset, 8ull << h->completions_log2, sizeof(vyre_ring_result),
                  h->region_bytes))
    return "an array outside the region";
  if (h->first_position > VYRE_RING_POSITION_MASK)
    return "an impossible first position";
  return NULL;
}

mock_device *mock_device_attach(void *region, uint64_t bytes, const char **out_reason)
{
  char *base = region;
  vyre_ring_header copy;
  mock_device *device;
  if (bytes < sizeof copy) {
    *out_reason = "too small";
    return NULL;
  }
  memcpy(&copy, region, offsetof(vyre_ring_header, pad0));
  *out_reason = refuse(&copy, bytes);
  if (*out_reason)
    return NULL;
  device = calloc(1, sizeof *device);
  if (!device)
    return NULL;
  device->header = region;
  device->cells = (vyre_ring_cell *)(void *)(base + copy.cells_offset);
  device->released = (vyre_ring_u64 *)(void *)(base + copy.released_offset);
  device->results = (vyre_ring_result *)(void *)(base + copy.results_offset);
  device->capacity_mask = (1ull << copy.capacity_log2) - 1;
  device->completions_mask = (1ull << copy.completions_log2) - 1;
  device->tail = copy.first_position << VYRE_RING_INDEX_BITS;
  device->taken = calloc(device->capacity_mask + 1, sizeof *device->taken);
  if (!device->taken) {
    free(device);
    return NULL;
  }
  link_store_u32(&device->header->state, VYRE_RING_STATE_RUNNING);
  return device;
}

void mock_device_detach(mock_device *device)
{
  if (!device)
    return;
  link_store_u32(&device->header->state, VYRE_RING_STATE_ABSENT);
  free(device->taken);
  free(device);
}

/* ---- serving ---- */

static uint64_t stamp_of(uint64_t position)
{
  return (position + 1) & VYRE_RING_POSITION_MASK;
}

static uint64_t next_cell(uint64_t ticket)
{
  return (((ticket >> VYRE_RING_INDEX_BITS) + 1) & VYRE_RING_POSITION_MASK) << VYRE_RING_INDEX_BITS;
}

static uint32_t dice(uint64_t *seed)
{
  *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*seed >> 33);
}

uint32_t mock_device_value(const uint32_t item[4])
{
  return (item[0] * 2654435761u ^ item[1]) + item[2] * 40503u + item[3];
}

uint32_t mock_device_status(const uint32_t item[4])
{
  return item[3] % 5 == 0 ? 3 : 0;
}

static void complete(mock_device *d, uint64_t ticket, const uint32_t item[4])
{
  const uint64_t position = ticket >> VYRE_RING_INDEX_BITS;
  const uint64_t entry = (position & d->completions_mask) * 8 + (ticket & VYRE_RING_INDEX_MASK);
  const uint64_t stamp = stamp_of(position);
  /* The value has the stamp's low 32 bits, the status all of it. */
  link_store_u64(&d->results[entry].value, stamp << 32 | mock_device_value(item));
  link_release_u64(&d->results[entry].status,
                   stamp << VYRE_RING_STAMP_SHIFT | mock_device_status(item));
}

static void give_back(mock_device *d, uint64_t position, uint32_t n, uint32_t count)
{
  uint32_t *taken = &d->taken[position & d->capacity_mask];
  if (n != count) {
    if (own_add(taken, n) + n != count)
      return;
    /* Relaxed: the next user of the word comes after the store below, through the host. */
    __atomic_store_n(taken, 0, __ATOMIC_RELAXED);
  }
  link_release_u64(&d->released[position & d->completions_mask],
                   stamp_of(position) << VYRE_RING_STAMP_SHIFT | count << VYRE_RING_RELEASED_SHIFT);
}

uint32_t mock_device_step(mock_device *d, uint64_t *seed)
{
  /* Relaxed: a stale tail finds another stamp, or its exchange fails. */
  uint64_t tail = __atomic_load_n(&d->tail, __ATOMIC_RELAXED);
  const uint64_t position = tail >> VYRE_RING_INDEX_BITS;
  const uint32_t index = (uint32_t)(tail & VYRE_RING_INDEX_MASK);
  const vyre_ring_cell *cell = &d->cells[position & d->capacity_mask];
  const uint64_t published = link_load_u64(&cell->published);
  const uint32_t count = (uint32_t)(published & VYRE_RING_COUNT_MASK);
  uint32_t items[VYRE_RING_CELL_ITEMS][4], n;
  if (published >> VYRE_RING_STAMP_SHIFT != stamp_of(position))
    return 0;
  if (index >= count) {
    /* Nothing to claim here: passed over, and given back. */
    if (own_cas(&d->tail, &tail, next_cell(tail)))
      link_release_u64(&d->released[position & d->completions_mask], stamp_of(position)
                                                                         << VYRE_RING_STAMP_SHIFT);
    return 0;
  }
  n = dice(seed) % 3 ? count - index : dice(seed) % (count - index) + 1;
  if (!own_cas(&d->tail, &tail, index + n < count ? tail + n : next_cell(tail)))
    return 0;
  link_store_u64(&d->header->tail, index + n < count ? tail + n : next_cell(tail));
  for (uint32_t i = 0; i < n; ++i)
    link_copy_item(items[i], cell->item[index + i]);
  if (dice(seed) % 16 == 0)
    sched_yield();
  give_back(d, position, n, count);
  /* In an order of its own. */
  for (uint32_t i = n; i-- > 0;) {
    if (dice(seed) % 16 == 0)
      sched_yield();
    complete(d, tail + i, items[i]);
  }
  return n;
}

uint64_t mock_device_work(mock_device *device, uint64_t seed)
{
  uint64_t all = 0;
  for (;;) {
    /* Before the look: what was published before the host asked is served. */
    const bool leave = link_load_u32(&device->header->stop) != 0;
    const uint32_t n = mock_device_step(device, &seed);
    const uint64_t tail = __atomic_load_n(&device->tail, __ATOMIC_RELAXED);
    const vyre_ring_cell *cell =
        &device->cells[(tail >> VYRE_RING_INDEX_BITS) & device->capacity_mask];
    all += n;
    if (n)
      continue;
    if (leave && link_load_u64(&cell->published) >> VYRE_RING_STAMP_SHIFT !=
                     stamp_of(tail >> VYRE_RING_INDEX_BITS))
      return all;
    sched_yield();
  }
}
