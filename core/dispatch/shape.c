/* shape.c - sizes and grid of a dispatch. */
#include "core/dispatch/shape.h"

#include "core/base/checked.h"

#define REFUSE(fix, ...) VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, __VA_ARGS__)
#define U64(value) ((unsigned long long)(value))

vyre_status vyre__options_read(const vyre_program *program, const vyre_dispatch_options *options,
                               vyre_dispatch_options *out_options, vyre_error *err)
{
  static const vyre_dispatch_options defaults = VYRE_DISPATCH_OPTIONS_INIT;
  *out_options = defaults;
  if (options && !vyre__struct_read(out_options, sizeof *out_options, options,
                                    VYRE__SIZE_TO(vyre_dispatch_options, timeout_ns)))
    return REFUSE("start from VYRE_DISPATCH_OPTIONS_INIT",
                  "the dispatch options' struct_size is %u, not %u", options->struct_size,
                  VYRE__SIZE_TO(vyre_dispatch_options, timeout_ns));
  if (out_options->timing > VYRE_TIMING_OFF)
    return REFUSE("use VYRE_TIMING_ON or VYRE_TIMING_OFF", "timing %u does not exist",
                  out_options->timing);
  if (out_options->push_size != program->push_size)
    return REFUSE("give exactly the push constants that the program declares",
                  "%u bytes of push constants were given, the program declares %u",
                  out_options->push_size, program->push_size);
  if (out_options->push_size && !out_options->push)
    return REFUSE("point push to the push constants", "push is NULL, push_size is %u",
                  out_options->push_size);
  if (!out_options->iterations)
    out_options->iterations = program->iterations;
  return VYRE_OK;
}

/* ---- sizes ---- */

/* The size that the declaration tells; it was checked when the program was created. */
static bool static_size(const vyre__buffer_plan *buffer, uint64_t *out_size)
{
  if (buffer->element_count == VYRE_COUNT_FROM_INPUT)
    return false;
  *out_size = buffer->element_size * buffer->element_count;
  return true;
}

/* A buffer whose size comes from the caller. */
static vyre_status open_size(const vyre_program *program, uint32_t index, uint64_t size,
                             vyre_error *err)
{
  const vyre__buffer_plan *buffer = &program->buffers[index];
  const vyre_device_info *info = &program->device->info;
  if (size % buffer->element_size)
    return REFUSE("give whole elements",
                  "buffer '%s': %llu bytes are no multiple of its %u-byte "
                  "elements",
                  buffer->name, U64(size), buffer->element_size);
  if (info->max_buffer_bytes && size > info->max_buffer_bytes)
    return REFUSE("split the input, or choose a device that takes larger buffers",
                  "buffer '%s' has %llu bytes, the most on %s is %llu", buffer->name, U64(size),
                  info->selector, U64(info->max_buffer_bytes));
  if ((buffer->flags & VYRE_BUFFER_RANGE) &&
      !vyre__range_fits(buffer->range_offset, buffer->range_size, size))
    return REFUSE("give more bytes, or declare a range that fits",
                  "buffer '%s': the range of %llu bytes from %llu does not lie within its %llu "
                  "bytes",
                  buffer->name, U64(buffer->range_size), U64(buffer->range_offset), U64(size));
  return VYRE_OK;
}

static vyre_status input_size(const vyre_program *program, uint32_t index, const vyre_bytes *input,
                              uint64_t *out_size, vyre_error *err)
{
  const vyre__buffer_plan *buffer = &program->buffers[index];
  uint64_t size = 0;
  if (!input->data && input->size)
    return REFUSE("point data to the bytes, or give size 0 for a buffer of zeros",
                  "input '%s': data is NULL, size is %llu", buffer->name, U64(input->size));
  if (static_size(buffer, &size)) {
    *out_size = size;
    if (input->data && input->size != size)
      return REFUSE("give exactly the declared bytes",
                    "input '%s' has %llu bytes, declared are "
                    "%llu elements of %u bytes, %llu in all",
                    buffer->name, U64(input->size), U64(buffer->element_count),
                    buffer->element_size, U64(size));
    return VYRE_OK;
  }
  if (!input->data)
    return REFUSE("give its bytes (any address with size 0 for none), or declare an element_count",
                  "input '%s' was not given and has no size of its own", buffer->name);
  *out_size = input->size;
  return open_size(program, index, input->size, err);
}

