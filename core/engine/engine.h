/*
 * engine.h - a running engine: its memory, its thread, and the words that its calls share.
 *
 * Who serves the ring is one thread of the engine's own:
 *   keeper  keeps a persistent launch there while anything is unfinished (keeper.c);
 *   pump    where launches are batched: claims items and dispatches them itself (batch.c).
 * Everything else runs in the callers' threads.  Nothing is allocated for an item.
 */
#ifndef VYRE_CORE_ENGINE_ENGINE_H
#define VYRE_CORE_ENGINE_ENGINE_H

#include "core/base/clock.h"
#include "core/device/device.h"
#include "core/ring/ring.h"

#include "core/engine/arena.h"
#include "core/engine/engine_layout.h"

#include <pthread.h>

/* Memory that the device uses.  Without a device buffer it travels as host bytes. */
typedef struct vyre__region {
  void *host;                  /* NULL: the host cannot reach it */
  vyre_backend_buffer *buffer; /* NULL: host bytes only */
  uint64_t size;
  bool owned; /* freed with the engine */
} vyre__region;

/* The options with every default filled in. */
typedef struct vyre__engine_plan {
  uint32_t capacity;
  uint32_t max_unfinished;
  uint32_t workers;
  uint32_t width; /* work items of a worker, persistent; above 1 for engine_wide_kernel.c */
  uint32_t bank_records;
  uint64_t input_size;
  vyre_buffer *input;
  uint64_t max_idle_ns;
  uint64_t max_resident_ns;
  uint64_t max_item_ns;    /* 0: no limit */
  uint32_t max_idle_polls; /* 0: no limit */
  vyre_engine_mode mode;
  bool persistent;
} vyre__engine_plan;

/* Batched launches: one list of items and its results. */
typedef struct vyre__engine_batch {
  uint32_t most; /* items of one launch */
  uint32_t workgroup;
  vyre_engine_batch_item *items;
  vyre_engine_batch_result *results;
  vyre_engine_state scratch; /* where the cursor comes back; not looked at */
} vyre__engine_batch;

/* The output bank, as vyre_engine_swap_bank() sees it. */
typedef struct vyre__engine_bank {
  uint32_t active;      /* the half that new items fill */
  bool swapping;        /* a swap has begun and not ended */
  uint64_t boundary;    /* the first position that fills `active` */
  uint64_t previous;    /* the boundary before */
  uint64_t baseline[2]; /* records counted in each half before its present use */
} vyre__engine_bank;

struct vyre_engine {
  vyre_device *device; /* retained */
  uint64_t generation;
  /* The device's when the engine was made.  It stays open as long as the engine is there, also
     behind a recovery: what was made with it is never used with another one. */
  vyre_backend_device *handle;
  vyre_allocator allocator;
  vyre__engine_plan plan;
  char *choice;
  uint64_t spin_ns;  /* how long a wait spins before it sleeps */
  uint64_t slice_ns; /* longest sleep where the device cannot wake the host */
  bool shares_cores; /* the workers run on the host's own cores */
  bool notify;       /* the server of the ring wakes sleepers */
  bool threaded;     /* there is a thread to join */
  bool joined;       /* the device knows of the launch */
  uint32_t rule_sets;

  vyre_backend_module *module;
  vyre_backend_kernel *kernel;

  vyre_ring *ring;
  vyre_engine_control *control;
  vyre_engine_worker *workers;
  const uint64_t *done; /* items completed, by worker; written by the device */
  uint32_t done_step;   /* words from one to the next */
  vyre__region ring_memory;
  vyre__region control_memory;
  vyre__region state;
  vyre__region rules;
  vyre__region input;
  vyre__region records;
  uint64_t first_position;

  uint32_t *correlations; /* an entry for each of results[]; atomic, relaxed */

  pthread_t thread;
  vyre_backend_pending *launch; /* the keeper's own */
  vyre_ring_wake keeper;        /* where the keeper sleeps */
  vyre_ring_wake ended;         /* where stop and destroy sleep until the thread has ended */
  vyre__engine_bank bank;
  vyre__engine_batch batch;
  vyre__engine_arena arena;
  vyre__resident resident; /* what the device knows of the launch */
  vyre__deferred freeing;

  /* Items in places that were taken; any submitter.  On lines that nobody else writes. */
  uint64_t pad0[16];
  uint64_t submitted;
  uint64_t pad1[15];

  /* Atomic words, each with its writers. */
  uint64_t oldest;     /* all items of the places before this position are consumed; any reaper */
  uint64_t consumed;   /* completions handed out; any reaper */
  uint64_t overflows;  /* any reaper */
  uint64_t launches;   /* the thread */
  uint64_t idle_exits; /* the thread */
  uint32_t stopping;   /* 1: the thread ends once its launch has; stop, destroy */
  uint32_t has_ended;  /* 1: the thread uses nothing any more; the thread */
  vyre_status aborted; /* what unfinished items complete with; OK: they are still to be served */
};

#ifdef VYRE_TESTING
/* The first position of engines that are started from now on. */
extern uint64_t vyre__engine_first_position;
/* Work items of a worker of engines that are started from now on; 0: as suits the device. */
extern uint32_t vyre__engine_width;
#endif

/* ---- options.c, rules.c, choice.c, memory.c ---- */

/* Reads the options and fills in the defaults. */
vyre_status vyre__engine_read_options(const vyre_device *device, const vyre_engine_options *options,
                                      vyre__engine_plan *out_plan, vyre_error *err);

/* Decides persistent or batched; `*out_choice` is a text of the device's allocator. */
vyre_status vyre__engine_choose(const vyre_device *device, vyre__engine_plan *plan,
                                char **out_choice, vyre_error *err);

