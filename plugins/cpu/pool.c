/*
 * pool.c - the device's queue of ordinary launches and the threads that run it.
 *
 * One queue, first in, first out: a launch starts when the one before it has ended, which gives the
 * order of DISP-020 with nothing else to keep.  The replays of a sequence are one launch here: its
 * steps follow each other while it is the head.  Threads take groups of the head in chunks.  A
 * small launch that finds the queue empty runs in the caller, in its place in the queue.  The
 * threads are started by the first launch that needs them.
 *
 * The groups of a cooperative launch wait for each other, so that each must have a thread: they are
 * taken one at a time, there are no more of them than threads, and while it is the head no thread
 * is anywhere else.
 */
#include "device.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "sequence.h"

#include <signal.h>

int vyre__cpu_thread_start(pthread_t *out_thread, void *(*main)(void *), void *argument)
{
  sigset_t all, before;
  sigfillset(&all);
  /* A thread inherits the mask: the host's signal handlers run on the host's threads. */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(out_thread, NULL, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

void vyre__cpu_thread_name(const char *name)
{
  pthread_setname_np(pthread_self(), name);
}

/* True while a thread may join the launch.  The lock is held. */
static bool has_work(const vyre_backend_pending *launch)
{
  /* Relaxed: a stale answer costs one look at the launch; runner.c decides. */
  return launch && !launch->run_inline && launch->runners < launch->step->max_runners &&
         __atomic_load_n(&launch->next_group, __ATOMIC_RELAXED) < launch->step->group_count &&
         !__atomic_load_n(&launch->failed, __ATOMIC_RELAXED);
}

/* The head has ended: takes it out and lets the next one start.  The lock is held. */
static void pop(vyre_backend_device *device)
{
  vyre_backend_pending *launch = device->head;
  device->head = launch->next;
  if (!device->head)
    device->tail = NULL;
  device->completed = launch->sequence;
  if (device->head && device->waiting_workers)
    pthread_cond_broadcast(&device->work);
  vyre__cpu_launch_end(launch);
}

/* The head's step has ended: goes on with the next one, or ends the launch.  The lock is held. */
static void end_step(vyre_backend_device *device)
{
  vyre_backend_pending *launch = device->head;
  if (!vyre__cpu_sequence_next(launch))
    pop(device);
  else if (!launch->run_inline && device->waiting_workers &&
           launch->step->group_count > launch->step->chunk)
    pthread_cond_broadcast(&device->work); /* the first part is for whoever is here */
}

/* `launch` is the head.  The lock is held, and given up while the groups run. */
static void run_head(vyre_backend_device *device, vyre_backend_pending *launch,
                     vyre__cpu_runner *runner)
{
  launch->runners += 1;
  if (!launch->started_ns)
    launch->started_ns = vyre__plugin_clock_ns();
  pthread_mutex_unlock(&device->lock);
  vyre__cpu_runner_run(runner, launch);
  pthread_mutex_lock(&device->lock);
  /* Whoever leaves has seen that no group is left to take; the last one ends the step. */
  if (--launch->runners == 0)
    end_step(device);
}

bool vyre__cpu_pool_help(vyre_backend_pending *launch)
{
  vyre_backend_device *device = launch->device;
  if (device->head != launch || device->helped || !has_work(launch))
    return false;
  device->helped = true;
  run_head(device, launch, &device->inline_runner);
  device->helped = false;
  return true;
}

static void *worker_main(void *argument)
{
  vyre__cpu_worker *worker = argument;
  vyre_backend_device *device = worker->device;
  vyre__cpu_thread_name("vyre-cpu");
  pthread_mutex_lock(&device->lock);
  for (;;) {
    if (has_work(device->head)) {
      run_head(device, device->head, &worker->runner);
    } else if (device->stopping) {
      break;
    } else {
      device->waiting_workers += 1;
      pthread_cond_wait(&device->work, &device->lock);
      device->waiting_workers -= 1;
    }
  }
  pthread_mutex_unlock(&device->lock);
  return NULL;
}

/*
 * Starts what is missing of the pool.  Fewer threads than wanted are enough for most launches, but
 * a cooperative one needs one for each group.
 */
static vyre_status start_workers(vyre_backend_device *device, const vyre_backend_pending *launch,
                                 vyre_error *err)
{
  int failure = 0;
  while (device->worker_count < device->thread_count && !failure) {
    vyre__cpu_worker *worker = &device->workers[device->worker_count];
    worker->device = device;
    vyre__cpu_runner_init(&worker->runner, device->host, device->thread_count);
    failure = vyre__cpu_thread_start(&worker->thread, worker_main, worker);
    if (!failure)
      device->worker_count += 1;
  }
  if (launch->cooperative && device->worker_count < launch->step->group_count)
    return PLUGIN_FAIL_VENDOR(
        err, VYRE_ERROR_RESIDENCY_EXCEEDED, failure,
        "raise the limit of threads (ulimit -u, pids.max), or use fewer groups",
        "%llu groups of a cooperative launch of kernel %s, but only %u threads "
        "could be started (error %d)",
        (unsigned long long)launch->step->group_count, launch->kernel_name, device->worker_count,
        failure);
  if (device->worker_count)
    return VYRE_OK;
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, failure,
                            "raise the limit of threads (ulimit -u, pids.max) or free memory",
                            "the cpu device could not start a thread (error %d)", failure);
}

static void append(vyre_backend_device *device, vyre_backend_pending *launch)
{
  launch->sequence = ++device->submitted;
  launch->queued_ns = vyre__plugin_clock_ns();
  launch->next = NULL;
  if (device->tail)
    device->tail->next = launch;
  else
    device->head = launch;
  device->tail = launch;
}

vyre_status vyre__cpu_pool_submit(vyre_backend_device *device, vyre_backend_pending *launch,
                                  vyre_error *err)
{
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&device->lock);
  launch->run_inline = launch->run_inline && !device->head;
  if (launch->run_inline) {
    append(device, launch);
    /* Relaxed: nobody else runs it. */
    while (!__atomic_load_n(&launch->done, __ATOMIC_RELAXED))
      run_head(device, launch, &device->inline_runner);
    goto done;
  }
  status = start_workers(device, launch, err);
  if (status != VYRE_OK)
    goto done;
  append(device, launch);
  if (device->head == launch && device->waiting_workers) {
    if (launch->step->group_count > launch->step->chunk)
      pthread_cond_broadcast(&device->work);
    else
      pthread_cond_signal(&device->work);
  }

done:
  pthread_mutex_unlock(&device->lock);
  return status;
}

void vyre__cpu_pool_wait(vyre_backend_device *device, uint64_t sequence)
{
  pthread_mutex_lock(&device->lock);
  while (device->completed < sequence)
    pthread_cond_wait(&device->done, &device->lock);
  pthread_mutex_unlock(&device->lock);
}

void vyre__cpu_pool_stop(vyre_backend_device *device)
{
  pthread_mutex_lock(&device->lock);
  device->stopping = true;
  pthread_cond_broadcast(&device->work);
  pthread_mutex_unlock(&device->lock);
  for (uint32_t i = 0; i < device->worker_count; ++i) {
    pthread_join(device->workers[i].thread, NULL);
    vyre__cpu_runner_deinit(&device->workers[i].runner);
  }
  device->worker_count = 0;
  vyre__cpu_runner_deinit(&device->inline_runner);
}
