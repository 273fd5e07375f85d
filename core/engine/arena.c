/* arena.c - blocks of the engine's input region, and submitting bytes through them; see arena.h. */
#include "core/engine/arena.h"

#include "core/base/checked.h"
#include "core/engine/engine.h"

#include <string.h>

#define ALIGN 16u /* of a block; leaves the low bits of a position for the marks */
#define MARKS 3u
#define BACK 1u /* given back, but an older block is still out */
#define ITEM 2u /* belongs to an item: goes back with its completion */

/* How often a wait looks by itself.  For room in the region it only has to see a lost device; room
   in the ring is made by a device that tells nobody. */
#define REGION_LOOK_NS 50000000u
#define RING_LOOK_NS 50000u
#define RING_LOOK_MOST_NS 5000000u

/* ---- making ---- */

/* As many blocks as fit, or as there can be items. */
static uint32_t table_size(const vyre_engine *engine, uint64_t entries)
{
  const uint64_t fit = (engine->plan.input_size + ALIGN - 1) / ALIGN;
  const uint64_t most = fit < entries ? fit : entries;
  return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX - 1; /* a number + 1 fits too */
}

vyre_status vyre__arena_make(vyre_engine *engine, vyre_error *err)
{
  vyre__engine_arena *arena = &engine->arena;
  const uint64_t entries = (engine->ring->completions_mask + 1) << VYRE_RING_INDEX_BITS;
  if (!engine->input.owned || !engine->input.host || !engine->plan.input_size)
    return VYRE_OK;
  arena->places = table_size(engine, entries);
  arena->blocks = vyre__allocate_zeroed(&engine->allocator, arena->places, sizeof *arena->blocks);
  arena->of_items = vyre__allocate_zeroed(&engine->allocator, entries, sizeof *arena->of_items);
  if (!arena->blocks || !arena->of_items)
    return VYRE_FAIL_MEMORY(err, "the blocks of the engine's input");
  /* Touched here, so that no fault comes between taking a place and publishing it. */
  for (uint64_t i = 0; i < entries; ++i)
    __atomic_store_n(&arena->of_items[i], VYRE__NO_BLOCK, __ATOMIC_RELAXED);
  pthread_mutex_init(&arena->lock, NULL);
  arena->made = true;
  arena->size = engine->plan.input_size;
  arena->lap = (arena->size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
  return VYRE_OK;
}

void vyre__arena_free(vyre_engine *engine)
{
  vyre__engine_arena *arena = &engine->arena;
  if (arena->made)
    pthread_mutex_destroy(&arena->lock);
  vyre__deallocate(&engine->allocator, arena->blocks);
  vyre__deallocate(&engine->allocator, arena->of_items);
}

/* ---- blocks ---- */

/* The lock is held in the next four. */

static uint64_t *block_at(vyre__engine_arena *arena, uint64_t number)
{
  return &arena->blocks[number % arena->places];
}

static uint64_t position_at(vyre__engine_arena *arena, uint64_t number)
{
  return *block_at(arena, number) & ~(uint64_t)MARKS;
}

/* False if there is no room now. */
static bool take(vyre__engine_arena *arena, uint32_t size, uint32_t marks, uint64_t *out_number,
                 uint32_t *out_offset)
{
  uint64_t start = arena->head, offset = start % arena->lap, end, oldest;
  if (arena->next - arena->first == arena->places)
    return false;
  if (size > arena->size - offset) {
    start += arena->lap - offset;
    offset = 0;
  }
  end = start + (((uint64_t)size + ALIGN - 1) & ~(uint64_t)(ALIGN - 1));
  oldest = arena->next == arena->first ? start : position_at(arena, arena->first);
  if (end - oldest > arena->lap)
    return false;
  *out_number = arena->next++;
  *block_at(arena, *out_number) = start | marks;
  arena->head = end;
  *out_offset = (uint32_t)offset;
  return true;
}

/* Marks a block as given back; true if room came of it. */
static bool give_back(vyre__engine_arena *arena, uint64_t number)
{
  const uint64_t before = arena->first;
  *block_at(arena, number) |= BACK;
  while (arena->first != arena->next && *block_at(arena, arena->first) & BACK)
    ++arena->first;
  return arena->first != before;
}

/* The number of the block that is out and begins at an offset; `next` if there is none. */
static uint64_t find(vyre__engine_arena *arena, uint32_t offset)
{
  uint64_t low = arena->first, high = arena->next, position;
  /* A block begins at a multiple of ALIGN; another offset would be taken for a position's marks. */
  if (low == high || offset >= arena->lap || offset % ALIGN)
    return arena->next;
  /* The one position with this offset that is not before the oldest block's. */
  position = position_at(arena, low);
  position += (offset + arena->lap - position % arena->lap) % arena->lap;
  while (high - low > 1) { /* positions grow with the numbers */
    const uint64_t middle = low + (high - low) / 2;
    if (position_at(arena, middle) <= position)
      low = middle;
    else
      high = middle;
  }
  return *block_at(arena, low) == position ? low : arena->next; /* no mark: out, and by hand */
}

void vyre__arena_tell(vyre_engine *engine)
{
  vyre__wake_all(&engine->arena.room);
}

void vyre__arena_return(vyre_engine *engine, const uint32_t *blocks, uint32_t n)
{
  vyre__engine_arena *arena = &engine->arena;
  bool room = false;
  uint32_t any = VYRE__NO_BLOCK;
  for (uint32_t i = 0; i < n; ++i)
    any |= blocks[i];
  if (any == VYRE__NO_BLOCK)
    return;
  pthread_mutex_lock(&arena->lock);
  for (uint32_t i = 0; i < n; ++i)
    if (blocks[i] != VYRE__NO_BLOCK && give_back(arena, blocks[i] - 1))
      room = true;
  pthread_mutex_unlock(&arena->lock);
  if (room)
    vyre__arena_tell(engine);
}

/* ---- waiting for room ---- */

/* QUEUE_FULL while there is no room; any other status ends the wait. */
typedef vyre_status (*attempt_fn)(vyre_engine *engine, void *call);

static vyre_status spin(vyre_engine *engine, attempt_fn attempt, void *call, uint64_t deadline)
{
  const uint64_t now = vyre__now_ns();
  const uint64_t end = deadline - now > engine->spin_ns ? now + engine->spin_ns : deadline;
  vyre_status status = VYRE_ERROR_QUEUE_FULL;
  while (status == VYRE_ERROR_QUEUE_FULL && vyre__now_ns() < end) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
    status = attempt(engine, call);
  }
  return status;
}

