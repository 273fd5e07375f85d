/*
 * rules.c - reads rules files into one sorted set; rules.h is the contract.
 *
 * Ids and patterns lie in one growing pool of bytes and are named by offsets, so that the pool may
 * move while it grows.
 */
#include "tools/scan/rules.h"

#include "tools/scan/support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct entry {
  uint32_t id, id_length;
  uint32_t pattern, pattern_length;
  uint32_t file, line; /* index into files; line from 1 */
  uint32_t order;      /* place in reading order */
  bool ignore_case;
} entry;

struct vyre__rules {
  uint8_t *pool;
  size_t pool_used, pool_capacity;
  entry *entries;
  size_t count, capacity;
  uint32_t *files; /* offset of each file's name in the pool */
  size_t file_count, file_capacity;
};

/* A text being parsed. */
typedef struct reader {
  vyre__rules *rules;
  const char *name;
  uint32_t line;
  vyre_error *err;
} reader;

#define TEXT_ERROR(r, fix, format, ...)                                                            \
  SCAN_ERROR((r)->err, VYRE_ERROR_INVALID_ARGUMENT, 0, (fix), "%s:%u: " format, (r)->name,         \
             (r)->line, __VA_ARGS__)

vyre_status vyre__rules_create(vyre__rules **out_rules, vyre_error *err)
{
  vyre__rules *rules = vyre__scan_alloc(1, sizeof *rules);

  if (rules == NULL) {
    return SCAN_NO_MEMORY(err, "a set of rules");
  }
  *out_rules = rules;
  return VYRE_OK;
}

void vyre__rules_destroy(vyre__rules *rules)
{
  if (rules == NULL) {
    return;
  }
  vyre__scan_free(rules->pool);
  vyre__scan_free(rules->entries);
  vyre__scan_free(rules->files);
  vyre__scan_free(rules);
}

uint32_t vyre__rules_count(const vyre__rules *rules)
{
  return (uint32_t)rules->count;
}

vyre__rule vyre__rules_get(const vyre__rules *rules, uint32_t index)
{
  const entry *e = &rules->entries[index];
  vyre__rule rule;

  rule.id = (const char *)(rules->pool + e->id);
  rule.id_length = e->id_length;
  rule.pattern = rules->pool + e->pattern;
  rule.pattern_length = e->pattern_length;
  rule.ignore_case = e->ignore_case;
  rule.file = (const char *)(rules->pool + rules->files[e->file]);
  rule.line = e->line;
  return rule;
}

/* Makes room for `more` bytes at the end of the pool. */
static vyre_status pool_reserve(vyre__rules *rules, size_t more, vyre_error *err)
{
  size_t need;

  if (__builtin_add_overflow(rules->pool_used, more, &need) || need >= VYRE__RULES_MAX_BYTES) {
    return SCAN_ERROR(err, VYRE_ERROR_UNSUPPORTED, 0, "split the rules over several scans",
                      "the rules hold more than %u bytes", (unsigned)VYRE__RULES_MAX_BYTES);
  }
  if (!vyre__scan_reserve((void **)&rules->pool, &rules->pool_capacity, need, 1)) {
    return SCAN_NO_MEMORY(err, "rules");
  }
  return VYRE_OK;
}

static void pool_put(vyre__rules *rules, const void *bytes, size_t length)
{
  memcpy(rules->pool + rules->pool_used, bytes, length);
  rules->pool_used += length;
}

static bool is_blank(uint8_t byte)
{
  return byte == ' ' || byte == '\t';
}

