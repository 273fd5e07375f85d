/*
 * overhead.c - what the opencl plugin adds to a launch: the same small kernel by the plugin's table
 * and by bare calls of OpenCL, on the same queue, in turns.
 *
 *     opencl-overhead PLUGIN.so [ROUNDS]
 *
 * Prints medians: one launch that is waited for, and a launch out of a hundred that are queued
 * before anybody waits.
 */
#include "plugins/opencl/cl.h"
#include "vyre_backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MANY 100u
#define MOST_ROUNDS 10000u

static const vyre_backend *backend;
static vyre__cl_calls cl;

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
  fprintf(stderr, "opencl-overhead: %s: %s\n", what, why);
  exit(2);
}

/* ---- a host ---- */

static void *host_allocate(void *self, uint64_t size, uint64_t align)
{
  void *memory = NULL;
  (void)self;
  return posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) ? NULL
                                                                                        : memory;
}

static void host_deallocate(void *self, void *memory)
{
  (void)self;
  free(memory);
}

static const vyre_host host = {.struct_size = sizeof(vyre_host),
                               .abi_major = VYRE_ABI_MAJOR,
                               .abi_minor_min = VYRE_ABI_MINOR,
                               .abi_minor_max = VYRE_ABI_MINOR,
                               .allocate = host_allocate,
                               .deallocate = host_deallocate};

static void check(vyre_status status, const vyre_error *err, const char *what)
{
  if (status != VYRE_OK)
    die(what, err->message);
}

static void check_code(cl_int code, const char *what)
{
  char number[32];
  snprintf(number, sizeof(number), "code %d", (int)code);
  if (code != CL_SUCCESS)
    die(what, number);
}

static void load_plugin(const char *path)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_query_fn query;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, VYRE_BACKEND_QUERY_SYMBOL) : NULL;
  if (!symbol)
    die(path, "no plugin");
  memcpy(&query, &symbol, sizeof(query));
  check(query(&host, &backend, &err), &err, path);
}

/* The calls that are measured, from the library that the plugin has opened. */
static void load_calls(void)
{
  static const struct {
    const char *name;
    size_t place;
  } rows[] = {
#define ROW(need, result, name, parameters) {#name, offsetof(vyre__cl_calls, name)},
      VYRE__CL_CALLS(ROW)
#undef ROW
  };
  const char *given = getenv("VYRE_OPENCL_LIBRARY");
  void *library = dlopen(given ? given : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    die("libOpenCL.so.1", dlerror());
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    void *symbol = dlsym(library, rows[i].name);
    memcpy((char *)&cl + rows[i].place, &symbol, sizeof(symbol));
  }
}

/* ---- the two ways ---- */

typedef struct subject {
  vyre_backend_device *device;
  vyre_backend_module *module;
  vyre_backend_buffer *buffer;
  vyre_binding bindings[2];
  vyre_dispatch_desc desc;
  cl_command_queue queue;
  cl_kernel bare;
} subject;

static void make_ours(subject *s)
{
  static const char text[] =
      "#define VYRE_BUFFER_a 0\n#define VYRE_BUFFER_b 1\n"
      "VYRE_SEGMENT(touch)(vyre_ctx *c, VYRE_IN(vyre_u32) a, VYRE_INOUT(vyre_u32) b)\n"
      "{\n  if (vyre_global_id(c, 0) < vyre_count(c, b)) b[vyre_global_id(c, 0)] += a[0];\n}\n"
      "VYRE_ENTRY(touch, (VYRE_PARAM_IN(0, a), VYRE_PARAM_INOUT(1, b)), (VYRE_ARG(0, a), "
      "VYRE_ARG(1, b)));\n";
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_kernel *kernel = NULL;
  const size_t size = backend->prelude_size + sizeof(text) - 1;
  char *whole = malloc(size);
  if (!whole)
    die("kernel", "no memory");
  memcpy(whole, backend->prelude, backend->prelude_size);
  memcpy(whole + backend->prelude_size, text, sizeof(text) - 1);
  const vyre_module_desc module = {
      .struct_size = sizeof(module), .format = "vyre-c", .arch = "", .data = whole, .size = size};
  check(backend->device_open(0, NULL, &s->device, &err), &err, "device");
  check(backend->module_load(s->device, &module, &s->module, &err), &err, "module");
  check(backend->kernel_find(s->module, "touch", &kernel, NULL, &err), &err, "kernel");
  check(backend->buffer_alloc(s->device, 4096, &s->buffer, &err), &err, "buffer");
  free(whole);
  for (uint32_t i = 0; i < 2; ++i)
    s->bindings[i] = (vyre_binding){.struct_size = sizeof(vyre_binding),
                                    .id = i,
                                    .access = i ? VYRE_READ_WRITE : VYRE_READ_ONLY,
                                    .kind = VYRE_BINDING_BUFFER,
                                    .buffer = s->buffer,
                                    .offset = 2048u * i,
                                    .size = 256,
                                    .element_count = 64};
  s->desc = (vyre_dispatch_desc){.struct_size = sizeof(s->desc),
                                 .binding_count = 2,
                                 .kernel = kernel,
                                 .bindings = s->bindings,
                                 .binding_stride = sizeof(s->bindings[0]),
                                 .groups = {1, 1, 1},
                                 .workgroup = {64, 1, 1},
                                 .id_limit = 2};
}

