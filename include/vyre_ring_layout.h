/*
 * vyre_ring_layout.h - the work ring's memory, as host and device both see it.  Layout version 2.
 *
 * Compiled by C11 on the host and, behind a prelude of vyre_kernel.h, by device code.
 * Little-endian, fixed width, no pointers: every reference is a byte offset from the start of the
 * region.  Lines that different sides write are 128 bytes apart (a GPU's line, and two of a CPU's).
 * docs/ring.md explains the protocol.
 *
 * Places, positions, tickets
 *   The ring has `capacity` places, each a cell of up to 7 items.  A single enqueue takes a place
 *   for its one item; a batch packs 7 items in each place but the last.  A *position* counts places
 *   from the ring's first one; 56 bits, modulo 2^56.  Position p lies in place p mod capacity.  A
 *   *ticket* names one item: position << 3 | index of the item in its cell.
 *
 * Stamps
 *   A stamp says which tenant of a place an event belongs to: position + 1.  It is compared for
 *   equality, so positions may pass their top.  Three words belong to each position p:
 *     published   p's stamp, how many items the cell holds, and their phase: the items are there;
 *     released    p's stamp and the count of its items: every item was copied out, the place is
 *                 free for p + capacity.  While several consumers take items of the cell one by
 *                 one, the word still carries the stamp of the tenant before p, and counts the
 *                 items that were copied out;
 *     completion  p's stamp and a bit for each item that is not done, once one of them is.  All
 *                 bits 0: every item is done, and the completion place is free for p + completions.
 *                 The word of the tenant before p, all bits 0: no item of p is done.
 *   published lies in the cell.  released and completion have as many entries as there are
 *   completion places (released as many as places, without completion), so that the count of p is
 *   known until p is done.  At the start every stamp is that of the tenant one lap earlier.
 *
 * Writing sides
 *   Each word has one writing side, named behind it: HOST, or CONS (the consuming side: host
 *   threads or the device).  Across a link only plain aligned loads and stores with acquire and
 *   release at system scope are used, never a read-modify-write.
 */
#ifndef VYRE_RING_LAYOUT_H
#define VYRE_RING_LAYOUT_H

#ifdef VYRE_KERNEL_H
typedef vyre_u32 vyre_ring_u32;
typedef vyre_u64 vyre_ring_u64;
#else
#include <stddef.h>
#include <stdint.h>
typedef uint32_t vyre_ring_u32;
typedef uint64_t vyre_ring_u64;
#endif

#define VYRE_RING_MAGIC 0x52525956u /* "VYRR" */
#define VYRE_RING_LAYOUT_VERSION 2u
#define VYRE_RING_LINE 128u

#define VYRE_RING_POSITION_MASK ((1ull << 56) - 1)

/* Tickets: 59 bits.  The tail is a ticket too: the next item to claim. */
#define VYRE_RING_INDEX_BITS 3u
#define VYRE_RING_INDEX_MASK 7u
#define VYRE_RING_CELL_ITEMS 7u
#define VYRE_RING_TICKET_MASK ((1ull << 59) - 1)

/* The head word: a position and two marks. */
#define VYRE_RING_CLOSED (1ull << 63) /* no position is handed out any more */
#define VYRE_RING_PHASE (1ull << 62)  /* the phase of the positions handed out now */

/* The words `published`, `released` and `completion`: a stamp above 8 bits of their own. */
#define VYRE_RING_STAMP_SHIFT 8u
#define VYRE_RING_COUNT_MASK 7u        /* published: items in the cell; 0: none, pass it over */
#define VYRE_RING_CELL_PHASE (1u << 3) /* published: the items were enqueued in phase 1 */
#define VYRE_RING_TAKEN_MASK 7u        /* released: items copied out of a cell taken in parts */
#define VYRE_RING_RELEASED_SHIFT 3u    /* released: above them, the count of the stamp's tenant */
#define VYRE_RING_PENDING_MASK 0x7fu   /* completion: bit i: item i is not done */

#define VYRE_RING_MAX_CAPACITY (1ull << 31)

/* vyre_ring_header.flags */
#define VYRE_RING_FLAG_COMPLETION (1u << 0) /* completion[] is kept: VYRE_COMPLETION_BY_TICKET */
#define VYRE_RING_FLAG_WAITING_OFF (1u << 1)
#define VYRE_RING_FLAG_DEVICE (1u << 2) /* the consumer is a device; results[] is there */

/* One place: a GPU reads it with one load of a warp.  128 bytes; HOST writes all of it. */
typedef struct vyre_ring_cell {
  vyre_ring_u64 published; /* stored last, with release */
  vyre_ring_u64 reserved;
  vyre_ring_u32 item[VYRE_RING_CELL_ITEMS][4]; /* input_offset, input_len, rule_set_id,
                                                  correlation */
} vyre_ring_cell;

