/*
 * test_scan_engine.c - the scan inside this process: every allocation failing once, files that
 * change while they are read, and a sink that refuses.
 */
#include "spawn_vyre.h"

#include "tools/scan/engine_scan.h"
#include "tools/scan/file_reader.h"
#include "tools/scan/printer.h"
#include "tools/scan/support.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DEVICES 3u

typedef struct fixture {
  vyre_context *context;
  vyre_device *devices[DEVICES]; /* one, opened again and again */
  uint32_t device_count;         /* so many are used */
  char *image;
  vyre_bundle *bundle;
  const vyre_code *code;
  uint32_t code_count;
  vyre__rules *rules;
  vyre__automaton automaton;
  char *folder;
  vyre__walk_list list;
} fixture;

static fixture f;

static void put(const char *name, const char *bytes, size_t size)
{
  char *path = path_in(f.folder, name);

  write_file(path, bytes, size);
  free(path);
}

static int set_up(void **state)
{
  static const char rules[] = "a aa\nb ab\nc (?i)Aa\n";
  vyre_error err = VYRE_ERROR_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  const char *paths[1];
  char bytes[3000], name[16];
  size_t size = 0, i;

  (void)state;
  request.selector = "cpu";
  assert_int_equal(vyre_context_create(NULL, &f.context, &err), VYRE_OK);
  for (i = 0; i < DEVICES; i++) {
    assert_int_equal(vyre_device_open(f.context, &request, &f.devices[i], &err), VYRE_OK);
  }
  f.device_count = 1;
  f.image = read_whole(VYRE_TEST_BINARY_DIR "/lib/vyre/scan.vyreb", &size);
  assert_non_null(f.image);
  assert_int_equal(vyre_bundle_open(f.image, size, &f.bundle, &err), VYRE_OK);
  f.code = vyre_bundle_code(f.bundle, &f.code_count);
  assert_int_equal(vyre__rules_create(&f.rules, &err), VYRE_OK);
  assert_int_equal(vyre__rules_add_text(f.rules, "rules", rules, sizeof rules - 1, &err), VYRE_OK);
  assert_int_equal(vyre__rules_finish(f.rules, &err), VYRE_OK);
  assert_int_equal(vyre__automaton_build(f.rules, NULL, &f.automaton, &err), VYRE_OK);
  f.folder = make_folder();
  memset(bytes, 'a', sizeof bytes);
  for (i = 0; i < 80; i++) {
    snprintf(name, sizeof name, "f%03zu", i);
    put(name, bytes, i * 7);
  }
  put("dense", bytes, sizeof bytes);
  paths[0] = f.folder;
  assert_int_equal(vyre__walk(paths, 1, NULL, NULL, &f.list, &err), VYRE_OK);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  vyre__walk_destroy(&f.list);
  remove_folder(f.folder);
  vyre__automaton_destroy(&f.automaton);
  vyre__rules_destroy(f.rules);
  vyre_bundle_destroy(f.bundle);
  free(f.image);
  for (uint32_t i = 0; i < DEVICES; i++) {
    vyre_device_close(f.devices[i]);
  }
  vyre_context_destroy(f.context);
  return 0;
}

/* ---- the whole scan ---- */

typedef struct collected {
  vyre__printer printer;
  size_t refuse_after; /* files; SIZE_MAX: never */
  size_t files, troubles;
} collected;

static bool on_file(void *self, const char *path, const vyre__scan_match *matches, uint64_t count)
{
  collected *c = self;

  if (c->files++ >= c->refuse_after) {
    return false;
  }
  return vyre__printer_file(&c->printer, path, matches, count);
}

static void on_trouble(void *self, vyre__walk_level level, const char *path, const char *cause)
{
  (void)level;
  (void)path;
  (void)cause;
  ((collected *)self)->troubles++;
}

/* The scan with its output as a text. */
static vyre_status scan(size_t refuse_after, char **out_text, size_t *out_size,
                        vyre__scan_stats *stats, vyre_error *err)
{
  vyre__scan_options options = {VYRE_ENGINE_AUTO, 64, 50, false,
                                refuse_after == SIZE_MAX ? 100 : 0};
  collected c;
  vyre__scan_sink sink = {&c, on_file, on_trouble, NULL};
  FILE *stream = open_memstream(out_text, out_size);
  vyre_status status;

  assert_non_null(stream);
  memset(&c, 0, sizeof c);
  c.refuse_after = refuse_after;
  status = vyre__printer_open(&c.printer, stream, VYRE__PRINT_JSON, f.rules, err);
  if (status == VYRE_OK) {
    status = vyre__scan_run(f.devices, f.device_count, f.rules, &f.automaton, f.code, f.code_count,
                            &f.list, &options, &sink, stats, err);
    vyre__printer_close(&c.printer);
  }
  assert_int_equal(fclose(stream), 0);
  assert_int_equal(c.troubles, 0);
  return status;
}

