/*
 * fake_device.c - platforms, devices, contexts and queues of the fake, and its state.
 */
#include "fake_inside.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Zeros before anybody calls reset(): no platform at all. */
fake_opencl fake;

static struct _cl_platform_id platforms[FAKE_MOST];
static struct _cl_device_id devices[FAKE_MOST * FAKE_MOST];

EXPORT fake_opencl *fake_opencl_state(void);
EXPORT void fake_opencl_reset(void);

fake_opencl *fake_opencl_state(void)
{
  return &fake;
}

void fake_opencl_reset(void)
{
  const fake_opencl fresh = {
      .platforms = 1,
      .devices = 1,
      .name = "Fake device",
      .version = "OpenCL 3.0 fake",
      .driver = "1",
      .extensions = "cl_khr_int64_base_atomics cl_khr_fp64 cl_khr_int64_extended_atomics",
      .type = CL_DEVICE_TYPE_GPU,
      .single_fp = 191,
      .available = CL_TRUE,
      .compiler = CL_TRUE,
      .little = CL_TRUE,
      .address_bits = 64,
      .c11 = true,
      .timer = true,
      .most_bytes = (size_t)1 << 30,
  };
  fake = fresh;
}

cl_int fake_enter(uint32_t call)
{
  fake.calls[call] += 1;
  return fake.fail_at && fake.fail_call == call && fake.calls[call] == fake.fail_at ? fake.fail_code
                                                                                    : CL_SUCCESS;
}

cl_int fake_answer(const void *value, size_t size, size_t room, void *out, size_t *out_size)
{
  if (out && room < size)
    return CL_INVALID_VALUE;
  if (out)
    memcpy(out, value, size);
  if (out_size)
    *out_size = size;
  return CL_SUCCESS;
}

cl_ulong fake_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
}

/* -------- platforms and devices -------- */

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *out_count)
{
  const cl_int code = fake_enter(FAKE_clGetPlatformIDs);
  if (code != CL_SUCCESS || fake.platforms_code != CL_SUCCESS)
    return code != CL_SUCCESS ? code : fake.platforms_code;
  for (cl_uint i = 0; out && i < room && i < fake.platforms; ++i) {
    platforms[i].number = i;
    out[i] = &platforms[i];
  }
  if (out_count)
    *out_count = fake.platforms;
  return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t room, void *out,
                         size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetPlatformInfo);
  const char *text = what == CL_PLATFORM_NAME ? "Fake" : "OpenCL 3.0 fake";
  (void)platform;
  return code != CL_SUCCESS ? code : fake_answer(text, strlen(text) + 1, room, out, out_size);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *out,
                      cl_uint *out_count)
{
  const cl_int code = fake_enter(FAKE_clGetDeviceIDs);
  (void)type;
  if (code != CL_SUCCESS || fake.devices_code != CL_SUCCESS)
    return code != CL_SUCCESS ? code : fake.devices_code;
  if (!fake.devices)
    return CL_DEVICE_NOT_FOUND;
  for (cl_uint i = 0; out && i < room && i < fake.devices; ++i) {
    cl_device_id device = &devices[platform->number * FAKE_MOST + i];
    device->platform = platform;
    device->number = i;
    out[i] = device;
  }
  if (out_count)
    *out_count = fake.devices;
  return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t room, void *out, size_t *out_size)
{
  return fake_answer(text, strlen(text) + 1, room, out, out_size);
}

static cl_int answer_word(cl_uint value, size_t room, void *out, size_t *out_size)
{
  return fake_answer(&value, sizeof(value), room, out, out_size);
}

static cl_int answer_wide(cl_ulong value, size_t room, void *out, size_t *out_size)
{
  return fake_answer(&value, sizeof(value), room, out, out_size);
}

