/*
 * switches.h - what in the environment makes a driver run one launch at a time.
 *
 * A persistent launch ends only when the host says so.  Where a launch call waits for its kernel,
 * where every stream shares one queue, or where a tool replays kernels one by one, the host never
 * comes to say it.  The environment is read, and never written.
 */
#ifndef VYRE_GPU_SWITCHES_H
#define VYRE_GPU_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

/* When a variable that is set counts as on. */
typedef enum vyre__gpu_switch_when {
  VYRE__GPU_UNLESS_ZERO, /* anything but a number that is 0 */
  VYRE__GPU_IF_BELOW,    /* anything but a number that is at least `number` */
  VYRE__GPU_IF_ONE,      /* the number 1 */
  VYRE__GPU_IF_SET,
  VYRE__GPU_IF_TOOL /* the path of a checker's library */
} vyre__gpu_switch_when;

typedef struct vyre__gpu_switch {
  const char *name;
  vyre__gpu_switch_when when;
  long number; /* of IF_BELOW */
  const char *consequence;
} vyre__gpu_switch;

/* "CUDA_LAUNCH_BLOCKING=1 is set: ..." of the first that is on into `out`; false if none is. */
bool vyre__gpu_switched(const vyre__gpu_switch *switches, uint32_t count, char *out, uint64_t size);

#endif
