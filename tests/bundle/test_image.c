/* vyre_bundle_open(): a bundle by hand, and all the ways in which an image can be broken. */
#include "core/base/alloc.h"
#include "core/program/bundle.h"
#include "vyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * Two kernels and a manifest, laid out as docs/bundle.md says:
 *   0 header, 64 table, 288 manifest "{}", 304 code "one", 320 code "second"
 */
#define MANIFEST 288u
#define FIRST 304u
#define SECOND 320u
#define SIZE 326u

typedef unsigned char image[SIZE];

static unsigned char *entry(unsigned char *bytes, uint32_t index)
{
  return bytes + VYRE__BUNDLE_HEADER + index * VYRE__BUNDLE_ENTRY;
}

/* Makes the hash right again, so that the rule behind it is reached. */
static void seal(unsigned char *bytes, uint64_t size)
{
  vyre__put_u64(bytes + VYRE__BUNDLE_AT_HASH, vyre__bundle_hash(bytes, size));
}

static void put_text(unsigned char *to, const char *text)
{
  for (; *text; ++text)
    *to++ = (unsigned char)*text;
}

static void make(image bytes)
{
  memset(bytes, 0, SIZE);
  put_text(bytes, VYRE__BUNDLE_MAGIC);
  vyre__put_u32(bytes + VYRE__BUNDLE_AT_VERSION, 1);
  vyre__put_u32(bytes + VYRE__BUNDLE_AT_COUNT, 2);
  vyre__put_u64(bytes + VYRE__BUNDLE_AT_SIZE, SIZE);
  vyre__put_u64(bytes + VYRE__BUNDLE_AT_MANIFEST, MANIFEST);
  vyre__put_u64(bytes + VYRE__BUNDLE_AT_MANIFEST_SIZE, 3);
  put_text(bytes + MANIFEST, "{}");
  put_text(entry(bytes, 0), "native");
  put_text(entry(bytes, 0) + VYRE__BUNDLE_ENTRY_AT_ARCH, "x86-64");
  vyre__put_u64(entry(bytes, 0) + VYRE__BUNDLE_ENTRY_AT_OFFSET, FIRST);
  vyre__put_u64(entry(bytes, 0) + VYRE__BUNDLE_ENTRY_AT_SIZE, 3);
  put_text(bytes + FIRST, "one");
  put_text(entry(bytes, 1), "ptx");
  vyre__put_u64(entry(bytes, 1) + VYRE__BUNDLE_ENTRY_AT_OFFSET, SECOND);
  vyre__put_u64(entry(bytes, 1) + VYRE__BUNDLE_ENTRY_AT_SIZE, 6);
  put_text(bytes + SECOND, "second");
  seal(bytes, SIZE);
}

