/*
 * checksum.c - the work of `vyre bench engine`, in the kernel language: a rotating sum, two steps
 * of latency a byte, which no compiler can spread over lanes.
 *
 *   checksum   the engine's handler
 *   job        the same as a dispatch for each job
 *   loop       the same as a plain loop: each item of the grid runs its share of all jobs
 */
typedef struct checksum_push {
  vyre_u32 jobs;
  vyre_u32 job_bytes;
  vyre_u32 first; /* job: its index */
  vyre_u32 parts; /* loop: how many shares */
} checksum_push;

VYRE_FUNCTION vyre_u32 checksum_of(VYRE_IN(vyre_u8) data, vyre_u32 size)
{
  vyre_u32 sum = size, i;
  for (i = 0u; i < size; ++i)
    sum = (vyre_shl_u32(sum, 5u) | vyre_shr_u32(sum, 27u)) + data[i];
  return sum;
}

VYRE_HANDLER(checksum)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  (void)c;
  (void)constants;
  (void)constants_size;
  (void)job;
  return checksum_of(data, size);
}

VYRE_SEGMENT(job)(vyre_ctx *c, VYRE_IN(vyre_u8) input, VYRE_INOUT(vyre_u32) sums)
{
  const checksum_push push = *vyre_push(c, checksum_push);
  sums[push.first] = checksum_of(input + (vyre_u64)push.first * push.job_bytes, push.job_bytes);
}

VYRE_SEGMENT(loop)(vyre_ctx *c, VYRE_IN(vyre_u8) input, VYRE_INOUT(vyre_u32) sums)
{
  const checksum_push push = *vyre_push(c, checksum_push);
  const vyre_u64 part = vyre_global_id(c, 0);
  const vyre_u64 end = (part + 1u) * push.jobs / push.parts;
  vyre_u64 i;
  for (i = part * push.jobs / push.parts; i < end; ++i)
    sums[i] = checksum_of(input + i * push.job_bytes, push.job_bytes);
}
