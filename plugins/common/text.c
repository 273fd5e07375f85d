/*
 * text.c - looking for words in kernel source; see text.h.
 */
#include "plugins/common/text.h"

#include <stddef.h>
#include <string.h>

static bool starts_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_word(char c)
{
  return starts_word(c) || (c >= '0' && c <= '9');
}

/* The place behind a comment or a literal that starts at `at`, or `at` itself. */
static uint64_t skip_opaque(const char *text, uint64_t size, uint64_t at)
{
  char c = text[at];
  char after = at + 1 < size ? text[at + 1] : '\0';
  if (c == '/' && after == '/') {
    while (at < size && text[at] != '\n')
      at += text[at] == '\\' && at + 1 < size ? 2 : 1;
    return at < size ? at : size;
  }
  if (c == '/' && after == '*') {
    for (at += 2; at < size; ++at)
      if (text[at] == '*' && at + 1 < size && text[at + 1] == '/')
        return at + 2;
    return size;
  }
  if (c == '"' || c == '\'') {
    for (++at; at < size && text[at] != c && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    return at < size ? at + 1 : size;
  }
  return at;
}

bool vyre__plugin_text_has_word(const char *text, uint64_t size, const char *const *words)
{
  for (uint64_t at = 0; at < size;) {
    uint64_t behind = skip_opaque(text, size, at);
    if (behind > at) {
      at = behind;
      continue;
    }
    if (!in_word(text[at])) {
      ++at;
      continue;
    }
    uint64_t end = at;
    while (end < size && in_word(text[end]))
      ++end;
    for (const char *const *word = words; *word; ++word)
      if (strlen(*word) == end - at && memcmp(*word, text + at, end - at) == 0)
        return true;
    at = end;
  }
  return false;
}
