/*
 * build.c - from `vyre-c` text to a program of OpenCL: the cache on disk, then the vendor's
 * compiler.
 *
 * What is cached is the vendor's own binary.  It is believed only under the key of everything that
 * it was made from, the driver's version included; one that the driver does not take any more is
 * made again.
 */
#include "code.h"
#include "device.h"
#include "plugins/common/cache.h"
#include "plugins/common/host.h"
#include "plugins/common/sha256.h"
#include "plugins/common/text.h"

#include "embed/vyre__opencl_prelude.h"

#include <stdio.h>
#include <string.h>

#define KIND "vyreocl" /* what the names of cached programs end in */
#define OPTIONS_BYTES 256u
/* Changes when something about the way of compiling does that text and options do not show. */
#define RECIPE "vyre opencl recipe 1"

uint64_t vyre__opencl_prelude_in(const vyre__opencl_source *source)
{
  return source->size >= vyre__opencl_prelude_size &&
                 memcmp(source->text, vyre__opencl_prelude, vyre__opencl_prelude_size) == 0
             ? vyre__opencl_prelude_size
             : 0;
}

static bool uses_barriers(const vyre__opencl_source *source)
{
  static const char *const words[] = {"vyre_barrier", NULL};
  const uint64_t skip = vyre__opencl_prelude_in(source);
  return vyre__plugin_text_has_word(source->text + skip, source->size - skip, words);
}

static void choose_options(const vyre_backend_device *device, const vyre__opencl_source *source,
                           char out_options[OPTIONS_BYTES])
{
  const vyre__opencl_facts *facts = device->facts;
  snprintf(out_options, OPTIONS_BYTES,
           "-w -cl-std=%s -cl-fp32-correctly-rounded-divide-sqrt -DVYRE__C11=%d -DVYRE_DEBUG=%d "
           "-DVYRE_HAS_BARRIER=%d -DVYRE__NEIGHBOURS=%d",
           facts->c11 ? "CL3.0" : "CL1.2", facts->c11, (source->flags & VYRE_MODULE_DEBUG) != 0,
           uses_barriers(source), !facts->is_cpu);
}

/* -------- the key -------- */

static void hash_text(vyre__plugin_sha256 *hash, const char *text)
{
  vyre__plugin_sha256_add(hash, text, strlen(text) + 1);
}

static void hash_device_text(vyre__plugin_sha256 *hash, cl_device_id device, cl_uint what)
{
  char text[512];
  vyre__opencl_device_text(device, what, text, sizeof(text));
  hash_text(hash, text);
}

static void make_key(const vyre_backend_device *device, const vyre__opencl_source *source,
                     const char *options, unsigned char *out_key)
{
  const vyre__opencl_facts *facts = device->facts;
  const uint64_t numbers[] = {VYRE_ABI_VERSION, source->size};
  vyre__plugin_sha256 hash;
  char platform[512] = "";
  if (device->cl->clGetPlatformInfo(facts->platform, CL_PLATFORM_VERSION, sizeof(platform) - 1,
                                    platform, NULL) != CL_SUCCESS)
    platform[0] = '\0';
  vyre__plugin_sha256_init(&hash);
  hash_text(&hash, RECIPE);
  vyre__plugin_sha256_add(&hash, numbers, sizeof(numbers));
  hash_text(&hash, platform);
  hash_text(&hash, facts->id);
  hash_device_text(&hash, facts->device, CL_DEVICE_NAME);
  hash_device_text(&hash, facts->device, CL_DEVICE_VERSION);
  hash_device_text(&hash, facts->device, CL_DRIVER_VERSION);
  hash_text(&hash, options);
  vyre__plugin_sha256_add(&hash, source->text, source->size);
  vyre__plugin_sha256_final(&hash, out_key);
}

/* -------- the cache -------- */

