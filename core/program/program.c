/* program.c - creating programs, positions of inputs and outputs, lifetime. */
#include "core/program/program.h"

#include "core/base/checked.h"
#include "core/dispatch/kept.h"
#include "core/dispatch/live.h"
#include "core/dispatch/stage.h"
#include "core/program/fused.h"

#include <stdio.h>

/* ---- lifetime ---- */

/* Nobody uses it any more.  In a child it is only forgotten. */
static void free_now(vyre__deferred *node)
{
  vyre_program *program = VYRE__OWNER(vyre_program, freeing, node);
  const vyre_allocator allocator = program->device->allocator;
  vyre_device *device = program->device;
  if (program->module && vyre__context_is_ours(device->context))
    device->backend->module_unload(vyre__device_handle(device, program->generation),
                                   program->module);
  pthread_mutex_destroy(&program->learning);
  vyre__deallocate(&allocator, program->texts);
  vyre__deallocate(&allocator, program->bindings);
  vyre__deallocate(&allocator, program->segments);
  vyre__deallocate(&allocator, program->buffers);
  vyre__deallocate(&allocator, program);
  vyre__device_release(device);
}

static void free_program(vyre_program *program)
{
  vyre__kept_clear(program);
  vyre__stage_destroy(program->idle_stage);
  vyre__live_destroy(program->idle_live);
  program->freeing.run = free_now;
  if (program->module && vyre__context_is_ours(program->device->context))
    vyre__device_retire(program->device, &program->freeing);
  else
    free_now(&program->freeing);
}

void vyre__program_retain(vyre_program *program)
{
  /* Relaxed: whoever retains holds a reference already. */
  __atomic_fetch_add(&program->references, 1, __ATOMIC_RELAXED);
}

void vyre__program_release(vyre_program *program)
{
  /* Release, paired with the acquire of the last releaser: it frees after everybody's last use. */
  if (__atomic_fetch_sub(&program->references, 1, __ATOMIC_ACQ_REL) == 1)
    free_program(program);
}

void vyre_program_destroy(vyre_program *program)
{
  if (program)
    vyre__program_release(program);
}

/* ---- creation: the description's copy ---- */

static const char *keep_text(char **end, const char *text)
{
  size_t size = strlen(text) + 1;
  char *copy = memcpy(*end, text, size);
  *end += size;
  return copy;
}

static vyre_status allocate_plan(vyre_program *program, const vyre_program_desc *desc,
                                 vyre_error *err)
{
  const vyre_allocator *allocator = &program->device->allocator;
  uint64_t texts = desc->name ? strlen(desc->name) + 1 : sizeof "program", bindings = 0;
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    texts += strlen(vyre__buffer_at(desc, i)->name) + 1;
  for (uint32_t s = 0; s < desc->segment_count; ++s) {
    texts += strlen(vyre__segment_at(desc, s)->kernel) + 1;
    bindings += vyre__segment_at(desc, s)->binding_count;
  }
  program->buffers = vyre__allocate_zeroed(allocator, desc->buffer_count, sizeof *program->buffers);
  program->segments =
      vyre__allocate_zeroed(allocator, desc->segment_count, sizeof *program->segments);
  program->bindings = vyre__allocate_zeroed(allocator, bindings, sizeof *program->bindings);
  program->texts = vyre__allocate(allocator, texts, 1);
  if (!program->buffers || !program->segments || !program->bindings || !program->texts)
    return VYRE_FAIL_MEMORY(err, "a program");
  return VYRE_OK;
}

static void copy_buffers(vyre_program *program, const vyre_program_desc *desc, char **texts)
{
  program->buffer_count = desc->buffer_count;
  for (uint32_t i = 0; i < desc->buffer_count; ++i) {
    const vyre_buffer_decl *decl = vyre__buffer_at(desc, i);
    vyre__buffer_plan *plan = &program->buffers[i];
    plan->name = keep_text(texts, decl->name);
    plan->access = decl->access;
    plan->flags = decl->flags | (vyre__is_output(decl) ? VYRE_BUFFER_OUTPUT : 0);
    plan->element_size = decl->element_size;
    plan->element_count = decl->element_count;
    plan->range_offset = decl->range_offset;
    plan->range_size = decl->range_size;
    plan->written = vyre__program_writes(desc, i);
    plan->bound = false; /* copy_segments() finds out */
    if (plan->access != VYRE_WORKGROUP && !(plan->flags & VYRE_BUFFER_OUTPUT))
      program->inputs[program->input_count++] = i;
    if (vyre__access_writes(plan->access))
      program->outputs[program->output_count++] = i;
  }
}

