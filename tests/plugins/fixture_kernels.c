/* fixture_kernels.c - what the fixture's kernels do, each over all items at once. */
#include "fixture_inside.h"

#include <string.h>
#include <time.h>

/* One launch of one entry, or one step of a fused one. */
typedef struct work {
  const vyre_backend_kernel *kernel;
  const vyre_dispatch_desc *desc;
  fixture__view *views;
  uint32_t count;
  uint32_t pass; /* 0: it stands in the control words */
} work;

uint32_t fixture__word(const unsigned char *bytes, uint64_t index)
{
  uint32_t word;
  memcpy(&word, bytes + index * 4, 4);
  return word;
}

void fixture__put_word(unsigned char *bytes, uint64_t index, uint32_t word)
{
  memcpy(bytes + index * 4, &word, 4);
}

bool fixture__may_write(const fixture__view *of)
{
  return of->bytes && of->binding.access != VYRE_READ_ONLY &&
         of->binding.kind != VYRE_BINDING_WORKGROUP;
}

static uint64_t words_of(const fixture__view *of)
{
  return of->binding.size / 4;
}

static fixture__view *last_writable(const work *w)
{
  uint32_t i;
  for (i = w->count; i > 0; i--)
    if (fixture__may_write(&w->views[i - 1]))
      return &w->views[i - 1];
  return NULL;
}

/* ---- kernels of one pass ---- */

static void run_add(const work *w)
{
  fixture__view *v = w->views;
  uint64_t i, n;
  if (w->count < 3 || !fixture__may_write(&v[2]))
    return;
  n = fixture__least(words_of(&v[2]), fixture__least(words_of(&v[0]), words_of(&v[1])));
  for (i = 0; i < n; i++)
    fixture__put_word(v[2].bytes, i, fixture__word(v[0].bytes, i) + fixture__word(v[1].bytes, i));
}

/* What becomes of each word of each binding that may be written; true if one has changed. */
static bool run_each(const work *w, uint32_t count, uint32_t (*next)(uint32_t, uint32_t))
{
  bool changed = false;
  uint32_t k, was, is;
  uint64_t i;
  for (k = 0; k < count; k++) {
    fixture__view *v = &w->views[k];
    for (i = 0; fixture__may_write(v) && i < words_of(v); i++) {
      was = fixture__word(v->bytes, i);
      is = next(was, w->kernel->argument);
      fixture__put_word(v->bytes, i, is);
      changed |= was != is;
    }
  }
  return changed;
}

static uint32_t next_increment(uint32_t was, uint32_t argument)
{
  (void)argument;
  return was + 1;
}

static uint32_t next_saturate(uint32_t was, uint32_t argument)
{
  return was < argument ? was + 1 : was;
}

static uint32_t next_flip(uint32_t was, uint32_t argument)
{
  (void)argument;
  return was ^ 1u;
}

static void run_or(const work *w, fixture__view *last, uint32_t shift)
{
  uint64_t i, n = fixture__least(words_of(&w->views[0]), words_of(last));
  for (i = 0; i < n; i++)
    fixture__put_word(last->bytes, i,
                      fixture__word(last->bytes, i) | fixture__word(w->views[0].bytes, i) << shift);
}

/* Words from `first` to before `end` of the last binding: plus the argument, or the argument. */
static void run_part(const work *w, fixture__view *last, uint64_t first, uint64_t end, bool plus)
{
  uint64_t i;
  for (i = first; i < end; i++)
    fixture__put_word(last->bytes, i,
                      w->kernel->argument + (plus ? fixture__word(last->bytes, i) : 0));
}

/* One more fact, as far as there is room. */
static void put(fixture__view *to, uint64_t *at, uint64_t fact)
{
  if (*at + 4 <= to->binding.size)
    fixture__put_word(to->bytes, *at / 4, (uint32_t)fact);
  *at += 4;
}

static void run_facts(const work *w, fixture__view *to)
{
  const vyre_dispatch_desc *desc = w->desc;
  uint64_t at = 0;
  uint32_t i;
  for (i = 0; i < 3; i++)
    put(to, &at, desc->groups[i]);
  for (i = 0; i < 3; i++)
    put(to, &at, desc->workgroup[i]);
  put(to, &at, desc->push_size);
  put(to, &at, desc->binding_count);
  for (i = 0; i < w->count; i++) {
    const vyre_binding *binding = &w->views[i].binding;
    put(to, &at, binding->id);
    put(to, &at, binding->access);
    put(to, &at, binding->kind);
    put(to, &at, binding->size);
    put(to, &at, binding->element_count);
  }
}

/* ---- kernels that know of passes; the control words are their last binding ---- */

static unsigned char *control_of(const work *w)
{
  const fixture__view *last = w->count ? &w->views[w->count - 1] : NULL;
  return last && fixture__may_write(last) && words_of(last) > CONTROL_GROUPS - 1 ? last->bytes
                                                                                 : NULL;
}

static void say_changed(const work *w, unsigned char *control)
{
  fixture__put_word(control, CONTROL_CHANGED,
                    w->pass ? w->pass : fixture__word(control, CONTROL_PASS));
}

static vyre_status run_declared(const work *w, const char **out_why)
{
  unsigned char *control = control_of(w);
  *out_why = "the last binding of 'declared' holds no control words";
  if (!control)
    return VYRE_ERROR_DISPATCH_FAILED;
  if (run_each(w, w->count - 1, next_saturate))
    say_changed(w, control);
  return VYRE_OK;
}

