/*
 * arch.c - architecture levels of the processor; see arch.h.
 */
#include "arch.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

static const vyre__cpu_level levels[] = {
    {"x86-64-v3", "-march=x86-64-v3"},
    {"x86-64-v2", "-march=x86-64-v2"},
    {"x86-64", "-march=x86-64"},
};

static bool has_all(unsigned value, unsigned bits)
{
  return (value & bits) == bits;
}

/* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF. */
static bool has_v2(void)
{
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) ||
      !has_all(c, bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT))
    return false;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) && has_all(c, bit_LAHF_LM);
}

/* AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE, and a system that saves the wide registers. */
static bool has_v3(void)
{
  unsigned a, b, c, d;
  if (!has_v2() || !__get_cpuid(1, &a, &b, &c, &d) ||
      !has_all(c, bit_AVX | bit_F16C | bit_FMA | bit_MOVBE | bit_OSXSAVE))
    return false;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if (!has_all(low, 6u)) /* SSE and AVX state */
    return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has_all(b, bit_AVX2 | bit_BMI | bit_BMI2))
    return false;
  return __get_cpuid(0x80000001u, &a, &b, &c, &d) && has_all(c, bit_LZCNT);
}

/* Index of the best level.  Asked once: in a virtual machine each CPUID is a trap, and all of them
   take as long as a launch. */
static uint32_t best_index(void)
{
  static uint32_t known; /* atomic: one more than the index; 0: nobody has asked */
  /* Relaxed, here and below: all threads come to one number, which stands for nothing else. */
  uint32_t found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (!found) {
    found = has_v3() ? 1 : has_v2() ? 2 : 3;
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  }
  return found - 1;
}

bool vyre__cpu_level_runs(const vyre__cpu_level *level)
{
  return level >= &levels[best_index()];
}

#else

#if defined(__aarch64__)
static const vyre__cpu_level levels[] = {{"aarch64", "-march=armv8-a"}};
#elif defined(__riscv)
static const vyre__cpu_level levels[] = {{"riscv64", "-fPIC"}};
#else
static const vyre__cpu_level levels[] = {{"generic", "-fPIC"}};
#endif

bool vyre__cpu_level_runs(const vyre__cpu_level *level)
{
  return level != NULL;
}

#endif

#define LEVEL_COUNT ((uint32_t)(sizeof(levels) / sizeof(levels[0])))

const vyre__cpu_level *vyre__cpu_levels(uint32_t *out_count)
{
  *out_count = LEVEL_COUNT;
  return levels;
}

const vyre__cpu_level *vyre__cpu_level_find(const char *name)
{
  if (!name || !*name)
    return &levels[LEVEL_COUNT - 1];
  for (uint32_t i = 0; i < LEVEL_COUNT; ++i)
    if (strcmp(name, levels[i].name) == 0)
      return &levels[i];
  return NULL;
}

const vyre__cpu_level *vyre__cpu_level_best(void)
{
  uint32_t i = 0;
  while (i + 1 < LEVEL_COUNT && !vyre__cpu_level_runs(&levels[i]))
    ++i;
  return &levels[i];
}

void vyre__cpu_model_name(char *out_name, size_t size)
{
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "re");
  snprintf(out_name, size, "%s processor", levels[LEVEL_COUNT - 1].name);
  while (file && fgets(line, sizeof(line), file)) {
    const char *colon = strchr(line, ':');
    if (colon && (strncmp(line, "model name", 10) == 0 || strncmp(line, "Model", 5) == 0)) {
      colon += 1 + strspn(colon + 1, " \t");
      if (*colon && *colon != '\n')
        snprintf(out_name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
      break;
    }
  }
  if (file)
    fclose(file);
}