vyre_status vyre__shape_from_inputs(const vyre_program *program, const vyre_bytes *inputs,
                                    uint32_t input_count, vyre__shape *out_shape, vyre_error *err)
{
  uint32_t position = 0;
  if (input_count != program->input_count || (input_count && !inputs))
    return REFUSE("give one vyre_bytes for each input position ({NULL, 0} for a buffer of zeros)",
                  "%u inputs were given, the program has %u", inputs ? input_count : 0,
                  program->input_count);
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    const vyre__buffer_plan *buffer = &program->buffers[i];
    vyre_status status = VYRE_OK;
    if (position < input_count && program->inputs[position] == i)
      status = input_size(program, i, &inputs[position++], &out_shape->sizes[i], err);
    else
      static_size(buffer, &out_shape->sizes[i]);
    if (status != VYRE_OK)
      return status;
    out_shape->counts[i] = out_shape->sizes[i] / buffer->element_size;
  }
  return VYRE_OK;
}

static vyre_status check_lent(const vyre_program *program, uint32_t index,
                              const vyre_buffer *buffer, vyre_error *err)
{
  const char *name = program->buffers[index].name;
  if (!buffer)
    return REFUSE("give a buffer for each that is not WORKGROUP", "buffer '%s' is NULL", name);
  if (buffer->device != program->device)
    return REFUSE("create the buffer on the program's device",
                  "buffer '%s' belongs to another device", name);
  return vyre__device_check(buffer->device, buffer->generation, err);
}

static vyre_status lent_size(const vyre_program *program, uint32_t index, const vyre_buffer *buffer,
                             uint64_t *out_size, vyre_error *err)
{
  vyre_status status = check_lent(program, index, buffer, err);
  if (status != VYRE_OK)
    return status;
  if (static_size(&program->buffers[index], out_size)) {
    if (buffer->size < *out_size)
      return REFUSE("create a buffer of at least the declared size",
                    "buffer '%s' has %llu bytes, declared are %llu", program->buffers[index].name,
                    U64(buffer->size), U64(*out_size));
    return VYRE_OK;
  }
  *out_size = buffer->size;
  return open_size(program, index, buffer->size, err);
}

/* Kernels take their parameters as distinct memory. */
static vyre_status check_aliases(const vyre_program *program, vyre_buffer *const *given,
                                 vyre_error *err)
{
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    for (uint32_t j = 0; j < i; ++j)
      if (given[i] && given[i] == given[j] &&
          (program->buffers[i].written || program->buffers[j].written))
        return REFUSE("give each buffer that is written memory of its own",
                      "buffers '%s' and '%s' are one buffer of the device, and it is written",
                      program->buffers[j].name, program->buffers[i].name);
  return VYRE_OK;
}

vyre_status vyre__shape_from_buffers(const vyre_program *program, vyre_buffer *const *buffers,
                                     uint32_t buffer_count, vyre__shape *out_shape, vyre_error *err)
{
  vyre_buffer *given[VYRE_MAX_BUFFERS];
  uint32_t want = 0, next = 0;
  for (uint32_t i = 0; i < program->buffer_count; ++i)
    want += program->buffers[i].access != VYRE_WORKGROUP;
  if (buffer_count != want || (buffer_count && !buffers))
    return REFUSE("give one buffer for each that is not WORKGROUP, in declaration order",
                  "%u buffers were given, the program has %u", buffers ? buffer_count : 0, want);
  for (uint32_t i = 0; i < program->buffer_count; ++i) {
    const vyre__buffer_plan *buffer = &program->buffers[i];
    vyre_status status = VYRE_OK;
    given[i] = NULL;
    if (buffer->access == VYRE_WORKGROUP) {
      static_size(buffer, &out_shape->sizes[i]);
    } else {
      given[i] = buffers[next++];
      status = lent_size(program, i, given[i], &out_shape->sizes[i], err);
    }
    if (status != VYRE_OK)
      return status;
    out_shape->counts[i] = out_shape->sizes[i] / buffer->element_size;
  }
  return check_aliases(program, given, err);
}

/* ---- grid ---- */

static bool any_element(const uint64_t elements[3])
{
  return elements[0] || elements[1] || elements[2];
}

static bool any_group(const uint32_t groups[3])
{
  return groups[0] || groups[1] || groups[2];
}