/* A program from the cache, or NULL. */
static cl_program get_cached(const vyre_backend_device *device, const unsigned char *key,
                             const char *options)
{
  const vyre__cl_calls *cl = device->cl;
  uint64_t bytes = 0;
  unsigned char *data = vyre__plugin_cache_get_sealed(device->host, key, KIND, &bytes);
  cl_program program = NULL;
  cl_int code = CL_SUCCESS, taken = CL_SUCCESS;
  if (!data)
    return NULL;
  const size_t size = bytes;
  const unsigned char *binary = data;
  program = cl->clCreateProgramWithBinary(device->context, 1, &device->facts->device, &size,
                                          &binary, &taken, &code);
  if (program && (taken != CL_SUCCESS || cl->clBuildProgram(program, 1, &device->facts->device,
                                                            options, NULL, NULL) != CL_SUCCESS)) {
    vyre__plugin_log(device->host, VYRE_LOG_DEBUG,
                     "opencl: the driver refuses a cached program, which is made again");
    cl->clReleaseProgram(program);
    program = NULL;
  }
  vyre__plugin_deallocate(device->host, data);
  return program;
}

/* A driver that gives no binary has no cache of ours. */
static void put_cached(const vyre_backend_device *device, const unsigned char *key,
                       cl_program program)
{
  const vyre__cl_calls *cl = device->cl;
  size_t size = 0;
  if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) !=
          CL_SUCCESS ||
      !size)
    return;
  unsigned char *data = vyre__plugin_allocate(device->host, size, 64);
  if (!data)
    return;
  if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, NULL) == CL_SUCCESS)
    vyre__plugin_cache_put_sealed(device->host, key, KIND, data, size);
  vyre__plugin_deallocate(device->host, data);
}

/* -------- the compiler -------- */

static vyre_status fail_build(const vyre_backend_device *device, const vyre__opencl_source *source,
                              cl_program program, cl_int code, vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  size_t size = 0;
  char *log = NULL, text[VYRE_ERROR_MESSAGE_SIZE];
  vyre_status status = VYRE_ERROR_COMPILE_FAILED;
  if (code != CL_BUILD_PROGRAM_FAILURE)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_COMPILE_FAILED, code, "clBuildProgram", "%s",
                          source->name);
  if (cl->clGetProgramBuildInfo(program, device->facts->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                &size) == CL_SUCCESS &&
      size > 1)
    log = vyre__plugin_allocate_zeroed(device->host, size + 1, 1);
  if (log && cl->clGetProgramBuildInfo(program, device->facts->device, CL_PROGRAM_BUILD_LOG, size,
                                       log, NULL) != CL_SUCCESS)
    log[0] = '\0';
  vyre__opencl_log_lines(source, log ? log : "", text, sizeof(text));
  status = PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_COMPILE_FAILED, code, NULL, "%s: %s", source->name,
                              text[0] ? text
                                      : "the compiler failed and said nothing "
                                        "(CL_BUILD_PROGRAM_FAILURE (-11))");
  vyre__plugin_deallocate(device->host, log);
  return status;
}

static vyre_status compile(vyre_backend_device *device, const vyre__opencl_source *source,
                           const char *options, cl_program *out_program, vyre_error *err)
{
  const vyre__cl_calls *cl = device->cl;
  const char *text = source->text;
  const size_t size = source->size;
  cl_int code = CL_SUCCESS;
  cl_program program = cl->clCreateProgramWithSource(device->context, 1, &text, &size, &code);
  if (!program)
    return OPENCL_FAIL(err, code, "clCreateProgramWithSource", "%s", source->name);
  code = cl->clBuildProgram(program, 1, &device->facts->device, options, NULL, NULL);
  if (code != CL_SUCCESS) {
    const vyre_status status = fail_build(device, source, program, code, err);
    cl->clReleaseProgram(program);
    return status;
  }
  *out_program = program;
  return VYRE_OK;
}

vyre_status vyre__opencl_build(vyre_backend_device *device, const vyre__opencl_source *source,
                               cl_program *out_program, vyre_error *err)
{
  unsigned char key[VYRE__HASH_SIZE];
  char options[OPTIONS_BYTES];
  vyre_status status = VYRE_OK;
  choose_options(device, source, options);
  make_key(device, source, options, key);
  *out_program = get_cached(device, key, options);
  if (*out_program)
    return VYRE_OK;
  status = compile(device, source, options, out_program, err);
  if (status == VYRE_OK)
    put_cached(device, key, *out_program);
  return status;
}
