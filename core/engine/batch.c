/*
 * batch.c - the thread that serves the ring where nothing stays on the device: it claims what is
 * there, runs it in one ordinary dispatch, and posts the results as the device would.
 *
 * Needs tier 1 only.  It is the ring's one consumer, so it claims without an exchange.  Items of
 * one launch fill the same half of the bank; the places that are left in it are the launch's own.
 */
#include "core/engine/engine.h"

#include <string.h>

/* How often a wait for a launch looks whether the device was lost. */
#define LOOK_NS 50000000u

static bool is_published(const vyre_ring *ring, uint64_t position, uint32_t *out_low)
{
  /* Acquire: pairs with the submitter's release; the items are whole behind it. */
  const uint64_t word =
      __atomic_load_n(&ring->cells[position & ring->capacity_mask].published, __ATOMIC_ACQUIRE);
  *out_low = (uint32_t)word & (VYRE_RING_COUNT_MASK | VYRE_RING_CELL_PHASE);
  return vyre__ring_stamp_of(word) == vyre__ring_stamp(position);
}

/* Copies the `count` items of a cell behind the `n` that the batch has, and releases the cell. */
static void take_cell(vyre_engine *engine, uint64_t position, uint32_t count, uint32_t n)
{
  vyre_ring *ring = engine->ring;
  const vyre_ring_cell *cell = &ring->cells[position & ring->capacity_mask];
  vyre_engine_batch_item *items = engine->batch.items + n;
  for (uint32_t i = 0; i < count; ++i) {
    items[i].ticket = vyre__ring_ticket(position, i);
    memcpy(items[i].item, cell->item[i], sizeof cell->item[i]);
  }
  /* Release: pairs with the submitter's acquire; the items were copied out before. */
  __atomic_store_n(&ring->released[position & ring->released_mask],
                   vyre__ring_released_word(position, count), __ATOMIC_RELEASE);
}

/* Takes whole cells of one phase out of the ring; returns how many items. */
static uint32_t gather(vyre_engine *engine, uint64_t *position, uint32_t *out_half)
{
  uint32_t n = 0, low;
  while (is_published(engine->ring, *position, &low)) {
    const uint32_t count = low & VYRE_RING_COUNT_MASK, half = (low & VYRE_RING_CELL_PHASE) != 0;
    if (n + count > engine->batch.most || (n && half != *out_half))
      break;
    if (count)
      *out_half = half;
    take_cell(engine, *position, count, n);
    *position = vyre__ring_step(*position, 1);
    n += count;
  }
  /* Relaxed: one tells which items are in hand, the other is a mirror for statistics. */
  __atomic_store_n(&engine->workers[0].until, vyre__ring_ticket(*position, 0), __ATOMIC_RELAXED);
  __atomic_store_n(&engine->ring->header->tail, vyre__ring_ticket(*position, 0), __ATOMIC_RELAXED);
  return n;
}

/* The places that are left in a half of the bank. */
static uint32_t places_left(const vyre_engine *engine, uint32_t half)
{
  /* The pump alone counts; the baseline was written before this phase's items were published. */
  const uint64_t used = engine->workers[0].stored[half] - engine->bank.baseline[half];
  return engine->plan.bank_records - (uint32_t)used;
}

/* What is written and has no buffer comes back through slots, in the order of the bindings. */
static void add_slot(vyre_slot *slots, uint32_t *count, void *data, uint64_t size)
{
  /* An id that no binding has: a slot that stays as it is was not filled. */
  slots[*count] = (vyre_slot){
      .struct_size = sizeof slots[0], .binding_id = UINT32_MAX, .data = data, .capacity = size};
  ++*count;
}

/* READ-002: every slot was filled, by the right binding and to its size. */
static bool are_filled(const vyre_slot *slots, uint32_t count, uint64_t results, uint64_t records)
{
  const uint32_t ids[3] = {VYRE_ENGINE_CONTROL, VYRE_ENGINE_STATE, VYRE_ENGINE_RECORDS};
  const uint64_t sizes[3] = {results, sizeof(vyre_engine_state), records};
  for (uint32_t i = 0; i < count; ++i)
    if (slots[i].binding_id != ids[i] || slots[i].size != sizes[i])
      return false;
  return true;
}

