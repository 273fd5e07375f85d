/*
 * boost.cc - boost::lockfree::queue with a fixed number of nodes, which never allocates after its
 * start.  It has no call for several items: a batch is a loop.
 */
#include "bench/peers/list.h"
#include "bench/peers/loop.h"

#include <boost/lockfree/queue.hpp>
#include <boost/version.hpp>
#include <new>

namespace
{

using queue_type = boost::lockfree::queue<vyre_work_item, boost::lockfree::fixed_sized<true>>;

void *create(uint32_t capacity)
{
  try {
    return new queue_type(capacity);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

void destroy(void *queue)
{
  delete static_cast<queue_type *>(queue);
}

BENCH_INLINE uint32_t push(void *handle, const vyre_work_item *items, uint32_t n)
{
  queue_type *queue = static_cast<queue_type *>(handle);
  uint32_t i;
  for (i = 0; i < n; ++i)
    if (!queue->bounded_push(items[i]))
      break;
  return i;
}

BENCH_INLINE uint32_t pop(void *handle, vyre_work_item *items, uint32_t max)
{
  queue_type *queue = static_cast<queue_type *>(handle);
  uint32_t i;
  for (i = 0; i < max; ++i)
    if (!queue->pop(items[i]))
      break;
  return i;
}

BENCH_LOOPS(boost, push, pop)

} // namespace

extern const bench_contestant bench_peer_boost = {
    "boost::lockfree", "boost " BOOST_LIB_VERSION, create, destroy, boost_produce, boost_consume};
