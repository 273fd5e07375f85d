/*
 * fake_inside.h - what the parts of the fake share: its objects.
 */
#ifndef VYRE_TESTS_OPENCL_FAKE_INSIDE_H
#define VYRE_TESTS_OPENCL_FAKE_INSIDE_H

#include "fake_opencl.h"

#define EXPORT __attribute__((visibility("default")))

extern fake_opencl fake;

/* All calls, by the list: a definition of another type does not compile. */
#define FAKE_DECLARE(need, result, name, parameters) EXPORT result name parameters;
VYRE__CL_CALLS(FAKE_DECLARE)
#undef FAKE_DECLARE

struct _cl_platform_id {
  uint32_t number;
};
struct _cl_device_id {
  cl_platform_id platform;
  uint32_t number;
};
struct _cl_context {
  uint32_t users;
};
struct _cl_command_queue {
  uint32_t users;
  cl_context context;
  cl_device_id device;
  cl_command_queue_properties properties;
};
struct _cl_mem {
  uint32_t users;
  cl_context context;
  cl_mem_flags flags;
  cl_uint type;
  size_t size;
  unsigned char *bytes;
};
struct _cl_program {
  uint32_t users;
  char *text; /* NULL before it is made */
  bool built, debug, broken;
};
#define FAKE_ARGUMENTS 80
struct _cl_kernel {
  uint32_t users;
  cl_program program;
  uint32_t arguments;
  struct {
    cl_mem memory;
    size_t local;
    bool set;
  } argument[FAKE_ARGUMENTS];
};
struct _cl_event {
  uint32_t users;
  cl_int state;
  uint32_t looks; /* that it still seems to run */
  cl_ulong started, ended;
};

/* Counts a call; the code that it has to fail with, or CL_SUCCESS. */
cl_int fake_enter(uint32_t call);

/* One value of an info call. */
cl_int fake_answer(const void *value, size_t size, size_t room, void *out, size_t *out_size);

/* Nanoseconds of the fake's clock. */
cl_ulong fake_now(void);

/* The event of a command that has run, if one is wanted. */
cl_int fake_event(cl_int state, uint32_t looks, cl_event *out_event);

#endif
