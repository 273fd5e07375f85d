/*
 * stream.c - streams and events.
 */
#include "plugins/hip/calls.h"

#include "plugins/hip/library.h"

static hipStream_t stream_of(vyre__gpu_stream *stream)
{
  return (hipStream_t)(void *)stream;
}

static hipEvent_t event_of(vyre__gpu_event *event)
{
  return (hipEvent_t)(void *)event;
}

vyre__gpu_code vyre__hip_stream_make(bool urgent, vyre__gpu_stream **out_stream)
{
  hipStream_t stream = NULL;
  int least = 0, greatest = 0;
  hipError_t code = 0;
  if (urgent)
    code = vyre__hip.hipDeviceGetStreamPriorityRange(&least, &greatest);
  if (!code) /* 0 is the ordinary one; `greatest` is below it */
    code = vyre__hip.hipStreamCreateWithPriority(&stream, VYRE__HIP_STREAM_NON_BLOCKING,
                                                 urgent ? greatest : 0);
  if (!code)
    *out_stream = (vyre__gpu_stream *)(void *)stream;
  return code;
}

vyre__gpu_code vyre__hip_stream_drop(vyre__gpu_stream *stream)
{
  return vyre__hip.hipStreamDestroy(stream_of(stream));
}

vyre__gpu_code vyre__hip_stream_sync(vyre__gpu_stream *stream)
{
  return vyre__hip.hipStreamSynchronize(stream_of(stream));
}

vyre__gpu_code vyre__hip_stream_wait(vyre__gpu_stream *stream, vyre__gpu_event *event)
{
  return vyre__hip.hipStreamWaitEvent(stream_of(stream), event_of(event), 0);
}

vyre__gpu_code vyre__hip_event_make(bool timed, bool wakes, vyre__gpu_event **out_event)
{
  hipEvent_t event = NULL;
  const unsigned flags = (timed ? 0u : (unsigned)VYRE__HIP_EVENT_NO_TIMING) |
                         (wakes ? (unsigned)VYRE__HIP_EVENT_BLOCKING_SYNC : 0u);
  const hipError_t code = vyre__hip.hipEventCreateWithFlags(&event, flags);
  if (!code)
    *out_event = (vyre__gpu_event *)(void *)event;
  return code;
}

vyre__gpu_code vyre__hip_event_drop(vyre__gpu_event *event)
{
  return vyre__hip.hipEventDestroy(event_of(event));
}

vyre__gpu_code vyre__hip_event_record(vyre__gpu_event *event, vyre__gpu_stream *stream)
{
  return vyre__hip.hipEventRecord(event_of(event), stream_of(stream));
}

vyre__gpu_code vyre__hip_event_query(vyre__gpu_event *event)
{
  return vyre__hip.hipEventQuery(event_of(event));
}

vyre__gpu_code vyre__hip_event_elapsed(vyre__gpu_event *from, vyre__gpu_event *to, float *out_ms)
{
  float ms = 0.0f;
  const hipError_t code = vyre__hip.hipEventElapsedTime(&ms, event_of(from), event_of(to));
  if (!code)
    *out_ms = ms;
  return code;
}
