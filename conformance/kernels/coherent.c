/*
 * coherent.c - kernels that talk to the host while they run, through coherent memory.
 *
 * words: 0 is the stop word.  What one side writes has a line of 32 words to itself.
 */
#define VYRE_BUFFER_words 0
#define VYRE_BUFFER_data 1
#define VYRE_BUFFER_wide 0
#define VYRE_BUFFER_place 0

typedef struct rounds_push {
  vyre_u32 rounds; /* blocks in all */
  vyre_u32 slots;  /* blocks at a time */
  vyre_u32 block;  /* words of a block */
  vyre_u32 unused;
} rounds_push;

VYRE_FUNCTION vyre_u32 value_of(vyre_u32 round, vyre_u32 k)
{
  vyre_u32 v = round * 0x9e3779b1u + k * 0x85ebca77u;
  v ^= v >> 15;
  v *= 0x2c1b3c6du;
  return v ^ (v >> 12);
}

/* Waits until *word is `want`; 0 when the stop word says so. */
VYRE_FUNCTION vyre_u32 comes(vyre_ctx *c, VYRE_GLOBAL vyre_u32 *words, vyre_u32 at, vyre_u32 want)
{
  vyre_u32 misses = 0u;
  while (vyre_atomic_load_u32(&words[at], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM) != want) {
    if (vyre_atomic_load_u32(&words[0], VYRE_RELAXED, VYRE_SCOPE_SYSTEM) != 0u)
      return 0u;
    vyre_backoff(c, misses++);
  }
  return 1u;
}

/* Answers each request (word 32) with three times its number (word 64). */
VYRE_SEGMENT(ping)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)
{
  vyre_u32 round = 1u;
  if (vyre_global_id(c, 0))
    return;
  while (comes(c, words, 32u, round)) {
    vyre_atomic_store_u32(&words[64], round * 3u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
    vyre_notify_host(c, &words[64]);
    round += 1u;
  }
}
VYRE_ENTRY(ping, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));

/*
 * Blocks of words to the host, each with plain stores and then its flag; a block's place is free
 * again when the host has flagged it.  Flags of the device from word 32 on, of the host from
 * 32 + 32 * slots on.
 */
VYRE_SEGMENT(produce)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words, VYRE_INOUT(vyre_u32) data)
{
  const vyre_u32 rounds = vyre_push(c, rounds_push)->rounds;
  const vyre_u32 slots = vyre_push(c, rounds_push)->slots;
  const vyre_u32 block = vyre_push(c, rounds_push)->block;
  if (vyre_global_id(c, 0))
    return;
  for (vyre_u32 round = 1u; round <= rounds; ++round) {
    const vyre_u32 slot = round % slots;
    const vyre_u32 before = round > slots ? round - slots : 0u;
    if (!comes(c, words, 32u + 32u * (slots + slot), before))
      return;
    for (vyre_u32 k = 0u; k < block; ++k)
      data[slot * block + k] = value_of(round, k);
    vyre_atomic_store_u32(&words[32u + 32u * slot], round, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
  }
}
VYRE_ENTRY(produce, (VYRE_PARAM_INOUT(0, words), VYRE_PARAM_INOUT(1, data)),
           (VYRE_ARG(0, words), VYRE_ARG(1, data)));

/* The other way round; word 1 counts what is not as it should be. */
VYRE_SEGMENT(consume)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words, VYRE_INOUT(vyre_u32) data)
{
  const vyre_u32 rounds = vyre_push(c, rounds_push)->rounds;
  const vyre_u32 slots = vyre_push(c, rounds_push)->slots;
  const vyre_u32 block = vyre_push(c, rounds_push)->block;
  vyre_u32 wrong = 0u;
  if (vyre_global_id(c, 0))
    return;
  for (vyre_u32 round = 1u; round <= rounds; ++round) {
    const vyre_u32 slot = round % slots;
    if (!comes(c, words, 32u + 32u * slot, round))
      return;
    for (vyre_u32 k = 0u; k < block; ++k)
      wrong += (vyre_u32)(data[slot * block + k] != value_of(round, k));
    vyre_atomic_store_u32(&words[1], wrong, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    vyre_atomic_store_u32(&words[32u + 32u * (slots + slot)], round, VYRE_RELEASE,
                          VYRE_SCOPE_SYSTEM);
  }
}
VYRE_ENTRY(consume, (VYRE_PARAM_INOUT(0, words), VYRE_PARAM_INOUT(1, data)),
           (VYRE_ARG(0, words), VYRE_ARG(1, data)));

/* Every word of `data` from its number; an ordinary launch. */
VYRE_SEGMENT(fill)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words, VYRE_OUT(vyre_u32) data)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, data))
    data[i] = value_of(words[0], (vyre_u32)i);
}
VYRE_ENTRY(fill, (VYRE_PARAM_INOUT(0, words), VYRE_PARAM_OUT(1, data)),
           (VYRE_ARG(0, words), VYRE_ARG(1, data)));

