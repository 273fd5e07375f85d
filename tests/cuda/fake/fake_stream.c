/*
 * fake_stream.c - streams and events of the test driver: a thread for each stream runs its
 * operations in order.  Unless told to defer, a call waits until its own operation has run, if
 * nothing stands before it that may take for ever; so a test without streams of its own is
 * deterministic.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Longer than any wait with a limit that a test lets end without its event. */
#define ASKED_FOR_LONG_NS 200000000u
/* Who asks for the same event after this begins anew. */
#define PAUSE_NS 50000000u

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_moved(void)
{
  pthread_cond_wait(&fake.moved, &fake.lock);
}

/* -------- the worker -------- */

static bool waits_for_event(const fake_op *op)
{
  return op->kind == OP_WAIT && op->event->done < op->generation && !op->event->object.dead;
}

static fake_op *next_op(const fake_stream *stream)
{
  fake_op *op = stream->first;
  if (!op || (op->kind == OP_WAIT && waits_for_event(op) && !stream->object.context->broken))
    return NULL;
  return fake.held && op->number > stream->allowed && !stream->ending ? NULL : op;
}

static void run_kernel(fake_stream *stream, fake_run *run)
{
  CUresult code = run->ends;
  if (run->sent && !*run->sent)
    fake_fault("a graph runs that has not come to the device");
  if (!code && run->function->kernel) {
    const bool resident = run->function->resident;
    fake.resident += resident;
    stream->resident = resident;
    pthread_cond_broadcast(&fake.moved);
    pthread_mutex_unlock(&fake.lock);
    code = run->function->kernel(run);
    pthread_mutex_lock(&fake.lock);
    fake.resident -= resident;
    stream->resident = false;
  }
  fake_record_finished(run->record);
  if (code)
    fake_break(run->context, code);
}

static void copy(fake_context *context, const fake_op *op)
{
  unsigned char *to = op->host_to ? op->host_to : fake_view(context, op->to, op->size);
  const unsigned char *from =
      op->host_from ? op->host_from : fake_view(context, op->from, op->size);
  if (to && from)
    memcpy(to, from, op->size);
  else
    fake_break(context, 700);
}

static void run_op(fake_stream *stream, fake_op *op)
{
  fake_context *context = stream->object.context;
  if (context->broken && op->kind != OP_FREE)
    return;
  switch (op->kind) {
  case OP_COPY:
    copy(context, op);
    break;
  case OP_FILL: {
    unsigned char *to = fake_view(context, op->to, op->size);
    if (to)
      memset(to, op->value, op->size);
    else
      fake_break(context, 700);
    break;
  }
  case OP_RECORD:
    op->event->done = op->generation;
    op->event->time_ns = now_ns();
    break;
  case OP_RUN:
    run_kernel(stream, op->run);
    break;
  case OP_FREE:
    if (!op->memory->object.dead)
      fake_memory_free(op->memory);
    break;
  case OP_UPLOAD:
    *op->sent = true;
    break;
  case OP_WAIT:
    break;
  }
}

static void *work(void *argument)
{
  fake_stream *stream = argument;
  pthread_mutex_lock(&fake.lock);
  for (;;) {
    fake_op *op = next_op(stream);
    if (!op && stream->ending && (!stream->first || stream->object.context->broken))
      break;
    if (!op) {
      wait_moved();
      continue;
    }
    run_op(stream, op);
    stream->first = op->next;
    if (!stream->first)
      stream->last = &stream->first;
    stream->finished = op->number;
    free(op->run);
    free(op);
    pthread_cond_broadcast(&fake.moved);
  }
  pthread_mutex_unlock(&fake.lock);
  return NULL;
}

/* -------- putting and waiting -------- */

/* What is in front may take for ever: an event, a resident kernel, work that is held. */
static bool is_stuck(const fake_stream *stream)
{
  return stream->resident || fake.held || (stream->first && waits_for_event(stream->first));
}