static void copy_segments(vyre_program *program, const vyre_program_desc *desc, char **texts)
{
  vyre__binding_plan *next = program->bindings;
  program->segment_count = desc->segment_count;
  for (uint32_t s = 0; s < desc->segment_count; ++s) {
    const vyre_segment_decl *decl = vyre__segment_at(desc, s);
    vyre__segment_plan *plan = &program->segments[s];
    plan->name = keep_text(texts, decl->kernel);
    plan->bindings = next;
    plan->binding_count = decl->binding_count;
    memcpy(plan->elements, decl->elements, sizeof plan->elements);
    memcpy(plan->groups, decl->groups, sizeof plan->groups);
    for (uint32_t b = 0; b < decl->binding_count; ++b, ++next) {
      const vyre_segment_binding *binding = vyre__binding_at(decl, b);
      next->buffer = vyre__program_find(desc, binding->buffer);
      next->access = binding->access;
      next->flags = binding->flags;
      program->buffers[next->buffer].bound = true;
      program->buffers[next->buffer].writers += vyre__access_writes(binding->access);
    }
  }
}

/* The parameters of a fused launch, and what workgroup memory they need (checked before). */
static void copy_fused(vyre_program *program)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    const vyre__buffer_plan *plan = &program->buffers[i];
    if (!plan->bound)
      continue;
    program->fused_buffers[program->fused_count++] = i;
    if (plan->access == VYRE_WORKGROUP)
      program->workgroup_bytes += (plan->element_size * plan->element_count + 15) / 16 * 16;
  }
}

static void copy_plan(vyre_program *program, const vyre_program_desc *desc)
{
  char *texts = program->texts;
  program->name = keep_text(&texts, desc->name ? desc->name : "program");
  program->push_size = desc->push_size;
  program->iterations = desc->iterations;
  program->converge = desc->converge;
  vyre__program_workgroup(desc, program->workgroup);
  memcpy(program->elements, desc->elements, sizeof program->elements);
  memcpy(program->groups, desc->groups, sizeof program->groups);
  copy_buffers(program, desc, &texts);
  copy_segments(program, desc, &texts);
  copy_fused(program);
}

/* ---- creation: the code ---- */

static vyre_status load_code(vyre_program *program, const vyre_program_desc *desc, vyre_error *err)
{
  vyre__entries entries = {"", ""};
  vyre__text head, tail;
  uint64_t flags = desc->flags & VYRE_PROGRAM_DEBUG ? VYRE_MODULE_DEBUG : 0;
  vyre_status status = VYRE_OK;
  vyre__text_init(&head, &program->device->allocator);
  vyre__text_init(&tail, &program->device->allocator);
  status = vyre__program_entries(desc, &head, &tail, err);
  if (status == VYRE_OK) {
    entries.head = head.data;
    entries.tail = tail.data;
    status = vyre__module_load(program->device, desc->code, desc->code_count, &entries, flags,
                               program->name, &program->module, NULL, err);
  }
  vyre__text_free(&head);
  vyre__text_free(&tail);
  return status;
}

/* One of vyre's own entries: code that does not have it is no error. */
static vyre_status find_optional(vyre_program *program, const char *name,
                                 vyre_backend_kernel **out_kernel, vyre_error *err)
{
  vyre_kernel_info info = {.struct_size = sizeof info};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status =
      program->device->backend->kernel_find(program->module, name, out_kernel, &info, &said);
  if (status == VYRE_OK)
    return VYRE_OK;
  *out_kernel = NULL;
  return status == VYRE_ERROR_NOT_FOUND
             ? VYRE_OK
             : vyre__device_result(program->device, "kernel_find", status, &said, err);
}

