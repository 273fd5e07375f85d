/*
 * launch.c - from a descriptor to results: checks, one block of memory for all that a launch owns,
 * and the run itself, in the thread that calls dispatch().
 *
 * A handle has ended when dispatch() returns it, so nothing borrowed is touched any more and
 * nothing has to be waited for.  Groups run one after the other; the items of a group with barriers
 * are fibers.  A device that works on its own replaces run() and pending_wait().
 */
#include "plugin.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Kernels have no large arrays; the rest is for signal handlers of the host. */
#define STACK_SIZE 65536u
/* Bindings start on a cache line (DISP-006 asks for 16). */
#define ALIGN 64u

struct vyre_backend_pending {
  const vyre_host *host;
  vyre_error error; /* of the launch itself; code VYRE_OK: it ended well */
  uint32_t output_count;
  struct {
    uint32_t id;
    uint64_t size;
    const void *data;
  } outputs[MAX_BINDINGS];
  void *bindings[MAX_BINDINGS]; /* as the kernel sees them */
  vyre_ctx context;             /* everything but the ids */
};

/* ---- checks: everything that can be wrong is told before anything runs (DISP-021) ---- */

static const vyre_binding *binding_at(const vyre_dispatch_desc *desc, uint32_t index)
{
  return (const void *)((const char *)desc->bindings + index * desc->binding_stride); /* ABI-004 */
}

static bool is_output(const vyre_binding *binding)
{
  return binding->kind == VYRE_BINDING_HOST && binding->access != VYRE_READ_ONLY;
}

static vyre_status check_limit(vyre_error *err, const char *what, uint64_t request, uint64_t limit)
{
  return request <= limit
             ? VYRE_OK
             : FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "ask for less; device_info tells the limits",
                    "%s: %llu, the limit is %llu", what, (unsigned long long)request,
                    (unsigned long long)limit);
}

static vyre_status check_grid(const vyre_dispatch_desc *desc, vyre_error *err)
{
  uint64_t items = 1;
  vyre_status status = VYRE_OK;
  for (int d = 0; status == VYRE_OK && d < 3; ++d) {
    if (!desc->groups[d] || !desc->workgroup[d])
      return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give at least 1 in each dimension",
                  "dimension %d has %u groups of %u items", d, desc->groups[d], desc->workgroup[d]);
    status = check_limit(err, "groups in a dimension", desc->groups[d],
                         d ? MAX_GROUPS_YZ : MAX_GROUPS_X);
    if (status == VYRE_OK)
      status = check_limit(err, "items per group in a dimension", desc->workgroup[d], MAX_ITEMS);
    items *= desc->workgroup[d];
  }
  return status == VYRE_OK ? check_limit(err, "items per group in all", items, MAX_ITEMS) : status;
}

static vyre_status check_flags(const vyre_dispatch_desc *desc, vyre_error *err)
{
  const uint64_t known = VYRE_DISPATCH_PERSISTENT | VYRE_DISPATCH_COOPERATIVE;
  if (desc->flags & ~known)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                "unknown dispatch flags 0x%llx", (unsigned long long)(desc->flags & ~known));
  if (desc->flags)
    return FAIL(err, VYRE_ERROR_UNSUPPORTED, "look at the device's capabilities",
                "this plugin has neither persistent nor cooperative launches");
  if (!desc->kernel)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a kernel of kernel_find()",
                "the kernel is NULL");
  if (desc->kernel->entry.flags & VYRE_NATIVE_FUSED)
    return FAIL(err, VYRE_ERROR_UNSUPPORTED, "run the segments one by one",
                "a fused program needs cooperative launches");
  return VYRE_OK;
}

