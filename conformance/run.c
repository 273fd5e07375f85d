/* run.c - one case in its own process: verdicts, random numbers; see case.h. */
#include "conformance/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- verdicts ---- */

/* The text first: the parent reads it once it sees the state. */
static _Noreturn void end(conform *c, conform_state state)
{
  __atomic_store_n(&c->report->state, state, __ATOMIC_RELEASE);
  _exit(0);
}

void conform_fail(conform *c, const char *file, int line, const char *format, ...)
{
  const char *name = strrchr(file, '/');
  va_list arguments;
  int used = 0;
  va_start(arguments, format);
  used = vsnprintf(c->report->text, sizeof c->report->text, format, arguments);
  va_end(arguments);
  if (used >= 0 && (size_t)used < sizeof c->report->text)
    snprintf(c->report->text + used, sizeof c->report->text - (size_t)used, " [%s:%d]",
             name ? name + 1 : file, line);
  end(c, CONFORM_STATE_FAILED);
}

void conform_not_supported(conform *c, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(c->report->text, sizeof c->report->text, format, arguments);
  va_end(arguments);
  end(c, CONFORM_STATE_NOT_SUPPORTED);
}

void conform_expect_ok(conform *c, vyre_status status, const vyre_error *err, const char *call,
                       const char *file, int line)
{
  if (status != VYRE_OK)
    conform_fail(c, file, line, "%s returned %d: %.1200s", call, (int)status,
                 err->message[0] ? err->message : "(no text)");
}

void conform_expect_error(conform *c, vyre_status status, const vyre_error *err, vyre_status code,
                          vyre_status other, const char *call, const char *file, int line)
{
  if (status == VYRE_OK)
    conform_fail(c, file, line, "%s succeeded, it must fail with %d", call, (int)code);
  if (status != code && status != other)
    conform_fail(c, file, line, "%s returned %d (%.600s), it must fail with %d", call, (int)status,
                 err->message, (int)code);
  if (err->code != status)
    conform_fail(c, file, line, "%s returned %d and stored the code %d (ABI-009)", call,
                 (int)status, (int)err->code);
  if (!err->message[0])
    conform_fail(c, file, line, "%s failed with %d and has no text (ABI-009)", call, (int)status);
}

/* ---- what the run is about ---- */

const char *conform_plugin_path(const conform *c)
{
  return c->plugin;
}

uint32_t conform_device_index(const conform *c)
{
  return c->device_index;
}

/* SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
uint64_t conform_random(conform *c)
{
  uint64_t z = c->random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t conform_random_below(conform *c, uint64_t n)
{
  return conform_random(c) % n; /* the bias is of no matter for a choice of tests */
}

void conform_random_fill(conform *c, void *bytes, uint64_t size)
{
  unsigned char *to = bytes;
  for (uint64_t i = 0; i < size; ++i)
    to[i] = (unsigned char)conform_random(c);
}