/* Fails each allocation of the scan once: an error, or output cut where it could not be printed,
   never a wrong line and no leak. */
static void test_failing_memory(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  char *want = NULL, *text = NULL;
  size_t want_size = 0, size = 0;
  vyre__scan_stats stats = {0};
  uint64_t nth;
  bool happened;

  (void)state;
  assert_int_equal(scan(SIZE_MAX, &want, &want_size, &stats, &err), VYRE_OK);
  assert_true(stats.retries > 0); /* the bank of 50 had to grow */
  assert_int_equal(stats.files, 81);
  for (nth = 1; nth < 100000; nth += nth < 40 ? 1 : nth / 8) {
    vyre_status status;
    vyre__scan_fail_nth(nth);
    status = scan(SIZE_MAX, &text, &size, &stats, &err);
    happened = vyre__scan_fail_happened();
    vyre__scan_fail_nth(0);
    assert_true(status == VYRE_OK || (happened && status == VYRE_ERROR_OUT_OF_HOST_MEMORY));
    assert_true(size <= want_size);
    assert_memory_equal(text, want, size);
    if (!happened) {
      assert_int_equal(size, want_size);
    }
    free(text);
    text = NULL;
    if (!happened) {
      break;
    }
  }
  assert_true(nth < 100000);
  free(want);
}

/* The same output on any number of devices, all of which take a share. */
static void test_several_devices(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  char *want = NULL, *text = NULL;
  size_t want_size = 0, size = 0;
  vyre__scan_stats stats = {0};

  (void)state;
  assert_int_equal(scan(SIZE_MAX, &want, &want_size, &stats, &err), VYRE_OK);
  for (f.device_count = 2; f.device_count <= DEVICES; f.device_count++) {
    uint64_t pieces = 0;
    uint32_t i;
    assert_int_equal(scan(SIZE_MAX, &text, &size, &stats, &err), VYRE_OK);
    assert_int_equal(size, want_size);
    assert_memory_equal(text, want, size);
    for (i = 0; i < f.device_count; i++) {
      assert_true(stats.share[i] > 0);
      pieces += stats.share[i];
    }
    assert_int_equal(pieces, stats.pieces);
    free(text);
  }
  f.device_count = VYRE__TEAM_MOST + 1;
  assert_int_equal(scan(SIZE_MAX, &text, &size, &stats, &err), VYRE_ERROR_INVALID_ARGUMENT);
  assert_int_equal(size, 0);
  free(text);
  f.device_count = 2;
  test_failing_memory(NULL);
  f.device_count = 1;
  free(want);
}

/* A large file with a match or two at every byte: it comes in many calls, in order, and no call has
   more than what is kept and a bank's worth. */
typedef struct stream {
  uint64_t next, matches, largest; /* offset and number of the matches, the largest call */
  size_t calls, refuse_after;
} stream;

static bool on_part(void *self, const char *path, const vyre__scan_match *matches, uint64_t count)
{
  stream *s = self;
  uint64_t i;

  (void)path;
  if (s->calls++ >= s->refuse_after) {
    return false;
  }
  s->largest = count > s->largest ? count : s->largest;
  for (i = 0; i < count; i++, s->matches++) { /* rules 0 and 2 at each byte but the last */
    assert_int_equal(matches[i].offset, s->matches / 2);
    assert_int_equal(matches[i].rule, s->matches % 2 * 2);
  }
  return true;
}

static void no_trouble(void *self, vyre__walk_level level, const char *path, const char *cause)
{
  (void)self;
  (void)level;
  fail_msg("%s: %s", path, cause);
}

static void scan_stream(const vyre__walk_list *list, size_t refuse_after, bool count_only,
                        stream *out_stream, vyre__scan_stats *stats)
{
  const vyre__scan_options options = {VYRE_ENGINE_AUTO, 100, 500, count_only, 1000};
  const vyre__scan_sink sink = {out_stream, on_part, no_trouble, NULL};
  vyre_error err = VYRE_ERROR_INIT;

  memset(out_stream, 0, sizeof *out_stream);
  out_stream->refuse_after = refuse_after;
  assert_int_equal(vyre__scan_run(f.devices, f.device_count, f.rules, &f.automaton, f.code,
                                  f.code_count, list, &options, &sink, stats, &err),
                   VYRE_OK);
}

