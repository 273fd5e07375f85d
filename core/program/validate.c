/*
 * validate.c - every rule of a program that is known before a dispatch.
 *
 * Each error names the buffer or segment in its message and the cure in its fix.  Order matters:
 * the structures are checked first, so that later rules may read them.
 */
#include "core/base/checked.h"
#include "core/program/program.h"

#define REFUSE(fix, ...) VYRE_FAIL(err, VYRE_ERROR_INVALID_PROGRAM, fix, __VA_ARGS__)

static const char *access_name(vyre_access access)
{
  static const char *const names[] = {"READ_ONLY", "READ_WRITE", "WRITE_ONLY", "WORKGROUP"};
  return access <= VYRE_WORKGROUP ? names[access] : "unknown";
}

uint32_t vyre__program_find(const vyre_program_desc *desc, const char *name)
{
  for (uint32_t i = 0; i < desc->buffer_count; ++i)
    if (!strcmp(vyre__buffer_at(desc, i)->name, name))
      return i;
  return UINT32_MAX;
}

bool vyre__program_writes(const vyre_program_desc *desc, uint32_t buffer)
{
  const char *name = vyre__buffer_at(desc, buffer)->name;
  for (uint32_t s = 0; s < desc->segment_count; ++s) {
    const vyre_segment_decl *segment = vyre__segment_at(desc, s);
    for (uint32_t b = 0; b < segment->binding_count; ++b) {
      const vyre_segment_binding *binding = vyre__binding_at(segment, b);
      if (vyre__access_writes(binding->access) && !strcmp(binding->buffer, name))
        return true;
    }
  }
  return false;
}

bool vyre__segments_equal(const vyre_segment_decl *a, const vyre_segment_decl *b)
{
  if (strcmp(a->kernel, b->kernel) != 0 || a->binding_count != b->binding_count)
    return false;
  for (uint32_t i = 0; i < a->binding_count; ++i) {
    const vyre_segment_binding *x = vyre__binding_at(a, i), *y = vyre__binding_at(b, i);
    if (x->access != y->access || x->flags != y->flags || strcmp(x->buffer, y->buffer) != 0)
      return false;
  }
  return true;
}

void vyre__program_workgroup(const vyre_program_desc *desc, uint32_t out_workgroup[3])
{
  const uint32_t *given = desc->workgroup;
  bool none = !given[0] && !given[1] && !given[2];
  for (int d = 0; d < 3; ++d)
    out_workgroup[d] = given[d] ? given[d] : none && d == 0 ? 64 : 1;
}

/* ---- structures ---- */

