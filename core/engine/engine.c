/* engine.c - starting, describing and freeing an engine. */
#include "core/base/structs.h"
#include "core/program/code.h"

#include "core/engine/engine.h"

#include <signal.h>
#include <string.h>

/* Spinning takes a core from the workers where these are the host's own cores. */
#define SPIN_CPU_NS 2000u
#define SPIN_DEVICE_NS 20000u
#define SLICE_NS 50000u

/* Longest list of one batched launch, and its group where groups are wide. */
#define BATCH_MOST 1024u
#define BATCH_WORKGROUP 64u
/* Work items of a persistent worker where groups are wide: 32 cells of the ring at a time. */
#define WIDTH 256u

/* How long destroy waits for a launch whose items do not end. */
#define PATIENCE_NS 10000000000ull

#ifdef VYRE_TESTING
uint64_t vyre__engine_first_position;
uint32_t vyre__engine_width;
#endif

static vyre_status read_handlers(const vyre_engine_handlers *handlers, vyre_engine_handlers *out,
                                 vyre_error *err)
{
  if (!handlers)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a vyre_engine_handlers",
                     "the handlers are NULL");
  if (!vyre__struct_read(out, sizeof *out, handlers,
                         VYRE__SIZE_TO(vyre_engine_handlers, rule_sets)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_ENGINE_HANDLERS_INIT",
                     "the handlers' struct_size is %u", vyre__struct_size(handlers));
  return vyre__code_check(out->code, out->code_count, "the handler set", err);
}

/* Compiles or loads the code and finds the one entry that this engine uses. */
static vyre_status load(vyre_engine *engine, const vyre_engine_handlers *handlers, vyre_error *err)
{
  vyre_device *device = engine->device;
  const bool wide = engine->plan.width > 1;
  const char *entry = !engine->plan.persistent ? "vyre_engine_batch"
                      : wide                   ? "vyre_engine_wide"
                                               : "vyre_engine_persistent";
  vyre_kernel_info info = {.struct_size = sizeof info};
  vyre_error said = VYRE_ERROR_INIT;
  vyre__text head, tail;
  vyre__entries entries;
  vyre_status status;
  vyre__text_init(&head, &engine->allocator);
  vyre__text_init(&tail, &engine->allocator);
  status = vyre__engine_entries(handlers, wide, &head, &tail, err);
  if (status != VYRE_OK)
    goto done;
  entries.head = head.data;
  entries.tail = tail.data;
  status = vyre__module_load(device, handlers->code, handlers->code_count, &entries, 0,
                             handlers->name, &engine->module, NULL, err);
  if (status != VYRE_OK)
    goto done;
  status = device->backend->kernel_find(engine->module, entry, &engine->kernel, &info, &said);
  if (status == VYRE_ERROR_NOT_FOUND && wide) {
    /* Code from a bundle: it has the entry of one item a worker, which does the same. */
    engine->plan.width = 1;
    entry = "vyre_engine_persistent";
    status = device->backend->kernel_find(engine->module, entry, &engine->kernel, &info, &said);
  }
  status = vyre__device_result(device, "kernel_find", status, &said, err);
  if (status == VYRE_OK && !engine->kernel)
    status = VYRE_FAIL(err, VYRE_ERROR_INTERNAL, "use another version of the plugin",
                       "plugin %s found no kernel for '%s' and reported no error",
                       device->backend->name, entry);
  engine->batch.most = engine->plan.capacity < BATCH_MOST / VYRE_RING_CELL_ITEMS
                           ? engine->plan.capacity * VYRE_RING_CELL_ITEMS
                           : BATCH_MOST;
  engine->batch.workgroup = engine->shares_cores ? 1 : BATCH_WORKGROUP;
  if (engine->batch.workgroup > info.max_workgroup_items)
    engine->batch.workgroup = info.max_workgroup_items ? info.max_workgroup_items : 1;
  if (engine->plan.width > 8u && engine->plan.width > info.max_workgroup_items)
    engine->plan.width = info.max_workgroup_items / 8u * 8u; /* eight items serve a cell */
done:
  vyre__text_free(&head);
  vyre__text_free(&tail);
  return status;
}

