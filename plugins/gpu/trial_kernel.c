/*
 * trial_kernel.c - the kernel of trial.c, in the kernel language: while it runs, the host and it
 * tell each other numbers in coherent memory.  One item; every loop is bounded.
 */
#define VYRE_BUFFER_words 0

VYRE_SEGMENT(vyre_trial)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)
{
  VYRE_GLOBAL const vyre_u64 *asked = (VYRE_GLOBAL const vyre_u64 *)(words + VYRE__TRIAL_ASKED);
  for (vyre_u32 round = 1u;; ++round) {
    const vyre_u64 begin = vyre_clock_ns(c);
    vyre_u32 misses = 0u;
    /* Release: pairs with the acquire of the host's look; the answer is there. */
    vyre_atomic_store_u32(&words[VYRE__TRIAL_WAITS], round, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
    if (round > VYRE__TRIAL_ROUNDS)
      return;
    for (;;) {
      /* Acquire: pairs with the host's release; what is given is there. */
      const vyre_u64 now = vyre_atomic_load_u64(asked, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
      if (now == round)
        break;
      if (now == VYRE__TRIAL_END || misses == VYRE__TRIAL_LOOKS ||
          vyre_clock_ns(c) - begin > VYRE__TRIAL_NS)
        return;
      vyre_backoff(c, misses);
      misses += 1u;
    }
    for (vyre_u32 k = 0u; k < VYRE__TRIAL_DATA; ++k)
      words[VYRE__TRIAL_ANSWER + k] = VYRE__TRIAL_ANSWER_OF(words[VYRE__TRIAL_GIVEN + k], round);
  }
}
VYRE_ENTRY(vyre_trial, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));
