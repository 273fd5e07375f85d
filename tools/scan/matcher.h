/*
 * matcher.h - pieces of data go in, every match in them comes out: the engine's side of a scan.
 *
 * The matcher owns the engine.  Its input region is cut into slots of one size, and a slot holds
 * one piece.  The caller takes a slot, fills it and submits it; matches are told when the half of
 * the output bank that took them was swapped out, and each piece is told as done after its last
 * match.  A piece whose records found no room is run again by itself, in a larger bank if it must
 * be, so that the answer is exact.  Memory depends on the options and on the densest piece, never
 * on the bytes that went through.
 *
 * One thread at a time.  An error is final: the matcher can only be destroyed then.
 */
#ifndef VYRE_SCAN_MATCHER_H
#define VYRE_SCAN_MATCHER_H

#include "tools/scan/automaton.h"

#include "vyre.h"

typedef struct vyre__matcher vyre__matcher;

/* Called from within the matcher's functions; must not call them. */
typedef struct vyre__matcher_events {
  void *self;
  /* A match of `rule` ends before byte `end` of the piece's owner.  False: memory ran out. */
  bool (*match)(void *self, void *owner, uint64_t end, uint32_t rule);
  /* All matches of one submitted piece have been told. */
  void (*done)(void *self, void *owner);
} vyre__matcher_events;

typedef struct vyre__matcher_options {
  vyre_engine_mode mode;
  uint32_t slot_size;    /* bytes of a piece at most */
  uint32_t slots;        /* pieces in flight at most */
  uint32_t bank_records; /* records in each half of the bank, at first */
} vyre__matcher_options;

typedef struct vyre__matcher_stats {
  uint64_t launches;
  uint64_t items;   /* pieces submitted */
  uint64_t retries; /* of these, pieces that ran again */
  uint64_t swaps;
  bool persistent;
  uint32_t workers;
  uint32_t bank_records; /* at last */
} vyre__matcher_stats;

/* `automaton` and `code` (rows for the handler `scan`) live as long as the matcher. */
vyre_status vyre__matcher_create(vyre_device *device, const vyre__automaton *automaton,
                                 const vyre_code *code, uint32_t code_count,
                                 const vyre__matcher_options *options,
                                 const vyre__matcher_events *events, vyre__matcher **out_matcher,
                                 vyre_error *err);
void vyre__matcher_destroy(vyre__matcher *matcher);

/* A slot to fill, of slot_size bytes; waits until one is free. */
vyre_status vyre__matcher_take(vyre__matcher *matcher, uint8_t **out_bytes, uint32_t *out_slot,
                               vyre_error *err);
/* Puts a slot back that was taken and not submitted. */
void vyre__matcher_put_back(vyre__matcher *matcher, uint32_t slot);

/*
 * Submits the first `size` bytes of a slot: bytes [base, base + size) of `owner`.  Matches that end
 * within the first `prefix` bytes are another piece's and are not told.
 */
vyre_status vyre__matcher_submit(vyre__matcher *matcher, uint32_t slot, void *owner, uint64_t base,
                                 uint32_t prefix, uint32_t size, vyre_error *err);

/* Slots that are free; where few are, it first tells what is there, without waiting. */
vyre_status vyre__matcher_look(vyre__matcher *matcher, uint32_t *out_room, vyre_error *err);
/* Waits until everything submitted is done. */
vyre_status vyre__matcher_flush(vyre__matcher *matcher, vyre_error *err);

/* vyre_engine_choice(): mode and why. */
const char *vyre__matcher_choice(const vyre__matcher *matcher);
void vyre__matcher_get_stats(const vyre__matcher *matcher, vyre__matcher_stats *out_stats);

#endif
