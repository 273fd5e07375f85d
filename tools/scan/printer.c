/*
 * printer.c - formats matches; printer.h is the contract.
 *
 * Millions of lines may come: what is the same for a file or for a rule is formatted once, and the
 * stream is written without taking its lock for each byte.
 */
#include "tools/scan/printer.h"

#include "tools/scan/support.h"

#include <errno.h>
#include <string.h>

/* Digits of a u64, backwards into the end of `text`; returns the first. */
static char *format_number(char text[20], uint64_t number, size_t *out_length)
{
  char *at = text + 20;

  do {
    *--at = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  *out_length = (size_t)(text + 20 - at);
  return at;
}

/* ---- JSON texts ---- */

/* Length of the UTF-8 character at `at`, 0 if there is none (RFC 3629). */
static size_t utf8_length(const unsigned char *at)
{
  static const unsigned char low[] = {0xa0, 0x90}; /* least second byte behind 0xe0 and 0xf0 */
  const unsigned char first = at[0];
  size_t length, i;

  if (first < 0x80) {
    return first != 0;
  }
  length = first >= 0xc2 && first <= 0xdf   ? 2
           : first >= 0xe0 && first <= 0xef ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4
                                            : 0;
  for (i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  if ((first == 0xe0 && at[1] < low[0]) || (first == 0xf0 && at[1] < low[1]) ||
      (first == 0xed && at[1] > 0x9f) || (first == 0xf4 && at[1] > 0x8f)) {
    return 0; /* too long a form, a surrogate, or past the last character */
  }
  return length;
}

static bool is_utf8(const char *text)
{
  const unsigned char *at = (const unsigned char *)text;
  size_t length;

  while (*at != 0) {
    length = utf8_length(at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

/* Escaped text without quotes, at most 6 times as long as `text`.  Returns the end. */
static char *escape(char *out, const char *text)
{
  static const char digits[] = "0123456789abcdef";
  const unsigned char *at = (const unsigned char *)text;

  for (; *at != 0; at++) {
    if (*at == '"' || *at == '\\') {
      *out++ = '\\';
      *out++ = (char)*at;
    } else if (*at < 0x20 || *at == 0x7f) {
      memcpy(out, "\\u00", 4);
      out[4] = digits[*at >> 4];
      out[5] = digits[*at & 15];
      out += 6;
    } else {
      *out++ = (char)*at;
    }
  }
  return out;
}

static char *base64(char *out, const char *text)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *at = (const unsigned char *)text;
  size_t left = strlen(text);

  for (; left != 0; at += 3) {
    const size_t n = left < 3 ? left : 3;
    const uint32_t bits =
        (uint32_t)at[0] << 16 | (n > 1 ? (uint32_t)at[1] << 8 : 0) | (n > 2 ? (uint32_t)at[2] : 0);
    *out++ = digits[bits >> 18];
    *out++ = digits[bits >> 12 & 63];
    *out++ = n > 1 ? digits[bits >> 6 & 63] : '=';
    *out++ = n > 2 ? digits[bits & 63] : '=';
    left -= n;
  }
  return out;
}

/* `{"path": "…", "WHAT": ` of a file. */
static bool format_path(vyre__printer *p, const char *path, const char *what)
{
  const size_t need = strlen(path) * 6 + 64;
  char *at;

  if (!vyre__scan_reserve((void **)&p->path, &p->path_capacity, need, 1)) {
    errno = ENOMEM;
    return false;
  }
  if (is_utf8(path)) {
    at = stpcpy(p->path, "{\"path\": \"");
    at = escape(at, path);
  } else {
    at = stpcpy(p->path, "{\"path_b64\": \"");
    at = base64(at, path);
  }
  sprintf(at, "\", \"%s\": ", what);
  return true;
}

/* `, "length": …, "rule": "…"}` or `:ID` of a rule, with the line end. */
static const char *rule_tail(vyre__printer *p, uint32_t index, size_t *out_length)
{
  const vyre__rule rule = vyre__rules_get(p->rules, index);
  char *at;

  if (p->tails[index] == NULL) {
    p->tails[index] = vyre__scan_alloc((size_t)rule.id_length * 6 + 64, 1);
    at = p->tails[index];
    if (at == NULL) {
      errno = ENOMEM;
      return NULL;
    }
    if (p->form == VYRE__PRINT_JSON) {
      at += sprintf(at, ", \"length\": %u, \"rule\": \"", (unsigned)rule.pattern_length);
      at = stpcpy(escape(at, rule.id), "\"}\n");
    } else {
      *at++ = ':';
      memcpy(at, rule.id, rule.id_length);
      at = stpcpy(at + rule.id_length, "\n");
    }
    p->tail_lengths[index] = (uint32_t)(at - p->tails[index]);
  }
  *out_length = p->tail_lengths[index];
  return p->tails[index];
}

/* ---- files ---- */

static bool put(const vyre__printer *p, const char *bytes, size_t size)
{
  return fwrite_unlocked(bytes, 1, size, p->out) == size;
}

static bool print_matches(vyre__printer *p, const char *head, const vyre__scan_match *matches,
                          uint64_t count)
{
  const size_t head_length = strlen(head);
  size_t number_length, tail_length;
  char digits[20];
  uint64_t i;

  for (i = 0; i < count; i++) {
    const char *tail = rule_tail(p, matches[i].rule, &tail_length);
    const char *number = format_number(digits, matches[i].offset, &number_length);
    if (tail == NULL || !put(p, head, head_length) ||
        (p->form == VYRE__PRINT_LINES && !put(p, ":", 1)) || !put(p, number, number_length) ||
        !put(p, tail, tail_length)) {
      return false;
    }
  }
  return true;
}

bool vyre__printer_file(vyre__printer *p, const char *path, const vyre__scan_match *matches,
                        uint64_t count)
{
  if (count == 0) {
    return true;
  }
  switch (p->form) {
  case VYRE__PRINT_LINES:
    return print_matches(p, path, matches, count);
  case VYRE__PRINT_JSON:
    return format_path(p, path, "offset") && print_matches(p, p->path, matches, count);
  case VYRE__PRINT_COUNT:
    return fprintf(p->out, "%s:%llu\n", path, (unsigned long long)count) > 0;
  case VYRE__PRINT_COUNT_JSON:
    return format_path(p, path, "count") &&
           fprintf(p->out, "%s%llu}\n", p->path, (unsigned long long)count) > 0;
  case VYRE__PRINT_NOTHING:
    break;
  }
  return true;
}

vyre_status vyre__printer_open(vyre__printer *p, FILE *out, vyre__print_form form,
                               const vyre__rules *rules, vyre_error *err)
{
  memset(p, 0, sizeof *p);
  p->out = out;
  p->form = form;
  p->rules = rules;
  p->tails = vyre__scan_alloc(vyre__rules_count(rules), sizeof *p->tails);
  p->tail_lengths = vyre__scan_alloc(vyre__rules_count(rules), sizeof *p->tail_lengths);
  if (p->tails == NULL || p->tail_lengths == NULL) {
    vyre__printer_close(p);
    return SCAN_NO_MEMORY(err, "the output");
  }
  return VYRE_OK;
}

void vyre__printer_close(vyre__printer *p)
{
  uint32_t i;

  for (i = 0; p->tails != NULL && i < vyre__rules_count(p->rules); i++) {
    vyre__scan_free(p->tails[i]);
  }
  vyre__scan_free(p->tails);
  vyre__scan_free(p->tail_lengths);
  vyre__scan_free(p->path);
  memset(p, 0, sizeof *p);
}