static void no_native(vyre_program *program, const char *reason)
{
  snprintf(program->native_reason, sizeof program->native_reason, "%.150s", reason);
}

/* How many groups of the fused kernel can be resident, or why none. */
static vyre_status ask_residency(vyre_program *program, vyre_error *err)
{
  vyre_device *device = program->device;
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  if (device->info.grid_sync != VYRE_GRID_SYNC_NATIVE ||
      !VYRE__HAS_SLOT(device->backend, cooperative_groups)) {
    no_native(program, device->info.grid_sync_reason[0] ? device->info.grid_sync_reason
                                                        : "the device has no grid barrier");
    return VYRE_OK;
  }
  if (!program->fused) {
    no_native(program, "the code brings no fused kernel");
    return VYRE_OK;
  }
  status =
      device->backend->cooperative_groups(device->handle, program->fused, program->workgroup,
                                          program->workgroup_bytes, &program->fused_groups, &said);
  if (status == VYRE_ERROR_DEVICE_LOST)
    return vyre__device_result(device, "cooperative_groups", status, &said, err);
  if (status != VYRE_OK || !program->fused_groups) {
    program->fused_groups = 0;
    no_native(program, status != VYRE_OK && said.message[0]
                           ? said.message
                           : "not one group of the fused kernel can be resident");
  }
  return VYRE_OK;
}

/* A program of several segments or passes may have a kernel for the whole of it. */
static vyre_status find_whole(vyre_program *program, const vyre_program_desc *desc, vyre_error *err)
{
  const uint32_t most = program->device->info.max_bindings;
  uint32_t tested = 2; /* the shadow, the control words */
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    tested += program->buffers[i].written;
  /*
   * The code decides, not the description: a bundle that was made for a test has the shadow among
   * the parameters of its fused kernel, tested or not.  A test with more bindings than the device
   * takes is none: the host compares.
   */
  if ((desc->segment_count > 1 || desc->iterations > 1) && (!most || tested <= most))
    status = find_optional(program, VYRE__ENTRY_SETTLE, &program->settle, err);
  if (status == VYRE_OK && program->settle && desc->converge == VYRE_CONVERGE_DECLARED)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_PROGRAM,
                     "compile it again, or describe the program as it was when it was compiled",
                     "the code was compiled with converge EXACT, not with DECLARED: its kernels "
                     "cannot say vyre_changed()");
  if (desc->segment_count > VYRE__FUSED_SEGMENTS)
    no_native(program, "it has more segments than one kernel is made of");
  if (status == VYRE_OK && vyre__program_fuses(desc)) {
    status = find_optional(program, VYRE__ENTRY_FUSED, &program->fused, err);
    if (status == VYRE_OK)
      status = ask_residency(program, err);
  }
  return status;
}

static vyre_status find_kernels(vyre_program *program, vyre_error *err)
{
  const vyre_backend *backend = program->device->backend;
  const uint32_t *workgroup = program->workgroup;
  /* It passed the device's limit, so the product fits. */
  uint32_t items = workgroup[0] * workgroup[1] * workgroup[2];
  for (uint32_t s = 0; s < program->segment_count; ++s) {
    vyre__segment_plan *segment = &program->segments[s];
    vyre_kernel_info info = {.struct_size = sizeof info};
    vyre_error said = VYRE_ERROR_INIT;
    vyre_status status =
        backend->kernel_find(program->module, segment->name, &segment->kernel, &info, &said);
    status = vyre__device_result(program->device, "kernel_find", status, &said, err);
    if (status != VYRE_OK)
      return status;
    if (!segment->kernel)
      return VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                       "plugin %s found no kernel for segment '%s' and reported no error",
                       backend->name, segment->name);
    if (info.max_workgroup_items && items > info.max_workgroup_items)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_PROGRAM, "use a smaller workgroup",
                       "segment '%s' runs with at most %u items per group on %s, not with %u",
                       segment->name, info.max_workgroup_items, program->device->info.selector,
                       items);
  }
  return VYRE_OK;
}

