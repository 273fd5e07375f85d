/*
 * hiprtc.h - AMD's run-time compiler, and comgr, which it works with: found when first needed, once
 * a process.
 */
#ifndef VYRE_HIP_HIPRTC_H
#define VYRE_HIP_HIPRTC_H

#include "plugins/hip/hip_api.h"

#include <stdbool.h>

typedef struct vyre__hiprtc_entry_points {
#define VYRE_HIPRTC_ENTRY(name, parameters) hiprtcResult(*name) parameters;
#include "plugins/hip/hiprtc_entry_points.def"
#undef VYRE_HIPRTC_ENTRY
} vyre__hiprtc_entry_points;

#define VYRE__HIPRTC_ARCHS 128u

typedef struct vyre__hiprtc {
  vyre__hiprtc_entry_points call;
  int major, minor; /* hipRTC's own version, not ROCm's */
  /* What comgr makes code for, "gfx90a", as it lists them.  hipRTC ends the process when it is
     asked for another. */
  char archs[VYRE__HIPRTC_ARCHS][24];
  uint32_t arch_count;
  char path[512], comgr_path[512];
} vyre__hiprtc;

/* NULL where there is none; `out_reason` then says why. */
const vyre__hiprtc *vyre__hiprtc_find(char *out_reason, uint64_t size);

bool vyre__hiprtc_knows(const vyre__hiprtc *hiprtc, const char *arch);
/* "HIPRTC_ERROR_COMPILATION (6)" into `out`, which is returned. */
const char *vyre__hiprtc_code_name(hiprtcResult code, char *out, uint64_t size);

#endif