static vyre_status check_binding(const vyre_dispatch_desc *desc, uint32_t index, vyre_error *err)
{
  const vyre_binding *binding = binding_at(desc, index);
  const vyre_status status = CHECK_SIZE(err, binding, vyre_binding, VYRE_BINDING_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (binding->id >= desc->id_limit)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set id_limit to the largest id plus one",
                "binding %u has id %u, id_limit is %u", index, binding->id, desc->id_limit);
  if (binding->kind > VYRE_BINDING_WORKGROUP || binding->access > VYRE_WORKGROUP ||
      (binding->kind == VYRE_BINDING_WORKGROUP) != (binding->access == VYRE_WORKGROUP))
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the kinds and accesses of the header",
                "binding %u has kind %u and access %u", index, binding->kind, binding->access);
  if (binding->kind == VYRE_BINDING_BUFFER)
    return FAIL(err, VYRE_ERROR_UNSUPPORTED, "bind host bytes",
                "binding %u is a buffer, this plugin has none", index);
  return VYRE_OK;
}

static vyre_status check(const vyre_dispatch_desc *desc, vyre_error *err)
{
  vyre_status status = CHECK_SIZE(err, desc, vyre_dispatch_desc, VYRE_DISPATCH_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = check_flags(desc, err);
  if (status == VYRE_OK)
    status = check_grid(desc, err);
  if (status == VYRE_OK)
    status = check_limit(err, "bytes of push constants", desc->push_size, MAX_PUSH_BYTES);
  if (status == VYRE_OK)
    status = check_limit(err, "bindings", desc->binding_count, MAX_BINDINGS);
  if (status == VYRE_OK)
    status = check_limit(err, "id_limit", desc->id_limit, VYRE_BINDING_IDS);
  if (status == VYRE_OK && desc->binding_count && desc->binding_stride < VYRE_BINDING_SIZE_0_1)
    status = FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the stride of the array in bytes",
                  "bindings have a stride of %llu bytes, at least %u are needed",
                  (unsigned long long)desc->binding_stride, VYRE_BINDING_SIZE_0_1);
  for (uint32_t i = 0; status == VYRE_OK && i < desc->binding_count; ++i)
    status = check_binding(desc, i, err);
  return status;
}

/* ---- the block: the handle, the counts, the push constants, then the bytes of each binding ----
 */

/* Takes `size` bytes behind *at; false if that overflows. */
static bool take(uint64_t *at, uint64_t size, uint64_t *out_offset)
{
  *out_offset = *at;
  return !__builtin_add_overflow(*at, size, at) && !__builtin_add_overflow(*at, ALIGN - 1, at) &&
         ((*at &= ~(uint64_t)(ALIGN - 1)), true);
}

typedef struct layout {
  uint64_t counts, push, bytes[MAX_BINDINGS], end;
} layout;

static vyre_status plan(const vyre_dispatch_desc *desc, layout *out, vyre_error *err)
{
  uint64_t at = 0, local = 0, offset = 0;
  bool fits = take(&at, sizeof(vyre_backend_pending), &offset) &&
              take(&at, (uint64_t)desc->id_limit * sizeof(vyre_u64), &out->counts) &&
              take(&at, desc->push_size, &out->push);
  for (uint32_t i = 0; fits && i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    fits = take(&at, binding->size, &out->bytes[i]);
    if (fits && binding->kind == VYRE_BINDING_WORKGROUP)
      fits = !__builtin_add_overflow(local, binding->size, &local);
  }
  /* A binding of size 0 at the end points into the block, too (DISP-005). */
  if (!fits || !take(&at, ALIGN, &out->end))
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use smaller bindings",
                "the sizes of the bindings overflow 64 bits");
  out->end = at;
  return check_limit(err, "bytes of workgroup memory", local, MAX_LOCAL_BYTES);
}

