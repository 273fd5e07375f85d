/* Every row of fixture_faults.def: how far it comes, what is said of it, and that nothing stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/plugins/with_fixture.h"
#include "vyre_build.h"

static const char *const rows[] = {
#define FAULT(name, description) #name,
#include "tests/plugins/fixture_faults.def"
#undef FAULT
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

typedef struct expectation {
  const char *fault;
  vyre_candidate_stage stage;
  vyre_status status;
  const char *message; /* a part of it */
  const char *fix;
} expectation;

#define SOUND(fault)                                                                               \
  {                                                                                                \
#fault, VYRE_CANDIDATE_LOADED, VYRE_OK, "", ""                                                 \
  }
#define HANDSHAKE(fault, status, message, fix)                                                     \
  {                                                                                                \
#fault, VYRE_CANDIDATE_HANDSHAKE, VYRE_ERROR_##status, message, fix                            \
  }
#define DEVICES(fault, status, message, fix)                                                       \
  {                                                                                                \
#fault, VYRE_CANDIDATE_DEVICES, VYRE_ERROR_##status, message, fix                              \
  }
#define SANITIZER(fault, flag)                                                                     \
  {                                                                                                \
#fault, VYRE_CANDIDATE_ELF, VYRE_ERROR_UNSUPPORTED, "built with -fsanitize=" flag,             \
        "without -fsanitize=" flag                                                                 \
  }

static const expectation expectations[] = {
    SOUND(none),
    SOUND(shadowed),
    SOUND(large_table),
    SOUND(no_unload),
    SOUND(tier_1),
    SOUND(info_unterminated),
    SOUND(open_fails),
    SOUND(open_null),
    SOUND(error_without_text),
    SOUND(terminal_codes),
    SOUND(unknown_code),
    SOUND(alloc_fails),
    SOUND(alloc_null),
    SOUND(lost),
    SOUND(one_output_less),
    SOUND(wrong_output_tag),
    SOUND(no_kernel),
    SOUND(minor_1),
    SOUND(minor_next),
    SOUND(promises_later),
    {"no_device", VYRE_CANDIDATE_LOADED, VYRE_OK, "sees no device", "hardware"},
    HANDSHAKE(no_symbol, NOT_A_PLUGIN, "does not export vyre_backend_query", "exports"),
    HANDSHAKE(wrong_abi, ABI_MISMATCH, "it speaks ABI 7.3, this host 0.3", "this version of vyre"),
    HANDSHAKE(minor_too_new, ABI_MISMATCH, "ABI 0.43, this host asked for 0.1 to 0.3",
              "this version"),
    HANDSHAKE(header_mismatch, ABI_MISMATCH, "header 3.3, and speaks ABI 0.3", "update"),
    HANDSHAKE(refuses_abi, ABI_MISMATCH, "speaks ABI 9.1, the host 0.3", "fixture"),
    HANDSHAKE(refusing, REFUSED, "does not like this host", "fixture"),
    HANDSHAKE(refusing_silently, REFUSED, "without a text (ABI-009)", "own text"),
    HANDSHAKE(null_with_ok, ABI_MISMATCH, "gave no table (ABI-020)", "update"),
    HANDSHAKE(short_struct, ABI_MISMATCH, "bytes, at least", "this version"),
    HANDSHAKE(short_0_2, ABI_MISMATCH, "speaks ABI 0.3 with a table of", "update"),
    HANDSHAKE(unknown_flags, ABI_MISMATCH, "flags 0x10000000000", "update"),
    HANDSHAKE(bad_name, ABI_MISMATCH, "'Bad Name!' is not", "update"),
    HANDSHAKE(reserved_name, ABI_MISMATCH, "'gpu' is a word", "update"),
    HANDSHAKE(no_version, ABI_MISMATCH, "no version text", "update"),
    HANDSHAKE(slot_null, ABI_MISMATCH, "required slot dispatch is NULL", "update"),
    HANDSHAKE(half_tier_2, ABI_MISMATCH, "buffer_fill is NULL", "update"),
    HANDSHAKE(no_formats, ABI_MISMATCH, "no kernel format", "update"),
    HANDSHAKE(absurd_stride, ABI_MISMATCH, "are believed", "update"),
    HANDSHAKE(absurd_formats, ABI_MISMATCH, "are believed", "update"),
    HANDSHAKE(no_prelude, ABI_MISMATCH, "no prelude", "update"),
    HANDSHAKE(says_asan, UNSUPPORTED, "-fsanitize=address", "without a sanitizer"),
    {"missing_dependency", VYRE_CANDIDATE_OPEN, VYRE_ERROR_NOT_FOUND, "libvyre_gone.so.1",
     "install the library"},
    SANITIZER(asan, "address"),
    SANITIZER(tsan, "thread"),
    SANITIZER(ubsan, "undefined"),
    DEVICES(caps_disagree, ABI_MISMATCH, "promises VYRE_CAP_BUFFERS without", "update"),
    DEVICES(native_no_groups, ABI_MISMATCH,
            "promises grid_sync NATIVE without cooperative_groups (ABI-003)", "update"),
    DEVICES(emulated_no_passes, ABI_MISMATCH,
            "promises grid_sync EMULATED without dispatch_passes (ABI-003)", "update"),
    DEVICES(emulated_no_buffers, ABI_MISMATCH,
            "'Fixture 4' promises grid_sync EMULATED without VYRE_CAP_BUFFERS", "update"),
    DEVICES(unknown_grid_sync, ABI_MISMATCH, "says grid_sync 3, ABI 0.3 knows 0 to 2", "update"),
    DEVICES(clockless, ABI_MISMATCH, "promises VYRE_CAP_TIMESTAMPS without device_clock", "update"),
    DEVICES(devices_fail, INTERNAL, "cannot count its devices", "fixture"),
    DEVICES(vendor_missing, VENDOR_LIBRARY, "tried: FIXTURE_LIBRARY", "fixture"),
    DEVICES(many_devices, ABI_MISMATCH, "4294967295", "update"),
    DEVICES(info_fails, NOT_FOUND, "no device 1", "fixture"),
    DEVICES(info_short, ABI_MISMATCH, "device_info filled", "update"),
    DEVICES(info_too_large, ABI_MISMATCH, "device_info filled", "update"),
    DEVICES(info_broken, ABI_MISMATCH, "says compute_units 0, at least 1", "update"),
    DEVICES(twin_ids, ABI_MISMATCH, "the same id '0000:c1:00.0'", "update"),
};

