/*
 * fake_code.c - modules, functions and launches of the test driver.  An image is PTX text, or the
 * small ELF that fake_nvrtc.c makes around one; only its `.entry` lines are read.
 */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_OF_ALL 233472u /* of one multiprocessor */

typedef struct fake_module {
  fake_object object;
  fake_function *functions;
} fake_module;

/* -------- reading -------- */

/* Parameters between `(` and `)`: all but the launch structure. */
static uint32_t count_parameters(const char *text, const char *end)
{
  uint32_t count = 0;
  for (const char *at = text; (at = strstr(at, ".param")) && at < end; ++at)
    count++;
  return count ? count - 1 : 0;
}

static const char *read_entry(fake_module *module, const char *at)
{
  const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL;
  if (!close)
    return NULL;
  fake_function *function = fake_make(FAKE_FUNCTION, sizeof *function);
  while (isspace((unsigned char)*at))
    ++at;
  size_t length = 0;
  while (at[length] && !isspace((unsigned char)at[length]) && at[length] != '(')
    ++length;
  snprintf(function->name, sizeof function->name, "%.*s", (int)length, at);
  function->parameters = count_parameters(open, close);
  function->dynamic_limit = 49152;
  function->kernel = fake_kernel_find(function->name, &function->resident);
  function->next = module->functions;
  module->functions = function;
  return close;
}

/* Writes the driver's complaint where the options say. */
static void complain(unsigned count, const CUjit_option *options, void **values, const char *text)
{
  char *log = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == VYRE__CU_JIT_ERROR_LOG)
      log = values[i];
    if (options[i] == VYRE__CU_JIT_ERROR_LOG_SIZE)
      size = (size_t)(uintptr_t)values[i];
  }
  if (log && size)
    snprintf(log, size, "%s", text);
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int count,
                            CUjit_option *options, void **values)
{
  BEGIN(FAKE_cuModuleLoadDataEx, NEEDS_CONTEXT | WAITS, "%u", count);
  const char *text = image;
  if (!memcmp(text, "\177ELF", 4))
    text += 64;
  if (!strstr(text, ".version")) {
    complain(count, options, values, "ptxas fatal   : no .version directive; line 1");
    return fake_end(218);
  }
  if (strstr(text, ".target sm_999"))
    return fake_end(209);
  fake_module *module = fake_make(FAKE_MODULE, sizeof *module);
  for (const char *at = text; at && (at = strstr(at, ".entry"));)
    at = read_entry(module, at + strlen(".entry"));
  *out = (CUmodule)(void *)module;
  return fake_end(0);
}

CUresult cuModuleUnload(CUmodule handle)
{
  BEGIN_DROP(handle, FAKE_cuModuleUnload, NEEDS_CONTEXT | WAITS, "%s", "");
  fake_module *module = fake_take(handle, FAKE_MODULE);
  if (!module)
    return fake_end(400);
  fake_drain(module->object.context);
  for (fake_function *function = module->functions; function; function = function->next)
    fake_kill(&function->object);
  fake_kill(&module->object);
  return fake_end(0);
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
  BEGIN(FAKE_cuModuleGetFunction, NEEDS_CONTEXT | WAITS, "%s", name);
  const fake_module *module = fake_take(handle, FAKE_MODULE);
  if (!module)
    return fake_end(400);
  for (fake_function *function = module->functions; function; function = function->next)
    if (!strcmp(function->name, name)) {
      *out = (CUfunction)(void *)function;
      return fake_end(0);
    }
  return fake_end(500);
}

/* -------- functions -------- */

/* After BEGIN: the function, loaded from now on. */
static fake_function *touch(CUfunction handle)
{
  fake_function *function = fake_take(handle, FAKE_FUNCTION);
  if (function && !function->loaded && fake.resident)
    fake_fault("the code of %s is loaded while a resident kernel runs", function->name);
  if (function)
    function->loaded = true;
  return function;
}

CUresult cuFuncLoad(CUfunction handle)
{
  BEGIN(FAKE_cuFuncLoad, NEEDS_CONTEXT, "%s", "");
  return fake_end(touch(handle) ? 0 : 400);
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
  BEGIN(FAKE_cuFuncGetAttribute, NEEDS_CONTEXT, "%u", attribute);
  const fake_function *function = touch(handle);
  if (!function)
    return fake_end(400);
  switch (attribute) {
  case VYRE__CU_FUNCTION_MAX_THREADS:
    *value = 1024;
    break;
  case VYRE__CU_FUNCTION_REGISTERS:
    *value = 32;
    break;
  case VYRE__CU_FUNCTION_MAX_DYNAMIC_SHARED:
    *value = function->dynamic_limit;
    break;
  default:
    *value = 0;
  }
  return fake_end(0);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
  BEGIN(FAKE_cuFuncSetAttribute, NEEDS_CONTEXT, "%u %d", attribute, value);
  fake_function *function = touch(handle);
  if (!function || attribute != VYRE__CU_FUNCTION_MAX_DYNAMIC_SHARED || value < 0 ||
      value > fake.attributes[function->object.context->device][VYRE__CU_DEVICE_MAX_SHARED_OPTIN])
    return fake_end(1);
  function->dynamic_limit = value;
  return fake_end(0);
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
  BEGIN(FAKE_cuFuncGetParamInfo, NEEDS_CONTEXT, "%zu", index);
  const fake_function *function = touch(handle);
  if (!function || index > function->parameters)
    return fake_end(1);
  *offset = 8 * index;
  if (size)
    *size = index == function->parameters ? sizeof(vyre__gpu_launch) : 8;
  return fake_end(0);
}

