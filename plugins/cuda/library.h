/*
 * library.h - the CUDA driver's library: found, checked and resolved once a process.
 */
#ifndef VYRE_CUDA_LIBRARY_H
#define VYRE_CUDA_LIBRARY_H

#include "plugins/cuda/cuda_api.h"
#include "vyre_status.h"

#include <stdbool.h>

/* The oldest driver that is taken, as cuDriverGetVersion() counts: 12.0.  It has all that is
   required in entry_points.def, and lazy loading as it is now. */
#define VYRE__CUDA_OLDEST_DRIVER 12000

/* The driver's entry points, filled in by vyre__cuda_load(); optional ones may be NULL. */
typedef struct vyre__cuda_entry_points {
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters) CUresult(*field) parameters;
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
} vyre__cuda_entry_points;

extern vyre__cuda_entry_points vyre__cuda;

/* vyre__gpu_driver_table.load().  A driver that sees no device is loaded all the same. */
vyre_status vyre__cuda_load(vyre_error *err);

/* After vyre__cuda_load() has returned VYRE_OK. */
CUresult vyre__cuda_init_code(void);         /* what cuInit() said: 0, or "no device" */
int vyre__cuda_driver_version(void);         /* 13000: it speaks CUDA 13.0 */
const char *vyre__cuda_library_path(void);   /* where the loader found it */
const char *vyre__cuda_driver_release(void); /* "580.95.05", or "" where the file does not say */

#endif
