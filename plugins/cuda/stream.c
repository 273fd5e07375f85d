/*
 * stream.c - streams and events.
 */
#include "plugins/cuda/calls.h"

#include "plugins/cuda/library.h"

static CUstream stream_of(vyre__gpu_stream *stream)
{
  return (CUstream)(void *)stream;
}

static CUevent event_of(vyre__gpu_event *event)
{
  return (CUevent)(void *)event;
}

vyre__gpu_code vyre__cuda_stream_make(bool urgent, vyre__gpu_stream **out_stream)
{
  CUstream stream = NULL;
  int least = 0, greatest = 0;
  CUresult code = 0;
  if (urgent)
    code = vyre__cuda.cuCtxGetStreamPriorityRange(&least, &greatest);
  if (!code) /* 0 is the least: the range is 0 down to `greatest` */
    code = vyre__cuda.cuStreamCreateWithPriority(&stream, VYRE__CU_STREAM_NON_BLOCKING,
                                                 urgent ? greatest : 0);
  if (!code)
    *out_stream = (vyre__gpu_stream *)(void *)stream;
  return code;
}

vyre__gpu_code vyre__cuda_stream_drop(vyre__gpu_stream *stream)
{
  return vyre__cuda.cuStreamDestroy(stream_of(stream));
}

vyre__gpu_code vyre__cuda_stream_sync(vyre__gpu_stream *stream)
{
  return vyre__cuda.cuStreamSynchronize(stream_of(stream));
}

vyre__gpu_code vyre__cuda_stream_wait(vyre__gpu_stream *stream, vyre__gpu_event *event)
{
  return vyre__cuda.cuStreamWaitEvent(stream_of(stream), event_of(event), 0);
}

vyre__gpu_code vyre__cuda_event_make(bool timed, bool wakes, vyre__gpu_event **out_event)
{
  CUevent event = NULL;
  const unsigned flags = (timed ? 0u : (unsigned)VYRE__CU_EVENT_NO_TIMING) |
                         (wakes ? (unsigned)VYRE__CU_EVENT_BLOCKING_SYNC : 0u);
  const CUresult code = vyre__cuda.cuEventCreate(&event, flags);
  if (!code)
    *out_event = (vyre__gpu_event *)(void *)event;
  return code;
}

vyre__gpu_code vyre__cuda_event_drop(vyre__gpu_event *event)
{
  return vyre__cuda.cuEventDestroy(event_of(event));
}

vyre__gpu_code vyre__cuda_event_record(vyre__gpu_event *event, vyre__gpu_stream *stream)
{
  return vyre__cuda.cuEventRecord(event_of(event), stream_of(stream));
}

vyre__gpu_code vyre__cuda_event_query(vyre__gpu_event *event)
{
  return vyre__cuda.cuEventQuery(event_of(event));
}

vyre__gpu_code vyre__cuda_event_elapsed(vyre__gpu_event *from, vyre__gpu_event *to, float *out_ms)
{
  float ms = 0.0f;
  const CUresult code = vyre__cuda.cuEventElapsedTime(&ms, event_of(from), event_of(to));
  if (!code)
    *out_ms = ms;
  return code;
}
