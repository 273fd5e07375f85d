/*
 * switches.c - what in the environment makes HIP's runtime run one launch at a time.
 */
#include "plugins/hip/calls.h"

#include "plugins/gpu/gpu.h"
#include "plugins/gpu/switches.h"

bool vyre__hip_is_serialised(char *out, uint64_t size)
{
  static const char waits[] = "each launch waits for its end";
  /* Streams share hardware queues, and what is behind a launch that stays in its queue never runs.
     The runtime has a set of queues for each priority, so that launches that stay, which have the
     highest one, share with nothing of this plugin's if there is one for each of their streams. */
  static const vyre__gpu_switch switches[] = {
      {"HIP_LAUNCH_BLOCKING", VYRE__GPU_UNLESS_ZERO, 0, waits},
      {"AMD_SERIALIZE_KERNEL", VYRE__GPU_UNLESS_ZERO, 0, waits},
      {"AMD_SERIALIZE_COPY", VYRE__GPU_UNLESS_ZERO, 0, "copies wait for launches"},
      {"GPU_MAX_HW_QUEUES", VYRE__GPU_IF_BELOW, VYRE__GPU_STREAMS_KEPT,
       "streams would share a queue with a launch that stays"},
      {"ROCP_TOOL_LIB", VYRE__GPU_IF_SET, 0, "a profiler runs one launch at a time"},
  };
  return vyre__gpu_switched(switches, sizeof switches / sizeof switches[0], out, size);
}