/* The launch's own end, or DEVICE_LOST if another call found that: it may never end then. */
static vyre_status wait_for_end(const vyre_engine *engine, vyre_backend_pending *pending)
{
  const vyre_backend *backend = engine->device->backend;
  vyre_status status;
  do {
    status = backend->pending_wait(pending, LOOK_NS, NULL);
    if (status == VYRE_ERROR_TIMEOUT && vyre__engine_is_lost(engine))
      status = VYRE_ERROR_DEVICE_LOST;
  } while (status == VYRE_ERROR_TIMEOUT);
  return status;
}

static vyre_status run(vyre_engine *engine, uint32_t n, uint32_t half)
{
  const vyre_backend *backend = engine->device->backend;
  vyre__engine_batch *batch = &engine->batch;
  const uint32_t left = places_left(engine, half);
  const uint64_t start =
      ((uint64_t)half * engine->plan.bank_records + (engine->plan.bank_records - left)) *
      sizeof(vyre_record);
  const vyre__region items = {.host = batch->items}, none = {0};
  const vyre_engine_push push = {.input_size = engine->plan.input_size,
                                 .rule_sets = engine->rule_sets,
                                 .bank_records = left,
                                 .items = n};
  vyre_binding bindings[VYRE_ENGINE_BINDINGS] = {
      vyre__engine_bind(engine, VYRE_ENGINE_RING, &items, 0, n * sizeof *batch->items,
                        VYRE_READ_ONLY),
      vyre__engine_bind(engine, VYRE_ENGINE_CONTROL, &none, 0, n * sizeof *batch->results,
                        VYRE_WRITE_ONLY),
      vyre__engine_bind(engine, VYRE_ENGINE_STATE, &none, 0, sizeof batch->scratch,
                        VYRE_READ_WRITE),
      vyre__engine_bind(engine, VYRE_ENGINE_RULES, &engine->rules, 0, engine->rules.size,
                        VYRE_READ_ONLY),
      vyre__engine_bind(engine, VYRE_ENGINE_INPUT, &engine->input, 0, engine->input.size,
                        VYRE_READ_ONLY),
      vyre__engine_bind(engine, VYRE_ENGINE_RECORDS, &engine->records, start,
                        left * sizeof(vyre_record), VYRE_READ_WRITE)};
  const vyre_dispatch_desc desc = {.struct_size = sizeof desc,
                                   .binding_count = VYRE_ENGINE_BINDINGS,
                                   .kernel = engine->kernel,
                                   .bindings = bindings,
                                   .binding_stride = sizeof bindings[0],
                                   .groups = {(n + batch->workgroup - 1) / batch->workgroup, 1, 1},
                                   .workgroup = {batch->workgroup, 1, 1},
                                   .push = &push,
                                   .push_size = sizeof push,
                                   .id_limit = VYRE_ENGINE_BINDINGS};
  vyre_backend_pending *pending = NULL;
  vyre_slot slots[3];
  uint32_t slot_count = 0;
  vyre_status status;
  add_slot(slots, &slot_count, batch->results, n * sizeof *batch->results);
  add_slot(slots, &slot_count, &batch->scratch, sizeof batch->scratch);
  if (!engine->records.buffer) {
    bindings[VYRE_ENGINE_RECORDS].data = NULL; /* places that are left hold nothing yet */
    add_slot(slots, &slot_count, engine->records.host ? (char *)engine->records.host + start : NULL,
             left * sizeof(vyre_record));
  }
  status = backend->dispatch(engine->handle, &desc, &pending, NULL);
  if (status == VYRE_OK && !pending)
    status = VYRE_ERROR_INTERNAL; /* the plugin breaks its rules */
  if (status != VYRE_OK)
    return vyre__engine_note(engine, status);
  __atomic_fetch_add(&engine->launches, 1, __ATOMIC_RELAXED); /* statistics */
  status = wait_for_end(engine, pending);
  if (status == VYRE_OK)
    status = backend->pending_read(pending, slots, slot_count, sizeof slots[0], NULL, NULL);
  /* Waiters first: a lost device may be slow to let go of the launch. */
  if (vyre__engine_note(engine, status) == VYRE_ERROR_DEVICE_LOST)
    vyre__engine_abort(engine, status);
  backend->pending_release(pending);
  if (status == VYRE_OK &&
      !are_filled(slots, slot_count, n * sizeof *batch->results, left * sizeof(vyre_record)))
    status = VYRE_ERROR_INTERNAL; /* likewise: nothing of it can be trusted */
  return vyre__engine_note(engine, status);
}

