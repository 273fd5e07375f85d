/*
 * matcher.c - drives the engine for a scan; matcher.h is the contract.
 *
 * A piece is an item of a fixed table, whose index is the work item's correlation:
 *
 *     FREE -> RUNNING -> FREE                   no match in it
 *                     -> STORED  -> FREE        its records lie in the bank until the swap
 *                     -> REJECTED -> RUNNING    records are missing: dropped, and run again alone
 *
 * The bank's halves are swapped without stopping: the first call turns new items to the other half,
 * and calls with timeout 0 go on while pieces are filled, until all earlier items are finished.
 */
#include "tools/scan/matcher.h"

#include "tools/scan/support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_SLOT UINT32_MAX
#define REAP_MANY 64u
/* A wait for a completion looks up this often; it costs nothing, for a completion ends it. */
#define WAIT_NS UINT64_C(100000000)
/* Records wait no longer than this for their swap while the scan goes on. */
#define SWAP_NS UINT64_C(50000000)

typedef enum item_state { FREE, RUNNING, STORED, REJECTED } item_state;

typedef struct item {
  void *owner;
  uint64_t base;
  uint64_t ticket;
  uint32_t prefix, size;
  uint32_t slot; /* NO_SLOT once the engine does not read it any more */
  uint32_t wanted, told;
  item_state state;
  uint32_t half;
} item;

/* A stored item by its ticket, to find the owner of a record. */
typedef struct ticket_row {
  uint64_t ticket;
  uint32_t index;
} ticket_row;

struct vyre__matcher {
  vyre_device *device;
  const vyre__automaton *automaton;
  const vyre_code *code;
  uint32_t code_count;
  vyre__matcher_options options;
  vyre__matcher_events events;
  vyre_engine *engine;
  uint8_t *input;

  uint32_t *free_slots, free_slot_count;
  item *items;
  uint32_t item_count;
  uint32_t *free_items, free_item_count;
  ticket_row *rows; /* room for every item */

  uint32_t half;         /* 0 or 1: where new items go */
  bool swapping;         /* the other half is being swapped out */
  uint32_t running[2];   /* items RUNNING, by half */
  uint32_t submitted[2]; /* items since the half was turned to */
  uint64_t wanted[2];    /* records that its finished items wanted */
  uint32_t stored, rejected;
  uint32_t densest; /* records of the densest piece of late */
  uint64_t swapped_ns;

  uint64_t old_launches; /* of engines before this one */
  uint64_t count, retries, swaps;
};

static uint64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static vyre_status fail(vyre_error *err, vyre_status status, const char *what)
{
  return SCAN_ERROR(err, status, 0, vyre_status_fix(status), "%s: %s", what,
                    vyre_status_text(status));
}

/* ---- engine ---- */

static uint32_t next_power(uint32_t value)
{
  uint32_t power = 1;

  while (power < value) {
    power *= 2;
  }
  return power;
}

static vyre_status start_engine(vyre__matcher *m, vyre_error *err)
{
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_handler_decl handler = VYRE_HANDLER_DECL_INIT;
  vyre_rule_set rules = VYRE_RULE_SET_INIT;
  vyre_status status;

  handler.name = "scan";
  handler.flags = VYRE_HANDLER_RECORDS;
  rules.constants = m->automaton->blob;
  rules.constants_size = m->automaton->blob_size;
  handlers.name = "scan";
  handlers.handlers = &handler;
  handlers.handler_count = 1;
  handlers.code = m->code;
  handlers.code_count = m->code_count;
  handlers.rule_sets = &rules;
  handlers.rule_set_count = 1;
  options.mode = m->options.mode;
  options.capacity = next_power(m->options.slots);
  options.bank_records = m->options.bank_records;
  options.input_size = (uint64_t)m->options.slot_size * m->options.slots;
  status = vyre_engine_start(m->device, &handlers, &options, &m->engine, err);
  if (status == VYRE_OK) {
    m->input = vyre_engine_input(m->engine, NULL);
  }
  return status;
}