/* On the plugin's own queue, so that both are alike. */
static void make_bare(subject *s)
{
  static const char *text = "__kernel void touch(__global const uint *a, __global uint *b)\n"
                            "{\n  if (get_global_id(0) < 64) b[get_global_id(0)] += a[0];\n}\n";
  vyre_error err = VYRE_ERROR_INIT;
  vyre_native_handle queue = {.struct_size = sizeof(queue)};
  vyre_native_memory memory = {.struct_size = sizeof(memory)};
  cl_context context = NULL;
  cl_device_id id = NULL;
  cl_int code = CL_SUCCESS;
  check(backend->queue_export(s->device, &queue, &err), &err, "queue");
  check(backend->buffer_export(s->device, s->buffer, &memory, &err), &err, "memory");
  s->queue = (cl_command_queue)(uintptr_t)queue.handle;
  check_code(cl.clGetCommandQueueInfo(s->queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL),
             "clGetCommandQueueInfo");
  check_code(cl.clGetCommandQueueInfo(s->queue, CL_QUEUE_DEVICE, sizeof(id), &id, NULL),
             "clGetCommandQueueInfo");
  cl_program program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &code);
  check_code(code, "clCreateProgramWithSource");
  check_code(cl.clBuildProgram(program, 1, &id, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
  s->bare = cl.clCreateKernel(program, "touch", &code);
  check_code(code, "clCreateKernel");
  const cl_mem both = (cl_mem)(uintptr_t)memory.handle;
  for (cl_uint i = 0; i < 2; ++i)
    check_code(cl.clSetKernelArg(s->bare, i, sizeof(both), &both), "clSetKernelArg");
  cl.clReleaseProgram(program);
}

static double run_ours(const subject *s, uint32_t launches)
{
  static vyre_backend_pending *pending[MANY];
  vyre_error err = VYRE_ERROR_INIT;
  const uint64_t begin = now_ns();
  for (uint32_t i = 0; i < launches; ++i)
    check(backend->dispatch(s->device, &s->desc, &pending[i], &err), &err, "dispatch");
  check(backend->pending_wait(pending[launches - 1], VYRE_NO_TIMEOUT, &err), &err, "wait");
  for (uint32_t i = 0; i < launches; ++i)
    backend->pending_release(pending[i]);
  return (double)(now_ns() - begin) / 1000.0 / launches;
}

/* The least that OpenCL allows: the arguments were set once. */
static double run_bare(const subject *s, uint32_t launches)
{
  static cl_event events[MANY];
  static const size_t items = 64;
  const uint64_t begin = now_ns();
  for (uint32_t i = 0; i < launches; ++i) {
    check_code(
        cl.clEnqueueNDRangeKernel(s->queue, s->bare, 1, NULL, &items, &items, 0, NULL, &events[i]),
        "clEnqueueNDRangeKernel");
    check_code(cl.clFlush(s->queue), "clFlush");
  }
  check_code(cl.clWaitForEvents(1, &events[launches - 1]), "clWaitForEvents");
  for (uint32_t i = 0; i < launches; ++i)
    cl.clReleaseEvent(events[i]);
  return (double)(now_ns() - begin) / 1000.0 / launches;
}

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void compare(const subject *s, const char *what, uint32_t launches, uint32_t rounds)
{
  static double ours[MOST_ROUNDS], bare[MOST_ROUNDS];
  for (uint32_t i = 0; i < rounds; ++i) {
    bare[i] = run_bare(s, launches);
    ours[i] = run_ours(s, launches);
  }
  qsort(ours, rounds, sizeof(ours[0]), by_value);
  qsort(bare, rounds, sizeof(bare[0]), by_value);
  printf("%-28s bare %8.2f us, plugin %8.2f us, over it %+7.2f us\n", what, bare[rounds / 2],
         ours[rounds / 2], ours[rounds / 2] - bare[rounds / 2]);
}

int main(int count, char **arguments)
{
  subject s = {0};
  const unsigned long rounds = count > 2 ? strtoul(arguments[2], NULL, 10) : 500;
  if (count < 2 || !rounds || rounds > MOST_ROUNDS) {
    fprintf(stderr, "Usage: opencl-overhead PLUGIN.so [ROUNDS]\n");
    return 2;
  }
  load_plugin(arguments[1]);
  make_ours(&s);
  load_calls();
  make_bare(&s);
  compare(&s, "one launch, waited for", 1, (uint32_t)rounds);
  compare(&s, "a launch of a hundred", MANY, (uint32_t)(rounds / 10 + 1));
  cl.clReleaseKernel(s.bare);
  backend->buffer_free(s.device, s.buffer);
  backend->module_unload(s.device, s.module);
  backend->device_close(s.device);
  return 0;
}
