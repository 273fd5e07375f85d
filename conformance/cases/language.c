/* language.c - the arithmetic of the kernel language, bit by bit against plain C. */
#include "conformance/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- integers ---- */

static const uint64_t witnesses[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     8,
                                     15,
                                     16,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     255,
                                     256,
                                     257,
                                     32767,
                                     32768,
                                     65535,
                                     65536,
                                     0x7fffffff,
                                     0x80000000,
                                     0x80000001,
                                     0xfffffffe,
                                     0xffffffff,
                                     0x100000000,
                                     0x100000001,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0x8000000000000001,
                                     0xfffffffffffffffe,
                                     0xffffffffffffffff,
                                     0xaaaaaaaaaaaaaaaa,
                                     0x5555555555555555};

#define PAIRS 2048u

/* Each witness with each, then random pairs. */
static void fill_pairs(conform *c, uint64_t *left, uint64_t *right)
{
  const uint32_t n = COUNT_OF(witnesses);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    left[i] = i < n * n ? witnesses[i / n] : conform_random(c) >> conform_random_below(c, 64);
    right[i] = i < n * n ? witnesses[i % n] : conform_random(c) >> conform_random_below(c, 64);
  }
}

static uint32_t ones(uint64_t v)
{
  uint32_t count = 0;
  for (; v; v &= v - 1)
    count += 1;
  return count;
}

static uint32_t leading(uint64_t v, uint32_t width)
{
  uint32_t count = 0;
  while (count < width && !(v >> (width - 1 - count) & 1))
    count += 1;
  return count;
}

static uint32_t trailing(uint64_t v, uint32_t width)
{
  uint32_t count = 0;
  while (count < width && !(v >> count & 1))
    count += 1;
  return count;
}

/* Shifts to the right that keep the sign, without a word about what C leaves open. */
static uint64_t shift_signed(uint64_t v, uint32_t n)
{
  return v >> 63 ? ~(~v >> n) : v >> n;
}

static uint64_t widen(uint64_t v, uint32_t width)
{
  const uint64_t sign = 1ull << (width - 1);
  return ((v & (sign * 2 - 1)) ^ sign) - sign;
}

static bool less_signed(uint64_t a, uint64_t b)
{
  return (a ^ 1ull << 63) < (b ^ 1ull << 63);
}

static void expect_narrow(uint32_t a, uint32_t b, uint32_t *want)
{
  const uint64_t product = (uint64_t)a * b;
  want[0] = (uint32_t)((uint64_t)a + b);
  want[1] = (uint32_t)((uint64_t)a - b);
  want[2] = (uint32_t)product;
  want[3] = b ? a / b : 0;
  want[4] = b ? a - a / b * b : 0;
  want[5] = (uint32_t)((uint64_t)a << (b % 32));
  want[6] = (uint32_t)((uint64_t)a >> (b % 32));
  want[7] = ones(a);
  want[8] = leading(a, 32);
  want[9] = trailing(a, 32);
  want[10] = (a & b) ^ (a | ~b);
  want[11] = (uint32_t)less_signed(widen(a, 32), widen(b, 32)) | (uint32_t)(a < b) << 1;
  want[12] = (uint32_t)widen(a, 8);
  want[13] = (uint32_t)widen(a, 16);
  want[14] = ((a + 200u) & 255u) + (((a * 3u) & 65535u) << 8);
  want[15] = (uint32_t)shift_signed(widen(a, 32), 7);
}

static void expect_wide(uint64_t a, uint64_t b, uint64_t *want)
{
  want[0] = a + b;
  want[1] = a - b;
  want[2] = a * b;
  want[3] = b ? a / b : 0;
  want[4] = b ? a - a / b * b : 0;
  want[5] = a << (b % 64);
  want[6] = a >> (b % 64);
  want[7] = ones(a);
  want[8] = leading(a, 64);
  want[9] = trailing(a, 64);
  want[10] = (a & b) ^ (a | ~b);
  want[11] = (uint64_t)less_signed(a, b) | (uint64_t)(a < b) << 1;
  want[12] = widen(a, 32);
  want[13] = a * b & 0xffffffffu;
  want[14] = shift_signed(a, 9);
  want[15] = (a ^ b) << 1 | (a == b);
}

/* The kernel over n pairs: left, right and result of `width` bytes, `results` a pair. */
static void over_pairs(conform *c, const char *entry, uint32_t items, const void *left,
                       const void *right, uint32_t n, uint32_t width, uint32_t results, void *out)
{
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "words", entry));
  conform_launch_grid(&launch, (n + items - 1) / items, items);
  conform_launch_host(&launch, VYRE_READ_ONLY, left, n, width, NULL);
  conform_launch_host(&launch, VYRE_READ_ONLY, right, n, width, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, (uint64_t)n * results, width, out);
  conform_run(c, &launch);
}

