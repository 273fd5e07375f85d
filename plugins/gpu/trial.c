/*
 * trial.c - a conversation of the host with a kernel that runs, before anybody counts on it; see
 * trial.h.
 *
 * It is the engine's way in small: coherent memory, a persistent launch on a stream of that kind,
 * words with release and acquire, plain data behind them, no read-modify-write.  The kernel is
 * compiled like any other, which the cache makes cheap from the second process on.
 */
#include "plugins/gpu/trial.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/gpu/trial_layout.h"

#include "embed/vyre__gpu_trial_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEVICES 64u /* no vendor shows more */
#define KERNEL "vyre_trial"

/* How long the host waits for a word: for the first one until a busy device has begun, for the
   others a little longer than the kernel itself. */
#define BEGIN_NS UINT64_C(10000000000)
#define ANSWER_NS (VYRE__TRIAL_NS + UINT64_C(1000000000))
#define LOOKS 2000u /* before it naps */
#define NAP_NS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool known;
  char reason[VYRE_DEVICE_REASON_SIZE]; /* "" where all was seen */
} found[DEVICES];

/* -------- the conversation -------- */

/* Nobody stores any more: the launch has ended, or the device is lost. */
static bool is_over(vyre_backend_pending *pending)
{
  return vyre__gpu_pending_wait(pending, 0, NULL) != VYRE_ERROR_TIMEOUT;
}

static bool comes(vyre_backend_pending *pending, const uint32_t *word, uint32_t want,
                  uint64_t patience)
{
  const struct timespec nap = {0, NAP_NS};
  const uint64_t begin = vyre__plugin_clock_ns();
  /* Acquire: pairs with the kernel's release; its answer is there. */
  for (uint32_t looks = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) != want; ++looks) {
    if (looks < LOOKS)
      continue;
    if (vyre__plugin_clock_ns() - begin > patience)
      return false;
    /* What it stores last may come with its end.  Acquire: as above. */
    if (is_over(pending))
      return want > VYRE__TRIAL_ROUNDS && __atomic_load_n(word, __ATOMIC_ACQUIRE) == want;
    nanosleep(&nap, NULL);
  }
  return true;
}

static bool is_answered(const uint32_t *words, uint32_t round)
{
  bool is_right = true;
  for (uint32_t k = 0; k < VYRE__TRIAL_DATA; ++k)
    is_right &=
        words[VYRE__TRIAL_ANSWER + k] == VYRE__TRIAL_ANSWER_OF(VYRE__TRIAL_VALUE(round, k), round);
  return is_right;
}

/* The first round that the kernel was not seen to wait for, 0 if it has answered all of them. */
static uint32_t converse(vyre_backend_pending *pending, uint32_t *words, bool *out_is_right)
{
  uint64_t *asked = (void *)&words[VYRE__TRIAL_ASKED];
  *out_is_right = true;
  for (uint32_t round = 1; round <= VYRE__TRIAL_ROUNDS + 1; ++round) {
    if (!comes(pending, &words[VYRE__TRIAL_WAITS], round, round > 1 ? ANSWER_NS : BEGIN_NS))
      return round;
    if (round > 1)
      *out_is_right &= is_answered(words, round - 1);
    if (round > VYRE__TRIAL_ROUNDS)
      break;
    for (uint32_t k = 0; k < VYRE__TRIAL_DATA; ++k)
      words[VYRE__TRIAL_GIVEN + k] = VYRE__TRIAL_VALUE(round, k);
    /* Release: pairs with the kernel's acquire. */
    __atomic_store_n(asked, round, __ATOMIC_RELEASE);
  }
  return 0;
}

/* What the end of the kernel says about a conversation that broke off; everything is seen then. */
static const char *judge(const uint32_t *words, uint32_t missed, bool is_right)
{
  if (missed && words[VYRE__TRIAL_WAITS] >= missed)
    return "the host does not see what a kernel stores in coherent memory while it runs";
  if (missed)
    return "a kernel that runs does not see what the host stores in coherent memory";
  return is_right ? "" : "in coherent memory, stores are seen out of order";
}

/* -------- the launch -------- */

