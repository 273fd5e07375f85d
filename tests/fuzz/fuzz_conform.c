/*
 * Files that vyre-conform reads: exceptions, and with an odd first byte a certificate.
 */
#include "conformance/exceptions.h"
#include "conformance/reports.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- of the suite, what the two files need: one case ---- */

static const conform_case one = {.name = "bindings.zero_size", .rules = "DISP-005"};

const conform_case *conform_case_at(uint32_t index)
{
  return index ? NULL : &one;
}

const conform_case *conform_case_find(const char *name)
{
  return strcmp(name, one.name) ? NULL : &one;
}

const char *conform_profile_name(conform_profile profile)
{
  (void)profile;
  return "core";
}

json_t *conform_json(const conform_results *results, const conform_exceptions *exceptions)
{
  (void)results, (void)exceptions;
  return NULL;
}

bool conform_write_json(const char *path, json_t *object)
{
  (void)path, (void)object;
  return false;
}

/* ---- the files ---- */

static void read_exceptions(const char *path, conform_verdict verdict)
{
  static conform_exceptions exceptions;
  conform_result result = {.row = &one, .verdict = verdict};
  if (!conform_read_exceptions(path, &exceptions))
    return;
  FUZZ_REQUIRE(exceptions.count <= CONFORM_MAX_EXCEPTIONS);
  for (uint32_t i = 0; i < exceptions.count; ++i) {
    FUZZ_REQUIRE(memchr(exceptions.rows[i].name, 0, sizeof exceptions.rows[i].name));
    FUZZ_REQUIRE(exceptions.rows[i].reason[0] && exceptions.rows[i].expires[0]);
  }
  conform_apply_exception(&exceptions, &result);
  (void)conform_wrong_exceptions(&exceptions, verdict == CONFORM_PASS);
  FUZZ_REQUIRE(memchr(result.text, 0, sizeof result.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static int file = -1;
  fuzz_input in = {data, size};
  const uint8_t what = fuzz_byte(&in);
  char path[64];
  if (file < 0)
    file = memfd_create("file.json", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, in.at, in.left, 0) != (ssize_t)in.left)
    exit(2);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (what & 1)
    (void)conform_verify(path, what & 2 ? path : NULL);
  else
    read_exceptions(path, (what >> 1) & 1 ? CONFORM_FAIL : CONFORM_PASS);
  return 0;
}
