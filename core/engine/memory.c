/*
 * memory.c - the engine's regions.
 *
 *                 persistent          batched, coherent    batched, host bytes only
 *   ring          coherent            host                 host
 *   control       coherent            host                 host
 *   state         device buffer       -                    -
 *   input         coherent            coherent             host
 *   records       coherent            coherent             host
 *
 * An input buffer of the caller's takes the place of the input region in each of them.
 */
#include "core/engine/engine.h"

#include <string.h>

#define REGION_ALIGN 4096u

static vyre_status make_host(vyre_engine *engine, vyre__region *region, uint64_t size,
                             const char *what, vyre_error *err)
{
  region->host = vyre__allocate(&engine->allocator, size, REGION_ALIGN);
  if (!region->host)
    return VYRE_FAIL_MEMORY(err, what);
  /* Touched here, so that no fault comes between taking a place and publishing it. */
  memset(region->host, 0, size);
  region->size = size;
  region->owned = true;
  return VYRE_OK;
}

static vyre_status make_coherent(vyre_engine *engine, vyre__region *region, uint64_t size,
                                 const char *what, vyre_error *err)
{
  vyre_device *device = engine->device;
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_status status = vyre__device_result(
      device, "coherent_alloc",
      device->backend->coherent_alloc(device->handle, size, &memory, &said), &said, err);
  if (status != VYRE_OK) {
    vyre__error_prefix(err, "%s: ", what);
    return status;
  }
  if (!memory.buffer || !memory.host) {
    device->backend->buffer_free(device->handle, memory.buffer);
    return VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                     "plugin %s gave no coherent memory and reported no error",
                     device->backend->name);
  }
  region->host = memory.host;
  region->buffer = memory.buffer;
  region->size = size;
  region->owned = true;
  return VYRE_OK;
}

vyre_status vyre__engine_make_buffer(vyre_engine *engine, vyre__region *region, const void *data,
                                     uint64_t size, vyre_error *err)
{
  vyre_device *device = engine->device;
  const vyre_backend *backend = device->backend;
  const char *function = "buffer_alloc";
  vyre_error said = VYRE_ERROR_INIT;
  vyre_backend_buffer *made = NULL;
  vyre_status status = backend->buffer_alloc(device->handle, size, &made, &said);
  if (status == VYRE_OK && !made)
    return VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                     "plugin %s gave no buffer and reported no error", backend->name);
  if (status == VYRE_OK) {
    region->buffer = made;
    region->size = size;
    region->owned = true;
    function = "buffer_upload";
    status = backend->buffer_upload(device->handle, made, 0, data, size, &said);
  }
  return vyre__device_result(device, function, status, &said, err);
}

static bool is_coherent(const vyre_engine *engine)
{
  return (engine->device->info.capabilities & VYRE_CAP_COHERENT) &&
         VYRE__HAS_SLOT(engine->device->backend, coherent_alloc);
}

static vyre_status make_ring(vyre_engine *engine, vyre_error *err)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .device = true};
  uint64_t size = 0, control = sizeof(vyre_engine_control);
  vyre_status status;
  setup.options.capacity = engine->plan.capacity;
  setup.options.completion = VYRE_COMPLETION_BY_TICKET;
  setup.options.max_unfinished = engine->plan.max_unfinished;
  setup.first_position = engine->first_position;
  status = vyre__ring_region_size(&setup, &size, err);
  if (status != VYRE_OK)
    return status;
  control += (uint64_t)engine->plan.workers * sizeof(vyre_engine_worker);
  if (engine->plan.width > 1)
    control += (uint64_t)engine->plan.workers * sizeof(uint64_t);
  status = engine->plan.persistent
               ? make_coherent(engine, &engine->ring_memory, size, "the engine's ring", err)
               : make_host(engine, &engine->ring_memory, size, "the engine's ring", err);
  if (status == VYRE_OK)
    status =
        engine->plan.persistent
            ? make_coherent(engine, &engine->control_memory, control, "the engine's words", err)
            : make_host(engine, &engine->control_memory, control, "the engine's words", err);
  if (status == VYRE_OK)
    status = vyre__ring_init(engine->ring_memory.host, size, &setup, &engine->allocator,
                             &engine->ring, err);
  if (status != VYRE_OK)
    return status;
  engine->control = engine->control_memory.host;
  engine->workers = (void *)((char *)engine->control_memory.host + sizeof(vyre_engine_control));
  engine->done = &engine->workers[0].done;
  engine->done_step = sizeof(vyre_engine_worker) / sizeof(uint64_t);
  if (engine->plan.width > 1) {
    engine->done = (void *)(engine->workers + engine->plan.workers);
    engine->done_step = 1;
  }
  for (uint32_t i = 0; i < engine->plan.workers; ++i)
    engine->workers[i].until = vyre__ring_ticket(engine->first_position, 0);
  return VYRE_OK;
}