static vyre_status make(const vyre_host *host, const vyre_dispatch_desc *desc,
                        vyre_backend_pending **out_pending, vyre_error *err)
{
  layout block = {0};
  const vyre_status status = plan(desc, &block, err);
  if (status != VYRE_OK)
    return status;
  char *base = host->allocate(host->self, block.end, ALIGN);
  if (!base)
    return FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "free memory, then try again",
                "no memory for a launch with %llu bytes", (unsigned long long)block.end);
  vyre_backend_pending *pending = (void *)base;
  vyre_u64 *counts = (void *)(base + block.counts);
  memset(base, 0, block.push);
  pending->host = host;
  pending->error.struct_size = sizeof pending->error;
  pending->context.counts = counts;
  pending->context.push = base + block.push;
  if (desc->push_size)
    memcpy(base + block.push, desc->push, desc->push_size);
  for (int d = 0; d < 3; ++d) {
    pending->context.groups[d] = desc->groups[d];
    pending->context.local_size[d] = desc->workgroup[d];
  }
  for (uint32_t i = 0; i < desc->binding_count; ++i) {
    const vyre_binding *binding = binding_at(desc, i);
    char *bytes = base + block.bytes[i];
    counts[binding->id] = binding->element_count;
    pending->bindings[i] = bytes;
    /* The kernel works on a copy: the host's own bytes are never written (DISP-001 to 003). */
    if (binding->data && binding->size)
      memcpy(bytes, binding->data, binding->size);
    else
      memset(bytes, 0, binding->size);
    if (!is_output(binding))
      continue;
    pending->outputs[pending->output_count].id = binding->id;
    pending->outputs[pending->output_count].size = binding->size;
    pending->outputs[pending->output_count++].data = bytes;
  }
  *out_pending = pending;
  return VYRE_OK;
}

/* ---- the run ---- */

struct fiber;

/* One launch while it runs; the kernel's context points to it. */
typedef struct run {
  vyre_backend_pending *pending;
  const vyre_native_entry *entry;
  uint64_t group_count;
  uint32_t fiber_count; /* one for each item of a group with barriers, else one for all groups */
  char *stacks;         /* for each fiber: a page that nobody may touch, the stack, the fiber */
  uint64_t stride;
  struct fiber *current;
  ucontext_t home;
} run;

typedef struct fiber {
  run *owner;
  vyre_ctx item;
  ucontext_t context;
  bool ended;
} fiber;

static fiber *fiber_at(const run *r, uint32_t index)
{
  return (void *)(r->stacks + (index + 1) * r->stride -
                  (sizeof(fiber) + ALIGN - 1) / ALIGN * ALIGN);
}

static bool has_failed(const run *r)
{
  return r->pending->error.code != VYRE_OK;
}

/* makecontext() passes ints: the two halves of a pointer. */
static void fiber_main(unsigned high, unsigned low)
{
  fiber *self = (void *)(uintptr_t)((uint64_t)high << 32 | low);
  run *r = self->owner;
  if (r->entry->flags & VYRE_NATIVE_HAS_BARRIER)
    r->entry->run_item(&self->item, r->pending->bindings);
  else
    r->entry->run_groups(&self->item, r->pending->bindings, 0, r->group_count);
  self->ended = true;
}

static void start(run *r, fiber *self, const vyre_ctx *context)
{
  const uint64_t address = (uint64_t)(uintptr_t)self;
  self->owner = r;
  self->item = *context;
  self->ended = false;
  getcontext(&self->context);
  self->context.uc_stack.ss_sp = (char *)self - STACK_SIZE;
  self->context.uc_stack.ss_size = STACK_SIZE;
  self->context.uc_link = &r->home;
  makecontext(&self->context, (void (*)(void))fiber_main, 2, (unsigned)(address >> 32),
              (unsigned)address);
}

/* Until it ends, meets a barrier, or fails. */
static void resume(run *r, fiber *self)
{
  r->current = self;
  swapcontext(&r->home, &self->context);
}