static void test_many_matches(void **state)
{
  const size_t size = 300000;
  char *bytes = malloc(size), *path = path_in(f.folder, "many");
  vyre__walk_file file = {path, 0, true, true};
  vyre__walk_list list;
  vyre__scan_stats stats = {0};
  stream s;

  (void)state;
  assert_non_null(bytes);
  memset(bytes, 'a', size);
  put("many", bytes, size);
  memset(&list, 0, sizeof list);
  list.files = &file;
  list.count = 1;
  file.size = size;
  scan_stream(&list, SIZE_MAX, false, &s, &stats);
  assert_int_equal(s.matches, 2 * (size - 1));
  assert_int_equal(stats.matches, s.matches);
  assert_int_equal(stats.files, 1);
  assert_true(s.calls > 10);
  assert_true(s.largest < s.matches / 10);
  scan_stream(&list, 3, false, &s, &stats);
  assert_int_equal(s.calls, 4); /* none behind the one that refused */
  assert_int_equal(stats.files, 0);
  scan_stream(&list, 0, true, &s, &stats);
  assert_int_equal(s.calls, 1);
  assert_int_equal(stats.matches, 2 * (size - 1));
  assert_int_equal(unlink(path), 0);
  free(path);
  free(bytes);
}

static void test_refusing_sink(void **state)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre__scan_stats stats = {0};
  char *text = NULL;
  size_t size = 0;

  (void)state;
  assert_int_equal(scan(3, &text, &size, &stats, &err), VYRE_OK);
  assert_true(stats.files >= 3 && stats.files < 81);
  free(text);
}

/* ---- one file ---- */

static void open_reader(vyre__file_reader *reader, const char *path)
{
  const vyre__walk_file file = {path, 0, true, false};

  assert_true(vyre__file_reader_open(reader, &file));
}

static void test_file_changes(void **state)
{
  char *path = path_in(f.folder, "changing");
  vyre__file_reader reader;
  uint8_t bytes[100];
  uint32_t got = 0;
  FILE *file;

  (void)state;
  put("changing", "0123456789", 10);
  open_reader(&reader, path);
  assert_true(vyre__file_reader_read(&reader, bytes, 4, &got));
  assert_int_equal(got, 4);
  assert_int_equal(truncate(path, 6), 0);
  assert_false(vyre__file_reader_read(&reader, bytes, 100, &got));
  assert_int_equal(got, 2);
  vyre__file_reader_close(&reader);
  assert_int_equal(reader.level, VYRE__WALK_ERROR);
  assert_non_null(strstr(reader.cause, "became shorter while it was scanned: 6 of 10"));

  put("changing", "0123456789", 10);
  open_reader(&reader, path);
  file = fopen(path, "a");
  assert_non_null(file);
  fputs("more", file);
  fclose(file);
  assert_false(vyre__file_reader_read(&reader, bytes, 100, &got));
  assert_int_equal(got, 10);
  vyre__file_reader_close(&reader);
  assert_int_equal(reader.level, VYRE__WALK_NOTE);
  assert_non_null(strstr(reader.cause, "grew"));

  put("changing", "0123456789", 10);
  open_reader(&reader, path);
  {
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  }
  assert_false(vyre__file_reader_read(&reader, bytes, 10, &got));
  vyre__file_reader_close(&reader);
  assert_int_equal(reader.level, VYRE__WALK_ERROR);
  assert_non_null(strstr(reader.cause, "changed"));
  assert_int_equal(unlink(path), 0);
  free(path);
}

static void test_file_went_away(void **state)
{
  char *path = path_in(f.folder, "gone");
  vyre__walk_file file = {path, 0, true, false};
  vyre__file_reader reader;

  (void)state;
  assert_false(vyre__file_reader_open(&reader, &file));
  assert_int_equal(reader.level, VYRE__WALK_ERROR);
  assert_int_equal(symlink("f001", path), 0);
  assert_false(vyre__file_reader_open(&reader, &file));
  assert_int_equal(reader.level, VYRE__WALK_NOTE);
  file.given = true;
  assert_true(vyre__file_reader_open(&reader, &file));
  vyre__file_reader_close(&reader);
  assert_int_equal(unlink(path), 0);
  file.given = false;
  assert_int_equal(mkfifo(path, 0644), 0);
  assert_false(vyre__file_reader_open(&reader, &file));
  assert_int_equal(reader.level, VYRE__WALK_NOTE);
  assert_int_equal(unlink(path), 0);
  free(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_failing_memory), cmocka_unit_test(test_several_devices),
      cmocka_unit_test(test_many_matches),   cmocka_unit_test(test_refusing_sink),
      cmocka_unit_test(test_file_changes),   cmocka_unit_test(test_file_went_away),
  };

  return cmocka_run_group_tests(tests, set_up, tear_down);
}
