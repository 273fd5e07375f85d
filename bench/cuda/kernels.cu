/*
 * kernels.cu - the work of the benchmarks in CUDA C++, as one writes it by hand for this card; see
 * bench/peers/bare.h.  Compiled at run time, without headers.
 */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

/* ---- checksum.c ---- */

static __device__ u32 checksum(const u8 *data, u32 size)
{
  u32 sum = size;
  for (u32 i = 0; i < size; ++i)
    sum = (sum << 5 | sum >> 27) + data[i];
  return sum;
}

/* x: offset, y: size, w: where the sum goes. */
extern "C" __global__ void jobs(const u8 *__restrict__ input, const uint4 *__restrict__ items,
                                u32 *__restrict__ sums, u32 count)
{
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    sums[items[i].w] = checksum(input + items[i].x, items[i].y);
}

extern "C" __global__ void job(const u8 *__restrict__ input, u32 *__restrict__ sums, u32 index,
                               u32 size)
{
  sums[index] = checksum(input + (u64)index * size, size);
}

/* ---- ping ---- */

static __device__ u32 load_acquire_system(const u32 *at)
{
  u32 value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

static __device__ void store_release_system(u32 *at, u32 value)
{
  asm volatile("st.release.sys.global.u32 [%0], %1;" : : "l"(at), "r"(value) : "memory");
}

static __device__ u64 now_ns()
{
  u64 ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

/* Answers 1, 2, … `count`.  Leaves after `patience` nanoseconds without a question. */
extern "C" __global__ void ping(const u32 *ask, u32 *answer, u32 count, const u8 *input, u32 size,
                                u64 patience)
{
  for (u32 n = 1; n <= count; ++n) {
    const u64 until = now_ns() + patience;
    while (load_acquire_system(ask) != n)
      if (now_ns() > until)
        return;
    /* The sum is of use to somebody, or the compiler would leave it out. */
    answer[1] = size ? checksum(input, size) : 0;
    store_release_system(answer, n);
  }
}

extern "C" __global__ void nothing(u32 *word)
{
  if (!word)
    asm volatile("trap;");
}

/* ---- gridsync_words.c ---- */

static __device__ void forward_at(const u32 *a, u32 *b, u32 half, u32 i)
{
  const u32 low = a[i], high = a[i + half];
  b[i] = low * 3u + high;
  b[i + half] = high * 5u + low;
}

extern "C" __global__ void forward(const u32 *__restrict__ a, u32 *__restrict__ b, u32 words)
{
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words / 2)
    forward_at(a, b, words / 2, i);
}

extern "C" __global__ void backward(const u32 *__restrict__ b, u32 *__restrict__ a, u32 words)
{
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words)
    a[i] = b[i] * 7u + 1u;
}

/* All groups are resident; `arrived` was zeroed and only grows. */
static __device__ void barrier(u32 *arrived, u32 number)
{
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 seen;
    __threadfence();
    atomicAdd(arrived, 1u);
    do
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    while (seen < number * gridDim.x);
  }
  __syncthreads();
}

extern "C" __global__ void loop(u32 *a, u32 *b, u32 words, u32 segments, u32 passes, u32 *arrived)
{
  const u32 first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  u32 number = 0;
  for (u32 pass = 0; pass < passes; ++pass)
    for (u32 k = 0; k < segments; ++k) {
      if (k % 2 == 0)
        for (u32 i = first; i < words / 2; i += step)
          forward_at(a, b, words / 2, i);
      else
        for (u32 i = first; i < words; i += step)
          a[i] = b[i] * 7u + 1u;
      barrier(arrived, ++number);
    }
}