static vyre_status talk(vyre_backend_device *device, vyre_backend_module *module, char *out_reason,
                        vyre_error *err)
{
  vyre_coherent_memory memory = {.struct_size = sizeof memory};
  vyre_backend_kernel *kernel = NULL;
  vyre_backend_pending *pending = NULL;
  uint32_t missed = 0;
  bool is_right = true;
  vyre_status status = vyre__gpu_kernel_find(module, KERNEL, &kernel, NULL, err);
  if (status == VYRE_OK)
    status = vyre__gpu_coherent_alloc(device, VYRE__TRIAL_WORDS * sizeof(uint32_t), &memory, err);
  if (status != VYRE_OK)
    return status;
  const vyre_binding binding = {.struct_size = sizeof binding,
                                .access = VYRE_READ_WRITE,
                                .kind = VYRE_BINDING_BUFFER,
                                .buffer = memory.buffer,
                                .size = VYRE__TRIAL_WORDS * sizeof(uint32_t),
                                .element_count = VYRE__TRIAL_WORDS};
  const vyre_dispatch_desc desc = {.struct_size = sizeof desc,
                                   .flags = VYRE_DISPATCH_PERSISTENT,
                                   .kernel = kernel,
                                   .bindings = &binding,
                                   .binding_stride = sizeof binding,
                                   .binding_count = 1,
                                   .groups = {1, 1, 1},
                                   .workgroup = {1, 1, 1},
                                   .id_limit = 1};
  uint32_t *const words = memory.host;
  status = vyre__gpu_dispatch(device, &desc, &pending, err);
  if (status == VYRE_OK) {
    missed = converse(pending, words, &is_right);
    /* Relaxed: a mark, no data; a kernel that does not see it ends by itself. */
    __atomic_store_n((uint64_t *)(void *)&words[VYRE__TRIAL_ASKED], VYRE__TRIAL_END,
                     __ATOMIC_RELAXED);
    status = vyre__gpu_pending_wait(pending, VYRE_NO_TIMEOUT, err);
  }
  if (status == VYRE_OK)
    snprintf(out_reason, VYRE_DEVICE_REASON_SIZE, "%s", judge(words, missed, is_right));
  vyre__gpu_pending_release(pending);
  vyre__gpu_buffer_free(device, memory.buffer);
  return status;
}

static vyre_status load(vyre_backend_device *device, vyre_backend_module **out_module,
                        vyre_error *err)
{
  uint64_t prelude_size = 0;
  const char *prelude = vyre__gpu_driver.prelude(&prelude_size);
  const uint64_t size = prelude_size + vyre__gpu_trial_text_size;
  char *text = vyre__plugin_allocate(device->host, size, 1);
  if (!text)
    return PLUGIN_FAIL_MEMORY(err, "the trial of coherent memory");
  memcpy(text, prelude, prelude_size);
  memcpy(text + prelude_size, vyre__gpu_trial_text, vyre__gpu_trial_text_size);
  const vyre_module_desc desc = {.struct_size = sizeof desc,
                                 .format = "vyre-c",
                                 .arch = "",
                                 .data = text,
                                 .size = size,
                                 .name = "trial of coherent memory"};
  const vyre_status status = vyre__gpu_module_load(device, &desc, out_module, err);
  vyre__plugin_deallocate(device->host, text);
  return status;
}

/* There is no such code or launch here: that is an answer, too. */
static bool is_impossible(vyre_status status)
{
  return status == VYRE_ERROR_UNSUPPORTED || status == VYRE_ERROR_COMPILE_FAILED ||
         status == VYRE_ERROR_MODULE_FORMAT || status == VYRE_ERROR_RESIDENCY_EXCEEDED;
}

static vyre_status try_it(vyre_backend_device *device, char *out_reason, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  vyre_backend_module *module = NULL;
  vyre_status status = load(device, &module, &said);
  if (status == VYRE_OK)
    status = talk(device, module, out_reason, &said);
  vyre__gpu_module_unload(device, module);
  if (status != VYRE_OK && !is_impossible(status))
    return vyre__plugin_error_copy(err, &said);
  if (status != VYRE_OK)
    snprintf(out_reason, VYRE_DEVICE_REASON_SIZE, "its coherent memory cannot be tried: %.150s",
             said.message);
  return VYRE_OK;
}

/* -------- what was found -------- */

void vyre__gpu_trial_recall(uint32_t index, vyre__gpu_facts *facts)
{
  if (!vyre__gpu_driver.tries_coherence || index >= DEVICES || facts->persistent_reason[0])
    return;
  pthread_mutex_lock(&lock);
  if (found[index].known)
    memcpy(facts->persistent_reason, found[index].reason, sizeof facts->persistent_reason);
  pthread_mutex_unlock(&lock);
}

static bool is_known(uint32_t index)
{
  pthread_mutex_lock(&lock);
  const bool known = found[index].known;
  pthread_mutex_unlock(&lock);
  return known;
}

vyre_status vyre__gpu_trial(vyre_backend_device *device, vyre_error *err)
{
  char reason[VYRE_DEVICE_REASON_SIZE] = "";
  if (!vyre__gpu_driver.tries_coherence || device->index >= DEVICES ||
      *vyre__gpu_persistent_reason(&device->facts) || is_known(device->index))
    return VYRE_OK;
  const vyre_status status = try_it(device, reason, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&lock);
  memcpy(found[device->index].reason, reason, sizeof reason);
  found[device->index].known = true;
  pthread_mutex_unlock(&lock);
  vyre__gpu_trial_recall(device->index, &device->facts);
  return VYRE_OK;
}
