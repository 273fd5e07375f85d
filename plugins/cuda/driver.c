/*
 * driver.c - the table that the body of the GPU plugins works with, for CUDA.
 */
#include "plugins/gpu/driver.h"

#include "plugins/cuda/calls.h"
#include "plugins/cuda/codes.h"
#include "plugins/cuda/library.h"

#include "embed/vyre__cuda_prelude.h"

/* Best first: machine code needs no compiler, PTX is compiled by the driver. */
static const vyre_backend_format formats[] = {
    {sizeof(vyre_backend_format), 0, "cubin", ""},
    {sizeof(vyre_backend_format), 0, "ptx", ""},
    {sizeof(vyre_backend_format), 0, "vyre-c", ""},
};

static const char *prelude(uint64_t *out_size)
{
  *out_size = vyre__cuda_prelude_size;
  return vyre__cuda_prelude;
}

const vyre__gpu_driver_table vyre__gpu_driver = {
    .name = "cuda",
    .vendor = "NVIDIA",
    .native_type = VYRE_NATIVE_CUDA,
    .formats = formats,
    .format_count = sizeof formats / sizeof formats[0],
    .prelude = prelude,
    .load = vyre__cuda_load,
    .code_status = vyre__cuda_code_status,
    .code_is_sticky = vyre__cuda_code_is_sticky,
    .code_is_not_ready = vyre__cuda_code_is_not_ready,
    .code_is_no_device = vyre__cuda_code_is_no_device,
    .code_name = vyre__cuda_code_name,
    .device_count = vyre__cuda_device_count,
    .device_facts = vyre__cuda_device_facts,
    .context_retain = vyre__cuda_context_retain,
    .context_release = vyre__cuda_context_release,
    .context_reset = vyre__cuda_context_reset,
    .context_enter = vyre__cuda_context_enter,
    .context_leave = vyre__cuda_context_leave,
    .memory_take = vyre__cuda_memory_take,
    .memory_give = vyre__cuda_memory_give,
    .memory_take_async = vyre__cuda_memory_take_async,
    .memory_give_async = vyre__cuda_memory_give_async,
    .host_take = vyre__cuda_host_take,
    .host_give = vyre__cuda_host_give,
    .memory_check = vyre__cuda_memory_check,
    .stream_make = vyre__cuda_stream_make,
    .stream_drop = vyre__cuda_stream_drop,
    .stream_sync = vyre__cuda_stream_sync,
    .stream_wait = vyre__cuda_stream_wait,
    .event_make = vyre__cuda_event_make,
    .event_drop = vyre__cuda_event_drop,
    .event_record = vyre__cuda_event_record,
    .event_query = vyre__cuda_event_query,
    .event_elapsed = vyre__cuda_event_elapsed,
    .copy_in = vyre__cuda_copy_in,
    .copy_out = vyre__cuda_copy_out,
    .copy_within = vyre__cuda_copy_within,
    .fill = vyre__cuda_fill,
    .image_load = vyre__cuda_image_load,
    .image_unload = vyre__cuda_image_unload,
    .function_find = vyre__cuda_function_find,
    .code_is_not_found = vyre__cuda_code_is_not_found,
    .code_is_wrong_device = vyre__cuda_code_is_wrong_device,
    .function_prepare = vyre__cuda_function_prepare,
    .function_parameters = vyre__cuda_function_parameters,
    .occupancy = vyre__cuda_occupancy,
    .launch = vyre__cuda_launch,
    .graph_make = vyre__cuda_graph_make,
    .graph_drop = vyre__cuda_graph_drop,
    .graph_add = vyre__cuda_graph_add,
    .exec_make = vyre__cuda_exec_make,
    .exec_drop = vyre__cuda_exec_drop,
    .exec_launch = vyre__cuda_exec_launch,
    .compiler_find = vyre__cuda_compiler_find,
    .compiler_version = vyre__cuda_compiler_version,
    .compile = vyre__cuda_compile,
    .native_target = vyre__cuda_native_target,
};
