/* oracle.c - what the steps of kernels/steps.c come to; see oracle.h. */
#include "conformance/oracle.h"

void oracle_far(oracle *o)
{
  for (uint32_t i = 0; i < o->n; ++i)
    o->b[i] = o->a[((uint64_t)i * 7 + 3) % o->n] * 5 + i;
}

void oracle_back(oracle *o)
{
  for (uint32_t i = 0; i < o->n; ++i)
    o->a[i] = o->b[o->n - 1 - i] ^ (o->b[i] >> 3);
}

bool oracle_up(oracle *o)
{
  bool changed = false;
  for (uint32_t i = 0; i < o->n; ++i)
    if (o->count[i] < o->limit) {
      o->count[i] += 1;
      changed = true;
    }
  return changed;
}

uint32_t oracle_run(oracle *o, uint32_t max_passes, bool tested)
{
  for (uint32_t pass = 1; pass <= max_passes; ++pass) {
    oracle_far(o);
    oracle_back(o);
    if (!oracle_up(o) && tested)
      return pass;
  }
  return max_passes;
}
