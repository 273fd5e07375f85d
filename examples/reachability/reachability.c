/*
 * reachability.c - which vertices of a directed graph can be reached, and in how many hops?
 *
 * One pass is one hop from the whole frontier, the vertices that the last pass found.  Sets of
 * vertices are bitmaps: vertex v is bit v % 32 of word v / 32.  They are small enough for the
 * nearest caches, where the look at each edge's target goes.
 *
 * The edges are shared out in chunks of bounded work: at most CHUNK_EDGES edges, of vertices that
 * lie in one word of the bitmaps.  A chunk without a vertex of the frontier costs one look, and a
 * vertex with very many edges is spread over many chunks.  chunks[2 t] is the first vertex of chunk
 * t, chunks[2 t + 1] its first edge; a last pair closes the list.
 */

/* A hop: what the frontier's edges lead to and nobody has seen becomes `next`. */
VYRE_SEGMENT(expand)
(vyre_ctx *c, VYRE_IN(vyre_u32) offsets, VYRE_IN(vyre_u32) edges, VYRE_IN(vyre_u32) chunks,
 VYRE_IN(vyre_u32) seen, VYRE_IN(vyre_u32) frontier, VYRE_INOUT(vyre_u32) next,
 VYRE_INOUT(vyre_u32) level)
{
  VYRE_SPREAD(c, t, vyre_count(c, chunks) / 2u - 1u)
  {
    const vyre_u32 first = vyre_at(c, chunks, 2u * t);
    const vyre_u32 begin = vyre_at(c, chunks, 2u * t + 1u), end = vyre_at(c, chunks, 2u * t + 3u);
    /* The vertices of the word from the chunk's first one on. */
    vyre_u32 sources = vyre_at(c, frontier, first / 32u) & (0xffffffffu << (first % 32u));
    while (sources) {
      const vyre_u32 v = first / 32u * 32u + vyre_ctz_u32(sources);
      const vyre_u32 own = vyre_at(c, offsets, v), last = vyre_at(c, offsets, v + 1u);
      const vyre_u32 stop = last < end ? last : end;
      if (own >= end)
        break;
      sources &= sources - 1u;
      for (vyre_u32 e = own > begin ? own : begin; e < stop; ++e) {
        const vyre_u32 target = vyre_at(c, edges, e), word = target / 32u;
        const vyre_u32 bit = 1u << (target % 32u);
        if (vyre_at(c, seen, word) & bit)
          continue;
        /* Relaxed: only the bits matter, and the end of the segment orders them before their
           readers.  The look before the operation keeps the line shared among those who come
           second.  One item finds the bit clear; it alone writes the vertex's level. */
        if (vyre_atomic_load_u32(&vyre_at(c, next, word), VYRE_RELAXED, VYRE_SCOPE_DEVICE) & bit)
          continue;
        if (!(vyre_atomic_or_u32(&vyre_at(c, next, word), bit, VYRE_RELAXED, VYRE_SCOPE_DEVICE) &
              bit))
          vyre_at(c, level, target) = vyre_at(c, level, v) + 1u;
      }
    }
  }
}

/* The new vertices are seen, and are the next frontier. */
VYRE_SEGMENT(advance)
(vyre_ctx *c, VYRE_INOUT(vyre_u32) seen, VYRE_INOUT(vyre_u32) frontier, VYRE_INOUT(vyre_u32) next)
{
  VYRE_SPREAD(c, i, vyre_count(c, seen))
  {
    const vyre_u32 found = vyre_at(c, next, i);
    if (found) {
      vyre_at(c, seen, i) |= found;
      vyre_at(c, next, i) = 0u;
      vyre_changed(c);
    }
    if (vyre_at(c, frontier, i) != found)
      vyre_at(c, frontier, i) = found;
  }
}