static uint32_t occupancy(const fake_function *function, uint32_t items, size_t shared)
{
  if (!items || items > 1024 || shared > (size_t)function->dynamic_limit)
    return 0;
  if (fake.occupancy)
    return fake.occupancy;
  const size_t by_items = 2048u / items, by_shared = SHARED_OF_ALL / (shared + 1024);
  const size_t groups = by_items < by_shared ? by_items : by_shared;
  return groups < 32 ? (uint32_t)groups : 32;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *groups, CUfunction handle, int items,
                                                     size_t shared)
{
  BEGIN(FAKE_cuOccupancyMaxActiveBlocksPerMultiprocessor, NEEDS_CONTEXT, "%d %zu", items, shared);
  const fake_function *function = touch(handle);
  if (!function || items <= 0)
    return fake_end(1);
  *groups = (int)occupancy(function, (uint32_t)items, shared);
  return fake_end(0);
}

/* -------- launches -------- */

static CUresult check_shape(const fake_function *function, const fake_run *run)
{
  const int *attributes = fake.attributes[function->object.context->device];
  const uint64_t items = (uint64_t)run->workgroup[0] * run->workgroup[1] * run->workgroup[2];
  for (int i = 0; i < 3; ++i)
    if (!run->groups[i] || !run->workgroup[i] ||
        run->groups[i] > (unsigned)attributes[VYRE__CU_DEVICE_MAX_GRID_DIM_X + i] ||
        run->workgroup[i] > (unsigned)attributes[VYRE__CU_DEVICE_MAX_BLOCK_DIM_X + i])
      return 1;
  if (items > 1024 || run->workgroup_memory > (unsigned)function->dynamic_limit)
    return 1;
  if (run->cooperative &&
      (uint64_t)run->groups[0] * run->groups[1] * run->groups[2] >
          (uint64_t)occupancy(function, (uint32_t)items, run->workgroup_memory) *
              (unsigned)attributes[VYRE__CU_DEVICE_MULTIPROCESSORS])
    return 720;
  return 0;
}

CUresult fake_run_fill(fake_run *run, CUfunction handle, const unsigned groups[3],
                       const unsigned workgroup[3], unsigned shared, void **parameters)
{
  fake_function *function = touch(handle);
  if (!function)
    return 400;
  run->function = function;
  run->context = function->object.context;
  run->workgroup_memory = shared;
  memcpy(run->groups, groups, sizeof run->groups);
  memcpy(run->workgroup, workgroup, sizeof run->workgroup);
  const CUresult code = check_shape(function, run);
  if (code || !parameters || function->parameters > 32)
    return code ? code : 1;
  for (uint32_t i = 0; i < function->parameters; ++i)
    memcpy(&run->addresses[i], parameters[i], sizeof run->addresses[i]);
  memcpy(&run->launch, parameters[function->parameters], sizeof run->launch);
  if (memcmp(run->launch.groups, run->groups, sizeof run->groups) != 0)
    fake_fault("%s: the launch structure names other groups than the launch", function->name);
  return 0;
}

void fake_run_push(const fake_run *model, fake_stream *stream)
{
  fake_run *run = malloc(sizeof *run);
  fake_launch_record record = {.cooperative = model->cooperative,
                               .parameters = model->function->parameters,
                               .stream = stream->object.number,
                               .graph = model->graph,
                               .workgroup_memory = model->workgroup_memory};
  if (!run)
    abort();
  *run = *model;
  snprintf(record.name, sizeof record.name, "%s", run->function->name);
  memcpy(record.groups, run->groups, sizeof record.groups);
  memcpy(record.workgroup, run->workgroup, sizeof record.workgroup);
  memcpy(record.addresses, run->addresses, sizeof record.addresses);
  run->record = fake_record(&record);
  run->ends = fake.next_kernel;
  fake.next_kernel = 0;
  const fake_op op = {.kind = OP_RUN, .run = run};
  fake_push(stream, &op);
}

/* With the lock held; ends the call. */
static CUresult launch(CUfunction handle, const unsigned groups[3], const unsigned workgroup[3],
                       unsigned shared, CUstream stream, void **parameters, bool cooperative)
{
  fake_stream *on = fake_take(stream, FAKE_STREAM);
  fake_run run = {.cooperative = cooperative};
  const CUresult code =
      on ? fake_run_fill(&run, handle, groups, workgroup, shared, parameters) : 400;
  if (code)
    return fake_end(code);
  fake_run_push(&run, on);
  return fake_settle(on);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
                        unsigned int wx, unsigned int wy, unsigned int wz, unsigned int shared,
                        CUstream stream, void **parameters, void **extra)
{
  BEGIN(FAKE_cuLaunchKernel, NEEDS_CONTEXT, "%u,%u,%u %u,%u,%u %u", gx, gy, gz, wx, wy, wz, shared);
  const unsigned groups[3] = {gx, gy, gz}, workgroup[3] = {wx, wy, wz};
  return extra ? fake_end(1)
               : launch(function, groups, workgroup, shared, stream, parameters, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gx, unsigned int gy,
                                   unsigned int gz, unsigned int wx, unsigned int wy,
                                   unsigned int wz, unsigned int shared, CUstream stream,
                                   void **parameters)
{
  BEGIN(FAKE_cuLaunchCooperativeKernel, NEEDS_CONTEXT, "%u,%u,%u %u,%u,%u %u", gx, gy, gz, wx, wy,
        wz, shared);
  const unsigned groups[3] = {gx, gy, gz}, workgroup[3] = {wx, wy, wz};
  return launch(function, groups, workgroup, shared, stream, parameters, true);
}