/* Counts in word 32 the words of `data` that are not as the host should have left them. */
VYRE_SEGMENT(check)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words, VYRE_IN(vyre_u32) data)
{
  const vyre_u64 i = vyre_global_id(c, 0);
  if (i < vyre_count(c, data) && data[i] != value_of(words[0], (vyre_u32)i))
    vyre_atomic_add_u32(&words[32], 1u, VYRE_RELAXED, VYRE_SCOPE_DEVICE);
}
VYRE_ENTRY(check, (VYRE_PARAM_INOUT(0, words), VYRE_PARAM_IN(1, data)),
           (VYRE_ARG(0, words), VYRE_ARG(1, data)));

/* One is added `rounds` times to a word that the host adds to as well; then word 16 is set. */
VYRE_SEGMENT(add_narrow)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)
{
  if (vyre_global_id(c, 0))
    return;
  for (vyre_u32 i = 0u; i < vyre_push(c, rounds_push)->rounds; ++i)
    vyre_atomic_add_u32(&words[32], 1u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u32(&words[16], 1u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}
VYRE_ENTRY(add_narrow, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));

VYRE_SEGMENT(add_wide)(vyre_ctx *c, VYRE_INOUT(vyre_u64) wide)
{
  if (vyre_global_id(c, 0))
    return;
  for (vyre_u32 i = 0u; i < vyre_push(c, rounds_push)->rounds; ++i)
    vyre_atomic_add_u64(&wide[16], 0x100000001u, VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
  vyre_atomic_store_u64(&wide[8], 1u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}
VYRE_ENTRY(add_wide, (VYRE_PARAM_INOUT(0, wide)), (VYRE_ARG(0, wide)));

/*
 * Words of 64 bits whose halves belong together: stores its own (16), looks at the host's (32), and
 * counts halves that do not match (48), until word 0 is not 0.
 */
VYRE_SEGMENT(halves)(vyre_ctx *c, VYRE_INOUT(vyre_u64) wide)
{
  vyre_u64 wrong = 0u, last = 0u;
  vyre_u32 n = 0u, misses = 0u;
  if (vyre_global_id(c, 0))
    return;
  while (!vyre_atomic_load_u64(&wide[0], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM)) {
    const vyre_u64 seen = vyre_atomic_load_u64(&wide[32], VYRE_RELAXED, VYRE_SCOPE_SYSTEM);
    wrong += (vyre_u64)((vyre_u32)seen != (vyre_u32) ~(vyre_u32)vyre_shr_u64(seen, 32));
    n += 1u;
    vyre_atomic_store_u64(&wide[16], vyre_shl_u64(n, 32) | (vyre_u32)~n, VYRE_RELAXED,
                          VYRE_SCOPE_SYSTEM);
    misses = seen == last ? misses + 1u : 0u;
    last = seen;
    if (misses > 1000u)
      vyre_backoff(c, misses);
  }
  vyre_atomic_store_u64(&wide[48], wrong, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}
VYRE_ENTRY(halves, (VYRE_PARAM_INOUT(0, wide)), (VYRE_ARG(0, wide)));

/* Where the kernel finds it. */
VYRE_SEGMENT(address)(vyre_ctx *c, VYRE_INOUT(vyre_u64) place)
{
  if (vyre_global_id(c, 0) == 0u)
    place[0] = (vyre_u64)place;
}
VYRE_ENTRY(address, (VYRE_PARAM_INOUT(0, place)), (VYRE_ARG(0, place)));

/*
 * Stays until the stop word: each group says that it has come, answers its own requests with the
 * double, and says that it leaves.  Group g: came 32 + 96 g, request 64 + 96 g, answer 96 + 96 g,
 * each a word; the answer to leaving is UINT32_MAX.
 */
VYRE_SEGMENT(stay)(vyre_ctx *c, VYRE_INOUT(vyre_u32) words)
{
  VYRE_GLOBAL vyre_u32 *own = words + 32u + 96u * vyre_group_id(c, 0);
  vyre_u32 misses = 0u, answered = 0u;
  if (vyre_local_id(c, 0))
    return;
  vyre_atomic_store_u32(&own[0], 1u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
  while (vyre_atomic_load_u32(&words[0], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM) == 0u) {
    const vyre_u32 now = vyre_atomic_load_u32(&own[32], VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM);
    if (now != answered) {
      answered = now;
      misses = 0u;
      vyre_atomic_store_u32(&own[64], now * 2u, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
    }
    vyre_backoff(c, misses++);
  }
  vyre_atomic_store_u32(&own[64], 0xffffffffu, VYRE_RELEASE, VYRE_SCOPE_SYSTEM);
}
VYRE_ENTRY(stay, (VYRE_PARAM_INOUT(0, words)), (VYRE_ARG(0, words)));