static vyre_status check_groups(const vyre_program *program, const vyre__segment_plan *segment,
                                int dimension, uint64_t groups, vyre_error *err)
{
  const vyre_device_info *info = &program->device->info;
  uint32_t limit = info->max_groups[dimension] ? info->max_groups[dimension] : UINT32_MAX;
  if (groups > limit)
    return REFUSE("use a larger workgroup, spread the grid over three dimensions, or let each item "
                  "do more",
                  "segment '%s' wants %llu groups in dimension %d, the most on %s is %u",
                  segment->name, U64(groups), dimension, info->selector, limit);
  return VYRE_OK;
}

static vyre_status groups_of_elements(const vyre_program *program,
                                      const vyre__segment_plan *segment, const uint64_t elements[3],
                                      uint32_t out_groups[3], vyre_error *err)
{
  for (int d = 0; d < 3; ++d) {
    uint64_t items = elements[d] ? elements[d] : 1, workgroup = program->workgroup[d];
    uint64_t groups = items / workgroup + (items % workgroup != 0);
    vyre_status status = check_groups(program, segment, d, groups, err);
    if (status != VYRE_OK)
      return status;
    out_groups[d] = (uint32_t)groups;
  }
  return VYRE_OK;
}

static vyre_status groups_as_given(const vyre_program *program, const vyre__segment_plan *segment,
                                   const uint32_t groups[3], uint32_t out_groups[3],
                                   vyre_error *err)
{
  for (int d = 0; d < 3; ++d) {
    uint32_t wanted = groups[d] ? groups[d] : 1;
    vyre_status status = check_groups(program, segment, d, wanted, err);
    if (status != VYRE_OK)
      return status;
    out_groups[d] = wanted;
  }
  return VYRE_OK;
}

/* The largest count of what the segment writes, or reads if it writes nothing. */
static uint64_t covered(const vyre__segment_plan *segment, const vyre__shape *shape)
{
  uint64_t written = 0, read = 0;
  bool writes = false;
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    const vyre__binding_plan *binding = &segment->bindings[b];
    uint64_t count = shape->counts[binding->buffer];
    if (vyre__access_writes(binding->access)) {
      writes = true;
      written = count > written ? count : written;
    } else if (binding->access == VYRE_READ_ONLY) {
      read = count > read ? count : read;
    }
  }
  return writes ? written : read;
}

vyre_status vyre__shape_groups(const vyre_program *program, const vyre__segment_plan *segment,
                               const vyre_dispatch_options *options, const vyre__shape *shape,
                               uint32_t out_groups[3], bool *out_empty, vyre_error *err)
{
  uint64_t derived[3] = {0, 1, 1};
  *out_empty = false;
  if (any_element(segment->elements))
    return groups_of_elements(program, segment, segment->elements, out_groups, err);
  if (any_group(segment->groups))
    return groups_as_given(program, segment, segment->groups, out_groups, err);
  if (any_element(options->elements))
    return groups_of_elements(program, segment, options->elements, out_groups, err);
  if (any_element(program->elements))
    return groups_of_elements(program, segment, program->elements, out_groups, err);
  if (any_group(program->groups))
    return groups_as_given(program, segment, program->groups, out_groups, err);
  derived[0] = covered(segment, shape);
  *out_empty = !derived[0];
  return groups_of_elements(program, segment, derived, out_groups, err);
}

/* ---- what the caller gets ---- */

void vyre__shape_range(const vyre_program *program, const vyre__shape *shape, uint32_t buffer,
                       uint64_t *out_offset, uint64_t *out_size)
{
  const vyre__buffer_plan *plan = &program->buffers[buffer];
  bool trimmed = plan->flags & VYRE_BUFFER_RANGE;
  *out_offset = trimmed ? plan->range_offset : 0;
  *out_size = trimmed ? plan->range_size : shape->sizes[buffer];
}

vyre_status vyre__shape_output_limit(const vyre_program *program, const vyre__shape *shape,
                                     const vyre_dispatch_options *options, vyre_error *err)
{
  uint64_t total = 0, offset = 0, size = 0;
  for (uint32_t p = 0; p < program->output_count; ++p) {
    vyre__shape_range(program, shape, program->outputs[p], &offset, &size);
    if (!vyre__checked_add(total, size, &total))
      total = UINT64_MAX;
    if (options->max_output_bytes && total > options->max_output_bytes)
      return REFUSE("raise max_output_bytes, or declare a range of what is wanted",
                    "the outputs up to '%s' have %llu bytes, max_output_bytes is %llu",
                    program->buffers[program->outputs[p]].name, U64(total),
                    U64(options->max_output_bytes));
  }
  return VYRE_OK;
}