static vyre_status check_structures(const vyre_program_desc *desc, vyre_error *err)
{
  static const char fix[] = "start every row from its VYRE_…_INIT initialiser";
  if (!desc->buffer_count || !desc->buffers)
    return REFUSE("declare the buffers that the segments read and write", "it has no buffers");
  if (desc->buffer_count > VYRE_MAX_BUFFERS)
    return REFUSE("merge buffers: several arrays can share one",
                  "it has %u buffers, the most is %u", desc->buffer_count, VYRE_MAX_BUFFERS);
  if (!desc->segment_count || !desc->segments)
    return REFUSE("give at least one segment: a kernel function and its bindings",
                  "it has no segments");
  if (!vyre__rows_fit(desc->buffers, desc->buffer_count,
                      VYRE__SIZE_TO(vyre_buffer_decl, range_size)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "a buffer's struct_size is wrong");
  if (!vyre__rows_fit(desc->segments, desc->segment_count,
                      VYRE__SIZE_TO(vyre_segment_decl, groups)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix, "a segment's struct_size is wrong");
  for (uint32_t s = 0; s < desc->segment_count; ++s) {
    const vyre_segment_decl *segment = vyre__segment_at(desc, s);
    if (!vyre__rows_fit(segment->bindings, segment->binding_count,
                        VYRE__SIZE_TO(vyre_segment_binding, flags)))
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, fix,
                       "segment %u: a binding's struct_size is wrong", s);
  }
  return VYRE_OK;
}

/* ---- buffers ---- */

static vyre_status check_buffer_name(const vyre_program_desc *desc, uint32_t index, vyre_error *err)
{
  const char *name = vyre__buffer_at(desc, index)->name;
  if (!name || !*name)
    return REFUSE("name every buffer: kernels know it by its name", "buffer %u has no name", index);
  if (!vyre__is_identifier(name))
    return REFUSE("use a C identifier of at most 127 characters that is no keyword and does not "
                  "begin with vyre_ or two underscores",
                  "buffer %u: '%.200s' cannot be the name of a kernel's parameter", index, name);
  for (uint32_t i = 0; i < index; ++i)
    if (!strcmp(vyre__buffer_at(desc, i)->name, name))
      return REFUSE("give each buffer a name of its own", "buffers %u and %u are both named '%s'",
                    i, index, name);
  return VYRE_OK;
}

static vyre_status check_buffer_flags(const vyre_buffer_decl *buffer, vyre_error *err)
{
  if (buffer->access > VYRE_WORKGROUP)
    return REFUSE("use VYRE_READ_ONLY, VYRE_READ_WRITE, VYRE_WRITE_ONLY or VYRE_WORKGROUP",
                  "buffer '%s': access %u does not exist", buffer->name, buffer->access);
  if (buffer->flags & ~(VYRE_BUFFER_OUTPUT | VYRE_BUFFER_RANGE))
    return REFUSE("use VYRE_BUFFER_OUTPUT and VYRE_BUFFER_RANGE only",
                  "buffer '%s': unknown flags 0x%x", buffer->name, buffer->flags);
  if ((buffer->flags & VYRE_BUFFER_OUTPUT) && !vyre__access_writes(buffer->access))
    return REFUSE("declare it VYRE_READ_WRITE or VYRE_WRITE_ONLY, or drop VYRE_BUFFER_OUTPUT",
                  "buffer '%s' is %s and cannot be an output", buffer->name,
                  access_name(buffer->access));
  if (!(buffer->flags & VYRE_BUFFER_RANGE) && (buffer->range_offset || buffer->range_size))
    return REFUSE("set VYRE_BUFFER_RANGE, or leave the range 0",
                  "buffer '%s' has a range but not the flag for it", buffer->name);
  if ((buffer->flags & VYRE_BUFFER_RANGE) && !vyre__access_writes(buffer->access))
    return REFUSE("drop VYRE_BUFFER_RANGE: it trims what the caller gets back",
                  "buffer '%s' is %s and is never given back", buffer->name,
                  access_name(buffer->access));
  return VYRE_OK;
}

static vyre_status check_open_size(const vyre_buffer_decl *buffer, vyre_error *err)
{
  uint64_t end = 0;
  if (buffer->access == VYRE_WORKGROUP)
    return REFUSE("give workgroup memory a fixed element_count",
                  "buffer '%s': no input tells the size of workgroup memory", buffer->name);
  if (vyre__is_output(buffer))
    return REFUSE(
        "give the output a fixed element_count",
        "buffer '%s' is an output: no caller gives its bytes, so they cannot tell its size",
        buffer->name);
  if (!vyre__checked_add(buffer->range_offset, buffer->range_size, &end))
    return REFUSE("give a range inside the buffer",
                  "buffer '%s': range_offset + range_size overflow", buffer->name);
  return VYRE_OK;
}

static vyre_status check_buffer_size(const vyre_buffer_decl *buffer, const vyre_device_info *limits,
                                     uint64_t *total, vyre_error *err)
{
  uint64_t size = 0;
  if (!buffer->element_size)
    return REFUSE("give the bytes of one element, at least 1", "buffer '%s': element_size is 0",
                  buffer->name);
  if (buffer->element_count == VYRE_COUNT_FROM_INPUT)
    return check_open_size(buffer, err);
  if (!vyre__checked_multiply(buffer->element_size, buffer->element_count, &size))
    return REFUSE("give a smaller element_count",
                  "buffer '%s': %llu elements of %u bytes are more than 2^64 bytes", buffer->name,
                  (unsigned long long)buffer->element_count, buffer->element_size);
  if (!vyre__checked_add(*total, size, total))
    return REFUSE("give smaller element_counts",
                  "all buffers up to '%s' together are more than 2^64 bytes", buffer->name);
  if (limits && limits->max_buffer_bytes && buffer->access != VYRE_WORKGROUP &&
      size > limits->max_buffer_bytes)
    return REFUSE("split the buffer, or choose a device that takes larger ones",
                  "buffer '%s' has %llu bytes, the most on %s is %llu", buffer->name,
                  (unsigned long long)size, limits->selector,
                  (unsigned long long)limits->max_buffer_bytes);
  if (!vyre__range_fits(buffer->range_offset, buffer->range_size, size))
    return REFUSE(
        "give a range inside the buffer",
        "buffer '%s': the range of %llu bytes from %llu does not lie within its %llu bytes",
        buffer->name, (unsigned long long)buffer->range_size,
        (unsigned long long)buffer->range_offset, (unsigned long long)size);
  return VYRE_OK;
}

static vyre_status check_buffers(const vyre_program_desc *desc, const vyre_device_info *limits,
                                 vyre_error *err)
{
  uint64_t total = 0;
  vyre_status status = VYRE_OK;
  for (uint32_t i = 0; i < desc->buffer_count && status == VYRE_OK; ++i) {
    status = check_buffer_name(desc, i, err);
    if (status == VYRE_OK)
      status = check_buffer_flags(vyre__buffer_at(desc, i), err);
    if (status == VYRE_OK)
      status = check_buffer_size(vyre__buffer_at(desc, i), limits, &total, err);
  }
  return status;
}

/* ---- segments ---- */

static vyre_status check_access(const char *kernel, const vyre_segment_binding *binding,
                                const vyre_buffer_decl *buffer, vyre_error *err)
{
  bool allowed = binding->access == buffer->access;
  if (buffer->access == VYRE_READ_WRITE)
    allowed = binding->access != VYRE_WORKGROUP;
  if (!allowed)
    return REFUSE(buffer->access == VYRE_WRITE_ONLY
                      ? "declare the buffer VYRE_READ_WRITE with VYRE_BUFFER_OUTPUT, or bind it "
                        "VYRE_WRITE_ONLY"
                      : "bind the buffer as it is declared, or declare it VYRE_READ_WRITE",
                  "segment '%s' binds '%s' as %s, but the buffer is declared %s", kernel,
                  buffer->name, access_name(binding->access), access_name(buffer->access));
  if (binding->flags & ~VYRE_BINDING_WRITES_ALL)
    return REFUSE("use VYRE_BINDING_WRITES_ALL only",
                  "segment '%s', buffer '%s': unknown binding flags 0x%x", kernel, buffer->name,
                  binding->flags);
  if ((binding->flags & VYRE_BINDING_WRITES_ALL) && binding->access != VYRE_WRITE_ONLY)
    return REFUSE("bind it VYRE_WRITE_ONLY, or drop VYRE_BINDING_WRITES_ALL",
                  "segment '%s' says that it writes all of '%s' but binds it as %s", kernel,
                  buffer->name, access_name(binding->access));
  return VYRE_OK;
}

static vyre_status check_bindings(const vyre_program_desc *desc, const vyre_segment_decl *segment,
                                  vyre_error *err)
{
  uint64_t bound = 0; /* a bit for each buffer */
  vyre_status status = VYRE_OK;
  for (uint32_t b = 0; b < segment->binding_count && status == VYRE_OK; ++b) {
    const vyre_segment_binding *binding = vyre__binding_at(segment, b);
    uint32_t index = UINT32_MAX;
    if (!binding->buffer || !*binding->buffer)
      return REFUSE("give the name of a declared buffer",
                    "segment '%s': binding %u names no buffer", segment->kernel, b);
    index = vyre__program_find(desc, binding->buffer);
    if (index == UINT32_MAX)
      return REFUSE("declare the buffer, or correct its name",
                    "segment '%s' binds '%.200s', which is not declared", segment->kernel,
                    binding->buffer);
    if (bound & (1ull << index))
      return REFUSE("bind each buffer once: two parameters must not be one memory",
                    "segment '%s' binds '%s' twice", segment->kernel, binding->buffer);
    bound |= 1ull << index;
    status = check_access(segment->kernel, binding, vyre__buffer_at(desc, index), err);
  }
  return status;
}

/* The sum of a segment's workgroup buffers; saturates. */
static uint64_t workgroup_memory(const vyre_program_desc *desc, const vyre_segment_decl *segment)
{
  uint64_t sum = 0, size = 0;
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    uint32_t index = vyre__program_find(desc, vyre__binding_at(segment, b)->buffer);
    const vyre_buffer_decl *buffer = vyre__buffer_at(desc, index);
    if (buffer->access != VYRE_WORKGROUP)
      continue;
    size = buffer->element_size * buffer->element_count; /* checked with the buffer */
    if (!vyre__checked_align(size, 16, &size) || !vyre__checked_add(sum, size, &sum))
      return UINT64_MAX;
  }
  return sum;
}

