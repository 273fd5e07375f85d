/*
 * zoo_mutant.c - which row this plugin is; compiled once for each, with ZOO_MUTANT, and with
 * ZOO_EXPORTS or ZOO_CONSTRUCTS for the rows that the linker has to know.
 */
#include "conformance/zoo/zoo.h"

const uint32_t zoo__mutant = ZOO_MUTANT;

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