/* The words that workers contend for, their claims, and a count for each place of the ring. */
static vyre_status make_state(vyre_engine *engine, vyre_error *err)
{
  const uint64_t size = sizeof(vyre_engine_state) +
                        (uint64_t)engine->plan.workers * sizeof(vyre_engine_claims) +
                        (uint64_t)engine->plan.capacity * sizeof(uint32_t);
  vyre_engine_state *state = vyre__allocate_zeroed(&engine->allocator, 1, size);
  vyre_status status;
  if (!state)
    return VYRE_FAIL_MEMORY(err, "the engine's state");
  state->tail = vyre__ring_ticket(engine->first_position, 0);
  state->announced = engine->first_position;
  state->offer = engine->first_position << 32 | (uint32_t)engine->first_position;
  status = vyre__engine_make_buffer(engine, &engine->state, state, size, err);
  vyre__deallocate(&engine->allocator, state);
  return status;
}

static vyre_status make_data(vyre_engine *engine, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  const uint64_t records = 2 * (uint64_t)engine->plan.bank_records * sizeof(vyre_record);
  if (engine->plan.input) {
    engine->input.buffer = engine->plan.input->handle;
    engine->input.size = engine->plan.input_size;
  } else if (engine->plan.input_size) {
    status = is_coherent(engine) ? make_coherent(engine, &engine->input, engine->plan.input_size,
                                                 "the engine's input", err)
                                 : make_host(engine, &engine->input, engine->plan.input_size,
                                             "the engine's input", err);
  }
  if (status == VYRE_OK && records)
    status = is_coherent(engine)
                 ? make_coherent(engine, &engine->records, records, "the output bank", err)
                 : make_host(engine, &engine->records, records, "the output bank", err);
  return status;
}

/* Room for the longest batch. */
static vyre_status make_batch(vyre_engine *engine, vyre_error *err)
{
  vyre__engine_batch *batch = &engine->batch;
  batch->items = vyre__allocate_zeroed(&engine->allocator, batch->most, sizeof *batch->items);
  batch->results = vyre__allocate_zeroed(&engine->allocator, batch->most, sizeof *batch->results);
  return batch->items && batch->results ? VYRE_OK : VYRE_FAIL_MEMORY(err, "a batch of items");
}

vyre_status vyre__engine_make_memory(vyre_engine *engine, vyre_error *err)
{
  uint64_t entries;
  vyre_status status = make_ring(engine, err);
  if (status == VYRE_OK)
    status = engine->plan.persistent ? make_state(engine, err) : make_batch(engine, err);
  if (status == VYRE_OK)
    status = make_data(engine, err);
  if (status != VYRE_OK)
    return status;
  /* As many as results[], whose size was checked. */
  entries = (engine->ring->completions_mask + 1) << VYRE_RING_INDEX_BITS;
  engine->correlations =
      vyre__allocate_zeroed(&engine->allocator, entries, sizeof *engine->correlations);
  if (!engine->correlations)
    return VYRE_FAIL_MEMORY(err, "the engine's correlations");
  /* Touched, as above: zeroed pages may still be missing. */
  for (uint64_t i = 0; i < entries; ++i)
    __atomic_store_n(&engine->correlations[i], 0, __ATOMIC_RELAXED);
  return VYRE_OK;
}

static void free_region(vyre_engine *engine, vyre__region *region)
{
  if (!region->owned)
    return;
  if (!region->buffer)
    vyre__deallocate(&engine->allocator, region->host);
  else if (vyre__context_is_ours(engine->device->context))
    engine->device->backend->buffer_free(vyre__device_handle(engine->device, engine->generation),
                                         region->buffer);
}

void vyre__engine_free_memory(vyre_engine *engine)
{
  vyre_ring_destroy(engine->ring);
  free_region(engine, &engine->ring_memory);
  free_region(engine, &engine->control_memory);
  free_region(engine, &engine->state);
  free_region(engine, &engine->rules);
  free_region(engine, &engine->input);
  free_region(engine, &engine->records);
  vyre__deallocate(&engine->allocator, engine->batch.items);
  vyre__deallocate(&engine->allocator, engine->batch.results);
  vyre__deallocate(&engine->allocator, engine->correlations);
}

vyre_binding vyre__engine_bind(const vyre_engine *engine, uint32_t id, const vyre__region *region,
                               uint64_t offset, uint64_t size, vyre_access access)
{
  vyre_binding binding = {.struct_size = sizeof binding, .id = id, .access = access};
  if (region->buffer) {
    binding.kind = VYRE_BINDING_BUFFER;
    binding.buffer = region->buffer;
    binding.offset = offset;
  } else if (!size && engine->plan.persistent) {
    /* No bytes, but a persistent launch takes buffers only. */
    binding.kind = VYRE_BINDING_BUFFER;
    binding.buffer = engine->state.buffer;
  } else {
    binding.kind = VYRE_BINDING_HOST;
    binding.data = region->host ? (const char *)region->host + offset : NULL;
  }
  binding.size = size;
  binding.element_count = size;
  return binding;
}
