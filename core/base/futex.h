/*
 * futex.h - sleeping on a 32-bit word (Linux futex(2)), also between processes.
 *
 * A sleeper reads the word, looks again at its condition, and sleeps only while the word is still
 * what it read; a waker changes the word first.
 */
#ifndef VYRE_CORE_BASE_FUTEX_H
#define VYRE_CORE_BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Sleeps while *word == expected, at most until `deadline` (monotonic nanoseconds, UINT64_MAX for
 * never).  May return early for no reason; the caller looks at its condition again.
 */
static inline void vyre__futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline)
{
  struct timespec until;
  until.tv_sec = (time_t)(deadline / 1000000000u);
  until.tv_nsec = (long)(deadline % 1000000000u);
  /* WAIT_BITSET takes an absolute time on the monotonic clock. */
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET, expected, deadline == UINT64_MAX ? NULL : &until,
          NULL, FUTEX_BITSET_MATCH_ANY);
}

static inline void vyre__futex_wake(uint32_t *word, int count)
{
  syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

static inline void vyre__futex_wake_all(uint32_t *word)
{
  vyre__futex_wake(word, INT_MAX);
}

#endif
