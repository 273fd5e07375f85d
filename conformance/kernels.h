/* kernels.h - the suite's kernels, a text each (conformance/kernels/NAME.c). */
#ifndef VYRE_CONFORMANCE_KERNELS_H
#define VYRE_CONFORMANCE_KERNELS_H

#include <stdint.h>

typedef struct conform_text {
  const char *name;
  const char *text;
  uint64_t size;
} conform_text;

uint32_t conform_text_count(void);
conform_text conform_text_at(uint32_t index); /* index < conform_text_count() */

#endif
