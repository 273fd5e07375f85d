/*
 * switches.c - what in the environment makes CUDA's driver run one launch at a time.
 */
#include "plugins/cuda/calls.h"

#include "plugins/gpu/switches.h"

bool vyre__cuda_is_serialised(char *out, uint64_t size)
{
  static const char waits[] = "each launch waits for its end";
  static const char shared[] = "all launches share one queue";
  static const char checker[] = "a memory checker runs one launch at a time";
  static const char profiler[] = "a profiler runs one launch at a time";
  static const vyre__gpu_switch switches[] = {
      {"CUDA_LAUNCH_BLOCKING", VYRE__GPU_UNLESS_ZERO, 0, waits},
      {"CUDA_DEVICE_MAX_CONNECTIONS", VYRE__GPU_IF_ONE, 0, shared},
      {"CUDA_MEMCHECK", VYRE__GPU_UNLESS_ZERO, 0, checker},
      {"NV_SANITIZER_INJECTION_PORT_BASE", VYRE__GPU_IF_SET, 0, checker},
      {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", VYRE__GPU_IF_SET, 0, checker},
      {"CUDA_INJECTION64_PATH", VYRE__GPU_IF_TOOL, 0, checker},
      {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", VYRE__GPU_IF_SET, 0, profiler},
  };
  return vyre__gpu_switched(switches, sizeof switches / sizeof switches[0], out, size);
}
