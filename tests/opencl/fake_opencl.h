/*
 * fake_opencl.h - an OpenCL of our own, without a device: what it is said to have, which call
 * fails, and what is left of what it gave out.
 *
 * A library named libOpenCL.so.1, which the plugin opens by VYRE_OPENCL_LIBRARY.  Commands run at
 * once.  A kernel adds 1 to each byte of every binding that it may write; see fake_run.c.
 */
#ifndef VYRE_TESTS_OPENCL_FAKE_H
#define VYRE_TESTS_OPENCL_FAKE_H

#include "plugins/opencl/cl.h"

#include <stdbool.h>

#define FAKE_MOST 8

/* Numbers of the calls, in the order of the list. */
#define FAKE_NUMBER(need, result, name, parameters) FAKE_##name,
enum { VYRE__CL_CALLS(FAKE_NUMBER) FAKE_CALLS };
#undef FAKE_NUMBER

typedef struct fake_opencl {
  /* What there is. */
  cl_int platforms_code; /* of clGetPlatformIDs */
  cl_uint platforms;
  cl_uint devices; /* of each platform */
  cl_int devices_code;
  const char *name;
  const char *version;
  const char *driver;
  const char *extensions;
  cl_ulong type;
  cl_ulong single_fp;
  cl_bool available, compiler, little, unified;
  cl_uint address_bits;
  bool c11;          /* its compiler knows C11 atomics */
  bool timer;        /* clGetDeviceAndHostTimer answers */
  size_t most_bytes; /* of one buffer */

  /* Which call fails: the `fail_at`-th one (from 1) of number `fail_call`. */
  uint32_t fail_call, fail_at;
  cl_int fail_code;
  cl_int launch_code;  /* what a launch ends with */
  cl_int binary_code;  /* of clCreateProgramWithBinary */
  uint32_t slow_looks; /* so often a launch is looked at before it has ended */
  bool bad_index;      /* a debug kernel finds an index outside */
  bool image;          /* memory that is made is said to be an image */
  bool whole_lines;    /* its compiler knows no #line */
  bool rude_lines;     /* what it says steers a terminal */

  /* What happened. */
  uint32_t calls[FAKE_CALLS];
  uint32_t contexts, queues, memories, programs, kernels, events; /* that are alive */
  uint32_t lent;     /* buffers in the memory of the host that were ever made */
  uint32_t at_once;  /* and those whose memory is taken when they are made */
  char options[512]; /* of the last build */
} fake_opencl;

/* The one state; reset() brings it to its defaults: one device that can be opened. */
typedef fake_opencl *(*fake_opencl_state_fn)(void);
typedef void (*fake_opencl_reset_fn)(void);

/* The name of a call. */
const char *fake_opencl_name(uint32_t call);

#endif