/* All fibers to their next barrier, again and again; true if the group ended well. */
static bool run_rounds(run *r)
{
  for (uint32_t ended = 0; ended < r->fiber_count;) {
    ended = 0;
    for (uint32_t i = 0; i < r->fiber_count; ++i) {
      fiber *self = fiber_at(r, i);
      if (!self->ended)
        resume(r, self);
      if (has_failed(r))
        return false;
      ended += self->ended;
    }
    if (ended && ended < r->fiber_count) {
      (void)FAIL(&r->pending->error, VYRE_ERROR_DISPATCH_FAILED,
                 "let every item of a workgroup reach each vyre_barrier() equally often",
                 "%u items of a group have ended, %u wait at a barrier", ended,
                 r->fiber_count - ended);
      return false;
    }
  }
  return true;
}

/* The next id, x fastest as in vyre_native_entry; behind the last comes the first. */
static void advance(vyre_u32 id[3], const vyre_u32 size[3])
{
  for (int d = 0; d < 3 && ++id[d] == size[d]; ++d)
    id[d] = 0;
}

static void run_all(run *r)
{
  const bool plain = !(r->entry->flags & VYRE_NATIVE_HAS_BARRIER); /* one fiber, all groups */
  vyre_ctx context = r->pending->context;
  for (uint64_t group = 0; group < (plain ? 1 : r->group_count); ++group) {
    for (uint32_t i = 0; i < r->fiber_count; ++i) {
      start(r, fiber_at(r, i), &context);
      advance(context.local_id, context.local_size);
    }
    advance(context.group_id, context.groups);
    if (!run_rounds(r))
      return;
  }
}

/* -------- what the kernel calls -------- */

/* Back to run_rounds(); a fiber that has failed is not resumed. */
static void barrier(vyre_ctx *c)
{
  run *r = c->runner;
  swapcontext(&r->current->context, &r->home);
}

static void backoff(vyre_u32 misses)
{
  if (misses > 64)
    sched_yield();
}

static vyre_u64 clock_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (vyre_u64)now.tv_sec * 1000000000u + (vyre_u64)now.tv_nsec;
}

/* KRN-008: only code of VYRE_MODULE_DEBUG calls it. */
static void fault(vyre_ctx *c, const char *what, vyre_u64 index, vyre_u64 count, const char *file,
                  vyre_u32 line)
{
  run *r = c->runner;
  (void)FAIL(
      &r->pending->error, VYRE_ERROR_DISPATCH_FAILED, "keep the index below vyre_count(c, name)",
      "%s:%u: index %llu is outside buffer %s of %llu elements (group %u, %u, %u, item %u, %u, "
      "%u)",
      file, line, index, what, count, c->group_id[0], c->group_id[1], c->group_id[2],
      c->local_id[0], c->local_id[1], c->local_id[2]);
  barrier(c);
}

/* No notify_host, no fused launches: nobody calls these. */
static const vyre_native_runtime runtime = {barrier, backoff, clock_ns, NULL, fault, NULL, NULL};

/* -------- stacks -------- */

static bool map_stacks(run *r)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t room = (STACK_SIZE + sizeof(fiber) + ALIGN + page - 1) / page * page;
  r->stride = page + room;
  r->stacks = mmap(NULL, r->fiber_count * r->stride, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (r->stacks == MAP_FAILED)
    return false;
  for (uint32_t i = 0; i < r->fiber_count; ++i)
    if (mprotect(r->stacks + i * r->stride + page, room, PROT_READ | PROT_WRITE)) {
      munmap(r->stacks, r->fiber_count * r->stride);
      return false;
    }
  return true;
}

static vyre_status run_launch(vyre_backend_pending *pending, const vyre_native_entry *entry,
                              vyre_error *err)
{
  const vyre_u32 *groups = pending->context.groups, *items = pending->context.local_size;
  run r = {.pending = pending,
           .entry = entry,
           .group_count = (uint64_t)groups[0] * groups[1] * groups[2],
           .fiber_count =
               entry->flags & VYRE_NATIVE_HAS_BARRIER ? items[0] * items[1] * items[2] : 1};
  if (!map_stacks(&r))
    return FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "free memory, or use smaller workgroups",
                "no memory for the stacks of %u items", r.fiber_count);
  pending->context.runtime = &runtime;
  pending->context.runner = &r;
  run_all(&r);
  pending->context.runner = NULL;
  munmap(r.stacks, r.fiber_count * r.stride);
  return VYRE_OK;
}

