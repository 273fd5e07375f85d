/*
 * copy.h - copying the items of a cell, and naming them.  Full cells and single items are the
 * common ones; their sizes are constants, so that the compiler makes a few moves of them and not a
 * call.
 */
#ifndef VYRE_CORE_RING_COPY_H
#define VYRE_CORE_RING_COPY_H

#include "vyre_ring_layout.h"

#include <stdint.h>
#include <string.h>

#define VYRE__ITEM_BYTES 16u

static inline void vyre__copy_items(void *to, const void *from, uint32_t count)
{
  if (count == VYRE_RING_CELL_ITEMS)
    memcpy(to, from, VYRE_RING_CELL_ITEMS * VYRE__ITEM_BYTES);
  else
    for (uint32_t i = 0; i < count; ++i)
      memcpy((char *)to + i * VYRE__ITEM_BYTES, (const char *)from + i * VYRE__ITEM_BYTES,
             VYRE__ITEM_BYTES);
}

/* Writes the tickets of `n` items of a cell; returns the place behind them. */
static inline uint64_t *vyre__name_items(uint64_t *out_tickets, uint64_t ticket, uint32_t n)
{
  if (n == VYRE_RING_CELL_ITEMS) {
    out_tickets[0] = ticket;
    out_tickets[1] = ticket + 1;
    out_tickets[2] = ticket + 2;
    out_tickets[3] = ticket + 3;
    out_tickets[4] = ticket + 4;
    out_tickets[5] = ticket + 5;
    out_tickets[6] = ticket + 6;
  } else {
    for (uint32_t i = 0; i < n; ++i)
      out_tickets[i] = ticket + i;
  }
  return out_tickets + n;
}

#endif
