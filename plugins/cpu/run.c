/*
 * run.c - running the groups of a launch on one thread; see runner.h.
 *
 * Without barriers the kernel's own loop runs whole groups.  With barriers in the source, item 0 of
 * each group runs as a fiber first: if it ends without having met one, the others run plainly, else
 * all items are fibers, and every round takes each of them to its next barrier.
 *
 * A fused launch's group is the kernel's own function on the thread's stack.  Its segments without
 * barriers run inside it, the others come back here through vyre__cpu_runner_groups().
 */
#include "runner.h"

#include "plugins/common/host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* What became of the items in one round. */
typedef struct round_result {
  uint32_t finished, waiting;
  uint32_t a_finished, a_waiting; /* one of each, for the message */
} round_result;

_Thread_local vyre__cpu_runner *vyre__cpu_running;

void vyre__cpu_runner_init(vyre__cpu_runner *runner, const vyre_host *host, uint32_t sharers)
{
  memset(runner, 0, sizeof(*runner));
  runner->host = host;
  runner->keep = VYRE__CPU_FIBER_BUDGET / (sharers ? sharers : 1u);
}

static void trim_items(vyre__cpu_runner *runner, uint32_t keep)
{
  while (runner->item_count > keep) {
    vyre__cpu_item *item = runner->items[--runner->item_count];
    vyre__cpu_fiber_destroy(runner->host, item->fiber);
    vyre__plugin_deallocate(runner->host, item);
  }
}

void vyre__cpu_runner_deinit(vyre__cpu_runner *runner)
{
  trim_items(runner, 0);
  vyre__plugin_deallocate(runner->host, runner->items);
  vyre__plugin_deallocate(runner->host, runner->local);
  runner->items = NULL;
  runner->local = NULL;
}

/* At least `count` items with a fiber each; false without memory. */
static bool ensure_items(vyre__cpu_runner *runner, uint32_t count)
{
  const vyre_host *host = runner->host;
  if (!runner->items)
    runner->items = vyre__plugin_allocate_zeroed(host, VYRE__CPU_MAX_ITEMS * sizeof(void *),
                                                 _Alignof(max_align_t));
  if (!runner->items)
    return false;
  while (runner->item_count < count) {
    vyre__cpu_item *item = vyre__plugin_allocate_zeroed(host, sizeof(*item), _Alignof(max_align_t));
    if (!item)
      return false;
    item->fiber = vyre__cpu_fiber_create(host);
    if (!item->fiber) {
      vyre__plugin_deallocate(host, item);
      return false;
    }
    runner->items[runner->item_count++] = item;
  }
  return true;
}

/* The step's bindings, with this runner's workgroup memory in its places. */
static bool bind(vyre__cpu_runner *runner, const vyre__cpu_step *step)
{
  if (runner->local_capacity < step->local_bytes) {
    vyre__plugin_deallocate(runner->host, runner->local);
    runner->local_capacity = 0;
    runner->local = vyre__plugin_allocate(runner->host, step->local_bytes, 64);
    if (!runner->local)
      return false;
    runner->local_capacity = step->local_bytes;
  }
  char *local = runner->local;
  for (uint32_t i = 0; i < step->binding_count; ++i) {
    runner->bindings[i] = step->bindings[i];
    if (!step->bindings[i]) {
      runner->bindings[i] = local;
      local += step->local[i];
    }
  }
  return true;
}

/* -------- ids -------- */

static void set_group(vyre_ctx *c, uint64_t group)
{
  c->group_id[0] = (vyre_u32)(group % c->groups[0]);
  c->group_id[1] = (vyre_u32)(group / c->groups[0] % c->groups[1]);
  c->group_id[2] = (vyre_u32)(group / c->groups[0] / c->groups[1]);
}

static void set_item(vyre_ctx *c, uint32_t item)
{
  c->local_id[0] = item % c->local_size[0];
  c->local_id[1] = item / c->local_size[0] % c->local_size[1];
  c->local_id[2] = item / c->local_size[0] / c->local_size[1];
}

/* -------- groups with barriers -------- */

static void item_main(void *argument)
{
  vyre__cpu_item *item = argument;
  item->runner->entry->run_item(&item->context, item->runner->entry_bindings);
}

static void start_item(vyre__cpu_runner *runner, const vyre_ctx *group, uint32_t index)
{
  vyre__cpu_item *item = runner->items[index];
  item->context = *group;
  set_item(&item->context, index);
  item->runner = runner;
  vyre__cpu_fiber_start(item->fiber, item_main, item);
}

