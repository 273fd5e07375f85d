/*
 * The bytes of a bundle (vyre_bundle_open).  The first byte says how the rest is given: as it is,
 * or (odd) with magic, size and hash made right, so that the rules behind them are reached.
 */
#include "core/program/bundle.h"
#include "tests/fuzz/fuzz.h"
#include "vyre.h"

static void seal(unsigned char *image, size_t size)
{
  if (size < VYRE__BUNDLE_HEADER)
    return;
  memcpy(image, VYRE__BUNDLE_MAGIC, 8);
  vyre__put_u64(image + VYRE__BUNDLE_AT_SIZE, size);
  vyre__put_u64(image + VYRE__BUNDLE_AT_HASH, vyre__bundle_hash(image, size));
}

/* Whatever was accepted can be read: texts end, all bytes are there. */
static void read_all(const vyre_bundle *bundle)
{
  const char *manifest = vyre_bundle_manifest(bundle);
  uint32_t count = 0;
  const vyre_code *code = vyre_bundle_code(bundle, &count);
  volatile uint64_t sum = manifest ? strlen(manifest) : 0;
  FUZZ_REQUIRE(code && count);
  for (uint32_t i = 0; i < count; ++i) {
    FUZZ_REQUIRE(code[i].format[0] && strlen(code[i].format) < VYRE__BUNDLE_FORMAT_SIZE);
    FUZZ_REQUIRE(strlen(code[i].arch) < VYRE__BUNDLE_ARCH_SIZE && code[i].size);
    for (uint64_t k = 0; k < code[i].size; ++k)
      sum += ((const unsigned char *)code[i].data)[k];
  }
  (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_input in = {data, size};
  fuzz_pool pool = {.count = 0};
  vyre_error err = VYRE_ERROR_INIT;
  vyre_bundle *bundle = NULL;
  const bool sealed = fuzz_byte(&in) & 1;
  size_t length = 0;
  unsigned char *image = fuzz_rest(&in, &pool, &length);
  vyre_status status;
  if (sealed)
    seal(image, length);
  status = vyre_bundle_open(image, length, &bundle, &err);
  fuzz_check_error(status, &err);
  FUZZ_REQUIRE((status == VYRE_OK) == (bundle != NULL));
  if (bundle)
    read_all(bundle);
  vyre_bundle_destroy(bundle);
  fuzz_free(&pool);
  return 0;
}
