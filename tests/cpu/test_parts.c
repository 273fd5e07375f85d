/*
 * test_parts.c - parts of the plugin by themselves: words in source, hashes, control groups, fibers
 * (built a second time on ucontext).
 */
#include "support.h"

#include "plugins/common/sha256.h"
#include "plugins/common/text.h"
#include "plugins/cpu/arch.h"
#include "plugins/cpu/container.h"
#include "plugins/cpu/fiber.h"
#include "plugins/cpu/topology.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has(const char *text)
{
  static const char *const words[] = {"vyre_barrier", "vyre_pause", NULL};
  /* A copy without a NUL, so that a read past its end is seen by AddressSanitizer. */
  size_t size = strlen(text);
  char *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): that is the point. */
  memcpy(copy, text, size);
  bool found = vyre__plugin_text_has_word(copy, size, words);
  free(copy);
  return found;
}

static void words_in_source(void **state)
{
  (void)state;
  assert_true(has("vyre_barrier"));
  assert_true(has("  vyre_pause();"));
  assert_true(has("a/vyre_barrier(c)"));
  assert_true(has("/* x */vyre_barrier(c)"));
  assert_true(has("// x\nvyre_barrier(c)"));
  assert_true(has("'\\'' vyre_barrier"));
  assert_true(has("\"\\\"\" vyre_barrier"));
  assert_true(has("\"cut off\n vyre_barrier"));
  assert_false(has(""));
  assert_false(has("vyre_barrier2"));
  assert_false(has("my_vyre_barrier"));
  assert_false(has("vyre_barrie"));
  assert_false(has("/* vyre_barrier */"));
  assert_false(has("/* vyre_barrier"));
  assert_false(has("// vyre_barrier"));
  assert_false(has("// a \\\n vyre_barrier"));
  assert_false(has("\"vyre_barrier\""));
  assert_false(has("\"\\\"vyre_barrier\""));
  assert_false(has("/*/ vyre_barrier */"));
  assert_false(has("/"));
  assert_false(has("\""));
  assert_false(has("\"\\"));
  assert_false(has("//\\"));
}

static void check_hash(const char *text, size_t repeat, const char *want)
{
  vyre__plugin_sha256 hash;
  unsigned char digest[VYRE__HASH_SIZE];
  char hex[2 * VYRE__HASH_SIZE + 1];
  vyre__plugin_sha256_init(&hash);
  for (size_t i = 0; i < repeat; ++i)
    vyre__plugin_sha256_add(&hash, text, strlen(text));
  vyre__plugin_sha256_final(&hash, digest);
  for (unsigned i = 0; i < sizeof(digest); ++i)
    snprintf(hex + (size_t)2 * i, 3, "%02x", digest[i]);
  assert_string_equal(hex, want);
}

