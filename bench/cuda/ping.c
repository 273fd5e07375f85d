/* ping.c - what one item costs at least: a word there and back, a launch; see bench/peers/bare.h.
 */
#include "bench/cuda/bare.h"

#include <string.h>

#define LINE 128u /* bytes between the words of the two directions */
#define PATIENCE_NS UINT64_C(2000000000)

void bare_ping_close(bare *self)
{
  bare_free_host(&self->words);
}

static int make_words(bare *self, CUdeviceptr *out_device)
{
  if (!self->words)
    BARE_TRY(vyre__cuda.cuMemHostAlloc(&self->words, 2 * LINE, VYRE__CU_HOST_MAPPED));
  memset(self->words, 0, 2 * LINE);
  BARE_TRY(vyre__cuda.cuMemHostGetDevicePointer(out_device, self->words, 0));
  return 0;
}

/* Release and acquire: their partners are the kernel's, at system scope. */
static int ask(uint32_t *word, const uint32_t *answer, uint32_t n, double *out_ns)
{
  const double start = bare_now(), end = start + (double)PATIENCE_NS * 1e-9;
  __atomic_store_n(word, n, __ATOMIC_RELEASE);
  while (__atomic_load_n(answer, __ATOMIC_ACQUIRE) != n)
    if (bare_now() > end)
      return bare_fail("the kernel does not answer", -1);
  *out_ns = (bare_now() - start) * 1e9;
  return 0;
}

int bare_ping(bare *self, uint32_t count, int work, double *out_ns)
{
  CUdeviceptr words = 0, answers;
  uint32_t size = work ? self->job_bytes : 0;
  uint64_t patience = PATIENCE_NS;
  void *arguments[] = {&words, &answers, &count, &self->input, &size, &patience};
  uint32_t *word, *answer;
  int code = make_words(self, &words);
  if (code)
    return code;
  answers = words + LINE;
  word = self->words;
  answer = (uint32_t *)(void *)((char *)self->words + LINE);
  code = bare_launch(self, BARE_PING, 1, 1, arguments);
  for (uint32_t i = 0; i < count && !code; ++i)
    code = ask(word, answer, i + 1, &out_ns[i]);
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream)); /* it leaves when nobody asks */
  return code;
}

int bare_launch_and_wait(bare *self, uint32_t count, double *out_ns)
{
  uint32_t index = 0, size = self->job_bytes;
  void *arguments[] = {&self->input, &self->sums, &index, &size};
  for (uint32_t i = 0; i < count; ++i) {
    const double start = bare_now();
    if (bare_launch(self, BARE_JOB, 1, 1, arguments))
      return -1;
    BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
    out_ns[i] = (bare_now() - start) * 1e9;
  }
  return 0;
}

int bare_launch_cost(bare *self, uint32_t count, double *out_ns)
{
  CUdeviceptr word = self->sums;
  void *arguments[] = {&word};
  for (uint32_t i = 0; i < count; ++i) {
    const double start = bare_now();
    if (bare_launch(self, BARE_NOTHING, 1, 1, arguments))
      return -1;
    BARE_TRY(vyre__cuda.cuEventRecord(self->event, self->stream));
    out_ns[i] = (bare_now() - start) * 1e9;
    if (i % 64 == 63) /* a full queue of the driver's would be measured else */
      BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  }
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}