/*
 * The result of one item of a device consumer: two words of 8 bytes, each with its position's
 * stamp, so that each is whole by itself.  CONS writes both: the value relaxed, then the status
 * with release; the host loads both with acquire and believes them only when both stamps are the
 * item's.  The status has the whole stamp: not every tenant of a place has an item of each index,
 * so an entry may be older than the 2^32 positions which the value can tell apart.
 * Entry: (position mod completions) * 8 + index.
 */
typedef struct vyre_ring_result {
  vyre_ring_u64 value;  /* stamp << 32 | result: the stamp's low 32 bits */
  vyre_ring_u64 status; /* stamp << 8 | status code */
} vyre_ring_result;

/* A futex word and the number of threads that sleep on it. */
typedef struct vyre_ring_wake {
  vyre_ring_u32 epoch;
  vyre_ring_u32 waiters;
  vyre_ring_u32 reserved[30];
} vyre_ring_wake;

typedef struct vyre_ring_header {
  /* 0x000: written once, before anybody attaches */
  vyre_ring_u32 magic;
  vyre_ring_u32 version;
  vyre_ring_u32 header_bytes;
  vyre_ring_u32 capacity_log2;
  vyre_ring_u32 completions_log2; /* places in completion[]; results[] has 8 entries for each */
  vyre_ring_u32 flags;
  vyre_ring_u64 generation;
  vyre_ring_u64 region_bytes;
  vyre_ring_u64 cells_offset;
  vyre_ring_u64 released_offset;   /* u64 words */
  vyre_ring_u64 completion_offset; /* u64 words, 0 without VYRE_RING_FLAG_COMPLETION */
  vyre_ring_u64 results_offset;    /* vyre_ring_result, 0 without VYRE_RING_FLAG_DEVICE */
  vyre_ring_u64 first_position;
  vyre_ring_u32 pad0[12];
  /* 0x080 HOST: next position to hand out, and the marks; producers compare and swap it */
  vyre_ring_u64 head;
  /* HOST: positions from head up to this one are known to be free; it may lag behind the truth */
  vyre_ring_u64 vacant;
  vyre_ring_u32 pad1[28];
  /* 0x100 CONS: next ticket to claim; a device keeps its own and mirrors it here for statistics */
  vyre_ring_u64 tail;
  vyre_ring_u32 pad2[30];
  /* 0x180 HOST */
  vyre_ring_u32 stop;   /* 0: serve; other values are between the engine and its device code */
  vyre_ring_u32 closed; /* 1 some time after head was marked CLOSED: then, and only then, look */
  vyre_ring_u32 pad3[30];
  /* 0x200 HOST: sleepers for "an item was published" */
  vyre_ring_wake not_empty;
  /* 0x280 HOST: sleepers for "a cell or a completion place was freed" */
  vyre_ring_wake not_full;
  /* 0x300 HOST counts waiters; a device that can notify advances the epoch */
  vyre_ring_wake completed;
  /* 0x380 CONS: a device consumer's own state */
  vyre_ring_u32 state; /* VYRE_RING_STATE_… */
  vyre_ring_u32 pad4[31];
} vyre_ring_header;

#define VYRE_RING_STOP_MASK 3u /* the largest value of stop */

#define VYRE_RING_STATE_ABSENT 0u
#define VYRE_RING_STATE_RUNNING 1u
#define VYRE_RING_STATE_LEAVING 2u /* a hint: the proof is the end of its launch */

#define VYRE_RING_HEADER_BYTES 0x400u

/* Layout is frozen by the compiler. */
#ifndef VYRE_KERNEL_H
#ifdef __cplusplus
#define VYRE__LAYOUT_ASSERT static_assert
#else
#define VYRE__LAYOUT_ASSERT _Static_assert
#endif
VYRE__LAYOUT_ASSERT(sizeof(vyre_ring_cell) == VYRE_RING_LINE, "cell");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_cell, item) == 16, "cell.item");
VYRE__LAYOUT_ASSERT(sizeof(vyre_ring_result) == 16, "result");
VYRE__LAYOUT_ASSERT(sizeof(vyre_ring_wake) == 128, "wake");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, generation) == 0x018, "generation");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, cells_offset) == 0x028, "cells_offset");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, first_position) == 0x048, "first_position");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, head) == 0x080, "head");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, vacant) == 0x088, "vacant");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, tail) == 0x100, "tail");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, stop) == 0x180, "stop");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, closed) == 0x184, "closed");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, not_empty) == 0x200, "not_empty");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, not_full) == 0x280, "not_full");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, completed) == 0x300, "completed");
VYRE__LAYOUT_ASSERT(offsetof(vyre_ring_header, state) == 0x380, "state");
VYRE__LAYOUT_ASSERT(sizeof(vyre_ring_header) == VYRE_RING_HEADER_BYTES, "header");
#undef VYRE__LAYOUT_ASSERT
#endif

#endif /* VYRE_RING_LAYOUT_H */