static void run_narrow(conform *c)
{
  static uint64_t left[PAIRS], right[PAIRS];
  static uint32_t a[PAIRS], b[PAIRS], out[PAIRS * 16];
  fill_pairs(c, left, right);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    a[i] = (uint32_t)left[i];
    b[i] = (uint32_t)right[i];
  }
  over_pairs(c, "narrow", 64, a, b, PAIRS, 4, 16, out);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    uint32_t want[16];
    expect_narrow(a[i], b[i], want);
    for (uint32_t k = 0; k < 16; ++k)
      CHECK(
          c, out[i * 16 + k] == want[k],
          "operation %u of words.c/narrow on 0x%x and 0x%x gives 0x%x, expected is 0x%x (LANG-001)",
          k, a[i], b[i], out[i * 16 + k], want[k]);
  }
}

static void run_wide(conform *c)
{
  static uint64_t a[PAIRS], b[PAIRS], out[PAIRS * 16];
  fill_pairs(c, a, b);
  over_pairs(c, "wide", 64, a, b, PAIRS, 8, 16, out);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    uint64_t want[16];
    expect_wide(a[i], b[i], want);
    for (uint32_t k = 0; k < 16; ++k)
      CHECK(c, out[i * 16 + k] == want[k],
            "operation %u of words.c/wide on 0x%llx and 0x%llx gives 0x%llx, expected is 0x%llx "
            "(LANG-001)",
            k, (unsigned long long)a[i], (unsigned long long)b[i],
            (unsigned long long)out[i * 16 + k], (unsigned long long)want[k]);
  }
}

/* ---- floats ---- */

/* Zeros, denormals, one and its neighbours, the largest, infinity, and what rounds in the middle.
 */
static const uint32_t single_bits[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x3f800000,
    0xbf800000, 0x3f800001, 0x3f7fffff, 0x40490fdb, 0x3eaaaaab, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0x1e3ce508, 0x20000000, 0x5f000000, 0x4b800001, 0x34000000, 0x33ffffff};
static const uint64_t double_bits[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000fffffffffffff, 0x0010000000000000, 0x0010000000000001, 0x3ff0000000000000,
    0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff, 0x400921fb54442d18,
    0x3fd5555555555555, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0x1e60000000000001, 0x2000000000000000};

/* Equal to the bit; any NaN is any other. */
static bool same_single(float a, float b)
{
  /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what is compared. */
  return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

static bool same_double(double a, double b)
{
  /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what is compared. */
  return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

/* Each step through memory: nothing is contracted, nothing is kept wider. */
static void expect_single(float a, float b, float *want)
{
  volatile float product = a * b, squares[2] = {a * a, b * b};
  want[0] = a + b;
  want[1] = a - b;
  want[2] = product;
  want[3] = a / b;
  want[4] = sqrtf(a);
  want[5] = fmaf(a, b, a);
  want[6] = product + a;
  want[7] = squares[0] - squares[1];
}

static void expect_double(double a, double b, double *want)
{
  volatile double product = a * b, squares[2] = {a * a, b * b};
  want[0] = a + b;
  want[1] = a - b;
  want[2] = product;
  want[3] = a / b;
  want[4] = sqrt(a);
  want[5] = fma(a, b, a);
  want[6] = product + a;
  want[7] = squares[0] - squares[1];
}

static void run_singles(conform *c)
{
  static uint32_t bits[2][PAIRS];
  static float a[PAIRS], b[PAIRS], out[PAIRS * 8];
  const uint32_t n = COUNT_OF(single_bits);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    bits[0][i] = i < n * n ? single_bits[i / n] : (uint32_t)conform_random(c);
    bits[1][i] = i < n * n ? single_bits[i % n] : (uint32_t)conform_random(c);
  }
  memcpy(a, bits[0], sizeof a);
  memcpy(b, bits[1], sizeof b);
  over_pairs(c, "singles", 64, a, b, PAIRS, 4, 8, out);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    float want[8];
    expect_single(a[i], b[i], want);
    for (uint32_t k = 0; k < 8; ++k)
      CHECK(c, same_single(out[i * 8 + k], want[k]),
            "operation %u of words.c/singles on %a and %a gives %a, expected is %a (LANG-002)", k,
            (double)a[i], (double)b[i], (double)out[i * 8 + k], (double)want[k]);
  }
}

