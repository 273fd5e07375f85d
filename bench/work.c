/* work.c - see work.h. */
#include "bench/work.h"

#include "embed/bench_checksum.h"

static vyre_code text(void)
{
  vyre_code code = VYRE_CODE_INIT;
  code.format = "vyre-c";
  code.data = bench_checksum;
  code.size = bench_checksum_size;
  code.name = "checksum.c";
  return code;
}

vyre_status bench_device_open(bench_device *device, const char *selector, vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_status status;
  *device = (bench_device){.info = {.struct_size = sizeof device->info}};
  request.selector = selector ? selector : "cpu";
  status = vyre_context_create(NULL, &device->context, err);
  if (status == VYRE_OK)
    status = vyre_device_open(device->context, &request, &device->device, err);
  if (status == VYRE_OK)
    status = vyre_device_get_info(device->device, &device->info, err);
  return status;
}

void bench_device_close(bench_device *device)
{
  vyre_device_close(device->device);
  vyre_context_destroy(device->context);
}

vyre_status bench_program(vyre_device *device, const char *kernel, uint32_t jobs,
                          uint32_t job_bytes, vyre_program **out_program, vyre_error *err)
{
  vyre_buffer_decl buffers[2] = {VYRE_BUFFER_DECL_INIT, VYRE_BUFFER_DECL_INIT};
  vyre_segment_binding bindings[2] = {VYRE_SEGMENT_BINDING_INIT, VYRE_SEGMENT_BINDING_INIT};
  vyre_segment_decl segment = VYRE_SEGMENT_DECL_INIT;
  vyre_program_desc desc = VYRE_PROGRAM_DESC_INIT;
  const vyre_code code = text();
  buffers[0].name = bindings[0].buffer = "input";
  buffers[0].element_size = 1;
  buffers[0].element_count = (uint64_t)jobs * job_bytes;
  buffers[1].name = bindings[1].buffer = "sums";
  buffers[1].access = bindings[1].access = VYRE_READ_WRITE;
  buffers[1].element_count = jobs;
  segment.kernel = kernel;
  segment.bindings = bindings;
  segment.binding_count = 2;
  desc.name = kernel;
  desc.buffers = buffers;
  desc.buffer_count = 2;
  desc.segments = &segment;
  desc.segment_count = 1;
  desc.code = &code;
  desc.code_count = 1;
  desc.push_size = sizeof(bench_push);
  for (int i = 0; i < 3; ++i)
    desc.workgroup[i] = desc.groups[i] = 1;
  return vyre_program_create(device, &desc, out_program, err);
}

vyre_status bench_start_engine(vyre_device *device, const vyre_engine_options *options,
                               vyre_engine **out_engine, vyre_error *err)
{
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre_handler_decl handler = VYRE_HANDLER_DECL_INIT;
  vyre_rule_set rule = VYRE_RULE_SET_INIT;
  const vyre_code code = text();
  handler.name = "checksum";
  set.name = "checksum";
  set.handlers = &handler;
  set.handler_count = 1;
  set.rule_sets = &rule;
  set.rule_set_count = 1;
  set.code = &code;
  set.code_count = 1;
  return vyre_engine_start(device, &set, options, out_engine, err);
}