/* Takes one item to its next barrier or to its end; false if it faulted. */
static bool step_item(vyre__cpu_runner *runner, uint32_t index, round_result *result)
{
  vyre__cpu_item *item = runner->items[index];
  runner->current = item;
  bool waits = vyre__cpu_fiber_resume(&runner->home, item->fiber);
  runner->current = NULL;
  if (runner->faulted)
    return false;
  if (waits) {
    result->waiting += 1;
    result->a_waiting = index;
  } else {
    result->finished += 1;
    result->a_finished = index;
  }
  return true;
}

static void fail_unequal(const vyre__cpu_runner *runner, const vyre_ctx *c,
                         const round_result *result)
{
  char place[VYRE__CPU_PLACE_SIZE];
  vyre__cpu_runner_place(runner, c, place);
  vyre__cpu_launch_fail(
      runner->launch, VYRE_ERROR_DISPATCH_FAILED, __LINE__,
      "let every item of a workgroup reach each vyre_barrier() equally often, or none of them",
      "%s, group (%u, %u, %u): item %u ended while item %u waits at a barrier (%u ended, %u wait)",
      place, c->group_id[0], c->group_id[1], c->group_id[2], result->a_finished, result->a_waiting,
      result->finished, result->waiting);
}

static bool fail_memory(const vyre__cpu_runner *runner, const vyre_ctx *c, uint32_t count)
{
  char place[VYRE__CPU_PLACE_SIZE];
  vyre__cpu_runner_place(runner, c, place);
  vyre__cpu_launch_fail(runner->launch, VYRE_ERROR_OUT_OF_HOST_MEMORY, __LINE__,
                        "free memory, use smaller workgroups, or raise vm.max_map_count",
                        "no memory for the stacks of %u items of %s", count, place);
  return false;
}

/* All items but the first, plainly: the first has shown that the group meets no barrier. */
static void run_rest_plainly(vyre__cpu_runner *runner, vyre_ctx *c)
{
  const uint32_t items = runner->launch->step->items;
  for (uint32_t i = 1; i < items; ++i) {
    set_item(c, i);
    runner->entry->run_item(c, runner->entry_bindings);
  }
}

/* One group of an entry with barriers; false if it failed. */
static bool run_group(vyre__cpu_runner *runner, vyre_ctx *c, uint64_t group)
{
  const uint32_t items = runner->launch->step->items;
  round_result result = {0, 0, 0, 0};
  set_group(c, group);
  if (!ensure_items(runner, 1))
    return fail_memory(runner, c, 1);
  start_item(runner, c, 0);
  if (!step_item(runner, 0, &result))
    return false;
  if (result.finished) {
    run_rest_plainly(runner, c);
    return true;
  }
  if (!ensure_items(runner, items))
    return fail_memory(runner, c, items);
  for (uint32_t i = 1; i < items; ++i)
    start_item(runner, c, i);

  for (uint32_t first = 1;; first = 0) { /* item 0 has had its first step */
    for (uint32_t i = first; i < items; ++i)
      if (!step_item(runner, i, &result))
        return false;
    if (result.finished == items)
      return true;
    if (result.finished) {
      fail_unequal(runner, c, &result);
      return false;
    }
    memset(&result, 0, sizeof(result));
  }
}

/* -------- any groups -------- */

/*
 * Groups [first, first + count).  A fault outside fibers comes back to the setjmp() here; in a
 * fiber it comes back to step_item().
 */
