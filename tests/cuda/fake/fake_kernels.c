/*
 * fake_kernels.c - kernels of the test driver, by name.  They read what a real one reads: the
 * addresses and the launch structure of plugins/gpu/launch_layout.h.  Binding k has the id k.
 *
 *   copy       (in 0, out 1)       words of 0 to 1
 *   add        (in 0, in 1, out 2) words
 *   fill       (out 0)             the first push word, in all words
 *   count      (inout 0)           adds the number of items of the launch to word 0
 *   pushes     (out 0)             the push words, as 64-bit words
 *   double     (inout 0)           words, twice
 *   trap       (…)                 ends with CUDA_ERROR_ILLEGAL_ADDRESS
 *   offend     (…)                 writes a fault record, as debug code does
 *   resident   (inout 0)           runs until word 0 is not 0, then stores word 0 + 1 in word 1
 *   vyre_trial (inout 0)           plugins/gpu/trial_kernel.c; VYRE_FAKE_CUDA_TRIAL in the
 * environment: "blind" (sees nothing), "mute" (is seen at its end), "early" (numbers come before
 * what they stand for) Any other name runs nothing and is recorded.
 */
#include "fake.h"

#include "plugins/gpu/trial_layout.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ILLEGAL 700

/* Words of binding `k`, NULL if the memory is not there. */
static uint32_t *words(const fake_run *run, uint32_t k)
{
  if (k >= run->function->parameters)
    return NULL;
  const uint64_t size = run->launch.counts[k] * sizeof(uint32_t);
  pthread_mutex_lock(&fake.lock);
  unsigned char *bytes = fake_view(run->context, run->addresses[k], size);
  pthread_mutex_unlock(&fake.lock);
  return (uint32_t *)(void *)bytes;
}

static CUresult run_copy(fake_run *run)
{
  const uint32_t *from = words(run, 0);
  uint32_t *to = words(run, 1);
  if (!from || !to)
    return ILLEGAL;
  for (uint64_t i = 0; i < run->launch.counts[0] && i < run->launch.counts[1]; ++i)
    to[i] = from[i];
  return 0;
}

static CUresult run_add(fake_run *run)
{
  const uint32_t *a = words(run, 0), *b = words(run, 1);
  uint32_t *to = words(run, 2);
  if (!a || !b || !to)
    return ILLEGAL;
  for (uint64_t i = 0; i < run->launch.counts[2]; ++i)
    to[i] = a[i] + b[i];
  return 0;
}

static CUresult run_fill(fake_run *run)
{
  uint32_t *to = words(run, 0);
  if (!to)
    return ILLEGAL;
  for (uint64_t i = 0; i < run->launch.counts[0]; ++i)
    memcpy(&to[i], run->launch.push, sizeof to[i]);
  return 0;
}

static CUresult run_count(fake_run *run)
{
  uint32_t *to = words(run, 0);
  if (!to)
    return ILLEGAL;
  to[0] += run->groups[0] * run->groups[1] * run->groups[2] * run->workgroup[0] *
           run->workgroup[1] * run->workgroup[2];
  return 0;
}

static CUresult run_pushes(fake_run *run)
{
  uint32_t *to = words(run, 0);
  const uint64_t size = run->launch.counts[0] * sizeof *to;
  if (!to)
    return ILLEGAL;
  memcpy(to, run->launch.push, size < sizeof run->launch.push ? size : sizeof run->launch.push);
  return 0;
}

static CUresult run_double(fake_run *run)
{
  uint32_t *to = words(run, 0);
  if (!to)
    return ILLEGAL;
  for (uint64_t i = 0; i < run->launch.counts[0]; ++i)
    to[i] *= 2;
  return 0;
}

static CUresult run_trap(fake_run *run)
{
  (void)run;
  return ILLEGAL;
}

static CUresult run_offend(fake_run *run)
{
  pthread_mutex_lock(&fake.lock);
  unsigned char *bytes = run->launch.fault
                             ? fake_view(run->context, run->launch.fault, sizeof(vyre__gpu_fault))
                             : NULL;
  pthread_mutex_unlock(&fake.lock);
  if (!bytes)
    return ILLEGAL;
  vyre__gpu_fault fault = {.taken = 1,
                           .line = 17,
                           .index = 99,
                           .count = 8,
                           .kind = VYRE__GPU_FAULT_INDEX,
                           .what = "values",
                           .file = "offend.c"};
  memcpy(bytes, &fault, sizeof fault);
  return 0;
}

static CUresult run_resident(fake_run *run)
{
  uint32_t *word = words(run, 0);
  if (!word)
    return ILLEGAL;
  uint32_t value;
  /* Acquire: pairs with the host's release of the stop word. */
  while (!(value = __atomic_load_n(&word[0], __ATOMIC_ACQUIRE)))
    usleep(50); /* leaves the processor to those who will say so */
  /* Release: pairs with the host's acquire of the answer. */
  __atomic_store_n(&word[1], value + 1, __ATOMIC_RELEASE);
  return 0;
}

static CUresult run_trial(fake_run *run)
{
  uint32_t *word = words(run, 0);
  const char *how = getenv("VYRE_FAKE_CUDA_TRIAL");
  const bool mute = how && !strcmp(how, "mute");
  if (!word)
    return ILLEGAL;
  for (uint64_t round = 1;; ++round) {
    if (!mute) /* release: pairs with the host's acquire */
      __atomic_store_n(&word[VYRE__TRIAL_WAITS], (uint32_t)round, __ATOMIC_RELEASE);
    if (round > VYRE__TRIAL_ROUNDS)
      return 0;
    if (mute || (how && !strcmp(how, "blind"))) {
      usleep(20000); /* it waits in vain */
      word[VYRE__TRIAL_WAITS] = mute ? VYRE__TRIAL_END : (uint32_t)round;
      return 0;
    }
    uint64_t now;
    /* Acquire: pairs with the host's release. */
    while ((now = __atomic_load_n((uint64_t *)(void *)&word[VYRE__TRIAL_ASKED],
                                  __ATOMIC_ACQUIRE)) != round &&
           now != VYRE__TRIAL_END)
      usleep(20);
    for (uint32_t k = 0; !(how && !strcmp(how, "early")) && k < VYRE__TRIAL_DATA; ++k)
      word[VYRE__TRIAL_ANSWER + k] =
          VYRE__TRIAL_ANSWER_OF(word[VYRE__TRIAL_GIVEN + k], (uint32_t)round);
  }
}

fake_kernel fake_kernel_find(const char *name, bool *out_resident)
{
  static const struct {
    const char *name;
    fake_kernel kernel;
  } all[] = {{"copy", run_copy},       {"add", run_add},       {"fill", run_fill},
             {"count", run_count},     {"pushes", run_pushes}, {"double", run_double},
             {"trap", run_trap},       {"offend", run_offend}, {"resident", run_resident},
             {"vyre_trial", run_trial}};
  *out_resident = !strcmp(name, "resident") || !strcmp(name, "vyre_trial");
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (!strcmp(all[i].name, name))
      return all[i].kernel;
  return NULL;
}