static vyre_status wait_for_room(vyre_engine *engine, attempt_fn attempt, void *call,
                                 uint64_t deadline, uint64_t look_ns, uint64_t most_ns)
{
  vyre_ring_wake *wake = &engine->arena.room;
  vyre_status status = attempt(engine, call);
  if (status == VYRE_ERROR_QUEUE_FULL)
    status = spin(engine, attempt, call, deadline);
  while (status == VYRE_ERROR_QUEUE_FULL) {
    /* The sleeper counts itself in before it looks: see vyre__wake_prepare() for the fences. */
    const uint32_t epoch = vyre__wake_prepare(wake);
    const uint64_t now = vyre__now_ns();
    status = attempt(engine, call);
    if (status == VYRE_ERROR_QUEUE_FULL && now >= deadline)
      status = VYRE_ERROR_TIMEOUT;
    if (status != VYRE_ERROR_QUEUE_FULL) {
      vyre__wake_cancel(wake);
      break;
    }
    vyre__wake_sleep(wake, epoch, deadline - now < look_ns ? deadline : now + look_ns);
    look_ns = 2 * look_ns < most_ns ? 2 * look_ns : most_ns;
  }
  return status;
}

/* ---- the calls ---- */

typedef struct taking {
  uint32_t size;
  uint32_t marks;
  uint64_t number;
  uint32_t offset;
} taking;