static void test_good(void **state)
{
  image bytes;
  vyre_bundle *bundle = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_code *code = NULL;
  uint32_t count = 0;
  (void)state;
  make(bytes);
  if (vyre_bundle_open(bytes, SIZE, &bundle, &err))
    fail_msg("%s", err.message);
  code = vyre_bundle_code(bundle, &count);
  assert_int_equal(count, 2);
  assert_string_equal(code[0].format, "native");
  assert_string_equal(code[0].arch, "x86-64");
  assert_int_equal(code[0].size, 3);
  assert_memory_equal(code[0].data, "one", 3);
  assert_string_equal(code[1].format, "ptx");
  assert_string_equal(code[1].arch, "");
  assert_ptr_equal(code[1].data, bytes + SECOND);
  assert_string_equal(vyre_bundle_manifest(bundle), "{}");
  vyre_bundle_destroy(bundle);

  vyre__put_u64(bytes + VYRE__BUNDLE_AT_MANIFEST, 0);
  vyre__put_u64(bytes + VYRE__BUNDLE_AT_MANIFEST_SIZE, 0);
  seal(bytes, SIZE);
  assert_int_equal(vyre_bundle_open(bytes, SIZE, &bundle, NULL), VYRE_OK);
  assert_null(vyre_bundle_manifest(bundle));
  vyre_bundle_destroy(bundle);

  vyre_bundle_destroy(NULL);
  count = 7;
  assert_null(vyre_bundle_code(NULL, &count));
  assert_int_equal(count, 0);
  assert_null(vyre_bundle_manifest(NULL));
  assert_int_equal(vyre_bundle_open(NULL, 0, &bundle, NULL), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(vyre_bundle_open(bytes, SIZE, NULL, NULL), VYRE_ERROR_INVALID_ARGUMENT);
}

/* In an allocation of exactly `size` bytes, so that a sanitizer sees a read behind it. */
static vyre_status open_copy(const unsigned char *bytes, uint64_t size, vyre_error *err)
{
  vyre_bundle *bundle = NULL;
  unsigned char *copy = malloc(size ? size : 1);
  vyre_status status;
  assert_non_null(copy);
  memcpy(copy, bytes, size);
  status = vyre_bundle_open(copy, size, &bundle, err);
  if (status == VYRE_OK) {
    uint32_t count = 0;
    const vyre_code *code = vyre_bundle_code(bundle, &count);
    uint64_t sum = 0;
    /* All that it points to lies in the image. */
    for (uint32_t i = 0; i < count; ++i) {
      sum += vyre__fnv(0, code[i].data, code[i].size) + strlen(code[i].format);
      sum += strlen(code[i].arch);
      assert_int_equal(((const unsigned char *)code[i].data - copy) % 16, 0);
    }
    if (vyre_bundle_manifest(bundle))
      sum += strlen(vyre_bundle_manifest(bundle));
    assert_true(sum || !sum);
    vyre_bundle_destroy(bundle);
  } else {
    assert_int_equal(status, VYRE_ERROR_MODULE_FORMAT);
    assert_null(bundle);
  }
  free(copy);
  return status;
}

static void test_truncated(void **state)
{
  image bytes;
  (void)state;
  make(bytes);
  for (uint64_t size = 0; size < SIZE; ++size) {
    assert_int_equal(open_copy(bytes, size, NULL), VYRE_ERROR_MODULE_FORMAT);
    /* ... also when the header was adapted. */
    if (size >= VYRE__BUNDLE_HEADER) {
      vyre__put_u64(bytes + VYRE__BUNDLE_AT_SIZE, size);
      seal(bytes, size);
      assert_int_equal(open_copy(bytes, size, NULL), VYRE_ERROR_MODULE_FORMAT);
      make(bytes);
    }
  }
}

static void test_damaged(void **state)
{
  image bytes;
  (void)state;
  make(bytes);
  for (uint64_t bit = 0; bit < SIZE * 8; ++bit) {
    bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    assert_int_equal(open_copy(bytes, SIZE, NULL), VYRE_ERROR_MODULE_FORMAT);
    bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
  }
  assert_int_equal(open_copy(bytes, SIZE, NULL), VYRE_OK);
}

/* Number `value` of `width` bytes at `offset`, with a right hash. */
typedef struct attack {
  uint32_t offset;
  uint32_t width;
  uint64_t value;
  const char *message;
} attack;

#define ENTRY(index, field) (64u + (index)*112u + VYRE__BUNDLE_ENTRY_AT_##field)

static const attack attacks[] = {
    {VYRE__BUNDLE_AT_VERSION, 4, 2, "version 2"},
    {VYRE__BUNDLE_AT_VERSION, 4, 0, "version 0"},
    {VYRE__BUNDLE_AT_COUNT, 4, 0, "0 kernels"},
    {VYRE__BUNDLE_AT_COUNT, 4, 3, "3 kernels, it has room for 2"},
    {VYRE__BUNDLE_AT_COUNT, 4, UINT32_MAX, "4294967295 kernels"},
    {VYRE__BUNDLE_AT_SIZE, 8, UINT64_MAX, "its header says"},
    {VYRE__BUNDLE_AT_MANIFEST, 8, 0, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST, 8, 64, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST, 8, UINT64_MAX, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST_SIZE, 8, 0, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST_SIZE, 8, 2, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST_SIZE, 8, 4, "manifest"},
    {VYRE__BUNDLE_AT_MANIFEST_SIZE, 8, UINT64_MAX, "manifest"},
    {VYRE__BUNDLE_AT_RESERVED, 4, 1, "reserved"},
    {VYRE__BUNDLE_HEADER - 1, 1, 1, "reserved"},
    {64, 1, 0, "no text"},
    {ENTRY(0, OFFSET), 8, 0, "kernel 0"},
    {ENTRY(0, OFFSET), 8, 64, "kernel 0"},
    {ENTRY(0, OFFSET), 8, 288, "kernel 0"},
    {ENTRY(0, OFFSET), 8, FIRST + 1, "kernel 0"},
    {ENTRY(0, OFFSET), 8, SECOND, "kernel 1"},
    {ENTRY(0, OFFSET), 8, 1ull << 62, "kernel 0"},
    {ENTRY(0, SIZE), 8, 0, "kernel 0"},
    {ENTRY(0, SIZE), 8, 17, "kernel 1"},
    {ENTRY(0, SIZE), 8, UINT64_MAX, "kernel 0"},
    {ENTRY(1, OFFSET), 8, FIRST, "kernel 1"},
    {ENTRY(1, OFFSET), 8, SECOND + 16, "kernel 1"},
    {ENTRY(1, SIZE), 8, 7, "kernel 1"},
    {ENTRY(1, SIZE), 8, UINT64_MAX - SECOND + 1, "kernel 1"},
};

static void test_attacks(void **state)
{
  image bytes;
  (void)state;
  for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; ++i) {
    unsigned char number[8];
    vyre_error err = VYRE_ERROR_INIT;
    make(bytes);
    vyre__put_u64(number, attacks[i].value);
    memcpy(bytes + attacks[i].offset, number, attacks[i].width);
    seal(bytes, SIZE);
    if (open_copy(bytes, SIZE, &err) != VYRE_ERROR_MODULE_FORMAT ||
        !strstr(err.message, attacks[i].message))
      fail_msg("attack %zu: '%s', not '%s'", i, err.message, attacks[i].message);
  }
  /* Texts without an end. */
  make(bytes);
  memset(entry(bytes, 0), 'f', VYRE__BUNDLE_FORMAT_SIZE);
  seal(bytes, SIZE);
  assert_int_equal(open_copy(bytes, SIZE, NULL), VYRE_ERROR_MODULE_FORMAT);
  make(bytes);
  memset(entry(bytes, 1) + VYRE__BUNDLE_ENTRY_AT_ARCH, 'a', VYRE__BUNDLE_ARCH_SIZE);
  seal(bytes, SIZE);
  assert_int_equal(open_copy(bytes, SIZE, NULL), VYRE_ERROR_MODULE_FORMAT);
}