static void stop_engine(vyre__matcher *m)
{
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;

  if (m->engine != NULL && vyre_engine_get_stats(m->engine, &stats, NULL) == VYRE_OK) {
    m->old_launches += stats.launches;
  }
  vyre_engine_destroy(m->engine);
  m->engine = NULL;
}

vyre_status vyre__matcher_create(vyre_device *device, const vyre__automaton *automaton,
                                 const vyre_code *code, uint32_t code_count,
                                 const vyre__matcher_options *options,
                                 const vyre__matcher_events *events, vyre__matcher **out_matcher,
                                 vyre_error *err)
{
  vyre__matcher *m = vyre__scan_alloc(1, sizeof *m);
  vyre_status status;
  uint32_t i;

  if (m == NULL) {
    return SCAN_NO_MEMORY(err, "the scan");
  }
  m->device = device;
  m->automaton = automaton;
  m->code = code;
  m->code_count = code_count;
  m->options = *options;
  m->events = *events;
  m->item_count = options->slots * 4;
  m->items = vyre__scan_alloc(m->item_count, sizeof *m->items);
  m->free_items = vyre__scan_alloc(m->item_count, sizeof *m->free_items);
  m->rows = vyre__scan_alloc(m->item_count, sizeof *m->rows);
  m->free_slots = vyre__scan_alloc(options->slots, sizeof *m->free_slots);
  if (m->items == NULL || m->free_items == NULL || m->rows == NULL || m->free_slots == NULL) {
    status = SCAN_NO_MEMORY(err, "the scan");
    goto done;
  }
  for (i = 0; i < m->item_count; i++) {
    m->free_items[m->free_item_count++] = m->item_count - 1 - i;
  }
  for (i = 0; i < options->slots; i++) {
    m->free_slots[m->free_slot_count++] = options->slots - 1 - i;
  }
  m->swapped_ns = now_ns();
  status = start_engine(m, err);
done:
  if (status != VYRE_OK) {
    vyre__matcher_destroy(m);
  } else {
    *out_matcher = m;
  }
  return status;
}

void vyre__matcher_destroy(vyre__matcher *m)
{
  if (m == NULL) {
    return;
  }
  vyre_engine_destroy(m->engine);
  vyre__scan_free(m->items);
  vyre__scan_free(m->free_items);
  vyre__scan_free(m->rows);
  vyre__scan_free(m->free_slots);
  vyre__scan_free(m);
}

/* ---- items ---- */

static void free_slot(vyre__matcher *m, item *it)
{
  if (it->slot != NO_SLOT) {
    m->free_slots[m->free_slot_count++] = it->slot;
    it->slot = NO_SLOT;
  }
}

static void finish_item(vyre__matcher *m, item *it)
{
  free_slot(m, it);
  it->state = FREE;
  m->free_items[m->free_item_count++] = (uint32_t)(it - m->items);
  m->events.done(m->events.self, it->owner);
}

static vyre_status complete(vyre__matcher *m, const vyre_completion *completion, vyre_error *err)
{
  item *it = &m->items[completion->correlation];

  if (completion->correlation >= m->item_count || it->state != RUNNING ||
      it->ticket != completion->ticket) {
    return fail(err, VYRE_ERROR_INTERNAL, "a completion of no work item");
  }
  m->running[it->half]--;
  it->wanted = completion->result;
  it->told = 0;
  if (completion->status == VYRE_OK && completion->result == 0) {
    m->densest -= m->densest / 8;
    finish_item(m, it);
    return VYRE_OK;
  }
  if (completion->status != VYRE_OK && completion->status != VYRE_ERROR_OVERFLOW) {
    return fail(err, completion->status, "a work item of the scan failed");
  }
  m->wanted[it->half] += completion->result;
  m->densest -= m->densest / 8;
  if (m->densest < completion->result) {
    m->densest = completion->result;
  }
  if (completion->status == VYRE_OK) {
    it->state = STORED;
    m->stored++;
    free_slot(m, it);
  } else {
    it->state = REJECTED; /* keeps its slot: its bytes are needed again */
    m->rejected++;
  }
  return VYRE_OK;
}