void fake_push(fake_stream *stream, const fake_op *model)
{
  fake_op *op = malloc(sizeof *op);
  if (!op)
    abort();
  *op = *model;
  op->number = ++stream->put;
  *stream->last = op;
  stream->last = &op->next;
  pthread_cond_broadcast(&fake.moved);
}

CUresult fake_settle(const fake_stream *stream)
{
  const uint64_t number = stream->put;
  while (!fake.deferred && stream->finished < number && !is_stuck(stream))
    wait_moved();
  /* What the operation itself has done wrong is told by a later call. */
  return fake_end(0);
}

CUresult fake_put(CUstream handle, const fake_op *model)
{
  fake_stream *stream = (fake_stream *)(void *)handle;
  fake_push(stream, model);
  return fake_settle(stream);
}

static void allow_all(void)
{
  for (fake_object *object = fake.objects; object; object = object->next)
    if (object->kind == FAKE_STREAM && !object->dead)
      ((fake_stream *)(void *)object)->allowed = ((fake_stream *)(void *)object)->put;
  pthread_cond_broadcast(&fake.moved);
}

void fake_drain(fake_context *context)
{
  allow_all();
  for (fake_object *object = fake.objects; object; object = object->next) {
    fake_stream *stream = (fake_stream *)(void *)object;
    if (object->kind != FAKE_STREAM || object->context != context || object->dead)
      continue;
    const uint64_t number = stream->put;
    /* A resident kernel was told as a fault: nothing may hang here. */
    while (stream->finished < number && !stream->resident && !fake.resident && !context->broken)
      wait_moved();
  }
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
  BEGIN(FAKE_cuStreamCreateWithPriority, NEEDS_CONTEXT, "%u %d", flags, priority);
  if (!(flags & VYRE__CU_STREAM_NON_BLOCKING))
    fake_fault("a stream that waits for the default stream");
  fake_stream *stream = fake_make(FAKE_STREAM, sizeof *stream);
  stream->last = &stream->first;
  if (pthread_create(&stream->worker, NULL, work, stream))
    abort();
  *out = (CUstream)(void *)stream;
  return fake_end(0);
}

/* Lets what is on it run, then ends its thread. */
void fake_stream_end(fake_stream *stream)
{
  stream->ending = true;
  fake_kill(&stream->object);
  pthread_cond_broadcast(&fake.moved);
  pthread_mutex_unlock(&fake.lock);
  pthread_join(stream->worker, NULL);
  pthread_mutex_lock(&fake.lock);
  while (stream->first) { /* of a context that broke */
    fake_op *op = stream->first;
    stream->first = op->next;
    free(op->run);
    free(op);
  }
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
  const CUresult begun = fake_begin(FAKE_cuStreamDestroy, NEEDS_CONTEXT, "%s", "");
  if (begun)
    pthread_mutex_lock(&fake.lock);
  fake_stream *stream = fake_take(handle, FAKE_STREAM);
  if (!stream)
    return fake_end(400);
  if (stream->resident && !stream->object.context->broken)
    fake_fault("a stream is destroyed while a resident kernel runs on it");
  else
    fake_stream_end(stream);
  return fake_end(begun);
}

CUresult cuStreamSynchronize(CUstream handle)
{
  BEGIN(FAKE_cuStreamSynchronize, NEEDS_CONTEXT, "%s", "");
  fake_stream *stream = fake_take(handle, FAKE_STREAM);
  if (!stream)
    return fake_end(400);
  allow_all();
  const uint64_t number = stream->put;
  while (stream->finished < number && !stream->object.context->broken)
    wait_moved();
  return fake_end(stream->object.context->broken);
}