static vyre_status check_segment_limits(const vyre_program_desc *desc,
                                        const vyre_segment_decl *segment,
                                        const vyre_device_info *limits, vyre_error *err)
{
  uint64_t memory = workgroup_memory(desc, segment);
  /* With DECLARED the control words are one more. */
  const uint64_t bindings =
      segment->binding_count + (uint64_t)(desc->converge == VYRE_CONVERGE_DECLARED);
  if (limits->max_bindings && bindings > limits->max_bindings)
    return REFUSE("merge buffers, or split the segment",
                  "segment '%s' has %llu bindings, the most on %s is %u", segment->kernel,
                  (unsigned long long)bindings, limits->selector, limits->max_bindings);
  if (memory > limits->max_workgroup_memory)
    return REFUSE("use less workgroup memory",
                  "segment '%s' wants %llu bytes of workgroup memory, the most on %s is %llu",
                  segment->kernel, (unsigned long long)memory, limits->selector,
                  (unsigned long long)limits->max_workgroup_memory);
  return VYRE_OK;
}

static vyre_status check_segment(const vyre_program_desc *desc, uint32_t index,
                                 const vyre_device_info *limits, vyre_error *err)
{
  const vyre_segment_decl *segment = vyre__segment_at(desc, index);
  vyre_status status = VYRE_OK;
  if (!segment->kernel || !*segment->kernel)
    return REFUSE("give the name in VYRE_SEGMENT(name)", "segment %u names no kernel", index);
  if (!vyre__is_identifier(segment->kernel))
    return REFUSE("use the C identifier that stands in VYRE_SEGMENT(name)",
                  "segment %u: '%.200s' cannot be the name of a kernel", index, segment->kernel);
  if (!segment->binding_count)
    return REFUSE("bind the buffers that the kernel reads and writes",
                  "segment '%s' binds no buffer", segment->kernel);
  status = check_bindings(desc, segment, err);
  if (status == VYRE_OK && limits)
    status = check_segment_limits(desc, segment, limits, err);
  for (uint32_t i = 0; i < index && status == VYRE_OK; ++i) {
    const vyre_segment_decl *earlier = vyre__segment_at(desc, i);
    if (!strcmp(earlier->kernel, segment->kernel) && !vyre__segments_equal(earlier, segment))
      status = REFUSE("write a second kernel function that calls the same VYRE_FUNCTION",
                      "segments %u and %u use kernel '%s' with different bindings", i, index,
                      segment->kernel);
    if (!strcmp(earlier->kernel, segment->kernel))
      break; /* those between are equal to it */
  }
  return status;
}