/* Random changes of header and table, with a right hash: refused, or sound all the same. */
static void test_random(void **state)
{
  image bytes;
  uint64_t random = 88172645463325252u;
  uint32_t sound = 0;
  (void)state;
  for (int round = 0; round < 30000; ++round) {
    make(bytes);
    for (int change = 0; change <= round % 3; ++change) {
      random ^= random << 13; /* xorshift64, George Marsaglia 2003 */
      random ^= random >> 7;
      random ^= random << 17;
      bytes[8 + random % (MANIFEST - 8)] = (unsigned char)(random >> 32);
    }
    vyre__put_u64(bytes + VYRE__BUNDLE_AT_SIZE, SIZE);
    seal(bytes, SIZE);
    sound += open_copy(bytes, SIZE, NULL) == VYRE_OK;
  }
  assert_true(sound > 0); /* a changed letter of a name is one */
}

static void test_no_memory(void **state)
{
  image bytes;
  vyre_bundle *bundle = NULL;
  (void)state;
  make(bytes);
  vyre__test_fail_allocation(1);
  assert_int_equal(vyre_bundle_open(bytes, SIZE, &bundle, NULL), VYRE_ERROR_OUT_OF_HOST_MEMORY);
  vyre__test_fail_allocation(0);
  assert_null(bundle);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_good),    cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_damaged), cmocka_unit_test(test_attacks),
      cmocka_unit_test(test_random),  cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