static vyre_status attempt_take(vyre_engine *engine, void *call)
{
  vyre__engine_arena *arena = &engine->arena;
  taking *one = call;
  vyre_status status = vyre__engine_open_status(engine);
  bool taken;
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&arena->lock);
  taken = take(arena, one->size, one->marks, &one->number, &one->offset);
  pthread_mutex_unlock(&arena->lock);
  return taken ? VYRE_OK : VYRE_ERROR_QUEUE_FULL;
}

static vyre_status reserve(vyre_engine *engine, taking *one, uint64_t timeout_ns, uint64_t deadline)
{
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  if (!one->size || one->size > engine->arena.size)
    return VYRE_ERROR_INVALID_ARGUMENT;
  if (!timeout_ns)
    return attempt_take(engine, one);
  return wait_for_room(engine, attempt_take, one, deadline, REGION_LOOK_NS, REGION_LOOK_NS);
}

vyre_status vyre_engine_input_reserve(vyre_engine *engine, uint32_t size, uint64_t timeout_ns,
                                      uint32_t *out_offset, void **out_bytes)
{
  taking one = {.size = size};
  vyre_status status;
  if (!out_offset)
    return VYRE_ERROR_INVALID_ARGUMENT;
  status = reserve(engine, &one, timeout_ns, vyre__deadline(timeout_ns));
  if (status != VYRE_OK)
    return status;
  *out_offset = one.offset;
  if (out_bytes)
    *out_bytes = (char *)engine->input.host + one.offset;
  return VYRE_OK;
}

vyre_status vyre_engine_input_release(vyre_engine *engine, uint32_t offset)
{
  vyre__engine_arena *arena;
  bool found, room = false;
  uint64_t number;
  vyre_status status = vyre__engine_check(engine);
  if (status != VYRE_OK)
    return status;
  arena = &engine->arena;
  if (!arena->made)
    return VYRE_ERROR_INVALID_ARGUMENT;
  pthread_mutex_lock(&arena->lock);
  number = find(arena, offset);
  found = number != arena->next;
  if (found)
    room = give_back(arena, number);
  pthread_mutex_unlock(&arena->lock);
  if (room)
    vyre__arena_tell(engine);
  return found ? VYRE_OK : VYRE_ERROR_INVALID_ARGUMENT;
}

typedef struct submitting {
  vyre_work_item item;
  uint32_t block;
  uint64_t ticket;
} submitting;

static vyre_status attempt_submit(vyre_engine *engine, void *call)
{
  submitting *one = call;
  return vyre__engine_submit_block(engine, &one->item, one->block, &one->ticket);
}

vyre_status vyre_engine_submit_bytes(vyre_engine *engine, const void *bytes, uint32_t size,
                                     uint32_t rule_set_id, uint32_t correlation,
                                     uint64_t timeout_ns, uint64_t *out_ticket)
{
  const uint64_t deadline = vyre__deadline(timeout_ns);
  submitting call = {{0, size, rule_set_id, correlation}, VYRE__NO_BLOCK, 0};
  taking one = {.size = size, .marks = ITEM};
  vyre_status status;
  if (!bytes)
    return VYRE_ERROR_INVALID_ARGUMENT;
  status = reserve(engine, &one, timeout_ns, deadline);
  if (status != VYRE_OK)
    return status;
  memcpy((char *)engine->input.host + one.offset, bytes, size);
  call.item.input_offset = one.offset;
  call.block = (uint32_t)(one.number % engine->arena.places) + 1;
  /* Relaxed: published with the item; see vyre__arena_assign() and vyre__arena_block(). */
  __atomic_store_n(&engine->arena.serves_items, 1, __ATOMIC_RELAXED);
  status = timeout_ns ? wait_for_room(engine, attempt_submit, &call, deadline, RING_LOOK_NS,
                                      RING_LOOK_MOST_NS)
                      : attempt_submit(engine, &call);
  if (status != VYRE_OK)
    vyre__arena_return(engine, &call.block, 1);
  else if (out_ticket)
    *out_ticket = call.ticket;
  return status;
}