static vyre_status check_outputs(const vyre_program_desc *desc, vyre_error *err)
{
  for (uint32_t i = 0; i < desc->buffer_count; ++i) {
    const vyre_buffer_decl *buffer = vyre__buffer_at(desc, i);
    if (vyre__is_output(buffer) && !vyre__program_writes(desc, i))
      return REFUSE("bind it VYRE_READ_WRITE or VYRE_WRITE_ONLY in a segment, or remove it",
                    "buffer '%s' is an output, but no segment writes it", buffer->name);
  }
  return VYRE_OK;
}

/* ---- the whole ---- */

static vyre_status check_workgroup(const vyre_program_desc *desc, const vyre_device_info *limits,
                                   vyre_error *err)
{
  uint32_t workgroup[3];
  uint64_t items = 1;
  vyre__program_workgroup(desc, workgroup);
  for (int d = 0; d < 3; ++d) {
    if (limits && workgroup[d] > limits->max_workgroup[d])
      return REFUSE("use a smaller workgroup",
                    "a workgroup of %u items in dimension %d is too large, the most on %s is %u",
                    workgroup[d], d, limits->selector, limits->max_workgroup[d]);
    if (!vyre__checked_multiply(items, workgroup[d], &items))
      items = UINT64_MAX;
  }
  if (items > (limits ? limits->max_workgroup_items : UINT32_MAX))
    return REFUSE("use a smaller workgroup",
                  "a workgroup of %u x %u x %u items is too large, the most is %u", workgroup[0],
                  workgroup[1], workgroup[2], limits ? limits->max_workgroup_items : UINT32_MAX);
  return VYRE_OK;
}