/* The thread gets none of the application's signals. */
static vyre_status start_thread(vyre_engine *engine, vyre_error *err)
{
  sigset_t all, before;
  int failed;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  failed =
      pthread_create(&engine->thread, NULL,
                     engine->plan.persistent ? vyre__engine_keeper : vyre__engine_pump, engine);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed)
    return VYRE_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, failed,
                            "raise the limit of threads, or free memory",
                            "the engine's thread cannot be created: %s", strerror(failed));
  engine->threaded = true;
  return VYRE_OK;
}

/* Frees what there is.  In a child it is only forgotten. */
static void free_now(vyre__deferred *node)
{
  vyre_engine *engine = VYRE__OWNER(vyre_engine, freeing, node);
  vyre_device *device = engine->device;
  const vyre_allocator allocator = engine->allocator;
  if (engine->module && vyre__context_is_ours(device->context))
    device->backend->module_unload(vyre__device_handle(device, engine->generation), engine->module);
  vyre__arena_free(engine);
  vyre__engine_free_memory(engine);
  if (engine->plan.input)
    vyre__buffer_release(engine->plan.input);
  vyre__deallocate(&allocator, engine->choice);
  vyre__deallocate(&allocator, engine);
  vyre__device_release(device);
}

/* The thread has ended or was never there. */
static void release(vyre_engine *engine)
{
  vyre_device *device = engine->device;
  engine->freeing.run = free_now;
  if (!vyre__context_is_ours(device->context)) {
    free_now(&engine->freeing);
    return;
  }
  if (engine->launch) { /* start failed behind the first launch */
    /* Release: pairs with the acquire of the device's workers. */
    __atomic_fetch_or(&engine->ring->header->stop, VYRE_ENGINE_STOP, __ATOMIC_RELEASE);
    device->backend->pending_release(engine->launch);
    vyre__engine_left(engine);
  }
  vyre__engine_part(engine);
  vyre__device_retire(device, &engine->freeing);
}

/* Code and memory; nothing is resident on the device meanwhile, unless it does not mind. */
static vyre_status furnish(vyre_engine *engine, const vyre_engine_handlers *handlers,
                           vyre_error *err)
{
  vyre_status status = vyre__device_quiesce(engine->device, err);
  if (status != VYRE_OK)
    return status;
  if ((status = load(engine, handlers, err)) == VYRE_OK &&
      (status = vyre__engine_make_memory(engine, err)) == VYRE_OK &&
      (status = vyre__arena_make(engine, err)) == VYRE_OK)
    status = vyre__engine_build_rules(engine, handlers, err);
  vyre__device_resume(engine->device);
  return status;
}

/* The first launch, so that start() tells its error. */
static vyre_status move_in(vyre_engine *engine, vyre_error *err)
{
  vyre_status status;
  vyre__engine_join(engine);
  if (!engine->plan.persistent)
    return VYRE_OK;
  vyre__site_enter_wait(engine->device->site, &engine->resident);
  status = vyre__engine_launch(engine, err);
  if (status != VYRE_OK)
    vyre__engine_left(engine);
  return status;
}

static vyre_status build(vyre_engine *engine, const vyre_engine_handlers *handlers, vyre_error *err)
{
  const vyre_device_info *info = &engine->device->info;
  vyre_status status = vyre__engine_choose(engine->device, &engine->plan, &engine->choice, err);
  if (status != VYRE_OK)
    return status;
  engine->notify = !engine->plan.persistent || (info->capabilities & VYRE_CAP_NOTIFY_HOST);
  engine->shares_cores = info->device_class == VYRE_DEVICE_CPU;
  engine->plan.width = engine->shares_cores || engine->device->backend->abi_minor < 3 ? 1 : WIDTH;
#ifdef VYRE_TESTING
  if (vyre__engine_width)
    engine->plan.width = vyre__engine_width;
#endif
  if (!engine->plan.persistent)
    engine->plan.width = 1;
  engine->spin_ns = engine->shares_cores ? SPIN_CPU_NS : SPIN_DEVICE_NS;
  engine->slice_ns = SLICE_NS;
  if ((status = furnish(engine, handlers, err)) != VYRE_OK)
    return status;
  engine->oldest = engine->first_position;
  engine->bank.boundary = engine->bank.previous = engine->first_position;
  if ((status = move_in(engine, err)) != VYRE_OK)
    return status;
  return start_thread(engine, err);
}

