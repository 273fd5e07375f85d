/*
 * module.h - loaded code and its entries.
 */
#ifndef VYRE_OPENCL_MODULE_H
#define VYRE_OPENCL_MODULE_H

#include "device.h"
#include "launch.h"

struct vyre_backend_kernel {
  struct vyre_backend_kernel *next;
  const vyre__cl_calls *cl;
  cl_kernel handle;
  bool debug;           /* its second argument is the record of a bad index */
  bool fused;           /* a whole program in one launch: never started here */
  uint32_t parameters;  /* bindings that it takes */
  uint32_t max_items;   /* of a group */
  uint64_t local_bytes; /* of its own */

  /* Arguments are set and the launch is queued under this lock: OpenCL's kernels hold them. */
  pthread_mutex_t lock;
  cl_mem words;            /* the words of its latest launch, or NULL */
  vyre__opencl_words kept; /* what they are */

  char name[]; /* as it was asked for */
};

#endif
