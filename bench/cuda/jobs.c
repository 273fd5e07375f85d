/* jobs.c - the jobs of checksum.c by bare launches; see bench/peers/bare.h. */
#include "bench/cuda/bare.h"

#include <string.h>

void bare_jobs_close(bare *self)
{
  bare_free(&self->input);
  bare_free(&self->items);
  bare_free(&self->sums);
  bare_free_host(&self->pinned_items);
  bare_free_host(&self->pinned_sums);
}

int bare_jobs_open(bare *self, const void *bytes, uint32_t jobs, uint32_t job_bytes)
{
  const size_t size = (size_t)jobs * job_bytes;
  bare_jobs_close(self);
  self->jobs = jobs;
  self->job_bytes = job_bytes;
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->input, size));
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->items, jobs * (size_t)16));
  BARE_TRY(vyre__cuda.cuMemAlloc(&self->sums, jobs * sizeof(uint32_t)));
  BARE_TRY(vyre__cuda.cuMemHostAlloc(&self->pinned_items, jobs * (size_t)16, 0));
  BARE_TRY(vyre__cuda.cuMemHostAlloc(&self->pinned_sums, jobs * sizeof(uint32_t), 0));
  BARE_TRY(vyre__cuda.cuMemcpyHtoDAsync(self->input, bytes, size, self->stream));
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

/* What there is to do is written, sent, done, and its results fetched: all of it counts. */
static int batched(bare *self)
{
  uint32_t *items = self->pinned_items, count = self->jobs;
  void *arguments[] = {&self->input, &self->items, &self->sums, &count};
  for (uint32_t i = 0; i < count; ++i) {
    items[4 * i] = i * self->job_bytes;
    items[4 * i + 1] = self->job_bytes;
    items[4 * i + 2] = 0;
    items[4 * i + 3] = i;
  }
  BARE_TRY(vyre__cuda.cuMemcpyHtoDAsync(self->items, items, count * (size_t)16, self->stream));
  /* Small blocks: each job is one thread, and all of the card's units are to have some. */
  if (bare_launch(self, BARE_JOBS, (count + 63) / 64, 64, arguments))
    return -1;
  BARE_TRY(vyre__cuda.cuMemcpyDtoHAsync(self->pinned_sums, self->sums, count * sizeof(uint32_t),
                                        self->stream));
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

static int one_by_one(bare *self, int wait)
{
  uint32_t index = 0, size = self->job_bytes;
  void *arguments[] = {&self->input, &self->sums, &index, &size};
  for (; index < self->jobs; ++index) {
    if (bare_launch(self, BARE_JOB, 1, 1, arguments))
      return -1;
    if (wait)
      BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  }
  BARE_TRY(vyre__cuda.cuMemcpyDtoHAsync(self->pinned_sums, self->sums,
                                        self->jobs * sizeof(uint32_t), self->stream));
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

int bare_jobs_run(bare *self, uint32_t form, uint32_t *out_sums)
{
  const int code =
      form == BENCH_BARE_BATCHED ? batched(self) : one_by_one(self, form == BENCH_BARE_WAITED);
  if (!code)
    memcpy(out_sums, self->pinned_sums, self->jobs * sizeof(uint32_t));
  return code;
}