static vyre_status reap(vyre__matcher *m, uint64_t timeout_ns, vyre_error *err)
{
  vyre_completion completions[REAP_MANY];
  vyre_status status;
  uint32_t n = 0, i;

  do {
    status = vyre_engine_reap(m->engine, completions, REAP_MANY, timeout_ns, &n);
    if (status == VYRE_ERROR_EMPTY || status == VYRE_ERROR_TIMEOUT) {
      return VYRE_OK;
    }
    if (status != VYRE_OK) {
      return fail(err, status, "the engine of the scan stopped");
    }
    for (i = 0; i < n; i++) {
      status = complete(m, &completions[i], err);
      if (status != VYRE_OK) {
        return status;
      }
    }
    timeout_ns = 0;
  } while (n == REAP_MANY);
  return VYRE_OK;
}

/* ---- the bank ---- */

static int compare_rows(const void *left, const void *right)
{
  const ticket_row *a = left, *b = right;

  return a->ticket < b->ticket ? -1 : a->ticket > b->ticket;
}

/* The stored items of a half, sorted by ticket. */
static uint32_t list_stored(vyre__matcher *m, uint32_t half)
{
  uint32_t count = 0, i;

  for (i = 0; i < m->item_count; i++) {
    if (m->items[i].state == STORED && m->items[i].half == half) {
      m->rows[count].ticket = m->items[i].ticket;
      m->rows[count++].index = i;
    }
  }
  qsort(m->rows, count, sizeof *m->rows, compare_rows);
  return count;
}

/* Tells the records of a half whose items are all finished and reaped. */
static vyre_status tell_records(vyre__matcher *m, uint32_t half, const vyre_record *records,
                                uint32_t record_count, vyre_error *err)
{
  const uint32_t rows = list_stored(m, half);
  const ticket_row *row = NULL;
  ticket_row key = {0, 0};
  uint32_t i;
  item *it;

  for (i = 0; i < record_count; i++) {
    if (row == NULL || row->ticket != records[i].ticket) {
      key.ticket = records[i].ticket;
      row = rows == 0 ? NULL : bsearch(&key, m->rows, rows, sizeof *m->rows, compare_rows);
      if (row == NULL) {
        continue; /* of an item that runs again */
      }
    }
    it = &m->items[row->index];
    it->told++;
    if (records[i].value[0] > it->prefix &&
        !m->events.match(m->events.self, it->owner, it->base + records[i].value[0],
                         records[i].value[1])) {
      return SCAN_NO_MEMORY(err, "the matches of one file");
    }
  }
  for (i = 0; i < rows; i++) {
    it = &m->items[m->rows[i].index];
    if (it->told != it->wanted) {
      return fail(err, VYRE_ERROR_INTERNAL, "records of a work item are missing");
    }
    m->stored--;
    finish_item(m, it);
  }
  return VYRE_OK;
}

/* One step of a swap, which it begins if none is going on. */
static vyre_status swap_step(vyre__matcher *m, uint64_t timeout_ns, vyre_error *err)
{
  const vyre_record *records = NULL;
  vyre_status status;
  uint32_t count = 0, old;

  if (!m->swapping) {
    m->swapping = true;
    m->half ^= 1;
    m->submitted[m->half] = 0;
    m->wanted[m->half] = 0;
  }
  old = m->half ^ 1;
  status = vyre_engine_swap_bank(m->engine, timeout_ns, &records, &count);
  if (status == VYRE_ERROR_TIMEOUT || status == VYRE_ERROR_EMPTY) {
    return VYRE_OK;
  }
  if (status != VYRE_OK) {
    return fail(err, status, "the output bank of the scan could not be swapped");
  }
  m->swapping = false;
  m->swaps++;
  m->swapped_ns = now_ns();
  /* They are finished, but maybe not reaped: which of them overflowed has to be known first. */
  while (m->running[old] != 0) {
    status = reap(m, WAIT_NS, err);
    if (status != VYRE_OK) {
      return status;
    }
  }
  return tell_records(m, old, records, count, err);
}