/* -------- events -------- */

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
  BEGIN(FAKE_cuEventCreate, NEEDS_CONTEXT, "%u", flags);
  fake_event *event = fake_make(FAKE_EVENT, sizeof *event);
  event->flags = flags;
  *out = (CUevent)(void *)event;
  return fake_end(0);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
  BEGIN_DROP(handle, FAKE_cuEventDestroy, NEEDS_CONTEXT, "%s", "");
  fake_event *event = fake_take(handle, FAKE_EVENT);
  if (event)
    fake_kill(&event->object);
  return fake_end(event ? 0 : 400);
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
  BEGIN(FAKE_cuEventRecord, NEEDS_CONTEXT, "%s", "");
  fake_event *event = fake_take(handle, FAKE_EVENT);
  if (!event || !fake_take(stream, FAKE_STREAM))
    return fake_end(400);
  const fake_op op = {.kind = OP_RECORD, .event = event, .generation = ++event->recorded};
  event->asked_ns = 0;
  return fake_put(stream, &op);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
  BEGIN(FAKE_cuStreamWaitEvent, NEEDS_CONTEXT, "%u", flags);
  fake_event *event = fake_take(handle, FAKE_EVENT);
  if (!event || !fake_take(stream, FAKE_STREAM))
    return fake_end(400);
  const fake_op op = {.kind = OP_WAIT, .event = event, .generation = event->recorded};
  return fake_put(stream, &op);
}

CUresult cuEventQuery(CUevent handle)
{
  BEGIN(FAKE_cuEventQuery, NEEDS_CONTEXT, "%s", "");
  fake_event *event = fake_take(handle, FAKE_EVENT);
  if (!event)
    return fake_end(400);
  if (event->done == event->recorded)
    return fake_end(0);
  /* Who asks again and again waits for it. */
  const uint64_t now = now_ns();
  if (!event->asked_ns || now - event->last_ns > PAUSE_NS)
    event->asked_ns = now;
  event->last_ns = now;
  if (now - event->asked_ns > ASKED_FOR_LONG_NS)
    allow_all();
  return fake_end(600);
}

CUresult cuEventElapsedTime_v2(float *out, CUevent first, CUevent second)
{
  BEGIN(FAKE_cuEventElapsedTime, NEEDS_CONTEXT, "%s", "");
  const fake_event *from = fake_take(first, FAKE_EVENT), *to = fake_take(second, FAKE_EVENT);
  if (!from || !to || !from->recorded || !to->recorded ||
      ((from->flags | to->flags) & VYRE__CU_EVENT_NO_TIMING)) {
    fake_fault("the time of an event that is untimed or was never recorded");
    return fake_end(400);
  }
  if (from->done != from->recorded || to->done != to->recorded)
    return fake_end(600);
  *out = (float)((double)((int64_t)to->time_ns - (int64_t)from->time_ns) / 1e6);
  return fake_end(0);
}

/* -------- copies -------- */

static CUresult put_copy(CUstream stream, const fake_op *op)
{
  if (!fake_take(stream, FAKE_STREAM))
    return fake_end(400);
  if ((op->host_to && !fake_pinned(op->host_to, op->size)) ||
      (op->host_from && !fake_pinned(op->host_from, op->size)))
    return fake_end(1);
  if (!op->size)
    fake_fault("a copy of no bytes");
  return fake_put(stream, op);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
  BEGIN(FAKE_cuMemcpyHtoDAsync, NEEDS_CONTEXT, "0x%llx %zu", to, size);
  const fake_op op = {.kind = OP_COPY, .to = to, .host_from = from, .size = size};
  return put_copy(stream, &op);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
  BEGIN(FAKE_cuMemcpyDtoHAsync, NEEDS_CONTEXT, "0x%llx %zu", from, size);
  const fake_op op = {.kind = OP_COPY, .host_to = to, .from = from, .size = size};
  return put_copy(stream, &op);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
  BEGIN(FAKE_cuMemcpyDtoDAsync, NEEDS_CONTEXT, "0x%llx 0x%llx %zu", to, from, size);
  const fake_op op = {.kind = OP_COPY, .to = to, .from = from, .size = size};
  return put_copy(stream, &op);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream stream)
{
  BEGIN(FAKE_cuMemsetD8Async, NEEDS_CONTEXT, "0x%llx %u %zu", to, value, size);
  const fake_op op = {.kind = OP_FILL, .to = to, .value = value, .size = size};
  return put_copy(stream, &op);
}
