/*
 * components.c - connected components of an undirected graph, by label propagation with pointer
 * jumping.
 *
 * A vertex's label is a vertex of the same component, at first itself, and only ever falls; the
 * labels form a forest whose roots label themselves.  At the fixpoint each vertex has the smallest
 * number of its component.  Labels that a segment reads stand still in it: what it changes goes to
 * the other copy.  So each pass, not only the end, is the same on every device.
 *
 * edges[2 e] and edges[2 e + 1] are the two ends of edge e.
 */

/* Each edge offers the smaller label of its two ends to the end, and to the root, that has the
   larger one. */
VYRE_SEGMENT(hook)
(vyre_ctx *c, VYRE_IN(vyre_u32) edges, VYRE_IN(vyre_u32) label, VYRE_INOUT(vyre_u32) next)
{
  VYRE_SPREAD(c, e, vyre_count(c, edges) / 2u)
  {
    const vyre_u32 u = vyre_at(c, edges, 2u * e), v = vyre_at(c, edges, 2u * e + 1u);
    const vyre_u32 a = vyre_at(c, label, u), b = vyre_at(c, label, v);
    const vyre_u32 low = a < b ? a : b, high = a < b ? b : a;
    if (low == high)
      continue;
    /* Relaxed: a minimum is the same in any order, and the end of the segment orders it before its
       readers. */
    (void)vyre_atomic_min_u32(&vyre_at(c, next, a < b ? v : u), low, VYRE_RELAXED,
                              VYRE_SCOPE_DEVICE);
    (void)vyre_atomic_min_u32(&vyre_at(c, next, high), low, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
  }
}

/* Every vertex takes the label of its label: paths to the root become half as long. */
VYRE_SEGMENT(jump)
(vyre_ctx *c, VYRE_IN(vyre_u32) next, VYRE_INOUT(vyre_u32) label)
{
  VYRE_SPREAD(c, i, vyre_count(c, label))
  {
    const vyre_u32 root = vyre_at(c, next, vyre_at(c, next, i));
    if (vyre_at(c, label, i) != root) {
      vyre_at(c, label, i) = root;
      vyre_changed(c);
    }
  }
}

/* And once more, back into the copy that the edges write to. */
VYRE_SEGMENT(jump_back)
(vyre_ctx *c, VYRE_IN(vyre_u32) label, VYRE_INOUT(vyre_u32) next)
{
  VYRE_SPREAD(c, i, vyre_count(c, label))
  {
    const vyre_u32 root = vyre_at(c, label, vyre_at(c, label, i));
    if (vyre_at(c, next, i) != root)
      vyre_at(c, next, i) = root;
  }
}
