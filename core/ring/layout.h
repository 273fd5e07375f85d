/*
 * layout.h - where the arrays of a ring's region lie, and how a handle is put over it.
 */
#ifndef VYRE_CORE_RING_LAYOUT_H
#define VYRE_CORE_RING_LAYOUT_H

#include "core/ring/ring.h"

/* By default four times as many completion places as cells, at most 2^33 of them. */
#define VYRE__RING_MAX_CAPACITY_LOG2 31u
#define VYRE__RING_MAX_COMPLETIONS_LOG2 33u
/* A result's stamp has 32 bits: two tenants of one place must differ in them. */
#define VYRE__RING_MAX_DEVICE_COMPLETIONS_LOG2 31u

/* Entries of results[] for a completion place: one for each index that a ticket can have. */
#define VYRE__RING_RESULTS_A_PLACE 8u

typedef struct vyre__ring_layout {
  uint32_t capacity_log2;
  uint32_t completions_log2; /* 0 without completion[] */
  uint32_t flags;            /* VYRE_RING_FLAG_… */
  uint64_t cells_offset;
  uint64_t released_offset;
  uint64_t completion_offset; /* 0: none */
  uint64_t results_offset;    /* 0: none */
  uint64_t region_bytes;
} vyre__ring_layout;

/* Entries of released[]. */
static inline uint64_t vyre__ring_released_entries(uint32_t flags, uint32_t capacity_log2,
                                                   uint32_t completions_log2)
{
  return 1ull << (flags & VYRE_RING_FLAG_COMPLETION ? completions_log2 : capacity_log2);
}

/* Checks the setup, each refusal with its fix, and lays the arrays out one behind the other. */
vyre_status vyre__ring_layout_plan(const vyre__ring_setup *setup, vyre__ring_layout *out_layout,
                                   vyre_error *err);

/* INVALID_ARGUMENT unless `memory` is aligned and has `needed` bytes. */
vyre_status vyre__ring_check_memory(const void *memory, uint64_t size, uint64_t needed,
                                    vyre_error *err);

/* A handle over a region that is laid out like that.  `allocator` NULL: the C library's. */
vyre_status vyre__ring_make_handle(void *memory, const vyre__ring_layout *layout,
                                   const vyre_allocator *allocator, vyre_ring **out_ring,
                                   vyre_error *err);

/* True if the ticket was handed out, however long ago. */
bool vyre__ring_is_issued(const vyre_ring *ring, uint64_t ticket);

#endif
