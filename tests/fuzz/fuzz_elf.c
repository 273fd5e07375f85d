/*
 * Arbitrary files where a plugin is looked for (vyre__elf_check).  Nothing is opened: the check is
 * what decides whether dlopen() may see the file.
 */
#include "core/base/alloc.h"
#include "core/loader/elf.h"
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static int file = -1;
  char path[64];
  vyre_candidate_stage stage = VYRE_CANDIDATE_LOADED;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status;
  if (file < 0)
    file = memfd_create("plugin.so", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
    exit(2);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  status = vyre__elf_check(path, &vyre__default_allocator, &stage, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE(stage == VYRE_CANDIDATE_ELF || (status && stage == VYRE_CANDIDATE_HANDSHAKE));
  FUZZ_REQUIRE(status != VYRE_ERROR_OUT_OF_HOST_MEMORY);
  return 0;
}