vyre_status template_dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_backend_pending **out_pending, vyre_error *err)
{
  vyre_backend_pending *pending = NULL;
  vyre_status status = check(desc, err);
  if (status == VYRE_OK)
    status = make(device->host, desc, &pending, err);
  if (status == VYRE_OK)
    status = run_launch(pending, &desc->kernel->entry, err);
  if (status == VYRE_OK)
    *out_pending = pending;
  else
    template_pending_release(pending);
  return status;
}

/* ---- the handle ---- */

vyre_status template_pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                  vyre_error *err)
{
  const vyre_error *own = &pending->error;
  (void)timeout_ns; /* it has ended */
  if (own->code != VYRE_OK)
    template_fail(err, own->code, own->vendor_code, __LINE__, own->fix, "%s", own->message);
  return own->code;
}

static vyre_slot *slot_at(vyre_slot *slots, uint64_t stride, uint32_t index)
{
  return (void *)((char *)slots + index * stride);
}

/* READ-001, READ-002: before anything is written. */
static vyre_status check_slots(const vyre_backend_pending *pending, vyre_slot *slots,
                               uint32_t slot_count, uint64_t stride, vyre_error *err)
{
  if (slot_count != pending->output_count)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                "give one slot for each HOST binding that is not READ_ONLY",
                "the launch has %u outputs, %u slots were given", pending->output_count,
                slot_count);
  for (uint32_t i = 0; i < slot_count; ++i) {
    const vyre_slot *slot = slot_at(slots, stride, i);
    const vyre_status status = CHECK_SIZE(err, slot, vyre_slot, VYRE_SLOT_SIZE_0_1);
    if (status != VYRE_OK)
      return status;
    if (slot->capacity != pending->outputs[i].size || (slot->capacity && !slot->data))
      return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give room for exactly the binding's size",
                  "slot %u has %llu bytes at %p, binding %u has %llu", i,
                  (unsigned long long)slot->capacity, slot->data, pending->outputs[i].id,
                  (unsigned long long)pending->outputs[i].size);
  }
  return VYRE_OK;
}

vyre_status template_pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                  uint32_t slot_count, uint64_t slot_stride,
                                  vyre_backend_times *out_times, vyre_error *err)
{
  vyre_status status = check_slots(pending, slots, slot_count, slot_stride, err);
  if (status == VYRE_OK && out_times)
    status = CHECK_SIZE(err, out_times, vyre_backend_times, VYRE_BACKEND_TIMES_SIZE_0_1);
  if (status == VYRE_OK)
    status = template_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  if (status != VYRE_OK)
    return status;
  for (uint32_t i = 0; i < slot_count; ++i) {
    vyre_slot *slot = slot_at(slots, slot_stride, i);
    slot->binding_id = pending->outputs[i].id;
    slot->size = pending->outputs[i].size;
    if (slot->size)
      memcpy(slot->data, pending->outputs[i].data, slot->size);
    if (slot->struct_size > sizeof *slot) /* ABI-002 */
      slot->struct_size = sizeof *slot;
  }
  if (out_times) {
    vyre_backend_times times = {.struct_size = sizeof times,
                                .device_ns = VYRE_TIME_ABSENT,
                                .enqueue_ns = VYRE_TIME_ABSENT,
                                .wait_ns = VYRE_TIME_ABSENT,
                                .started_ns = VYRE_TIME_ABSENT,
                                .ended_ns = VYRE_TIME_ABSENT};
    if (out_times->struct_size < sizeof times)
      times.struct_size = out_times->struct_size;
    memcpy(out_times, &times, times.struct_size);
  }
  return VYRE_OK;
}

void template_pending_release(vyre_backend_pending *pending)
{
  if (pending)
    pending->host->deallocate(pending->host->self, pending);
}
