/* front.c - see front.h. */
#include "tests/gridsync/front.h"

#include <pthread.h>

enum { SEQUENCES = 16, BUFFERS = 16 };

/* What there is, and what it binds; those of more buffers are not watched. */
static struct bound {
  vyre_backend_sequence *sequence;
  vyre_backend_buffer *buffers[BUFFERS];
} table[SEQUENCES];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

front front_on;

static vyre_status refuse(vyre_error *err, vyre_status status, const char *text)
{
  err->code = status;
  snprintf(err->message, sizeof err->message, "%s", text);
  return status;
}

/* Relaxed, all of them: two threads count, and are joined before anybody reads. */
static void count(uint32_t *counter)
{
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void enter(const vyre_sequence_desc *desc, vyre_backend_sequence *sequence)
{
  struct bound *row = table;
  uint32_t next = 0;
  pthread_mutex_lock(&table_lock);
  while (row < table + SEQUENCES - 1 && row->sequence)
    ++row;
  memset(row, 0, sizeof *row);
  row->sequence = sequence;
  for (uint32_t s = 0; s < desc->step_count; ++s)
    for (uint32_t b = 0; b < desc->steps[s].binding_count && next < BUFFERS; ++b)
      row->buffers[next++] = desc->steps[s].bindings[b].buffer;
  pthread_mutex_unlock(&table_lock);
}

static void strike_out(const vyre_backend_sequence *sequence)
{
  pthread_mutex_lock(&table_lock);
  for (uint32_t i = 0; i < SEQUENCES; ++i)
    if (table[i].sequence == sequence)
      memset(&table[i], 0, sizeof table[i]);
  pthread_mutex_unlock(&table_lock);
}

static void look_up(const vyre_backend_buffer *buffer)
{
  pthread_mutex_lock(&table_lock);
  for (uint32_t i = 0; i < SEQUENCES; ++i)
    for (uint32_t b = 0; b < BUFFERS; ++b)
      if (table[i].sequence && table[i].buffers[b] == buffer) {
        count(&front_on.early_frees);
        b = BUFFERS;
      }
  pthread_mutex_unlock(&table_lock);
}

static vyre_status create(vyre_backend_device *device, const vyre_sequence_desc *desc,
                          vyre_backend_sequence **out_sequence, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  count(&front_on.creates);
  __atomic_store_n(&front_on.steps, desc->step_count, __ATOMIC_RELAXED);
  if (front_on.refusal)
    return refuse(err, front_on.refusal, "no recorder here");
  if (front_on.gives_nothing)
    return VYRE_OK;
  status = front_on.behind->sequence_create(device, desc, out_sequence, err);
  if (status == VYRE_OK) {
    count(&front_on.live);
    enter(desc, *out_sequence);
  }
  return status;
}

static vyre_status start(vyre_backend_device *device, vyre_backend_sequence *sequence,
                         uint32_t times, vyre_backend_pending **out_pending, vyre_error *err)
{
  count(&front_on.starts);
  if (front_on.fails_at && front_on.starts == front_on.fails_at)
    return refuse(err, front_on.failure ? front_on.failure : VYRE_ERROR_DISPATCH_FAILED,
                  "the tape is torn");
  __atomic_fetch_add(&front_on.replays, times, __ATOMIC_RELAXED);
  return front_on.behind->sequence_start(device, sequence, times, out_pending, err);
}

static void release(vyre_backend_device *device, vyre_backend_sequence *sequence)
{
  count(&front_on.releases);
  __atomic_fetch_sub(&front_on.live, 1, __ATOMIC_RELAXED);
  strike_out(sequence);
  front_on.behind->sequence_release(device, sequence);
}

static vyre_status dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                            vyre_backend_pending **out_pending, vyre_error *err)
{
  count(&front_on.dispatches);
  return front_on.behind->dispatch(device, desc, out_pending, err);
}

static void buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer)
{
  look_up(buffer);
  front_on.behind->buffer_free(device, buffer);
}

int front_open(void **state)
{
  vyre_device *device = NULL;
  if (hard_open(state))
    return 1;
  device = hard_rigs[1].device;
  front_on.behind = device->backend;
  front_on.table = *front_on.behind;
  front_on.table.sequence_create = create;
  front_on.table.sequence_start = start;
  front_on.table.sequence_release = release;
  front_on.table.dispatch = dispatch;
  front_on.table.buffer_free = buffer_free;
  device->backend = &front_on.table;
  return 0;
}

int front_close(void **state)
{
  hard_rigs[1].device->backend = front_on.behind;
  return hard_close(state);
}

void front_reset(void)
{
  front_on.creates = front_on.starts = front_on.releases = front_on.dispatches = front_on.steps =
      front_on.fails_at = 0;
  front_on.replays = 0;
  front_on.refusal = front_on.failure = VYRE_OK;
  front_on.gives_nothing = false;
}
