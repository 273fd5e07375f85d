/*
 * library.h - HIP's runtime: found, checked and resolved once a process.
 */
#ifndef VYRE_HIP_LIBRARY_H
#define VYRE_HIP_LIBRARY_H

#include "plugins/hip/hip_api.h"
#include "vyre_status.h"

/* The oldest ROCm that is taken, hundreds for the major number: 5.2, Debian 12's. */
#define VYRE__HIP_OLDEST_ROCM 502

/* The runtime's entry points, filled in by vyre__hip_load(); optional ones may be NULL. */
typedef struct vyre__hip_entry_points {
#define VYRE_HIP_ENTRY(field, symbol, other, need, since, parameters) hipError_t(*field) parameters;
#include "plugins/hip/entry_points.def"
#undef VYRE_HIP_ENTRY
} vyre__hip_entry_points;

extern vyre__hip_entry_points vyre__hip;

/* vyre__gpu_driver_table.load().  A runtime that sees no device is loaded all the same. */
vyre_status vyre__hip_load(vyre_error *err);

/* After vyre__hip_load() has returned VYRE_OK. */
hipError_t vyre__hip_init_code(void);     /* what hipInit() said: 0, or "no device" */
int vyre__hip_rocm(void);                 /* 502: it is of ROCm 5.2 */
int vyre__hip_patch(void);                /* 21153 */
void *vyre__hip_library(void);            /* as dlopen() gave it: old ones hold hipRTC, too */
const char *vyre__hip_library_path(void); /* where the loader found it */
/* "" or, where the process holds a runtime of another ROCm, ", mixed with libamdhip64.so.6". */
const char *vyre__hip_mix(void);

#endif