/* The tested buffers, their copies one after the other in the shadow, the control words. */
static vyre_status run_settle(const work *w, const char **out_why)
{
  unsigned char *control = control_of(w);
  const fixture__view *shadow = w->count > 1 ? &w->views[w->count - 2] : NULL;
  bool changed = false;
  uint64_t at = 0;
  uint32_t i;
  *out_why = "'vyre_settle' needs a shadow for all its buffers and control words";
  if (!control || !shadow || !fixture__may_write(shadow))
    return VYRE_ERROR_DISPATCH_FAILED;
  for (i = 0; i + 2 < w->count; i++) {
    const uint64_t size = w->views[i].binding.size;
    if (at > shadow->binding.size || size > shadow->binding.size - at)
      return VYRE_ERROR_DISPATCH_FAILED;
    if (size && memcmp(w->views[i].bytes, shadow->bytes + at, (size_t)size) != 0) {
      memcpy(shadow->bytes + at, w->views[i].bytes, (size_t)size);
      changed = true;
    }
    at += (size + 15) / 16 * 16;
  }
  if (changed)
    say_changed(w, control);
  return VYRE_OK;
}

/* ---- all kernels but the fused one ---- */

/* Every kernel that runs is a step: `launch_steps` and `fail_at` count them. */
static vyre_status run_kernel(const work *w, const char **out_why)
{
  fixture__view *last = last_writable(w);
  vyre_status status = VYRE_OK;
  *out_why = NULL;
  switch (w->kernel->what) {
  case KERNEL_copy:
    if (last && w->views[0].bytes)
      memmove(last->bytes, w->views[0].bytes,
              (size_t)fixture__least(last->binding.size, w->views[0].binding.size));
    break;
  case KERNEL_add:
    run_add(w);
    break;
  case KERNEL_increment:
    run_each(w, w->count, next_increment);
    break;
  case KERNEL_push:
    if (last && w->desc->push_size)
      memcpy(last->bytes, w->desc->push,
             (size_t)fixture__least(last->binding.size, w->desc->push_size));
    break;
  case KERNEL_facts:
    if (last)
      run_facts(w, last);
    break;
  case KERNEL_fail:
    *out_why = "the kernel 'fail' did what it is for";
    status = VYRE_ERROR_DISPATCH_FAILED;
    break;
  case KERNEL_saturate:
    run_each(w, w->count, next_saturate);
    break;
  case KERNEL_flip:
    run_each(w, w->count, next_flip);
    break;
  case KERNEL_or:
  case KERNEL_or_shift:
    if (last && w->views[0].bytes)
      run_or(w, last, w->kernel->what == KERNEL_or_shift);
    break;
  case KERNEL_set:
    if (last)
      run_part(w, last, 0, words_of(last), false);
    break;
  case KERNEL_add_low:
    if (last)
      run_part(w, last, 0, words_of(last) / 2, true);
    break;
  case KERNEL_add_high:
    if (last)
      run_part(w, last, words_of(last) / 2, words_of(last), true);
    break;
  case KERNEL_declared:
    status = run_declared(w, out_why);
    break;
  case KERNEL_vyre_settle:
    status = run_settle(w, out_why);
    break;
  default:
    break;
  }
  ADD(launch_steps, 1);
  if (!status && TURN(fail_at)) {
    *out_why = "this launch was to fail";
    status = VYRE_ERROR_DISPATCH_FAILED;
  }
  return status;
}

/* ---- the whole program in one launch ---- */

static vyre_status run_step(const work *whole, uint32_t index, uint32_t pass, const char **out_why)
{
  const fixture__step *step = &whole->kernel->steps[index];
  const unsigned char *control = control_of(whole);
  fixture__view views[MAX_STEP_BINDINGS];
  work w = {step->kernel, whole->desc, views, step->count, pass};
  uint32_t i;
  for (i = 0; i < 3; i++)
    if (!fixture__word(control, CONTROL_GROUPS + 3 * index + i))
      return VYRE_OK; /* an empty grid */
  for (i = 0; i < step->count; i++) {
    if (step->bindings[i] >= whole->count) {
      *out_why = "a fused step binds what the launch does not";
      return VYRE_ERROR_DISPATCH_FAILED;
    }
    views[i] = whole->views[step->bindings[i]];
  }
  return run_kernel(&w, out_why);
}

/* A barrier costs what `barrier_ns` says, so that a plan can be steered by costs. */
static void pay_barrier(void)
{
  struct timespec now;
  int64_t end = 0, at = 0;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
    at = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    end = end ? end : at + VALUE(barrier_ns);
  } while (at < end);
}

static vyre_status run_fused(const work *w, const char **out_why)
{
  unsigned char *control = control_of(w);
  uint32_t pass = 0, i;
  vyre_status status = VYRE_OK;
  *out_why = "the control words of a fused launch do not reach over its steps";
  if (!control || words_of(&w->views[w->count - 1]) < CONTROL_GROUPS + 3ull * w->kernel->step_count)
    return VYRE_ERROR_DISPATCH_FAILED;
  while (!status && pass < fixture__word(control, CONTROL_LIMIT)) {
    pass++;
    for (i = 0; !status && i < w->kernel->step_count; i++) {
      status = run_step(w, i, pass, out_why);
      if (VALUE(barrier_ns))
        pay_barrier();
    }
    if (fixture__word(control, CONTROL_TESTED) && fixture__word(control, CONTROL_CHANGED) < pass)
      break;
  }
  fixture__put_word(control, CONTROL_PASSES,
                    VALUE(say_passes) ? (uint32_t)VALUE(say_passes) : pass);
  return status;
}

vyre_status fixture__run(const vyre_dispatch_desc *desc, fixture__view *views, uint32_t count,
                         const char **out_why)
{
  const work w = {desc->kernel, desc, views, count, 0};
  return desc->kernel->what == KERNEL_fused ? run_fused(&w, out_why) : run_kernel(&w, out_why);
}