static const expectation *expected(const char *fault)
{
  size_t i;
  for (i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
    if (!strcmp(expectations[i].fault, fault))
      return &expectations[i];
  fail_msg("no expectation for the fault '%s'", fault);
  return NULL;
}

/* Sanitizer faults are built and told apart only in a build without one. */
static bool is_left_out(const char *fault)
{
  static const char *const only_plain[] = {"asan", "tsan", "ubsan", "says_asan"};
  size_t i;
  if (!VYRE_BUILD_SANITIZE[0])
    return false;
  for (i = 0; i < sizeof only_plain / sizeof only_plain[0]; i++)
    if (!strcmp(only_plain[i], fault))
      return true;
  return false;
}

static bool is_usable(const expectation *row)
{
  return row->stage == VYRE_CANDIDATE_LOADED || row->stage == VYRE_CANDIDATE_DEVICES;
}

static void check_candidate(const vyre_context *context, const expectation *row)
{
  vyre_candidate candidate = VYRE_CANDIDATE_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  assert_int_equal(vyre_context_candidate_count(context), 1);
  assert_int_equal(vyre_context_candidate(context, 0, &candidate, &err), VYRE_OK);
  if (candidate.stage != row->stage || candidate.status != row->status ||
      !strstr(candidate.message, row->message) || !strstr(candidate.fix, row->fix))
    fail_msg("%s: stage %u status %s\n  message %s\n  fix %s", row->fault, candidate.stage,
             vyre_status_name(candidate.status), candidate.message, candidate.fix);
  if (row->status || row->message[0]) {
    assert_true(candidate.message[0]);
    assert_true(candidate.fix[0]);
  } else {
    assert_string_equal(candidate.message, "");
    assert_string_equal(candidate.fix, "");
  }
  if (is_usable(row)) {
    assert_non_null(strstr(candidate.name, "fixture"));
    assert_string_equal(candidate.version, "1.0");
  } else {
    assert_string_equal(candidate.name, "");
  }
  assert_int_equal(candidate.device_count, vyre_context_device_count(context));
  if (row->stage == VYRE_CANDIDATE_LOADED && !row->message[0])
    assert_int_equal(candidate.device_count, FIXTURE_DEVICES);
  else
    assert_int_equal(candidate.device_count, 0);
}

static void check_not_mapped(const char *fault)
{
  char path[FIXTURE_PATH_SIZE];
  fixture_path(fault, path);
  if (is_mapped(strrchr(path, '/')))
    fail_msg("%s is still mapped", path);
}

/* Found in a folder: the context is made all the same. */
static void test_found(void **state)
{
  size_t i;
  (void)state;
  for (i = 0; i < ROW_COUNT; i++) {
    const expectation *row = expected(rows[i]);
    vyre_context *context = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    char folder[FIXTURE_PATH_SIZE];
    if (is_left_out(rows[i]))
      continue;
    make_folder(folder);
    put_plugin(folder, "any", rows[i]);
    assert_int_equal(context_of_path(folder, &context, &err), VYRE_OK);
    check_candidate(context, row);
    if (!is_usable(row))
      check_not_mapped(rows[i]);
    vyre_context_destroy(context);
    if (strcmp(rows[i], "no_unload") != 0)
      check_not_mapped(rows[i]);
    remove_folder(folder);
  }
}

/* Named: the context fails with what the file failed with, and the file is in the message. */
static void test_named(void **state)
{
  size_t i;
  (void)state;
  for (i = 0; i < ROW_COUNT; i++) {
    const expectation *row = expected(rows[i]);
    vyre_context *context = (vyre_context *)&context;
    vyre_error err = VYRE_ERROR_INIT;
    vyre_status status;
    if (is_left_out(rows[i]))
      continue;
    status = fixture_context(rows[i], &context, &err);
    if (is_usable(row)) {
      assert_int_equal(status, VYRE_OK);
      vyre_context_destroy(context);
    } else {
      assert_int_equal(status, row->status);
      assert_ptr_equal(context, &context);
      assert_int_equal(err.code, status);
      assert_non_null(strstr(err.message, "libvyre_fixture_"));
      assert_non_null(strstr(err.message, row->message));
      assert_non_null(strstr(err.fix, row->fix));
      check_not_mapped(rows[i]);
    }
  }
}

/* Texts without a NUL end where the structure's do. */
static void test_unterminated(void **state)
{
  vyre_device_info info = {0};
  vyre_context *context = NULL;
  (void)state;
  info.struct_size = sizeof info;
  assert_int_equal(fixture_context("info_unterminated", &context, NULL), VYRE_OK);
  assert_int_equal(vyre_context_device_info(context, 0, &info, NULL), VYRE_OK);
  assert_int_equal(strlen(info.name), VYRE_DEVICE_NAME_SIZE - 1);
  assert_int_equal(strlen(info.arch), VYRE_DEVICE_ID_SIZE - 1);
  assert_int_equal(strlen(info.grid_sync_reason), VYRE_DEVICE_REASON_SIZE - 1);
  vyre_context_destroy(context);
}

/* No plugin's code ran when the file alone shows the fault. */
static void test_code_not_run(void **state)
{
  static const char *const faults[] = {"asan", "tsan", "no_symbol"};
  size_t i;
  (void)state;
  for (i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    vyre_context *context = NULL;
    if (is_left_out(faults[i]))
      continue;
    assert_int_not_equal(fixture_context(faults[i], &context, NULL), VYRE_OK);
    if (!VYRE_BUILD_SANITIZE[0])
      assert_false(is_mapped("libasan") || is_mapped("libtsan"));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_found),
      cmocka_unit_test(test_named),
      cmocka_unit_test(test_unterminated),
      cmocka_unit_test(test_code_not_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
