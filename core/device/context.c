/* context.c - creating and destroying a context, its references, its log, its lists. */
#include "core/device/context.h"

#include "core/base/structs.h"
#include "core/device/ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_SIZE_0_1 VYRE__SIZE_TO(vyre_context_options, plugin_path)
#define CANDIDATE_SIZE_0_1 VYRE__SIZE_TO(vyre_candidate, fix)
#define DEVICE_INFO_SIZE_0_1 VYRE__SIZE_TO(vyre_device_info, compiler_reason)

/* ---- creating ---- */

static vyre_status read_options(const vyre_context_options *from, vyre_context_options *options,
                                vyre_error *err)
{
  static const vyre_context_options defaults = VYRE_CONTEXT_OPTIONS_INIT;
  const uint32_t known = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  *options = defaults;
  if (from && !vyre__struct_read(options, sizeof *options, from, OPTIONS_SIZE_0_1))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_CONTEXT_OPTIONS_INIT",
                     "options.struct_size is %u, at least %u are needed", from->struct_size,
                     OPTIONS_SIZE_0_1);
  if (options->flags & ~known)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set VYRE_CONTEXT_… bits only",
                     "options.flags 0x%x has unknown bits", options->flags);
  if (options->allocator && (!options->allocator->allocate || !options->allocator->deallocate))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "fill both functions, or give no allocator",
                     "options.allocator has no %s function",
                     options->allocator->allocate ? "deallocate" : "allocate");
  if (options->plugin_file_count && !options->plugin_files)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the files, or a count of 0",
                     "options.plugin_files is NULL and plugin_file_count is %u",
                     options->plugin_file_count);
  return VYRE_OK;
}

vyre_status vyre_context_create(const vyre_context_options *options, vyre_context **out_context,
                                vyre_error *err)
{
  vyre_context *context = NULL;
  vyre__process *process = NULL;
  vyre_context_options given;
  vyre_allocator allocator;
  vyre_status status;
  if (!out_context)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the context",
                     "out_context is NULL");
  status = read_options(options, &given, err);
  if (!status)
    status = vyre__process_get(&process, err);
  if (status)
    return status;
  allocator = vyre__allocator_or_default(given.allocator);
  context = vyre__allocate_zeroed(&allocator, 1, sizeof *context);
  if (!context)
    return VYRE_FAIL_MEMORY(err, "the context");
  context->allocator = allocator;
  context->process = process;
  context->flags = given.flags;
  context->references = 1;
  context->listener.log = given.log;
  context->listener.self = given.log_self;
  context->listener.level = given.log_level;
  vyre__candidates_init(&context->candidates, &allocator);
  vyre__ask_init(context);
  vyre__process_listen(process, &context->listener);
  status = vyre__context_fill(context, &given, err);
  if (status) {
    vyre__context_release(context);
    return status;
  }
  *out_context = context;
  return VYRE_OK;
}

/* ---- references ---- */

void vyre__context_retain(vyre_context *context)
{
  /* Relaxed: the caller has a reference, so nobody else takes the last one away meanwhile. */
  __atomic_add_fetch(&context->references, 1, __ATOMIC_RELAXED);
}

void vyre__context_release(vyre_context *context)
{
  vyre_allocator allocator = context->allocator;
  bool is_ours = vyre__context_is_ours(context);
  uint32_t i;
  /*
   * Release: what this thread did with the context comes before its end; acquire, of the last one:
   * the end comes after what all the others did.
   */
  if (__atomic_sub_fetch(&context->references, 1, __ATOMIC_ACQ_REL))
    return;
  /* A child frees memory and calls nobody: the lock and the plugins are the parent's. */
  if (is_ours) {
    for (i = context->member_count; i > 0; i--)
      vyre__plugin_close(&context->members[i - 1].plugin);
    vyre__process_unlisten(context->process, &context->listener);
  }
  vyre__ask_free(context, is_ours);
  vyre__candidates_free(&context->candidates);
  vyre__deallocate(&allocator, context->members);
  vyre__deallocate(&allocator, context);
}

