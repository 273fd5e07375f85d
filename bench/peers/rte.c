/*
 * rte.c - DPDK's ring with elements of 16 bytes, in its three forms for many producers and
 * consumers.  It lies in memory of our own, so that DPDK's environment is not needed.  Of its
 * places one stays empty.
 */
#include "bench/peers/list.h"
#include "bench/peers/loop.h"

#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_version.h>
#include <stdlib.h>

#define ITEM ((unsigned)sizeof(vyre_work_item))

static void *rte_create(uint32_t capacity, unsigned flags)
{
  const ssize_t size = rte_ring_get_memsize_elem(ITEM, capacity);
  struct rte_ring *ring = size > 0 ? aligned_alloc(128, ((size_t)size + 127) / 128 * 128) : NULL;
  if (ring && rte_ring_init(ring, "bench", capacity, flags) != 0) {
    free(ring);
    ring = NULL;
  }
  return ring;
}

/* One form: its name, its flags, and the infix of its functions. */
#define RTE_FORM(form, text, flags, enqueue, dequeue)                                              \
  static void *form##_create(uint32_t capacity)                                                    \
  {                                                                                                \
    return rte_create(capacity, flags);                                                            \
  }                                                                                                \
  BENCH_INLINE uint32_t form##_push(void *ring, const vyre_work_item *items, uint32_t n)           \
  {                                                                                                \
    return enqueue((struct rte_ring *)ring, items, ITEM, n, NULL);                                 \
  }                                                                                                \
  BENCH_INLINE uint32_t form##_pop(void *ring, vyre_work_item *items, uint32_t max)                \
  {                                                                                                \
    return dequeue((struct rte_ring *)ring, items, ITEM, max, NULL);                               \
  }                                                                                                \
  BENCH_LOOPS(form, form##_push, form##_pop)                                                       \
  const bench_contestant bench_peer_##form = {text, RTE_VER_TEXT,   form##_create,                 \
                                              free, form##_produce, form##_consume};

#define RTE_VER_TEXT "DPDK " RTE_STR(RTE_VER_YEAR) "." RTE_STR(RTE_VER_MONTH)

RTE_FORM(rte_mt, "rte_ring MT", 0, rte_ring_mp_enqueue_burst_elem, rte_ring_mc_dequeue_burst_elem)
RTE_FORM(rte_rts, "rte_ring RTS", RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ,
         rte_ring_mp_rts_enqueue_burst_elem, rte_ring_mc_rts_dequeue_burst_elem)
RTE_FORM(rte_hts, "rte_ring HTS", RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ,
         rte_ring_mp_hts_enqueue_burst_elem, rte_ring_mc_hts_dequeue_burst_elem)