vyre_status vyre_engine_start(vyre_device *device, const vyre_engine_handlers *handlers,
                              const vyre_engine_options *options, vyre_engine **out_engine,
                              vyre_error *err)
{
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre__engine_plan plan;
  vyre_engine *engine = NULL;
  vyre_status status;
  if (!device || !out_engine)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a device and a place for the engine",
                     "%s is NULL", device ? "out_engine" : "the device");
  status = vyre__device_check(device, vyre_device_generation(device), err);
  if (status == VYRE_OK)
    status = read_handlers(handlers, &set, err);
  if (status == VYRE_OK)
    status = vyre__engine_check_rules(&set, err);
  if (status == VYRE_OK)
    status = vyre__engine_read_options(device, options, &plan, err);
  if (status != VYRE_OK)
    return status;
  engine = vyre__allocate_zeroed(&device->allocator, 1, sizeof *engine);
  if (!engine)
    return VYRE_FAIL_MEMORY(err, "an engine");
  vyre__device_retain(device);
  engine->device = device;
  engine->generation = vyre_device_generation(device);
  engine->handle = device->handle;
  engine->allocator = device->allocator;
  engine->plan = plan;
#ifdef VYRE_TESTING
  engine->first_position = vyre__engine_first_position;
#endif
  if (plan.input)
    vyre__buffer_retain(plan.input);
  status = build(engine, &set, err);
  if (status == VYRE_OK)
    *out_engine = engine;
  else
    release(engine);
  return status;
}

void vyre_engine_destroy(vyre_engine *engine)
{
  if (!engine)
    return;
  if (vyre__engine_check(engine) != VYRE_OK) { /* a child: the thread is not here */
    release(engine);
    return;
  }
  vyre__engine_abort(engine, VYRE_ERROR_CLOSED);
  if (vyre__engine_end_thread(engine, PATIENCE_NS) != VYRE_OK) {
    /* An item that never ends still uses this memory: it is given up, not freed. */
    vyre__context_log(engine->device->context, VYRE_LOG_ERROR,
                      "an engine's launch does not leave; its memory stays in use");
    pthread_detach(engine->thread);
    return;
  }
  pthread_join(engine->thread, NULL);
  release(engine);
}

const char *vyre_engine_choice(const vyre_engine *engine)
{
  return engine ? engine->choice : "";
}

void *vyre_engine_input(const vyre_engine *engine, uint64_t *out_size)
{
  const bool own = engine && engine->input.owned;
  if (out_size)
    *out_size = own ? engine->input.size : 0;
  return own ? engine->input.host : NULL;
}

vyre_status vyre_engine_get_stats(const vyre_engine *engine, vyre_engine_stats *out_stats,
                                  vyre_error *err)
{
  vyre_engine_stats stats = VYRE_ENGINE_STATS_INIT;
  if (!engine || !out_stats)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give an engine and a vyre_engine_stats",
                     "%s is NULL", engine ? "out_stats" : "the engine");
  if (vyre__engine_check(engine) != VYRE_OK)
    return VYRE_FAIL(err, VYRE_ERROR_FORKED, NULL, "the engine belongs to the parent process");
  /* Relaxed throughout: numbers for a reader, each true at some moment of the call. */
  stats.completed = __atomic_load_n(&engine->consumed, __ATOMIC_RELAXED);
  stats.submitted = __atomic_load_n(&engine->submitted, __ATOMIC_RELAXED);
  stats.persistent = engine->plan.persistent;
  stats.launches = __atomic_load_n(&engine->launches, __ATOMIC_RELAXED);
  stats.idle_exits = __atomic_load_n(&engine->idle_exits, __ATOMIC_RELAXED);
  stats.parks = __atomic_load_n(&engine->resident.parks, __ATOMIC_RELAXED);
  stats.overflows = __atomic_load_n(&engine->overflows, __ATOMIC_RELAXED);
  stats.workers = engine->plan.workers;
  if (!vyre__struct_write(out_stats, &stats, sizeof stats,
                          VYRE__SIZE_TO(vyre_engine_stats, reserved)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_ENGINE_STATS_INIT",
                     "the statistics' struct_size is %u", vyre__struct_size(out_stats));
  return VYRE_OK;
}