static void run_groups(vyre__cpu_runner *runner, uint64_t first, uint64_t count)
{
  const vyre__cpu_step *step = runner->launch->step;
  vyre_ctx context = step->context;
  context.runner = runner;
  runner->entry = step->entry;
  runner->entry_bindings = runner->bindings;
  if (_setjmp(runner->way_out))
    return;
  if (step->entry->flags & VYRE_NATIVE_FUSED) {
    for (uint64_t i = 0; i < count; ++i) {
      set_group(&context, first + i);
      step->entry->run_item(&context, runner->bindings);
    }
    return;
  }
  if (!(step->entry->flags & VYRE_NATIVE_HAS_BARRIER)) {
    step->entry->run_groups(&context, runner->bindings, first, count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    if (!run_group(runner, &context, first + i))
      return;
}

static bool begin(vyre__cpu_runner *runner, vyre_backend_pending *launch)
{
  vyre__cpu_running = runner;
  runner->launch = launch;
  runner->faulted = false;
  runner->current = NULL;
  if (bind(runner, launch->step))
    return true;
  vyre__cpu_launch_fail(launch, VYRE_ERROR_OUT_OF_HOST_MEMORY, __LINE__, NULL,
                        "no host memory for %llu bytes of workgroup memory of kernel %s",
                        (unsigned long long)launch->step->local_bytes, launch->step->kernel_name);
  return false;
}

void vyre__cpu_runner_run(vyre__cpu_runner *runner, vyre_backend_pending *launch)
{
  const vyre__cpu_step *step = launch->step;
  if (!begin(runner, launch))
    return;
  /* Relaxed: `failed` only saves work, and the counter only hands out groups.  What the groups
     write is published by the device's lock, which every runner takes when it leaves. */
  while (!__atomic_load_n(&launch->failed, __ATOMIC_RELAXED)) {
    uint64_t first = __atomic_fetch_add(&launch->next_group, step->chunk, __ATOMIC_RELAXED);
    if (first >= step->group_count)
      break;
    uint64_t left = step->group_count - first;
    run_groups(runner, first, left < step->chunk ? left : step->chunk);
  }
  trim_items(runner, runner->keep);
}

void vyre__cpu_runner_run_group(vyre__cpu_runner *runner, vyre_backend_pending *launch,
                                uint64_t group)
{
  if (begin(runner, launch))
    run_groups(runner, group, 1);
  trim_items(runner, runner->keep);
}

/* -------- messages -------- */

void vyre__cpu_runner_place(const vyre__cpu_runner *runner, const vyre_ctx *c,
                            char out_text[VYRE__CPU_PLACE_SIZE])
{
  static const char prefix[] = "vyre_entry_";
  const char *name = runner->launch->step->kernel_name;
  char pass[32] = "";
  Dl_info about;
  /* Entries have no name of their own in them, but each has a symbol. */
  if (runner->entry != runner->launch->step->entry && dladdr(runner->entry, &about) &&
      about.dli_sname && strncmp(about.dli_sname, prefix, sizeof(prefix) - 1) == 0)
    name = about.dli_sname + sizeof(prefix) - 1;
  if (c && (runner->launch->step->entry->flags & VYRE_NATIVE_FUSED))
    snprintf(pass, sizeof(pass), ", pass %u", c->pass);
  else if (runner->launch->replay && runner->launch->times > 1)
    snprintf(pass, sizeof(pass), ", replay %u", runner->launch->round + 1);
  snprintf(out_text, VYRE__CPU_PLACE_SIZE, "kernel %.120s%s", name, pass);
}

/* -------- called by kernels -------- */

void vyre__cpu_runner_groups(const vyre_ctx *c, const vyre_native_entry *entry,
                             void *const *bindings, vyre_u64 first, vyre_u64 count)
{
  vyre__cpu_runner *runner = VYRE__CPU_RUNNER(c);
  vyre_ctx context = *c;
  runner->entry = entry;
  runner->entry_bindings = bindings;
  for (uint64_t i = 0; i < count; ++i)
    if (!run_group(runner, &context, first + i))
      vyre__cpu_runner_leave(runner);
  runner->entry = runner->launch->step->entry;
  runner->entry_bindings = runner->bindings;
}

void vyre__cpu_runner_barrier(vyre_ctx *c)
{
  vyre__cpu_runner *runner = VYRE__CPU_RUNNER(c);
  if (runner->current) {
    vyre__cpu_fiber_suspend(runner->current->fiber);
    return;
  }
  if (runner->launch->step->items == 1)
    return; /* nobody to wait for */
  round_result result = {1, 1, 0, c->local_id[0]};
  result.a_waiting += c->local_size[0] * (c->local_id[1] + c->local_size[1] * c->local_id[2]);
  fail_unequal(runner, c, &result);
  vyre__cpu_runner_leave(runner);
}

void vyre__cpu_runner_leave(vyre__cpu_runner *runner)
{
  runner->faulted = true;
  if (!runner->current)
    longjmp(runner->way_out, 1);
  /* The fiber is never resumed: the next start rebuilds its stack. */
  vyre__cpu_fiber_suspend(runner->current->fiber);
  __builtin_unreachable();
}