/* The examples of FIPS 180-4. */
static void hashes(void **state)
{
  (void)state;
  check_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  check_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  check_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  check_hash("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* -------- control groups -------- */

static char root[PATH_MAX];

static void put(const char *path, const char *text)
{
  char full[2 * PATH_MAX];
  snprintf(full, sizeof(full), "%s/%s", root, path);
  for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(full, 0755);
    *slash = '/';
  }
  FILE *file = fopen(full, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static uint32_t limit(const char *list)
{
  char path[PATH_MAX + 16];
  put("list", list);
  snprintf(path, sizeof(path), "%s/list", root);
  return vyre__cpu_cgroup_limit(path, root);
}

static void control_groups(void **state)
{
  char command[PATH_MAX + 16];
  (void)state;
  snprintf(root, sizeof(root), "%s/cpu-cgroup-XXXXXX", VYRE_TEST_BINARY_DIR);
  assert_non_null(mkdtemp(root));
  put("a/b/c/cpu.max", "max 100000\n");
  put("a/b/cpu.max", "250000 100000\n");
  put("a/cpu.max", "400000 100000\n");
  put("one/cpu.max", "1000 100000\n");
  put("bad/cpu.max", "rubbish\n");
  put("cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
  put("cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
  put("cpu,cpuacct/x/cpu.cfs_quota_us", "500000\n");
  put("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  put("cpu/z/cpu.cfs_quota_us", "600000\n");
  put("cpu/z/cpu.cfs_period_us", "100000\n");
  assert_int_equal(limit("0::/a/b/c\n"), 3);
  assert_int_equal(limit("0::/a\n"), 4);
  assert_int_equal(limit("0::/one\n"), 1);
  assert_int_equal(limit("0::/bad\n"), 0);
  assert_int_equal(limit("0::/\n"), 0);
  assert_int_equal(limit("0::/nowhere\n"), 0);
  assert_int_equal(limit("5:memory:/a\n3:cpu,cpuacct:/x/y\n"), 5);
  assert_int_equal(limit("3:cpu,cpuacct:/z\n"), 6);
  assert_int_equal(limit("3:cpu,cpuacct:/x\n0::/a\n"), 4);
  assert_int_equal(limit("3:cpuset:/x\n"), 0);
  assert_int_equal(limit("rubbish\n\n::\n"), 0);
  assert_int_equal(vyre__cpu_cgroup_limit("/nonexistent/list", root), 0);
  snprintf(command, sizeof(command), "rm -rf '%s'", root);
  assert_int_equal(system(command), 0);
}

/* -------- levels and containers -------- */

static void levels(void **state)
{
  uint32_t count = 0;
  const vyre__cpu_level *all = vyre__cpu_levels(&count);
  char name[128];
  (void)state;
  assert_in_range(count, 1, VYRE__CPU_MAX_LEVELS);
  assert_true(vyre__cpu_level_runs(&all[count - 1]));
  assert_true(vyre__cpu_level_runs(vyre__cpu_level_best()));
  for (uint32_t i = 0; i < count; ++i)
    assert_ptr_equal(vyre__cpu_level_find(all[i].name), &all[i]);
  assert_ptr_equal(vyre__cpu_level_find(""), &all[count - 1]);
  assert_null(vyre__cpu_level_find("sm_90"));
  vyre__cpu_model_name(name, sizeof(name));
  assert_true(name[0] != '\0');
}

/* A container with one field changed and sealed again, as another build of vyre would make it. */
static void check_container(void (*change)(vyre__cpu_container *), const char *part)
{
  struct {
    vyre__cpu_container header;
    unsigned char code[128];
  } made;
  unsigned char key[VYRE__HASH_SIZE] = {1};
  vyre_error err = VYRE_ERROR_INIT;
  memset(&made, 0, sizeof(made));
  /* The seal covers the header, so that changes are sealed by hand here. */
  vyre__cpu_container_seal(&made.header, vyre__cpu_level_best()->name, key, sizeof(made.code));
  change(&made.header);
  vyre__plugin_sha256 hash;
  memset(made.header.hash, 0, sizeof(made.header.hash));
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, &made, sizeof(made));
  vyre__plugin_sha256_final(&hash, made.header.hash);
  assert_int_equal(vyre__cpu_container_check(&made, sizeof(made), "it", &err),
                   VYRE_ERROR_MODULE_FORMAT);
  assert_contains(err.message, part);
}

static void older_abi(vyre__cpu_container *header)
{
  header->native_abi = 1;
}

static void other_version(vyre__cpu_container *header)
{
  header->version += 1;
}

static void other_sanitizer(vyre__cpu_container *header)
{
  header->sanitizer = 3;
}

static void other_arch(vyre__cpu_container *header)
{
  memset(header->arch, 0, sizeof(header->arch));
  memcpy(header->arch, "x86-64-v9", 9);
}

static void no_change(vyre__cpu_container *header)
{
  (void)header;
}

static void containers_say_have_and_want(void **state)
{
  (void)state;
  check_container(older_abi, "native ABI 1, want 2");
  check_container(other_version, "version 2");
  check_container(other_sanitizer, "MemorySanitizer");
  check_container(other_arch, "x86-64-v9");
  check_container(no_change, "no ELF");
}

/* -------- fibers -------- */

typedef struct walk {
  vyre__cpu_fiber *fiber;
  double sum;
  uint32_t steps, stop;
} walk;

static void walk_main(void *argument)
{
  walk *w = argument;
  volatile char room[16384]; /* a good part of the stack */
  memset((char *)room, 1, sizeof(room));
  for (uint32_t i = 0; i < w->stop; ++i) {
    w->sum += 0.5 * room[i];
    w->steps += 1;
    vyre__cpu_fiber_suspend(w->fiber);
  }
}

static void *plain_allocate(void *self, uint64_t size, uint64_t align)
{
  (void)self;
  (void)align;
  return malloc(size);
}

static void plain_deallocate(void *self, void *memory)
{
  (void)self;
  free(memory);
}

static void fibers(void **state)
{
  enum { COUNT = 50 };
  const vyre_host host = {
      .struct_size = sizeof(host), .allocate = plain_allocate, .deallocate = plain_deallocate};
  vyre__cpu_home home = {0};
  walk walks[COUNT];
  (void)state;
  for (uint32_t i = 0; i < COUNT; ++i) {
    walks[i] = (walk){.fiber = vyre__cpu_fiber_create(&host)};
    assert_non_null(walks[i].fiber);
  }
  /* Finished, left in the middle, and started again. */
  for (uint32_t round = 0; round < 4; ++round) {
    for (uint32_t i = 0; i < COUNT; ++i) {
      walks[i].sum = walks[i].steps = 0;
      walks[i].stop = i;
      vyre__cpu_fiber_start(walks[i].fiber, walk_main, &walks[i]);
    }
    uint32_t turns = round % 2 ? COUNT + 1 : COUNT / 2;
    for (uint32_t t = 0; t < turns; ++t)
      for (uint32_t i = 0; i < COUNT; ++i)
        if (t <= i)
          assert_int_equal(vyre__cpu_fiber_resume(&home, walks[i].fiber), t < i);
    for (uint32_t i = 0; i < COUNT; ++i) {
      assert_int_equal(walks[i].steps, i < turns ? i : turns);
      assert_true(walks[i].sum == 0.5 * walks[i].steps);
    }
  }
  for (uint32_t i = 0; i < COUNT; ++i)
    vyre__cpu_fiber_destroy(&host, walks[i].fiber);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_in_source),
      cmocka_unit_test(hashes),
      cmocka_unit_test(control_groups),
      cmocka_unit_test(levels),
      cmocka_unit_test(containers_say_have_and_want),
      cmocka_unit_test(fibers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
