/* The ELF check on files that are damaged, hostile, or no files at all.  Nothing is opened. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/loader/elf.h"
#include "tests/plugins/with_fixture.h"

typedef struct image {
  unsigned char *bytes;
  size_t size;
} image;

static char folder[FIXTURE_PATH_SIZE];
static char file_path[FIXTURE_PATH_SIZE + 16];
static int file = -1;
static image sound;

static image read_image(const char *path)
{
  image of = {NULL, 0};
  FILE *from = fopen(path, "rb");
  assert_non_null(from);
  assert_int_equal(fseek(from, 0, SEEK_END), 0);
  of.size = (size_t)ftell(from);
  rewind(from);
  of.bytes = malloc(of.size);
  assert_non_null(of.bytes);
  assert_int_equal(fread(of.bytes, 1, of.size, from), of.size);
  fclose(from);
  return of;
}

/* The file lies in memory: thousands of versions of it cost no disk. */
static void write_image(const unsigned char *bytes, size_t size)
{
  assert_int_equal(pwrite(file, bytes, size, 0), (ssize_t)size);
  assert_int_equal(ftruncate(file, (off_t)size), 0);
}

static vyre_status check(const char *path, vyre_candidate_stage *out_stage, vyre_error *err)
{
  return vyre__elf_check(path, &vyre__default_allocator, out_stage, err);
}

/* A failure has a stage before OPEN or is "no entry symbol", a text and a fix. */
static vyre_status check_file(void)
{
  vyre_candidate_stage stage = VYRE_CANDIDATE_LOADED;
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = check(file_path, &stage, &err);
  if (status) {
    assert_true(stage == VYRE_CANDIDATE_FILE || stage == VYRE_CANDIDATE_ELF ||
                stage == VYRE_CANDIDATE_HANDSHAKE);
    assert_int_equal(err.code, status);
    assert_true(err.message[0] && err.fix[0]);
    assert_int_not_equal(status, VYRE_ERROR_OUT_OF_HOST_MEMORY);
  }
  return status;
}

static void expect(const char *path, vyre_candidate_stage stage, vyre_status status,
                   const char *message)
{
  vyre_candidate_stage got = VYRE_CANDIDATE_LOADED;
  vyre_error err = VYRE_ERROR_INIT;
  assert_int_equal(check(path, &got, &err), status);
  assert_int_equal(got, stage);
  if (!strstr(err.message, message))
    fail_msg("%s: '%s' does not hold '%s'", path, err.message, message);
  assert_true(err.fix[0]);
}

static void put_file(const char *path)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  close(fd);
}

static void test_sound(void **state)
{
  (void)state;
  write_image(sound.bytes, sound.size);
  assert_int_equal(check_file(), VYRE_OK);
}

/* ---- what is no file ---- */