vyre_status vyre_program_create(vyre_device *device, const vyre_program_desc *desc,
                                vyre_program **out_program, vyre_error *err)
{
  vyre_program *program = NULL;
  vyre_status status = VYRE_OK;
  if (!device || !out_program)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     device ? "out_program" : "device");
  /* The present generation: a program belongs to the device as it is now. */
  status = vyre__device_check(device, vyre__device_generation(device), err);
  if (status == VYRE_OK)
    status = vyre__program_validate(desc, &device->info, err);
  if (status == VYRE_OK)
    status = vyre__code_check(desc->code, desc->code_count, desc->name ? desc->name : "the program",
                              err);
  if (status != VYRE_OK)
    return status;
  program = vyre__allocate_zeroed(&device->allocator, 1, sizeof *program);
  if (!program)
    return VYRE_FAIL_MEMORY(err, "a program");
  vyre__device_retain(device);
  program->device = device;
  program->generation = vyre__device_generation(device);
  program->references = 1;
  pthread_mutex_init(&program->learning, NULL);
  status = allocate_plan(program, desc, err);
  if (status != VYRE_OK)
    goto done;
  copy_plan(program, desc);
  status = vyre__device_quiesce(device, err);
  if (status == VYRE_OK) {
    status = load_code(program, desc, err);
    if (status == VYRE_OK)
      status = find_kernels(program, err);
    if (status == VYRE_OK)
      status = find_whole(program, desc, err);
    vyre__device_resume(device);
  }
  if (status == VYRE_OK)
    *out_program = program;
  else
    vyre__error_prefix(err, "program '%.200s': ", program->name);

done:
  if (status != VYRE_OK)
    free_program(program);
  return status;
}

/* ---- the text ---- */

static const char source_head[] =
    "/*\n"
    " * A program's kernels as vyre compiles them: the author's text between #line marks, then\n"
    " * what vyre wrote.  To compile it by hand: cc -std=c11 -I <vyre's headers> -c, with\n"
    " * -DVYRE_HAS_BARRIER=1 if the author's text calls vyre_barrier().\n"
    " */\n"
    "#include \"vyre_kernel.h\"\n";

vyre_status vyre_program_source(const vyre_program_desc *desc, const vyre_allocator *allocator,
                                char **out_text, uint64_t *out_size, vyre_error *err)
{
  const vyre_allocator own = vyre__allocator_or_default(allocator);
  const vyre_code *source = NULL;
  vyre__entries entries = {"", ""};
  vyre__text head, tail;
  vyre_status status = VYRE_OK;
  if (!out_text || !out_size)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     out_text ? "out_size" : "out_text");
  status = vyre__program_validate(desc, NULL, err);
  if (status == VYRE_OK)
    status = vyre__code_check(desc->code, desc->code_count, desc->name ? desc->name : "the program",
                              err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < desc->code_count && !source; ++i)
    if (!strcmp(vyre__code_at(desc->code, i)->format, "vyre-c"))
      source = vyre__code_at(desc->code, i);
  if (!source)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give its source with format \"vyre-c\"",
                     "program '%.200s' has no vyre-c code", desc->name ? desc->name : "");
  vyre__text_init(&head, &own);
  vyre__text_init(&tail, &own);
  status = vyre__program_entries(desc, &head, &tail, err);
  if (status == VYRE_OK) {
    entries.head = head.data;
    entries.tail = tail.data;
    status = vyre__code_compose(source_head, sizeof source_head - 1, source, &entries, &own,
                                out_text, out_size, err);
  }
  vyre__text_free(&head);
  vyre__text_free(&tail);
  return status;
}

/* ---- positions ---- */

uint32_t vyre_program_input_count(const vyre_program *program)
{
  return program ? program->input_count : 0;
}

uint32_t vyre_program_output_count(const vyre_program *program)
{
  return program ? program->output_count : 0;
}

const char *vyre_program_input_name(const vyre_program *program, uint32_t position)
{
  if (position >= vyre_program_input_count(program))
    return NULL;
  return program->buffers[program->inputs[position]].name;
}

const char *vyre_program_output_name(const vyre_program *program, uint32_t position)
{
  if (position >= vyre_program_output_count(program))
    return NULL;
  return program->buffers[program->outputs[position]].name;
}
