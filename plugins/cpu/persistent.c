/*
 * persistent.c - launches that stay: the engine's.
 *
 * Each group has a thread of its own beside the pool, so that every group makes progress and
 * ordinary launches run beside it.  Threads of a launch that has ended stay parked for the next
 * one: a relaunch costs a wake-up.
 */
#include "device.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

/* The lock is held, and given up while the group runs. */
static void run_one(vyre__cpu_dedicated *self)
{
  vyre_backend_device *device = self->device;
  vyre_backend_pending *launch = self->launch;
  if (!launch->started_ns)
    launch->started_ns = vyre__plugin_clock_ns();
  pthread_mutex_unlock(&device->lock);
  vyre__cpu_runner_run_group(&self->runner, launch, self->group);
  pthread_mutex_lock(&device->lock);
  self->launch = NULL;
  self->next_idle = device->idle;
  device->idle = self;
  if (--launch->runners == 0)
    vyre__cpu_launch_end(launch);
}

static void *dedicated_main(void *argument)
{
  vyre__cpu_dedicated *self = argument;
  vyre_backend_device *device = self->device;
  vyre__cpu_thread_name("vyre-cpu-stay");
  pthread_mutex_lock(&device->lock);
  for (;;) {
    if (self->launch)
      run_one(self);
    else if (device->stopping)
      break;
    else
      pthread_cond_wait(&self->wake, &device->lock);
  }
  pthread_mutex_unlock(&device->lock);
  return NULL;
}

/* One more parked thread.  The lock is held. */
static vyre_status add_thread(vyre_backend_device *device, vyre_error *err)
{
  vyre__cpu_dedicated *self =
      vyre__plugin_allocate_zeroed(device->host, sizeof(*self), _Alignof(vyre__cpu_dedicated));
  if (!self)
    return PLUGIN_FAIL_MEMORY(err, "a thread of a persistent launch");
  self->device = device;
  vyre__cpu_runner_init(&self->runner, device->host, device->thread_count);
  pthread_cond_init(&self->wake, NULL);
  int failure = vyre__cpu_thread_start(&self->thread, dedicated_main, self);
  if (failure) {
    pthread_cond_destroy(&self->wake);
    vyre__plugin_deallocate(device->host, self);
    return PLUGIN_FAIL_VENDOR(
        err, VYRE_ERROR_OUT_OF_HOST_MEMORY, failure,
        "use fewer groups, or raise the limit of threads (ulimit -u, pids.max)",
        "a thread of a persistent launch could not be started (error %d)", failure);
  }
  self->next = device->dedicated;
  device->dedicated = self;
  self->next_idle = device->idle;
  device->idle = self;
  return VYRE_OK;
}

vyre_status vyre__cpu_persistent_submit(vyre_backend_device *device, vyre_backend_pending *launch,
                                        vyre_error *err)
{
  vyre_status status = VYRE_OK;
  uint64_t idle = 0;
  pthread_mutex_lock(&device->lock);
  for (const vyre__cpu_dedicated *one = device->idle; one; one = one->next_idle)
    idle += 1;
  /* Threads first: once one group runs, all do. */
  for (; idle < launch->step->group_count && status == VYRE_OK; ++idle)
    status = add_thread(device, err);
  if (status != VYRE_OK)
    goto done;
  launch->queued_ns = vyre__plugin_clock_ns();
  launch->runners = (uint32_t)launch->step->group_count;
  uint64_t group = 0;
  for (vyre__cpu_dedicated *one; (one = device->idle) && group < launch->step->group_count;
       ++group) {
    device->idle = one->next_idle;
    one->launch = launch;
    one->group = group;
    pthread_cond_signal(&one->wake);
  }

done:
  pthread_mutex_unlock(&device->lock);
  return status;
}

void vyre__cpu_persistent_stop(vyre_backend_device *device)
{
  pthread_mutex_lock(&device->lock);
  device->stopping = true;
  for (vyre__cpu_dedicated *one = device->dedicated; one; one = one->next)
    pthread_cond_signal(&one->wake);
  pthread_mutex_unlock(&device->lock);
  while (device->dedicated) {
    vyre__cpu_dedicated *one = device->dedicated;
    device->dedicated = one->next;
    pthread_join(one->thread, NULL);
    vyre__cpu_runner_deinit(&one->runner);
    pthread_cond_destroy(&one->wake);
    vyre__plugin_deallocate(device->host, one);
  }
  device->idle = NULL;
}
