/*
 * nvrtc.h - NVIDIA's run-time compiler: its library, found when first needed, once a process.
 */
#ifndef VYRE_CUDA_NVRTC_H
#define VYRE_CUDA_NVRTC_H

#include "plugins/cuda/cuda_api.h"

#include <stdbool.h>

typedef struct vyre__nvrtc_entry_points {
#define VYRE_NVRTC_ENTRY(name, parameters) nvrtcResult(*name) parameters;
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY
} vyre__nvrtc_entry_points;

#define VYRE__NVRTC_ARCHS 64u

typedef struct vyre__nvrtc {
  vyre__nvrtc_entry_points call;
  int major, minor;
  int archs[VYRE__NVRTC_ARCHS]; /* compute capabilities times ten that it makes code for, rising */
  char names[VYRE__NVRTC_ARCHS][16]; /* the same as "sm_90" */
  uint32_t arch_count;
  char path[512];
} vyre__nvrtc;

/* NULL where there is none; `out_reason` then says why. */
const vyre__nvrtc *vyre__nvrtc_find(char *out_reason, uint64_t size);

bool vyre__nvrtc_knows(const vyre__nvrtc *nvrtc, uint32_t capability);
/* "NVRTC_ERROR_COMPILATION (6)" into `out`, which is returned. */
const char *vyre__nvrtc_code_name(nvrtcResult code, char *out, uint64_t size);

#endif