static void run_doubles(conform *c)
{
  static uint64_t bits[2][PAIRS];
  static double a[PAIRS], b[PAIRS], out[PAIRS * 8];
  const uint32_t n = COUNT_OF(double_bits);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    bits[0][i] = i < n * n ? double_bits[i / n] : conform_random(c);
    bits[1][i] = i < n * n ? double_bits[i % n] : conform_random(c);
  }
  memcpy(a, bits[0], sizeof a);
  memcpy(b, bits[1], sizeof b);
  over_pairs(c, "doubles", 64, a, b, PAIRS, 8, 8, out);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    double want[8];
    expect_double(a[i], b[i], want);
    for (uint32_t k = 0; k < 8; ++k)
      CHECK(c, same_double(out[i * 8 + k], want[k]),
            "operation %u of words.c/doubles on %a and %a gives %a, expected is %a (LANG-002)", k,
            a[i], b[i], out[i * 8 + k], want[k]);
  }
}

static void run_convert(conform *c)
{
  static uint64_t a[PAIRS], b[PAIRS];
  static double right[PAIRS], out[PAIRS * 4];
  fill_pairs(c, a, b);
  for (uint32_t i = 0; i < PAIRS; ++i) /* magnitudes that a single holds, and some it does not */
    right[i] = (double)(int64_t)b[i] / (double)(1u << (i % 31));
  over_pairs(c, "convert", 64, a, right, PAIRS, 8, 4, out);
  for (uint32_t i = 0; i < PAIRS; ++i) {
    const int32_t low = (int32_t)(uint32_t)a[i];
    const double want[4] = {(double)a[i], (double)(float)a[i], (double)(float)low,
                            (double)(float)right[i]};
    for (uint32_t k = 0; k < 4; ++k)
      CHECK(c, same_double(out[i * 4 + k], want[k]),
            "conversion %u of 0x%llx and %a gives %a, expected is %a (LANG-002)", k,
            (unsigned long long)a[i], right[i], out[i * 4 + k], want[k]);
  }
}

static void run_lookup(conform *c)
{
  static const uint32_t primes[5] = {2, 3, 5, 7, 11};
  static uint32_t left[500], right[500], out[1000];
  unsigned char table[16];
  conform_launch launch;
  conform_random_fill(c, left, sizeof left);
  conform_random_fill(c, right, sizeof right);
  conform_random_fill(c, table, sizeof table);
  conform_launch_init(&launch, conform_kernel(c, "words", "lookup"));
  conform_launch_grid(&launch, 8, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, left, 500, 4, NULL);
  conform_launch_host(&launch, VYRE_READ_ONLY, right, 500, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 1000, 4, out);
  conform_launch_host(&launch, VYRE_READ_ONLY, table, 16, 1, NULL);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < 500; ++i) {
    uint32_t want = 0;
    for (uint32_t k = 0; k < 4; ++k)
      want |= (uint32_t)table[left[i] >> (8 * k) & 15] << (8 * k);
    CHECK(c, out[2 * i] == want, "vyre_lookup16() of 0x%x gives 0x%x, expected is 0x%x (LANG-006)",
          left[i], out[2 * i], want);
    CHECK(c, out[2 * i + 1] == primes[right[i] % 5], "a constant table is read wrongly (LANG-006)");
  }
}

/* ---- the same every time, however it is shared out ---- */

static void run_determinism(conform *c)
{
  static uint32_t bits[2][PAIRS];
  static float a[PAIRS], b[PAIRS], first[PAIRS * 8], out[PAIRS * 8];
  static const uint32_t sizes[] = {64, 1, 2, 7, 16, 32, 33, 63, 64, 64, 64};
  conform_random_fill(c, bits, sizeof bits);
  memcpy(a, bits[0], sizeof a);
  memcpy(b, bits[1], sizeof b);
  over_pairs(c, "singles", 64, a, b, PAIRS, 4, 8, first);
  for (uint32_t i = 0; i < COUNT_OF(sizes); ++i) {
    over_pairs(c, "singles", sizes[i], a, b, PAIRS, 4, 8, out);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what is compared. */
    CHECK(c, !memcmp(first, out, sizeof out),
          "with %u items a group the results differ from those of 64 (LANG-002)", sizes[i]);
  }
}

static const conform_case rows[] = {
    CORE_CASE("language.narrow", "LANG-001", CONFORM_NEEDS_KERNELS, run_narrow),
    CORE_CASE("language.wide", "LANG-001", CONFORM_NEEDS_KERNELS, run_wide),
    CORE_CASE("language.singles", "LANG-002", CONFORM_NEEDS_KERNELS, run_singles),
    CORE_CASE("language.doubles", "LANG-002", CONFORM_NEEDS_KERNELS, run_doubles),
    CORE_CASE("language.convert", "LANG-002", CONFORM_NEEDS_KERNELS, run_convert),
    CORE_CASE("language.lookup", "LANG-006", CONFORM_NEEDS_KERNELS, run_lookup),
    CORE_CASE("language.determinism", "LANG-002", CONFORM_NEEDS_KERNELS, run_determinism),
};
CONFORM_TABLE(conform_cases_language, rows);
