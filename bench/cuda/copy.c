/* copy.c - how fast bytes move, for what is measured against it; see bench/peers/bare.h. */
#include "bench/cuda/bare.h"

static int queue_copies(bare *self, uint32_t kind, uint64_t bytes, uint32_t times, void *host,
                        CUdeviceptr there, CUdeviceptr other)
{
  for (uint32_t i = 0; i < times; ++i) {
    if (kind == BENCH_BARE_UP)
      BARE_TRY(vyre__cuda.cuMemcpyHtoDAsync(there, host, bytes, self->stream));
    else if (kind == BENCH_BARE_DOWN)
      BARE_TRY(vyre__cuda.cuMemcpyDtoHAsync(host, there, bytes, self->stream));
    else
      BARE_TRY(vyre__cuda.cuMemcpyDtoDAsync(other, there, bytes, self->stream));
  }
  BARE_TRY(vyre__cuda.cuStreamSynchronize(self->stream));
  return 0;
}

static int measure(bare *self, uint32_t kind, uint64_t bytes, uint32_t times, void *host,
                   CUdeviceptr there, CUdeviceptr other, double *out_seconds)
{
  int code = queue_copies(self, kind, bytes, 1, host, there, other); /* pages are touched */
  const double start = bare_now();
  if (!code)
    code = queue_copies(self, kind, bytes, times, host, there, other);
  *out_seconds = bare_now() - start;
  return code;
}

int bare_copy(bare *self, uint32_t kind, uint64_t bytes, uint32_t times, double *out_seconds)
{
  CUdeviceptr there = 0, other = 0;
  void *host = NULL;
  int code = vyre__cuda.cuMemAlloc(&there, bytes);
  if (!code)
    code = kind == BENCH_BARE_ACROSS ? vyre__cuda.cuMemAlloc(&other, bytes)
                                     : vyre__cuda.cuMemHostAlloc(&host, bytes, 0);
  code = code ? bare_fail("memory for a copy", code)
              : measure(self, kind, bytes, times, host, there, other, out_seconds);
  bare_free(&there);
  bare_free(&other);
  bare_free_host(&host);
  return code;
}