static bool swap_is_due(const vyre__matcher *m)
{
  const uint64_t wanted = m->wanted[m->half];

  if (m->swapping) {
    return true;
  }
  if (wanted == 0) {
    return false;
  }
  return wanted >= m->options.bank_records / 4 || m->stored >= m->item_count / 4 ||
         m->rejected != 0 || now_ns() - m->swapped_ns > SWAP_NS;
}

static vyre_status step(vyre__matcher *m, uint64_t timeout_ns, vyre_error *err)
{
  vyre_status status = reap(m, timeout_ns, err);

  if (status == VYRE_OK && swap_is_due(m)) {
    status = swap_step(m, 0, err);
  }
  return status;
}

/* Until no item runs and no record waits; only REJECTED items are left. */
static vyre_status settle(vyre__matcher *m, vyre_error *err)
{
  vyre_status status = VYRE_OK;

  while (status == VYRE_OK &&
         (m->running[0] + m->running[1] != 0 || m->swapping || m->wanted[m->half] != 0)) {
    if (m->running[m->half ^ 1] != 0 || (m->running[m->half] != 0 && !m->swapping)) {
      status = reap(m, WAIT_NS, err);
    } else {
      status = swap_step(m, WAIT_NS, err);
    }
  }
  return status;
}

/* ---- submitting ---- */

static vyre_status submit_item(vyre__matcher *m, item *it, vyre_error *err)
{
  vyre_work_item work;
  vyre_status status;

  work.input_offset = it->slot * m->options.slot_size;
  work.input_len = it->size;
  work.rule_set_id = 0;
  work.correlation = (uint32_t)(it - m->items);
  while ((status = vyre_engine_submit(m->engine, &work, &it->ticket)) == VYRE_ERROR_QUEUE_FULL) {
    status = step(m, WAIT_NS, err);
    if (status != VYRE_OK) {
      return status;
    }
  }
  if (status != VYRE_OK) {
    return fail(err, status, "the engine of the scan takes no work");
  }
  it->state = RUNNING;
  it->half = m->half;
  m->running[m->half]++;
  m->submitted[m->half]++;
  return VYRE_OK;
}

/* A new engine whose bank has room for `records`; the bytes of rejected items move along. */
static vyre_status grow_bank(vyre__matcher *m, uint32_t records, vyre_error *err)
{
  const size_t slot_size = m->options.slot_size;
  uint8_t *kept = vyre__scan_alloc(m->rejected, slot_size);
  vyre_status status;
  size_t place = 0;
  uint32_t i;

  if (kept == NULL) {
    return SCAN_NO_MEMORY(err, "pieces with very many matches");
  }
  for (i = 0; i < m->item_count; i++) {
    if (m->items[i].state == REJECTED) {
      memcpy(kept + slot_size * place++, m->input + slot_size * m->items[i].slot, m->items[i].size);
    }
  }
  stop_engine(m);
  m->options.bank_records = records;
  status = start_engine(m, err);
  place = 0;
  for (i = 0; status == VYRE_OK && i < m->item_count; i++) {
    if (m->items[i].state == REJECTED) {
      memcpy(m->input + slot_size * m->items[i].slot, kept + slot_size * place++, m->items[i].size);
    }
  }
  vyre__scan_free(kept);
  return status;
}

