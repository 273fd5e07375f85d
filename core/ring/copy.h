/*
 * copy.h - copying the items of a cell.  Full cells and single items are the common ones; their
 * sizes are constants, so that the compiler makes a few moves of them and not a call.
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

#endif
