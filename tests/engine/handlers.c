/* handlers.c - the handlers of the engine's tests, in the kernel language. */
VYRE_HANDLER(sum)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  vyre_u32 sum = constants_size != 0u ? constants[constants_size - 1u] : 0u, i;
  (void)c;
  (void)job;
  for (i = 0u; i < size; ++i)
    sum += data[i];
  return sum;
}

VYRE_HANDLER(find)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  vyre_u32 i;
  (void)constants_size;
  for (i = 0u; i < size; ++i)
    if (data[i] == constants[0])
      vyre_emit(c, job, i, job->correlation);
  return vyre_emitted(job);
}

VYRE_HANDLER(gate)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  vyre_u32 misses = 0u, value;
  (void)size;
  (void)constants;
  (void)constants_size;
  (void)job;
  for (;;) {
    value = vyre_atomic_load_u32(data, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
    if (value != 0u)
      return value;
    vyre_backoff(c, misses);
    misses += 1u;
  }
}

VYRE_HANDLER(nothing)
(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,
 vyre_u64 constants_size, vyre_job *job)
{
  (void)c;
  (void)data;
  (void)size;
  (void)constants;
  (void)constants_size;
  return job->correlation;
}
