/*
 * calls.h - the functions of vyre__gpu_driver_table, by file; see plugins/gpu/driver.h for what
 * each of them does.  All of them return HIP's own code.
 */
#ifndef VYRE_HIP_CALLS_H
#define VYRE_HIP_CALLS_H

#include "plugins/gpu/driver.h"
#include "plugins/hip/hip_api.h"

/* ---- facts.c ---- */
vyre__gpu_code vyre__hip_device_count(uint32_t *out_count);
vyre__gpu_code vyre__hip_device_facts(uint32_t index, vyre__gpu_facts *out_facts);

/* ---- switches.c ---- */
/* Why launches of this process are serialised, into `out`; false if nothing says that they are. */
bool vyre__hip_is_serialised(char *out, uint64_t size);

/* ---- context.c ---- */

/* HIP's context is the device that is current in the thread. */
vyre__gpu_code vyre__hip_context_retain(uint32_t index, vyre__gpu_context **out_context);
vyre__gpu_code vyre__hip_context_release(uint32_t index);
vyre__gpu_code vyre__hip_context_reset(uint32_t index);
vyre__gpu_code vyre__hip_context_enter(vyre__gpu_context *context, void **out_before);
vyre__gpu_code vyre__hip_context_leave(void *before);
/* The plugin's own pool of the device, which lives while its context is retained. */
vyre__gpu_code vyre__hip_pool_of_current(hipMemPool_t *out_pool);
bool vyre__hip_has_pools(void); /* the runtime has all calls for them */

/* ---- memory.c ---- */
vyre__gpu_code vyre__hip_memory_take(uint64_t size, vyre__gpu_address *out_address);
vyre__gpu_code vyre__hip_memory_give(vyre__gpu_address address);
vyre__gpu_code vyre__hip_memory_take_async(uint64_t size, vyre__gpu_stream *stream,
                                           vyre__gpu_address *out_address);
vyre__gpu_code vyre__hip_memory_give_async(vyre__gpu_address address, vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_host_take(uint64_t size, void **out_host, vyre__gpu_address *out_address);
vyre__gpu_code vyre__hip_host_give(void *host);
vyre__gpu_code vyre__hip_memory_check(vyre__gpu_address address, bool *out_is_device);
vyre__gpu_code vyre__hip_copy_in(vyre__gpu_address to, const void *from, uint64_t size,
                                 vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_copy_out(void *to, vyre__gpu_address from, uint64_t size,
                                  vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_copy_within(vyre__gpu_address to, vyre__gpu_address from, uint64_t size,
                                     vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_fill(vyre__gpu_address to, uint8_t value, uint64_t size,
                              vyre__gpu_stream *stream);

/* ---- stream.c ---- */
vyre__gpu_code vyre__hip_stream_make(bool urgent, vyre__gpu_stream **out_stream);
vyre__gpu_code vyre__hip_stream_drop(vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_stream_sync(vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_stream_wait(vyre__gpu_stream *stream, vyre__gpu_event *event);
vyre__gpu_code vyre__hip_event_make(bool timed, bool wakes, vyre__gpu_event **out_event);
vyre__gpu_code vyre__hip_event_drop(vyre__gpu_event *event);
vyre__gpu_code vyre__hip_event_record(vyre__gpu_event *event, vyre__gpu_stream *stream);
vyre__gpu_code vyre__hip_event_query(vyre__gpu_event *event);
vyre__gpu_code vyre__hip_event_elapsed(vyre__gpu_event *from, vyre__gpu_event *to, float *out_ms);

/* ---- code.c ---- */
vyre__gpu_code vyre__hip_image_load(const void *code, uint64_t size, char *log, uint64_t log_size,
                                    vyre__gpu_image **out_image);
vyre__gpu_code vyre__hip_image_unload(vyre__gpu_image *image);
vyre__gpu_code vyre__hip_function_find(vyre__gpu_image *image, const char *name,
                                       vyre__gpu_function **out_function);
vyre__gpu_code vyre__hip_function_prepare(vyre__gpu_function *function,
                                          vyre__gpu_limits *out_limits);
vyre__gpu_code vyre__hip_function_parameters(vyre__gpu_function *function, uint32_t *out_count);
vyre__gpu_code vyre__hip_occupancy(vyre__gpu_function *function, uint32_t items,
                                   uint64_t workgroup_memory, uint32_t *out_groups);
vyre__gpu_code vyre__hip_launch(vyre__gpu_function *function, const uint32_t groups[3],
                                const uint32_t workgroup[3], uint32_t workgroup_memory,
                                vyre__gpu_stream *stream, void **parameters, bool cooperative);

/* ---- graph.c ---- */
bool vyre__hip_has_graphs(void); /* the library has all calls for them */
vyre__gpu_code vyre__hip_graph_make(vyre__gpu_graph **out_graph);
vyre__gpu_code vyre__hip_graph_drop(vyre__gpu_graph *graph);
vyre__gpu_code vyre__hip_graph_add(vyre__gpu_graph *graph, vyre__gpu_function *function,
                                   const uint32_t groups[3], const uint32_t workgroup[3],
                                   uint32_t workgroup_memory, void **parameters,
                                   vyre__gpu_node **last);
vyre__gpu_code vyre__hip_exec_make(vyre__gpu_graph *graph, vyre__gpu_stream *stream,
                                   vyre__gpu_exec **out_exec);
vyre__gpu_code vyre__hip_exec_drop(vyre__gpu_exec *exec);
vyre__gpu_code vyre__hip_exec_launch(vyre__gpu_exec *exec, vyre__gpu_stream *stream);

/* ---- compiler.c ---- */
bool vyre__hip_compiler_find(char *out_reason, uint64_t size);
const char *vyre__hip_compiler_version(void);
vyre_status vyre__hip_compile(const vyre_host *host, const char *source, uint64_t size,
                              const char *name, const char *format, const char *arch, bool debug,
                              vyre_blob *out_blob, vyre_error *err);
void vyre__hip_native_target(const char *device_arch, const char **out_format,
                             const char **out_arch);

#endif
