/*
 * driver.c - the table that the body of the GPU plugins works with, for HIP.
 */
#include "plugins/gpu/driver.h"

#include "plugins/hip/calls.h"
#include "plugins/hip/codes.h"
#include "plugins/hip/library.h"

#include "embed/vyre__hip_prelude.h"

/* Best first: machine code needs no compiler. */
static const vyre_backend_format formats[] = {
    {sizeof(vyre_backend_format), 0, "hsaco", ""},
    {sizeof(vyre_backend_format), 0, "vyre-c", ""},
};

static const char *prelude(uint64_t *out_size)
{
  *out_size = vyre__hip_prelude_size;
  return vyre__hip_prelude;
}

const vyre__gpu_driver_table vyre__gpu_driver = {
    .name = "hip",
    .vendor = "AMD",
    .native_type = VYRE_NATIVE_HIP,
    .formats = formats,
    .format_count = sizeof formats / sizeof formats[0],
    .tries_coherence = true,
    .prelude = prelude,
    .load = vyre__hip_load,
    .code_status = vyre__hip_code_status,
    .code_is_sticky = vyre__hip_code_is_sticky,
    .code_is_not_ready = vyre__hip_code_is_not_ready,
    .code_is_no_device = vyre__hip_code_is_no_device,
    .code_name = vyre__hip_code_name,
    .device_count = vyre__hip_device_count,
    .device_facts = vyre__hip_device_facts,
    .context_retain = vyre__hip_context_retain,
    .context_release = vyre__hip_context_release,
    .context_reset = vyre__hip_context_reset,
    .context_enter = vyre__hip_context_enter,
    .context_leave = vyre__hip_context_leave,
    .memory_take = vyre__hip_memory_take,
    .memory_give = vyre__hip_memory_give,
    .memory_take_async = vyre__hip_memory_take_async,
    .memory_give_async = vyre__hip_memory_give_async,
    .host_take = vyre__hip_host_take,
    .host_give = vyre__hip_host_give,
    .memory_check = vyre__hip_memory_check,
    .stream_make = vyre__hip_stream_make,
    .stream_drop = vyre__hip_stream_drop,
    .stream_sync = vyre__hip_stream_sync,
    .stream_wait = vyre__hip_stream_wait,
    .event_make = vyre__hip_event_make,
    .event_drop = vyre__hip_event_drop,
    .event_record = vyre__hip_event_record,
    .event_query = vyre__hip_event_query,
    .event_elapsed = vyre__hip_event_elapsed,
    .copy_in = vyre__hip_copy_in,
    .copy_out = vyre__hip_copy_out,
    .copy_within = vyre__hip_copy_within,
    .fill = vyre__hip_fill,
    .image_load = vyre__hip_image_load,
    .image_unload = vyre__hip_image_unload,
    .function_find = vyre__hip_function_find,
    .code_is_not_found = vyre__hip_code_is_not_found,
    .code_is_wrong_device = vyre__hip_code_is_wrong_device,
    .function_prepare = vyre__hip_function_prepare,
    .function_parameters = vyre__hip_function_parameters,
    .occupancy = vyre__hip_occupancy,
    .launch = vyre__hip_launch,
    .graph_make = vyre__hip_graph_make,
    .graph_drop = vyre__hip_graph_drop,
    .graph_add = vyre__hip_graph_add,
    .exec_make = vyre__hip_exec_make,
    .exec_drop = vyre__hip_exec_drop,
    .exec_launch = vyre__hip_exec_launch,
    .compiler_find = vyre__hip_compiler_find,
    .compiler_version = vyre__hip_compiler_version,
    .compile = vyre__hip_compile,
    .native_target = vyre__hip_native_target,
};
