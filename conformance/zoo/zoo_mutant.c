/*
 * zoo_mutant.c - which row this plugin is: ZOO_MUTANT, in a section of its own, where the script
 * `rows` puts the number of another row.  Compiled once, and with ZOO_EXPORTS or ZOO_CONSTRUCTS for
 * the rows that the linker has to know.
 */
#include "conformance/zoo/zoo.h"

#include <assert.h>

static_assert(ZOO_COUNT == ZOO_ROWS, "each MUTANT() of zoo.def stands at the begin of a line");

__attribute__((section(".zoo_row")))
const unsigned char zoo__row[2] = {ZOO_MUTANT & 255, ZOO_MUTANT >> 8};

#ifdef ZOO_EXPORTS
__attribute__((visibility("default"))) int vyre_zoo_helper(int value);
int vyre_zoo_helper(int value)
{
  return value + 1;
}
#endif

#ifdef ZOO_CONSTRUCTS
static volatile int constructed;
__attribute__((constructor)) static void construct(void)
{
  constructed = 1;
}
#endif