/* Posts the results; the same words in the same order as vyre__complete() in engine_kernel.c. */
static void post(vyre_engine *engine, uint32_t n, uint32_t half)
{
  const vyre__engine_batch *batch = &engine->batch;
  vyre_engine_worker *own = &engine->workers[0];
  const uint32_t left = places_left(engine, half);
  uint64_t stored = 0;
  for (uint32_t i = 0; i < n; ++i)
    stored += batch->results[i].stored;
  /* Whatever a device says, it had no more places than that. */
  stored = own->stored[half] + (stored < left ? stored : left);
  /* Relaxed: the results publish it. */
  __atomic_store_n(&own->stored[half], stored, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t ticket = batch->items[i].ticket, position = vyre__ring_position_of(ticket);
    const uint64_t stamp = vyre__ring_stamp(position);
    const uint32_t status = batch->results[i].status;
    vyre_ring_result *result =
        &engine->ring->results[vyre__engine_entry(engine, position, vyre__ring_index_of(ticket))];
    __atomic_store_n(&result->value, stamp << 32 | batch->results[i].value, __ATOMIC_RELAXED);
    /* Release: pairs with the acquire in vyre__engine_look().  The word has 8 bits for a code. */
    __atomic_store_n(&result->status,
                     vyre__ring_word(stamp) |
                         (status < VYRE_STATUS_COUNT ? status : VYRE_ERROR_INTERNAL),
                     __ATOMIC_RELEASE);
  }
  /* Release: pairs with the acquire in vyre__engine_done(). */
  __atomic_store_n(&own->done, own->done + n, __ATOMIC_RELEASE);
  vyre__engine_tell(engine);
}

/* Sleeps until an item is there or the thread is asked to end; false for the end. */
static bool rest(vyre_engine *engine, uint64_t position)
{
  vyre_ring_wake *wake = &engine->ring->header->not_empty;
  uint32_t low;
  for (;;) {
    const uint32_t epoch = vyre__wake_prepare(wake);
    /* Acquire: pairs with the release of whoever asks the thread to end. */
    const bool stopping = __atomic_load_n(&engine->stopping, __ATOMIC_ACQUIRE);
    if (stopping || is_published(engine->ring, position, &low)) {
      vyre__wake_cancel(wake);
      return !stopping;
    }
    vyre__wake_sleep(wake, epoch, VYRE_NO_TIMEOUT);
  }
}

void *vyre__engine_pump(void *self)
{
  vyre_engine *engine = self;
  uint64_t position = engine->first_position;
  while (rest(engine, position)) {
    uint32_t half = 0;
    const uint32_t n = gather(engine, &position, &half);
    vyre_status status = vyre__device_check(engine->device, engine->generation, NULL);
    /* After an abort what comes in is dropped: it is finished already. */
    if (!n || __atomic_load_n(&engine->aborted, __ATOMIC_RELAXED) != VYRE_OK)
      continue;
    if (status == VYRE_OK)
      status = run(engine, n, half);
    if (status == VYRE_OK)
      post(engine, n, half);
    else
      vyre__engine_abort(engine, status);
  }
  vyre__engine_thread_ended(engine);
  return NULL;
}
