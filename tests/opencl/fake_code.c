/*
 * fake_code.c - programs and kernels of the fake.  A program is its text; its binary is the text
 * with a word in front.
 */
#include "fake_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINARY "FAKE BINARY\n"

static cl_program make(const char *text, size_t size)
{
  cl_program made = calloc(1, sizeof(*made));
  made->users = 1;
  made->text = calloc(1, size + 1);
  memcpy(made->text, text, size);
  fake.programs += 1;
  return made;
}

static void drop(cl_program program)
{
  if (--program->users)
    return;
  fake.programs -= 1;
  free(program->text);
  free(program);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts,
                                     const size_t *sizes, cl_int *out_code)
{
  *out_code = fake_enter(FAKE_clCreateProgramWithSource);
  (void)context;
  (void)count;
  return *out_code == CL_SUCCESS ? make(texts[0], sizes[0]) : NULL;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *out_states, cl_int *out_code)
{
  const size_t head = sizeof(BINARY) - 1;
  const char *bytes = (const char *)binaries[0];
  *out_code = fake_enter(FAKE_clCreateProgramWithBinary);
  (void)context;
  (void)count;
  (void)devices;
  if (*out_code == CL_SUCCESS && fake.binary_code != CL_SUCCESS)
    *out_code = fake.binary_code;
  if (*out_code != CL_SUCCESS)
    return NULL;
  if (sizes[0] < head || memcmp(bytes, BINARY, head) != 0)
    *out_code = CL_INVALID_BINARY;
  out_states[0] = *out_code;
  return *out_code == CL_SUCCESS ? make(bytes + head, sizes[0] - head) : NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                      const char *options, void (*notify)(cl_program, void *), void *data)
{
  const cl_int code = fake_enter(FAKE_clBuildProgram);
  (void)count;
  (void)devices;
  (void)data;
  if (notify)
    abort();
  if (code != CL_SUCCESS)
    return code;
  snprintf(fake.options, sizeof(fake.options), "%s", options);
  program->debug = strstr(options, "-DVYRE_DEBUG=1") != NULL;
  program->broken = strstr(program->text, "not a kernel") != NULL;
  program->built = !program->broken;
  return program->broken ? CL_BUILD_PROGRAM_FAILURE : CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t room, void *out, size_t *out_size)
{
  char log[256] = "user.c:7: that is not a kernel";
  const cl_int code = fake_enter(FAKE_clGetProgramBuildInfo);
  const char *fault = strstr(program->text, "not a kernel");
  (void)device;
  (void)what;
  if (fake.whole_lines && fault) {
    unsigned long line = 1;
    for (const char *at = program->text; at < fault; ++at)
      line += *at == '\n';
    snprintf(log, sizeof(log), "<kernel>:%lu:3: error: wrong\n<kernel>: 1 error", line);
  }
  if (fake.rude_lines)
    snprintf(log, sizeof(log), "user.c:7: \033[31mred\033[0m\a\r\n\tj\303\251\177 \n\n");
  return code != CL_SUCCESS ? code : fake_answer(log, sizeof(log), room, out, out_size);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t room, void *out,
                        size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetProgramInfo);
  const size_t size = sizeof(BINARY) - 1 + strlen(program->text);
  if (code != CL_SUCCESS)
    return code;
  if (what == CL_PROGRAM_BINARY_SIZES)
    return fake_answer(&size, sizeof(size), room, out, out_size);
  unsigned char *place = *(unsigned char **)out;
  memcpy(place, BINARY, sizeof(BINARY) - 1);
  memcpy(place + sizeof(BINARY) - 1, program->text, strlen(program->text));
  return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program)
{
  const cl_int code = fake_enter(FAKE_clReleaseProgram);
  drop(program);
  return code;
}

/* -------- kernels -------- */

/* Parameters of VYRE_ENTRY(NAME, (…), …), those of the plugin's own included; 0: no such entry. */
static uint32_t count_parameters(cl_program program, const char *name)
{
  static const char prefix[] = "vyre_entry_";
  char begin[256];
  uint32_t count = program->debug ? 2 : 1;
  if (strcmp(name, "vyre_look") == 0)
    return strstr(program->text, "vyre_look(") ? 1 : 0;
  if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
    return 0;
  snprintf(begin, sizeof(begin), "VYRE_ENTRY(%.200s, (", name + sizeof(prefix) - 1);
  const char *at = strstr(program->text, begin);
  const char *end = at ? strstr(at, "VYRE_ARG(") : NULL;
  if (!end)
    return 0;
  while ((at = strstr(at, "VYRE_PARAM_")) != NULL && at < end) {
    at += 1;
    count += 1;
  }
  return count;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *out_code)
{
  const uint32_t parameters = count_parameters(program, name);
  cl_kernel made = NULL;
  *out_code = fake_enter(FAKE_clCreateKernel);
  if (*out_code == CL_SUCCESS && !parameters)
    *out_code = CL_INVALID_KERNEL_NAME;
  if (*out_code != CL_SUCCESS)
    return NULL;
  made = calloc(1, sizeof(*made));
  made->users = 1;
  made->program = program;
  made->arguments = parameters;
  program->users += 1;
  fake.kernels += 1;
  return made;
}

cl_int clReleaseKernel(cl_kernel kernel)
{
  const cl_int code = fake_enter(FAKE_clReleaseKernel);
  fake.kernels -= 1;
  drop(kernel->program);
  free(kernel);
  return code;
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t room, void *out,
                       size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetKernelInfo);
  (void)what;
  return code != CL_SUCCESS ? code
                            : fake_answer(&kernel->arguments, sizeof(cl_uint), room, out, out_size);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                cl_kernel_work_group_info what, size_t room, void *out,
                                size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetKernelWorkGroupInfo);
  const cl_ulong value = what == CL_KERNEL_WORK_GROUP_SIZE ? 256 : 0;
  (void)kernel;
  (void)device;
  return code != CL_SUCCESS ? code : fake_answer(&value, sizeof(value), room, out, out_size);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
  const cl_int code = fake_enter(FAKE_clSetKernelArg);
  if (code != CL_SUCCESS)
    return code;
  if (index >= kernel->arguments)
    return CL_INVALID_ARG_INDEX;
  kernel->argument[index].memory = value ? *(const cl_mem *)value : NULL;
  kernel->argument[index].local = value ? 0 : size;
  kernel->argument[index].set = true;
  return CL_SUCCESS;
}