void vyre_context_destroy(vyre_context *context)
{
  if (context)
    vyre__context_release(context);
}

bool vyre__context_is_ours(const vyre_context *context)
{
  return vyre__process_is_ours(context->process);
}

vyre_status vyre__context_check(const vyre_context *context, vyre_error *err)
{
  if (!context)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a context", "the context is NULL");
  if (!vyre__context_is_ours(context))
    return VYRE_FAIL(err, VYRE_ERROR_FORKED, 0,
                     "this context was created before fork(), in the parent process");
  return VYRE_OK;
}

/* ---- what others ask of it ---- */

void vyre__context_log(const vyre_context *context, vyre_log_level level, const char *format, ...)
{
  char text[1024];
  va_list arguments;
  if (!context->listener.log || level > context->listener.level)
    return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  context->listener.log(context->listener.self, level, text);
}

const vyre_allocator *vyre__context_allocator(const vyre_context *context)
{
  return &context->allocator;
}

const vyre_backend *vyre__context_backend_at(const vyre_context *context, uint32_t index)
{
  return index < context->member_count ? context->members[index].plugin.backend : NULL;
}

const vyre_backend *vyre__context_backend(const vyre_context *context, const char *name)
{
  uint32_t i;
  for (i = 0; i < context->member_count; i++)
    if (!strcmp(context->members[i].plugin.backend->name, name))
      return context->members[i].plugin.backend;
  return NULL;
}

/* ---- lists ---- */

uint32_t vyre_context_candidate_count(const vyre_context *context)
{
  return context && vyre__context_is_ours(context) ? context->candidates.count : 0;
}

vyre_status vyre_context_candidate(const vyre_context *context, uint32_t index,
                                   vyre_candidate *out_candidate, vyre_error *err)
{
  vyre_candidate now;
  vyre_status status = vyre__context_check(context, err);
  if (status)
    return status;
  if (!out_candidate)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the candidate",
                     "out_candidate is NULL");
  if (index >= context->candidates.count)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_FOUND, "ask vyre_context_candidate_count() first",
                     "candidate %u of %u", index, context->candidates.count);
  status = vyre__ask_all(context, err);
  if (status)
    return status;
  vyre__candidate_now(context, index, &now);
  if (!vyre__struct_write(out_candidate, &now, sizeof now, CANDIDATE_SIZE_0_1))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_CANDIDATE_INIT",
                     "out_candidate->struct_size is %u, at least %u are needed",
                     out_candidate->struct_size, CANDIDATE_SIZE_0_1);
  return VYRE_OK;
}

uint32_t vyre_context_device_count(const vyre_context *context)
{
  if (!context || !vyre__context_is_ours(context) || vyre__ask_all(context, NULL))
    return 0;
  return context->devices.count;
}

vyre_status vyre__device_info_write(const vyre_device_info *info, vyre_device_info *out_info,
                                    vyre_error *err)
{
  if (!out_info)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the information",
                     "out_info is NULL");
  if (!vyre__struct_write(out_info, info, sizeof *info, DEVICE_INFO_SIZE_0_1))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "set `info.struct_size = sizeof info` before the call",
                     "out_info->struct_size is %u, at least %u are needed", out_info->struct_size,
                     DEVICE_INFO_SIZE_0_1);
  return VYRE_OK;
}

vyre_status vyre_context_device_info(const vyre_context *context, uint32_t index,
                                     vyre_device_info *out_info, vyre_error *err)
{
  vyre_status status = vyre__context_check(context, err);
  if (!status)
    status = vyre__ask_all(context, err);
  if (status)
    return status;
  if (index >= context->devices.count)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_FOUND, "ask vyre_context_device_count() first",
                     "device %u of %u", index, context->devices.count);
  return vyre__device_info_write(&context->devices.rows[index].info, out_info, err);
}