static int hex_value(uint8_t byte)
{
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  byte |= 0x20;
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Length of the well-formed UTF-8 character at `p`, 0 if there is none (Unicode, table 3-7). */
static size_t utf8_length(const uint8_t *p, size_t left)
{
  uint8_t low = 0x80, high = 0xbf;
  size_t length, i;

  if (p[0] < 0x80) {
    return 1;
  }
  if (p[0] < 0xc2 || p[0] > 0xf4) {
    return 0;
  }
  length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
  low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : low;
  high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : high;
  if (left < length || p[1] < low || p[1] > high) {
    return 0;
  }
  for (i = 2; i < length; i++) {
    if ((p[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  return length;
}

static vyre_status check_id(const reader *r, const uint8_t *id, size_t length)
{
  size_t i = 0, step;

  while (i < length) {
    step = utf8_length(id + i, length - i);
    if (step == 0 || id[i] < 0x20 || id[i] == 0x7f) {
      return TEXT_ERROR(r, "use UTF-8 text without control characters for the id",
                        "the id holds the byte 0x%02x, which is not text", (unsigned)id[i]);
    }
    i += step;
  }
  return VYRE_OK;
}

/*
 * Replaces the escapes of `text` and puts the bytes at the end of the pool, which has room.
 * Nothing but pool_used is changed; the caller takes it back on an error.
 */
static vyre_status put_pattern(const reader *r, const uint8_t *text, size_t length)
{
  static const char fix[] = "use \\xHH, \\n, \\r, \\t, \\0 or \\\\, and \\\\ for a backslash";
  size_t i = 0;

  while (i < length) {
    uint8_t byte = text[i++];
    if (byte == '\\') {
      if (i == length) {
        return TEXT_ERROR(r, fix, "bad escape: %s", "the pattern ends in a lone backslash");
      }
      byte = text[i++];
      switch (byte) {
      case 'n':
        byte = '\n';
        break;
      case 'r':
        byte = '\r';
        break;
      case 't':
        byte = '\t';
        break;
      case '0':
        byte = 0;
        break;
      case '\\':
        break;
      case 'x':
        if (length - i < 2 || hex_value(text[i]) < 0 || hex_value(text[i + 1]) < 0) {
          return TEXT_ERROR(r, fix, "bad escape: %s", "\\x needs two hexadecimal digits");
        }
        byte = (uint8_t)(hex_value(text[i]) << 4 | hex_value(text[i + 1]));
        i += 2;
        break;
      default:
        if (byte > 0x20 && byte < 0x7f) {
          return TEXT_ERROR(r, fix, "bad escape: \\%c is not known", byte);
        }
        return TEXT_ERROR(r, fix, "bad escape: a backslash before the byte 0x%02x", (unsigned)byte);
      }
    }
    r->rules->pool[r->rules->pool_used++] = byte;
  }
  return VYRE_OK;
}

/* Takes one line, its end already off. */
static vyre_status parse_line(const reader *r, const uint8_t *text, size_t length)
{
  vyre__rules *rules = r->rules;
  size_t start = 0, id_end, at;
  entry e;
  vyre_status status;

  while (start < length && is_blank(text[start])) {
    start++;
  }
  if (start == length || text[start] == '#') {
    return VYRE_OK;
  }
  for (id_end = start; id_end < length && !is_blank(text[id_end]); id_end++) {
  }
  status = check_id(r, text + start, id_end - start);
  if (status != VYRE_OK) {
    return status;
  }
  for (at = id_end; at < length && is_blank(text[at]); at++) {
  }
  memset(&e, 0, sizeof e);
  if (length - at >= 4 && memcmp(text + at, "(?i)", 4) == 0) {
    e.ignore_case = true;
    at += 4;
  }
  if (at == length) {
    return TEXT_ERROR(r, "write `ID PATTERN`; a pattern that begins with a blank starts with \\x20",
                      "the rule '%.*s' has an empty pattern", (int)(id_end - start),
                      (const char *)text + start);
  }
  status = pool_reserve(rules, length + 1, r->err);
  if (status != VYRE_OK) {
    return status;
  }
  if (!vyre__scan_reserve((void **)&rules->entries, &rules->capacity, rules->count + 1, sizeof e)) {
    return SCAN_NO_MEMORY(r->err, "rules");
  }
  e.id = (uint32_t)rules->pool_used;
  e.id_length = (uint32_t)(id_end - start);
  pool_put(rules, text + start, id_end - start);
  pool_put(rules, "", 1);
  e.pattern = (uint32_t)rules->pool_used;
  status = put_pattern(r, text + at, length - at);
  if (status != VYRE_OK) {
    return status;
  }
  e.pattern_length = (uint32_t)(rules->pool_used - e.pattern);
  e.file = (uint32_t)(rules->file_count - 1);
  e.line = r->line;
  e.order = (uint32_t)rules->count;
  rules->entries[rules->count++] = e;
  return VYRE_OK;
}

static vyre_status parse_text(reader *r, const uint8_t *text, size_t length)
{
  static const uint8_t mark[3] = {0xef, 0xbb, 0xbf};
  const size_t before = r->rules->count;
  size_t at = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
  vyre_status status;

  while (at < length) {
    const uint8_t *end = memchr(text + at, '\n', length - at);
    size_t next = end == NULL ? length : (size_t)(end - text) + 1;
    size_t stop = end == NULL ? length : next - 1;

    if (stop > at && text[stop - 1] == '\r') {
      stop--;
    }
    r->line++;
    status = parse_line(r, text + at, stop - at);
    if (status != VYRE_OK) {
      return status;
    }
    at = next;
  }
  if (r->rules->count == before) {
    r->line = r->line == 0 ? 1 : r->line;
    return TEXT_ERROR(r, "write at least one line `ID PATTERN`, or leave the file out",
                      "the rules file has no %s", "rule");
  }
  return VYRE_OK;
}

vyre_status vyre__rules_add_text(vyre__rules *rules, const char *name, const void *text,
                                 size_t length, vyre_error *err)
{
  const size_t pool_used = rules->pool_used, count = rules->count, files = rules->file_count;
  const size_t name_size = strlen(name) + 1;
  reader r = {rules, name, 0, err};
  vyre_status status = pool_reserve(rules, name_size, err);

  if (status == VYRE_OK && !vyre__scan_reserve((void **)&rules->files, &rules->file_capacity,
                                               files + 1, sizeof *rules->files)) {
    status = SCAN_NO_MEMORY(err, "rules");
  }
  if (status != VYRE_OK) {
    return status;
  }
  rules->files[rules->file_count++] = (uint32_t)rules->pool_used;
  pool_put(rules, name, name_size);
  status = parse_text(&r, text, length);
  if (status != VYRE_OK) {
    rules->pool_used = pool_used;
    rules->count = count;
    rules->file_count = files;
  }
  return status;
}

/* Reads `fd` to its end; the size is not known beforehand, because a pipe has none. */
static vyre_status read_all(int fd, const char *path, uint8_t **bytes, size_t *used,
                            vyre_error *err)
{
  size_t capacity = 0;

  for (;;) {
    ssize_t got;
    if (*used >= VYRE__RULES_MAX_BYTES) {
      return SCAN_ERROR(err, VYRE_ERROR_UNSUPPORTED, 0, "split the rules over several scans",
                        "%s: the rules file is larger than %u bytes", path,
                        (unsigned)VYRE__RULES_MAX_BYTES);
    }
    if (!vyre__scan_reserve((void **)bytes, &capacity, *used + 65536, 1)) {
      return SCAN_NO_MEMORY(err, "a rules file");
    }
    got = read(fd, *bytes + *used, capacity - *used);
    if (got == 0) {
      return VYRE_OK;
    }
    if (got > 0) {
      *used += (size_t)got;
    } else if (errno != EINTR) {
      return SCAN_ERROR(err, VYRE_ERROR_IO, errno, "give a rules file that can be read",
                        "%s: cannot read the rules file: %s", path, strerror(errno));
    }
  }
}

vyre_status vyre__rules_add_file(vyre__rules *rules, const char *path, vyre_error *err)
{
  vyre_status status;
  uint8_t *bytes = NULL;
  size_t used = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

  if (fd < 0) {
    return SCAN_ERROR(err, VYRE_ERROR_IO, errno, "give a rules file that exists and can be read",
                      "%s: cannot open the rules file: %s", path, strerror(errno));
  }
  status = read_all(fd, path, &bytes, &used, err);
  if (status == VYRE_OK) {
    status = vyre__rules_add_text(rules, path, bytes, used, err);
  }
  vyre__scan_free(bytes);
  (void)close(fd);
  return status;
}

/* By id; equal ids in reading order, so that the second of two is the later one. */
static int compare_entries(const void *left, const void *right, void *pool)
{
  const entry *a = left, *b = right;
  const uint32_t shorter = a->id_length < b->id_length ? a->id_length : b->id_length;
  int order = memcmp((const uint8_t *)pool + a->id, (const uint8_t *)pool + b->id, (size_t)shorter);

  if (order != 0) {
    return order;
  }
  if (a->id_length != b->id_length) {
    return a->id_length < b->id_length ? -1 : 1;
  }
  return a->order < b->order ? -1 : a->order > b->order;
}

static bool same_id(const vyre__rules *rules, const entry *a, const entry *b)
{
  return a->id_length == b->id_length &&
         memcmp(rules->pool + a->id, rules->pool + b->id, a->id_length) == 0;
}

vyre_status vyre__rules_finish(vyre__rules *rules, vyre_error *err)
{
  const entry *first = NULL, *second = NULL;
  size_t i;

  if (rules->count == 0) {
    return SCAN_ERROR(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give a rules file with -r",
                      "there is no rule to scan for");
  }
  qsort_r(rules->entries, rules->count, sizeof *rules->entries, compare_entries, rules->pool);
  for (i = 1; i < rules->count; i++) {
    const entry *a = &rules->entries[i - 1], *b = &rules->entries[i];
    if (same_id(rules, a, b) && (second == NULL || b->order < second->order)) {
      first = a;
      second = b;
    }
  }
  if (second != NULL) {
    const char *pool = (const char *)rules->pool;
    return SCAN_ERROR(
        err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give each rule an id of its own over all rules files",
        "%s:%u: duplicate id '%s', first given at %s:%u", pool + rules->files[second->file],
        second->line, pool + second->id, pool + rules->files[first->file], first->line);
  }
  return VYRE_OK;
}
