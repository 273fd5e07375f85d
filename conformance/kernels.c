/* kernels.c - the table of the suite's kernels; see kernels.h. */
#include "conformance/kernels.h"

#include <stddef.h>

/* KERNEL(name): conformance/kernels/NAME.c, embedded by the build. */
#define KERNEL(name)                                                                               \
  extern const char conform_kernel_##name[];                                                       \
  extern const size_t conform_kernel_##name##_size;
#include "conformance/kernels.def"
#undef KERNEL

/* The sizes are no constant expressions: the pointers to them are. */
static const struct {
  const char *name;
  const char *text;
  const size_t *size;
} rows[] = {
#define KERNEL(name) {#name, conform_kernel_##name, &conform_kernel_##name##_size},
#include "conformance/kernels.def"
#undef KERNEL
};

uint32_t conform_text_count(void)
{
  return sizeof rows / sizeof rows[0];
}

conform_text conform_text_at(uint32_t index)
{
  const conform_text text = {rows[index].name, rows[index].text, *rows[index].size};
  return text;
}