static vyre_status check_whole(const vyre_program_desc *desc, const vyre_device_info *limits,
                               vyre_error *err)
{
  if (!desc->iterations)
    return REFUSE("give 1 for a single pass (VYRE_PROGRAM_DESC_INIT does)", "iterations is 0");
  if (desc->converge > VYRE_CONVERGE_OFF)
    return REFUSE("use VYRE_CONVERGE_EXACT, VYRE_CONVERGE_DECLARED or VYRE_CONVERGE_OFF",
                  "converge %u does not exist", desc->converge);
  if (desc->flags & ~VYRE_PROGRAM_DEBUG)
    return REFUSE("use VYRE_PROGRAM_DEBUG only", "unknown program flags 0x%x", desc->flags);
  if (limits && desc->push_size > limits->max_push_bytes)
    return REFUSE("put large constants in a READ_ONLY buffer",
                  "%u bytes of push constants are too many, the most on %s is %u", desc->push_size,
                  limits->selector, limits->max_push_bytes);
  return check_workgroup(desc, limits, err);
}

vyre_status vyre__program_validate(const vyre_program_desc *desc, const vyre_device_info *limits,
                                   vyre_error *err)
{
  vyre_status status = VYRE_OK;
  if (!desc || desc->struct_size < VYRE__SIZE_TO(vyre_program_desc, flags))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_PROGRAM_DESC_INIT",
                     "the program description is %s", desc ? "too small" : "NULL");
  status = check_structures(desc, err);
  if (status == VYRE_OK)
    status = check_whole(desc, limits, err);
  if (status == VYRE_OK)
    status = check_buffers(desc, limits, err);
  for (uint32_t s = 0; s < desc->segment_count && status == VYRE_OK; ++s)
    status = check_segment(desc, s, limits, err);
  if (status == VYRE_OK)
    status = check_outputs(desc, err);
  if (status != VYRE_OK)
    vyre__error_prefix(err, "program '%.200s': ", desc->name ? desc->name : "");
  return status;
}