static void test_not_files(void **state)
{
  char path[FIXTURE_PATH_SIZE + 32], other[FIXTURE_PATH_SIZE + 32];
  (void)state;
  snprintf(path, sizeof path, "%s/absent.so", folder);
  expect(path, VYRE_CANDIDATE_FILE, VYRE_ERROR_NOT_FOUND, "no such file");
  snprintf(path, sizeof path, "%s/plain", folder);
  put_file(path);
  snprintf(path, sizeof path, "%s/plain/below", folder);
  expect(path, VYRE_CANDIDATE_FILE, VYRE_ERROR_NOT_FOUND, "no such file");
  expect(folder, VYRE_CANDIDATE_FILE, VYRE_ERROR_IO, "folder");
  expect("/dev/zero", VYRE_CANDIDATE_FILE, VYRE_ERROR_IO, "regular");
  snprintf(path, sizeof path, "%s/pipe.so", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  expect(path, VYRE_CANDIDATE_FILE, VYRE_ERROR_IO, "regular");
  snprintf(path, sizeof path, "%s/loop_a.so", folder);
  snprintf(other, sizeof other, "%s/loop_b.so", folder);
  assert_int_equal(symlink(path, other), 0);
  assert_int_equal(symlink(other, path), 0);
  expect(path, VYRE_CANDIDATE_FILE, VYRE_ERROR_IO, "opened");
  snprintf(path, sizeof path, "%s/dangling.so", folder);
  assert_int_equal(symlink("nowhere", path), 0);
  expect(path, VYRE_CANDIDATE_FILE, VYRE_ERROR_NOT_FOUND, "no such file");
}

/* Root reads everything: a child without its rights looks. */
static void test_unreadable(void **state)
{
  char path[FIXTURE_PATH_SIZE + 32];
  int result = 0;
  pid_t child;
  (void)state;
  snprintf(path, sizeof path, "%s/closed", folder);
  put_file(path);
  assert_int_equal(chmod(folder, 0755), 0);
  assert_int_equal(chmod(path, 0), 0);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    vyre_candidate_stage stage = VYRE_CANDIDATE_LOADED;
    if (geteuid() == 0 && setuid(65534) != 0)
      _exit(0);
    _exit(check(path, &stage, NULL) == VYRE_ERROR_IO && stage == VYRE_CANDIDATE_FILE ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
}

static void test_not_elf(void **state)
{
  static const char script[] = "#!/bin/sh\nexit 0\n";
  (void)state;
  write_image(sound.bytes, 0);
  expect(file_path, VYRE_CANDIDATE_ELF, VYRE_ERROR_NOT_A_PLUGIN, "not an ELF file");
  write_image((const unsigned char *)script, sizeof script - 1);
  expect(file_path, VYRE_CANDIDATE_ELF, VYRE_ERROR_NOT_A_PLUGIN, "not an ELF file");
  expect("/proc/self/exe", VYRE_CANDIDATE_HANDSHAKE, VYRE_ERROR_NOT_A_PLUGIN,
         "does not export vyre_backend_query");
}

/* ---- what is ELF, but not for us ---- */

static void with_byte(size_t at, unsigned char value, const char *message)
{
  unsigned char *copy = malloc(sound.size);
  assert_non_null(copy);
  memcpy(copy, sound.bytes, sound.size);
  copy[at] = value;
  write_image(copy, sound.size);
  free(copy);
  expect(file_path, VYRE_CANDIDATE_ELF, VYRE_ERROR_NOT_A_PLUGIN, message);
}

static void test_other_machines(void **state)
{
  const unsigned char other_data = sound.bytes[EI_DATA] == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
  (void)state;
  with_byte(EI_CLASS, ELFCLASS32, "a 32-bit object, this host is 64-bit");
  with_byte(EI_CLASS, 9, "a ?-bit object");
  with_byte(EI_DATA, other_data, "the other byte order");
  with_byte(offsetof(Elf64_Ehdr, e_machine), EM_386, "built for i386");
  with_byte(offsetof(Elf64_Ehdr, e_machine), 0xf7, "built for another machine (ELF machine 247)");
  with_byte(offsetof(Elf64_Ehdr, e_type), ET_REL, "an ELF object file");
  with_byte(offsetof(Elf64_Ehdr, e_type), ET_EXEC, "an ELF program");
  with_byte(offsetof(Elf64_Ehdr, e_type), ET_CORE, "an ELF core dump");
  with_byte(offsetof(Elf64_Ehdr, e_phentsize), 8, "segment table");
  with_byte(offsetof(Elf64_Ehdr, e_phnum), 0, "segment table");
}

/* ---- damage ---- */

/* Where the parts lie that the check reads. */
static size_t end_of_headers(void)
{
  Elf64_Ehdr header;
  memcpy(&header, sound.bytes, sizeof header);
  return (size_t)header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
}

/* Cut at every byte of the headers, and then at steps that are prime up to the end. */
static void test_truncated(void **state)
{
  size_t headers = end_of_headers(), size;
  (void)state;
  for (size = 0; size < headers + 64; size++) {
    write_image(sound.bytes, size);
    assert_int_not_equal(check_file(), VYRE_OK);
  }
  for (; size < sound.size; size += 97) {
    write_image(sound.bytes, size);
    check_file(); /* sections and debug information at the end may be missing */
  }
}

static uint64_t next_random(uint64_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return *seed;
}

/* Flips some bits of [from, to) in a copy and checks that, many times over. */
static void flip(size_t from, size_t to, unsigned rounds)
{
  uint64_t seed = 0x9e3779b97f4a7c15u + from;
  unsigned char *copy = malloc(sound.size);
  unsigned round, k;
  assert_non_null(copy);
  assert_true(from < to && to <= sound.size);
  for (round = 0; round < rounds; round++) {
    memcpy(copy, sound.bytes, sound.size);
    for (k = 0; k <= round % 8; k++)
      copy[from + next_random(&seed) % (to - from)] ^=
          (unsigned char)(1u << (next_random(&seed) & 7));
    write_image(copy, sound.size);
    check_file();
  }
  free(copy);
}

static void test_flipped_headers(void **state)
{
  (void)state;
  flip(0, end_of_headers(), 3000);
}

/* Symbols, strings, hash table and the dynamic section: all before the code and after it. */
static void test_flipped_tables(void **state)
{
  Elf64_Phdr segment;
  Elf64_Ehdr header;
  size_t i, first_load_end = 0;
  (void)state;
  memcpy(&header, sound.bytes, sizeof header);
  for (i = 0; i < header.e_phnum; i++) {
    memcpy(&segment, sound.bytes + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_DYNAMIC)
      flip((size_t)segment.p_offset, (size_t)(segment.p_offset + segment.p_filesz), 2000);
    if (segment.p_type == PT_LOAD && !first_load_end)
      first_load_end = (size_t)(segment.p_offset + segment.p_filesz);
  }
  flip(end_of_headers(), first_load_end, 2000);
}

/* Every 4- and 8-byte field of the headers and the dynamic section gets values that overflow. */
static void test_extreme_fields(void **state)
{
  static const uint64_t extremes[] = {0,         1,          UINT64_MAX, UINT64_MAX - 7,
                                      INT64_MAX, UINT32_MAX, 1ull << 63, 1ull << 40};
  size_t from = EI_NIDENT, to = end_of_headers(), at, i;
  unsigned char *copy = malloc(sound.size);
  (void)state;
  assert_non_null(copy);
  memcpy(copy, sound.bytes, sound.size);
  for (at = from; at + 8 <= to; at += 4) {
    for (i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
      memcpy(copy + at, &extremes[i], 8);
      write_image(copy, sound.size);
      check_file();
      memcpy(copy + at, sound.bytes + at, 8);
    }
  }
  free(copy);
}

/* ---- memory ---- */

static void test_no_memory(void **state)
{
  uint64_t n, count;
  (void)state;
  write_image(sound.bytes, sound.size);
  vyre__test_fail_allocation(0);
  assert_int_equal(check_file(), VYRE_OK);
  count = vyre__test_allocation_count();
  assert_true(count >= 4);
  for (n = 1; n <= count; n++) {
    vyre_candidate_stage stage;
    vyre_error err = VYRE_ERROR_INIT;
    vyre__test_fail_allocation(n);
    assert_int_equal(check(file_path, &stage, &err), VYRE_ERROR_OUT_OF_HOST_MEMORY);
  }
  vyre__test_fail_allocation(0);
}

static int set_up(void **state)
{
  char path[FIXTURE_PATH_SIZE];
  (void)state;
  fixture_path("none", path);
  sound = read_image(path);
  make_folder(folder);
  file = memfd_create("file.so", MFD_CLOEXEC);
  assert_true(file >= 0);
  snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", file);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  free(sound.bytes);
  close(file);
  remove_folder(folder);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sound),           cmocka_unit_test(test_not_files),
      cmocka_unit_test(test_unreadable),      cmocka_unit_test(test_not_elf),
      cmocka_unit_test(test_other_machines),  cmocka_unit_test(test_truncated),
      cmocka_unit_test(test_flipped_headers), cmocka_unit_test(test_flipped_tables),
      cmocka_unit_test(test_extreme_fields),  cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
