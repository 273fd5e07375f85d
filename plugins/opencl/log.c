/*
 * log.c - a compiler's log with the lines of the author's own text.
 *
 * Compilers based on clang follow #line marks and name file and line as they say.  NVIDIA's names
 * the line in the whole text, as in `<kernel>:1330:3`; that is looked up in the marks here
 * (KRN-003).
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE "<kernel>:"

typedef struct place {
  const char *file; /* in the text, without an end; NULL before the first mark */
  int file_size;
  unsigned long line;
} place;

/* `#line N "FILE"` at the start of a line: the place of the line behind it. */
static bool read_mark(const char *line, const char *end, place *out_place)
{
  static const char word[] = "#line ";
  char *after = NULL;
  if ((size_t)(end - line) < sizeof(word) || memcmp(line, word, sizeof(word) - 1) != 0)
    return false;
  out_place->line = strtoul(line + sizeof(word) - 1, &after, 10);
  const char *open = memchr(line, '"', (size_t)(end - line));
  const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
  if (close) {
    out_place->file = open + 1;
    out_place->file_size = (int)(close - open - 1);
  }
  return true;
}

/* Where line `wanted` (from 1) of the whole text stands. */
static place look_up(const vyre__opencl_source *source, unsigned long wanted)
{
  const char *at = source->text, *stop = source->text + source->size;
  place now = {NULL, 0, 1};
  for (unsigned long number = 1; number < wanted && at < stop; ++number) {
    const char *end = memchr(at, '\n', (size_t)(stop - at));
    end = end ? end : stop;
    if (!read_mark(at, end, &now))
      now.line += 1;
    at = end < stop ? end + 1 : stop;
  }
  return now;
}

/* Lines end, and nothing in them steers a terminal; no blanks at the end. */
static void tidy(char *text)
{
  char *to = text;
  for (const char *from = text; *from; ++from) {
    const unsigned char c = (unsigned char)*from;
    if (c != '\r')
      *to++ = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : *from;
  }
  while (to > text && (to[-1] == '\n' || to[-1] == ' '))
    --to;
  *to = '\0';
}

void vyre__opencl_log_lines(const vyre__opencl_source *source, const char *log, char *out_text,
                            size_t size)
{
  size_t used = 0;
  while (*log && used + 1 < size) {
    char *after = NULL;
    int length = -1;
    if (strncmp(log, WHOLE, sizeof(WHOLE) - 1) == 0) {
      const unsigned long wanted = strtoul(log + sizeof(WHOLE) - 1, &after, 10);
      const place found = look_up(source, wanted);
      if (after != log + sizeof(WHOLE) - 1 && found.file)
        length = snprintf(out_text + used, size - used, "%.*s:%lu", found.file_size, found.file,
                          found.line);
    }
    if (length < 0) {
      out_text[used++] = *log++;
      continue;
    }
    used += (size_t)length < size - used ? (size_t)length : size - used - 1;
    log = after;
  }
  out_text[used] = '\0';
  tidy(out_text);
}