/* Checks the rule sets against the handler table. */
vyre_status vyre__engine_check_rules(const vyre_engine_handlers *handlers, vyre_error *err);

/* The table of rule sets with the constants behind it. */
vyre_status vyre__engine_build_rules(vyre_engine *engine, const vyre_engine_handlers *handlers,
                                     vyre_error *err);

/* Everything but the rules.  On an error the caller frees what there is. */
vyre_status vyre__engine_make_memory(vyre_engine *engine, vyre_error *err);
void vyre__engine_free_memory(vyre_engine *engine);

/* A device buffer that holds `data`. */
vyre_status vyre__engine_make_buffer(vyre_engine *engine, vyre__region *region, const void *data,
                                     uint64_t size, vyre_error *err);

/* ---- wait.c ---- */

/*
 * True once the wait is over.  Otherwise `*out_blocked` is the ticket that it waits for, or the
 * next one to be issued if it waits for none in particular.
 */
typedef bool (*vyre__engine_condition)(vyre_engine *engine, void *self, uint64_t *out_blocked);

/* OK; TIMEOUT at the deadline, or because the blocking item runs longer than max_item_ms. */
vyre_status vyre__engine_wait_until(vyre_engine *engine, vyre__engine_condition condition,
                                    void *self, uint64_t timeout_ns);

/* INVALID_ARGUMENT for NULL, FORKED in a child, else OK. */
vyre_status vyre__engine_check(const vyre_engine *engine);

/* The lowest ticket without a result, or the next one to be issued. */
uint64_t vyre__engine_first_unfinished(const vyre_engine *engine);

/* Wakes everybody who waits for completions. */
void vyre__engine_tell(vyre_engine *engine);

/* ---- submit.c, reap.c, drain.c ---- */

/* The next position to be handed out. */
uint64_t vyre__engine_head(const vyre_engine *engine);

/* An item's entry in results[] and correlations[]. */
static inline uint64_t vyre__engine_entry(const vyre_engine *engine, uint64_t position,
                                          uint32_t index)
{
  return (position & engine->ring->completions_mask) << VYRE_RING_INDEX_BITS | index;
}

/* Items that were completed by the device or the pump; acquire: their results are there. */
uint64_t vyre__engine_done(const vyre_engine *engine);

/* True while some accepted item has no result. */
bool vyre__engine_unfinished(const vyre_engine *engine);

/* What one look at a place finds.  Bit i stands for the item of index i. */
typedef struct vyre__engine_place {
  uint64_t word;     /* of completion[] */
  bool published;    /* false: its items are not there yet, and not counted */
  uint32_t pending;  /* items whose completion nobody has taken; 1 if they are not published */
  uint32_t finished; /* those of them that have a result, which is here: */
  uint32_t result[VYRE_RING_CELL_ITEMS];
  vyre_status status[VYRE_RING_CELL_ITEMS];
} vyre__engine_place;
void vyre__engine_look(const vyre_engine *engine, uint64_t position, vyre__engine_place *out_place);

/*
 * True once every item of the places before `self->end` is finished; `next` is the position where
 * the look goes on, `blocked` the first ticket there without a result.
 */
typedef struct vyre__engine_span {
  uint64_t next;
  uint64_t end;
  uint64_t blocked;
} vyre__engine_span;
bool vyre__engine_span_finished(vyre_engine *engine, void *span, uint64_t *out_blocked);

/*
 * OK while the engine takes items; else why not: what it was given up with, DEVICE_LOST, or CLOSED
 * for one that was stopped.
 */
vyre_status vyre__engine_open_status(const vyre_engine *engine);

/* Submits one item whose bytes lie in a block of the arena; the block goes back with it. */
vyre_status vyre__engine_submit_block(vyre_engine *engine, const vyre_work_item *item,
                                      uint32_t block, uint64_t *out_ticket);

/* ---- park.c ---- */

/* Tells the device of a persistent engine, so that its launch is parked where need be. */
void vyre__engine_join(vyre_engine *engine);
/* The launch has left for good. */
void vyre__engine_part(vyre_engine *engine);
/* The launch has left; true if it was asked to, for a call on the device. */
bool vyre__engine_left(vyre_engine *engine);

/* ---- keeper.c, batch.c, stop.c ---- */

void *vyre__engine_keeper(void *self);
void *vyre__engine_pump(void *self);

/* The first launch, so that start() tells its error. */
vyre_status vyre__engine_launch(vyre_engine *engine, vyre_error *err);

/*
 * Has every item that is not finished complete with `status`, and takes no more.  The first status
 * stays.
 */
void vyre__engine_abort(vyre_engine *engine, vyre_status status);

/* Wakes the thread, whatever it sleeps on. */
void vyre__engine_kick(vyre_engine *engine);

/* Tells the waiters in stop and destroy that the thread has ended; its last act. */
void vyre__engine_thread_ended(vyre_engine *engine);

/* Asks the thread to end and waits for that. */
vyre_status vyre__engine_end_thread(vyre_engine *engine, uint64_t timeout_ns);

/*
 * Latches a loss, like vyre__device_note(), but not on a device that was recovered meanwhile: a
 * launch of the old handle may tell late.
 */
vyre_status vyre__engine_note(const vyre_engine *engine, vyre_status status);

/* True once the engine's device was lost, whoever found it. */
bool vyre__engine_is_lost(const vyre_engine *engine);

/* A binding for a region, or for no bytes at all. */
vyre_binding vyre__engine_bind(const vyre_engine *engine, uint32_t id, const vyre__region *region,
                               uint64_t offset, uint64_t size, vyre_access access);

#endif