static cl_int answer_features(size_t room, void *out, size_t *out_size)
{
  const cl_name_version features[] = {{0, "__opencl_c_atomic_order_acq_rel"},
                                      {0, "__opencl_c_atomic_order_seq_cst"},
                                      {0, "__opencl_c_fp64"},
                                      {0, "__opencl_c_atomic_scope_device"}};
  return fake_answer(features, fake.c11 ? sizeof(features) : sizeof(features[0]), room, out,
                     out_size);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t room, void *out,
                       size_t *out_size)
{
  static const size_t items[3] = {1024, 512, 64};
  const cl_int code = fake_enter(FAKE_clGetDeviceInfo);
  (void)device;
  if (code != CL_SUCCESS)
    return code;
  switch (what) {
  case CL_DEVICE_NAME:
    return answer_text(fake.name, room, out, out_size);
  case CL_DEVICE_VERSION:
    return answer_text(fake.version, room, out, out_size);
  case CL_DRIVER_VERSION:
    return answer_text(fake.driver, room, out, out_size);
  case CL_DEVICE_EXTENSIONS:
    return answer_text(fake.extensions, room, out, out_size);
  case CL_DEVICE_TYPE:
    return answer_wide(fake.type, room, out, out_size);
  case CL_DEVICE_SINGLE_FP_CONFIG:
    return answer_wide(fake.single_fp, room, out, out_size);
  case CL_DEVICE_AVAILABLE:
    return answer_word(fake.available, room, out, out_size);
  case CL_DEVICE_COMPILER_AVAILABLE:
    return answer_word(fake.compiler, room, out, out_size);
  case CL_DEVICE_ENDIAN_LITTLE:
    return answer_word(fake.little, room, out, out_size);
  case CL_DEVICE_HOST_UNIFIED_MEMORY:
    return answer_word(fake.unified, room, out, out_size);
  case CL_DEVICE_ADDRESS_BITS:
    return answer_word(fake.address_bits, room, out, out_size);
  case CL_DEVICE_MAX_COMPUTE_UNITS:
    return answer_word(4, room, out, out_size);
  case CL_DEVICE_MAX_WORK_GROUP_SIZE:
    return answer_wide(1024, room, out, out_size);
  case CL_DEVICE_MAX_WORK_ITEM_SIZES:
    return fake_answer(items, sizeof(items), room, out, out_size);
  case CL_DEVICE_MAX_PARAMETER_SIZE:
    return answer_wide(1024, room, out, out_size);
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
    return answer_wide(fake.most_bytes, room, out, out_size);
  case CL_DEVICE_GLOBAL_MEM_SIZE:
    return answer_wide((cl_ulong)4 << 30, room, out, out_size);
  case CL_DEVICE_LOCAL_MEM_SIZE:
    return answer_wide(32768, room, out, out_size);
  case CL_DEVICE_OPENCL_C_FEATURES:
    return answer_features(room, out, out_size);
  default:
    return CL_INVALID_VALUE;
  }
}

cl_int clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *out_device, cl_ulong *out_host)
{
  const cl_int code = fake_enter(FAKE_clGetDeviceAndHostTimer);
  (void)device;
  if (code != CL_SUCCESS || !fake.timer)
    return code != CL_SUCCESS ? code : CL_INVALID_OPERATION;
  *out_device = *out_host = fake_now();
  return CL_SUCCESS;
}

/* -------- contexts and queues -------- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
                           const cl_device_id *list,
                           void (*notify)(const char *, const void *, size_t, void *), void *data,
                           cl_int *out_code)
{
  const cl_int code = fake_enter(FAKE_clCreateContext);
  cl_context made = NULL;
  (void)properties;
  (void)count;
  (void)list;
  (void)data;
  if (notify)
    abort(); /* nothing of the plugin's may be called back */
  if (code == CL_SUCCESS) {
    made = calloc(1, sizeof(*made));
    made->users = 1;
    fake.contexts += 1;
  }
  *out_code = code;
  return made;
}

cl_int clRetainContext(cl_context context)
{
  const cl_int code = fake_enter(FAKE_clRetainContext);
  if (code == CL_SUCCESS)
    context->users += 1;
  return code;
}

cl_int clReleaseContext(cl_context context)
{
  const cl_int code = fake_enter(FAKE_clReleaseContext);
  if (--context->users == 0) {
    fake.contexts -= 1;
    free(context);
  }
  return code;
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int *out_code)
{
  const cl_int code = fake_enter(FAKE_clCreateCommandQueue);
  cl_command_queue made = NULL;
  if (code == CL_SUCCESS) {
    made = calloc(1, sizeof(*made));
    made->users = 1;
    made->context = context;
    made->device = device;
    made->properties = properties;
    context->users += 1;
    fake.queues += 1;
  }
  *out_code = code;
  return made;
}

cl_int clRetainCommandQueue(cl_command_queue queue)
{
  const cl_int code = fake_enter(FAKE_clRetainCommandQueue);
  if (code == CL_SUCCESS)
    queue->users += 1;
  return code;
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
  const cl_int code = fake_enter(FAKE_clReleaseCommandQueue);
  if (--queue->users == 0) {
    if (--queue->context->users == 0) {
      fake.contexts -= 1;
      free(queue->context);
    }
    fake.queues -= 1;
    free(queue);
  }
  return code;
}

cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t room,
                             void *out, size_t *out_size)
{
  const cl_int code = fake_enter(FAKE_clGetCommandQueueInfo);
  if (code != CL_SUCCESS)
    return code;
  switch (what) {
  case CL_QUEUE_CONTEXT:
    return fake_answer(&queue->context, sizeof(queue->context), room, out, out_size);
  case CL_QUEUE_DEVICE:
    return fake_answer(&queue->device, sizeof(queue->device), room, out, out_size);
  default:
    return fake_answer(&queue->properties, sizeof(queue->properties), room, out, out_size);
  }
}

cl_int clFlush(cl_command_queue queue)
{
  (void)queue;
  return fake_enter(FAKE_clFlush);
}

cl_int clFinish(cl_command_queue queue)
{
  (void)queue;
  return fake_enter(FAKE_clFinish);
}