/* Runs the rejected items again, each alone in an empty half that can take all that it wants. */
static vyre_status run_rejected(vyre__matcher *m, vyre_error *err)
{
  vyre_status status = settle(m, err);
  uint32_t most = 0, i;

  for (i = 0; i < m->item_count; i++) {
    if (m->items[i].state == REJECTED && m->items[i].wanted > most) {
      most = m->items[i].wanted;
    }
  }
  if (status == VYRE_OK && most > m->options.bank_records) {
    status = grow_bank(m, most, err);
  }
  for (i = 0; status == VYRE_OK && m->rejected != 0 && i < m->item_count; i++) {
    if (m->items[i].state != REJECTED) {
      continue;
    }
    m->rejected--;
    m->retries++;
    status = submit_item(m, &m->items[i], err);
    if (status == VYRE_OK) {
      status = settle(m, err);
    }
    if (status == VYRE_OK && m->items[i].state == REJECTED) {
      status = fail(err, VYRE_ERROR_INTERNAL, "a work item overflowed an empty bank");
    }
  }
  return status;
}

vyre_status vyre__matcher_take(vyre__matcher *m, uint8_t **out_bytes, uint32_t *out_slot,
                               vyre_error *err)
{
  vyre_status status = VYRE_OK;

  if (m->free_slot_count < m->options.slots / 2) {
    status = step(m, 0, err);
  }
  while (status == VYRE_OK) {
    /* Where pieces are dense, the half takes no more of them than it has room for. */
    const bool full = m->submitted[m->half] != 0 &&
                      (uint64_t)(m->submitted[m->half] + 1) * m->densest > m->options.bank_records;
    if (m->rejected != 0) {
      status = run_rejected(m, err);
    } else if (m->free_slot_count == 0 || (full && m->running[m->half ^ 1] != 0)) {
      status = step(m, WAIT_NS, err);
    } else if ((full || m->free_item_count == 0) && m->running[m->half] != 0 &&
               m->wanted[m->half] == 0) {
      status = step(m, WAIT_NS, err);
    } else if (full || m->free_item_count == 0) {
      /* Beginning a swap gives new items room at once; only one that goes on is waited for. */
      status = swap_step(m, m->swapping ? WAIT_NS : 0, err);
    } else {
      break;
    }
  }
  if (status == VYRE_OK) {
    *out_slot = m->free_slots[--m->free_slot_count];
    *out_bytes = m->input + (size_t)*out_slot * m->options.slot_size;
  }
  return status;
}

void vyre__matcher_put_back(vyre__matcher *m, uint32_t slot)
{
  m->free_slots[m->free_slot_count++] = slot;
}

vyre_status vyre__matcher_submit(vyre__matcher *m, uint32_t slot, void *owner, uint64_t base,
                                 uint32_t prefix, uint32_t size, vyre_error *err)
{
  item *it = &m->items[m->free_items[--m->free_item_count]];

  it->owner = owner;
  it->base = base;
  it->prefix = prefix;
  it->size = size;
  it->slot = slot;
  m->count++;
  return submit_item(m, it, err);
}

vyre_status vyre__matcher_look(vyre__matcher *m, uint32_t *out_room, vyre_error *err)
{
  const vyre_status status = m->free_slot_count < m->options.slots / 2 ? step(m, 0, err) : VYRE_OK;

  *out_room = m->free_slot_count;
  return status;
}

vyre_status vyre__matcher_flush(vyre__matcher *m, vyre_error *err)
{
  vyre_status status = settle(m, err);

  if (status == VYRE_OK && m->rejected != 0) {
    status = run_rejected(m, err);
  }
  return status;
}

const char *vyre__matcher_choice(const vyre__matcher *m)
{
  return vyre_engine_choice(m->engine);
}

void vyre__matcher_get_stats(const vyre__matcher *m, vyre__matcher_stats *out_stats)
{
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;

  memset(out_stats, 0, sizeof *out_stats);
  if (m->engine != NULL) {
    (void)vyre_engine_get_stats(m->engine, &stats, NULL);
  }
  out_stats->launches = m->old_launches + stats.launches;
  out_stats->items = m->count;
  out_stats->retries = m->retries;
  out_stats->swaps = m->swaps;
  out_stats->persistent = stats.persistent != 0;
  out_stats->workers = stats.workers;
  out_stats->bank_records = m->options.bank_records;
}
