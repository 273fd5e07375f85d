/* plain.c - what of a plugin's texts may be shown; see plain.h. */
#include "conformance/plain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes a character has that begins so; 0: none begins so. */
static size_t length_of(unsigned char first)
{
  return first < 0x80                     ? 1
         : first >= 0xc2 && first <= 0xdf ? 2
         : (first & 0xf0) == 0xe0         ? 3
         : first >= 0xf0 && first <= 0xf4 ? 4
                                          : 0;
}

static bool steers(unsigned long code)
{
  return code < 0x20 || (code >= 0x7f && code < 0xa0) /* C0, DEL, C1 */
         || (code >= 0x2028 && code <= 0x202e)        /* lines and directions */
         || (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f;
}

size_t conform_plain_length(const char *text)
{
  static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *at = (const unsigned char *)text;
  const size_t length = length_of(*at);
  unsigned long code = length > 1 ? *at & (0x7fu >> length) : *at;
  for (size_t i = 1; i < length; ++i) {
    if ((at[i] & 0xc0) != 0x80) /* the NUL at the end too */
      return 0;
    code = code << 6 | (at[i] & 0x3fu);
  }
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return 0;
  return steers(code) ? 0 : length;
}

void conform_print_plain(FILE *to, const char *text, const char *line_end)
{
  for (size_t length = 0; *text; text += length) {
    length = conform_plain_length(text);
    if (length) {
      fwrite(text, 1, length, to);
      continue;
    }
    length = 1;
    if (*text == '\n')
      fputs(line_end, to);
    else
      fprintf(to, "\\x%02x", (unsigned char)*text);
  }
}

char *conform_make_plain(const char *text)
{
  char *made = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&made, &size);
  if (!to)
    return NULL;
  conform_print_plain(to, text, "\n");
  if (!fclose(to))
    return made;
  free(made);
  return NULL;
}

void conform_end_plain(char *text)
{
  size_t end = strlen(text), at = end;
  while (at && end - at < 3 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
    --at;
  if (at && (unsigned char)text[at - 1] >= 0xc0 &&
      length_of((unsigned char)text[at - 1]) > end - at + 1)
    text[at - 1] = '\0';
}
