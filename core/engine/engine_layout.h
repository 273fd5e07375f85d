/*
 * engine_layout.h - what the engine's host side and its device code share, beside the ring
 * (vyre_ring_layout.h, which comes before this text).
 *
 * The same text goes in front of the device code of every handler set.  Fixed width,
 * little-endian, no pointers.  Each word has one writing side: HOST or CONS (the consuming side:
 * the device's workers; the host's pump where launches are batched).
 */
#ifndef VYRE_ENGINE_LAYOUT_H
#define VYRE_ENGINE_LAYOUT_H

/* Bindings of the entries, in order. */
#define VYRE_ENGINE_RING 0u    /* persistent: the ring's region.  batch: the items */
#define VYRE_ENGINE_CONTROL 1u /* persistent: vyre_engine_control, workers.  batch: the results */
#define VYRE_ENGINE_STATE 2u   /* vyre_engine_state: words that only the device touches */
#define VYRE_ENGINE_RULES 3u   /* vyre_engine_rule[rule sets], then the constants */
#define VYRE_ENGINE_INPUT 4u   /* the bytes that items point into */
#define VYRE_ENGINE_RECORDS 5u /* the output bank */
#define VYRE_ENGINE_BINDINGS 6u
#define VYRE_ENGINE_GROUP 6u /* wide: workgroup memory, VYRE_ENGINE_GROUP_BYTES of it */
#define VYRE_ENGINE_GROUP_BYTES 64u

/* What a rule_set_id stands for. */
typedef struct vyre_engine_rule {
  vyre_ring_u32 handler;
  vyre_ring_u32 reserved;
  vyre_ring_u64 offset; /* of the constants from the start of the table, a multiple of 16 */
  vyre_ring_u64 size;
  vyre_ring_u64 pad;
} vyre_engine_rule;

/*
 * Coherent memory: one line of the host's, then one line for each worker.  Behind them, wide: a u64
 * for each worker, its items completed: a host that adds up a line for each of some hundred workers
 * of a GPU would wait for memory longer than for the items.
 */
typedef struct vyre_engine_control {
  /* HOST: which of its two cursors each half of the bank uses */
  vyre_ring_u32 cursor[2];
  vyre_ring_u32 pad[30];
} vyre_engine_control;

/* CONS: written by one worker alone.  The counts grow over all launches. */
typedef struct vyre_engine_worker {
  vyre_ring_u64 done;      /* items completed; stored with release behind each result; not wide */
  vyre_ring_u64 stored[2]; /* records stored, by half of the bank */
  vyre_ring_u64 until;     /* the ticket behind the items that it claimed last */
  vyre_ring_u64 pad[12];
} vyre_engine_worker;

/*
 * Device memory: the words that workers contend for.  Zero at the start but for `tail`, `announced`
 * and `offer`.  Behind them lie a vyre_engine_claims for each worker, and a u32 for each place of
 * the ring: how many items of its cell were copied out, while several workers share them.
 *
 * `cursor[half][k]` hands out the places of a half of the bank.  A half uses its two cursors by
 * turns: every item zeroes the cursor that its half uses next, before it completes, so nobody has
 * to reset a word that the device may be using.
 */
typedef struct vyre_engine_state {
  vyre_ring_u64 tail;      /* the next ticket to claim; wide: at the last try to leave */
  vyre_ring_u64 announced; /* wide: every cell before this position is published */
  vyre_ring_u64 offer;     /* wide: the next cell to claim << 32 | the end of what is announced */
  vyre_ring_u32 plenty;    /* wide: 1: the last look of a whole group found as much as it could */
  vyre_ring_u32 pad0[25];
  vyre_ring_u32 leaving; /* launch << 2 | VYRE_ENGINE_LEAVE_… */
  vyre_ring_u32 asked;   /* wide: the ring's stop word, as the group that looks saw it last */
  vyre_ring_u32 looker;  /* wide: launch << 1 | 1 while a group of that launch looks at the ring */
  vyre_ring_u32 pad1[29];
  vyre_ring_u64 told; /* when the host was last told of completions */
  vyre_ring_u32 pad2[30];
  vyre_ring_u32 cursor[2][32]; /* a line for each half; [half][0] and [half][1] */
} vyre_engine_state;

/* Device memory, written by one worker alone.  A wide worker counts claims, not items. */
typedef struct vyre_engine_claims {
  vyre_ring_u64 items; /* that it claimed, over all launches; too many while a claim may fail */
  vyre_ring_u64 done;  /* wide: of those, how many are done; stored with release */
  vyre_ring_u64 pad[14];
} vyre_engine_claims;

/* Bits of the ring header's stop word. */
#define VYRE_ENGINE_STOP 1u /* every worker leaves after what it has claimed */
#define VYRE_ENGINE_PARK 2u /* nothing is claimed; all leave together once nothing is being run */

#define VYRE_ENGINE_LEAVE_ASKED 1u /* a worker is looking whether all may leave */
#define VYRE_ENGINE_LEAVE_NOW 2u   /* every worker leaves */

/* Push constants of both entries. */
typedef struct vyre_engine_push {
  vyre_ring_u64 input_size;
  vyre_ring_u64 max_idle_ns;
  vyre_ring_u64 max_resident_ns;
  vyre_ring_u32 workers;
  vyre_ring_u32 rule_sets;
  vyre_ring_u32 bank_records;   /* places in a half; batch: places that are left */
  vyre_ring_u32 launch;         /* number of this launch, below 2^30 */
  vyre_ring_u32 notify;         /* 1: wake sleeping host threads */
  vyre_ring_u32 items;          /* batch: how many */
  vyre_ring_u32 max_idle_polls; /* 0: as many as max_idle_ns has room for */
  vyre_ring_u32 reserved;
} vyre_engine_push;

/* Batched launches: what goes in and comes out for each item. */
typedef struct vyre_engine_batch_item {
  vyre_ring_u64 ticket;
  vyre_ring_u32 item[4]; /* vyre_work_item */
  vyre_ring_u32 reserved[2];
} vyre_engine_batch_item;

typedef struct vyre_engine_batch_result {
  vyre_ring_u32 value;
  vyre_ring_u32 status;
  vyre_ring_u32 stored; /* records */
  vyre_ring_u32 reserved;
} vyre_engine_batch_result;

#ifndef VYRE_KERNEL_H
_Static_assert(sizeof(vyre_engine_rule) == 32, "rule");
_Static_assert(sizeof(vyre_engine_control) == VYRE_RING_LINE, "control");
_Static_assert(sizeof(vyre_engine_worker) == VYRE_RING_LINE, "worker");
_Static_assert(offsetof(vyre_engine_state, leaving) == 0x80, "state.leaving");
_Static_assert(offsetof(vyre_engine_state, told) == 0x100, "state.told");
_Static_assert(offsetof(vyre_engine_state, cursor) == 0x180, "state.cursor");
_Static_assert(sizeof(vyre_engine_state) == 0x280, "state");
_Static_assert(sizeof(vyre_engine_claims) == VYRE_RING_LINE, "claims");
_Static_assert(sizeof(vyre_engine_push) <= 128, "push constants that every device takes");
_Static_assert(sizeof(vyre_engine_batch_item) == 32, "batch item");
_Static_assert(sizeof(vyre_engine_batch_result) == 16, "batch result");
#endif

#endif /* VYRE_ENGINE_LAYOUT_H */
