/*
 * fuzz.h - what the fuzz targets of this folder share.
 *
 * A target is a program around LLVMFuzzerTestOneInput().  Linked with libFuzzer it searches for
 * inputs (tests/fuzz/run); linked with replay.c it runs the committed ones in every test run.
 *
 * Targets that need a structure read the input as a list of edits of a sound one: the empty input
 * is the sound structure itself, a few bytes spoil one thing.  What is missing at the end of an
 * input reads as zeros.  Memory that is handed to the code under test is allocated for itself and
 * exactly as large as it says, so that AddressSanitizer sees a read behind it.
 */
#ifndef VYRE_TESTS_FUZZ_FUZZ_H
#define VYRE_TESTS_FUZZ_FUZZ_H

#include "vyre_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding: libFuzzer keeps the input, a replay fails. */
#define FUZZ_REQUIRE(condition)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      fuzz_fail(#condition, __FILE__, __LINE__);                                                   \
  } while (0)

_Noreturn static inline void fuzz_fail(const char *condition, const char *file, int line)
{
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  abort();
}

/* An error tells its code, what happened and what to do; err starts from VYRE_ERROR_INIT. */
static inline void fuzz_check_error(vyre_status status, const vyre_error *err)
{
  if (status == VYRE_OK)
    return;
  FUZZ_REQUIRE(status > 0 && status < VYRE_STATUS_COUNT);
  FUZZ_REQUIRE(err->code == status);
  FUZZ_REQUIRE(err->message[0] && memchr(err->message, 0, sizeof err->message));
  FUZZ_REQUIRE(err->fix[0] && memchr(err->fix, 0, sizeof err->fix));
  FUZZ_REQUIRE(memchr(err->where, 0, sizeof err->where));
}

/* ---- memory of one run ---- */

#define FUZZ_POOL_MOST 2048u

typedef struct fuzz_pool {
  void *blocks[FUZZ_POOL_MOST];
  size_t count;
} fuzz_pool;

/* Zeroed; there is always a pointer. */
static inline void *fuzz_keep(fuzz_pool *pool, size_t size)
{
  void *block = pool->count < FUZZ_POOL_MOST ? calloc(1, size ? size : 1) : NULL;
  if (!block) /* a limit of the target, no finding */
    exit(2);
  pool->blocks[pool->count++] = block;
  return block;
}

static inline void fuzz_free(fuzz_pool *pool)
{
  while (pool->count)
    free(pool->blocks[--pool->count]);
}

/* ---- the input ---- */

typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
} fuzz_input;

static inline uint8_t fuzz_byte(fuzz_input *in)
{
  if (!in->left)
    return 0;
  in->left -= 1;
  return *in->at++;
}

static inline uint64_t fuzz_raw(fuzz_input *in, unsigned bytes)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= (uint64_t)fuzz_byte(in) << (8 * i);
  return value;
}

/* One byte says most numbers: itself below 0xe0, then edges; 0xfe and 0xff: 4 or 8 bytes follow. */
static inline uint64_t fuzz_number(fuzz_input *in)
{
  static const uint64_t edges[] = {
      0x100,      0x400,         0x1000,         0xffff,     0x10000,        0xfffff,
      0x1000000,  0x7fffffff,    0x80000000,     0xfffffff8, 0xfffffffe,     0xffffffff,
      1ull << 32, 1ull << 40,    1ull << 56,     1ull << 59, 1ull << 60,     1ull << 61,
      1ull << 62, INT64_MAX - 7, INT64_MAX,      1ull << 63, UINT64_MAX / 3, UINT64_MAX - 127,
      -16ull,     -8ull,         UINT64_MAX - 1, UINT64_MAX};
  const uint8_t first = fuzz_byte(in);
  if (first == 0xff)
    return fuzz_raw(in, 8);
  if (first == 0xfe)
    return fuzz_raw(in, 4);
  if (first < 0xe0)
    return first;
  return edges[(first - 0xe0u) % (sizeof edges / sizeof edges[0])];
}

/* A text of its own: its length in one byte, then its bytes up to a NUL; 0xff: NULL. */
static inline char *fuzz_text(fuzz_input *in, fuzz_pool *pool)
{
  size_t length = fuzz_byte(in), used = 0;
  char *text = NULL;
  if (length == 0xff)
    return NULL;
  if (length > in->left)
    length = in->left;
  while (used < length && in->at[used])
    used += 1;
  text = fuzz_keep(pool, used + 1);
  if (used)
    memcpy(text, in->at, used);
  in->at += length;
  in->left -= length;
  return text;
}

/* What is left, in memory of its own. */
static inline void *fuzz_rest(fuzz_input *in, fuzz_pool *pool, size_t *out_size)
{
  void *rest = fuzz_keep(pool, in->left);
  *out_size = in->left;
  if (in->left)
    memcpy(rest, in->at, in->left);
  in->left = 0;
  return rest;
}

#endif
