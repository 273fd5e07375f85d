/*
 * json_place.c - finds values in a JSON text; json_place.h is the contract.
 */
#include "tools/json_place.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) {
    c->at++;
  }
}

static void skip_string(cursor *c)
{
  for (c->at++; c->at < c->end && *c->at != '"'; c->at++) {
    c->at += *c->at == '\\' && c->at + 1 < c->end;
  }
  c->at += c->at < c->end;
}

/* Behind the value at the cursor. */
static void skip_value(cursor *c)
{
  size_t depth = 0;

  skip_blanks(c);
  while (c->at < c->end) {
    if (*c->at == '"') {
      skip_string(c);
    } else if (*c->at == '{' || *c->at == '[') {
      depth++;
      c->at++;
      continue;
    } else if (*c->at == '}' || *c->at == ']') {
      if (depth == 0) {
        return;
      }
      depth--;
      c->at++;
    } else if (depth == 0 && *c->at == ',') {
      return;
    } else if (depth != 0) {
      c->at++;
      continue;
    } else {
      while (c->at < c->end && strchr(",]} \t\r\n", *c->at) == NULL) {
        c->at++;
      }
    }
    if (depth == 0) {
      return;
    }
  }
}

/* Whether the string at the cursor is `key`; a key with escapes is told apart by none of ours. */
static bool key_is(const cursor *c, const char *key)
{
  const size_t length = strlen(key);

  return (size_t)(c->end - c->at) > length + 1 && memcmp(c->at + 1, key, length) == 0 &&
         c->at[length + 1] == '"';
}

/* From an object or array to the value of its member or element. */
static void enter(cursor *c, const json_place *place)
{
  size_t index = 0;

  skip_blanks(c);
  c->at += c->at < c->end;
  skip_blanks(c);
  while (c->at < c->end && *c->at != '}' && *c->at != ']') {
    if (place->key != NULL) {
      const bool found = key_is(c, place->key);
      skip_string(c);
      skip_blanks(c);
      c->at += c->at < c->end; /* the colon */
      skip_blanks(c);
      if (found) {
        return;
      }
    } else if (index++ == place->index) {
      return;
    }
    skip_value(c);
    skip_blanks(c);
    c->at += c->at < c->end && *c->at == ',';
    skip_blanks(c);
  }
}

static void go(cursor *c, const json_place *place)
{
  if (place->up == NULL) {
    skip_blanks(c);
    return;
  }
  go(c, place->up);
  enter(c, place);
}

void json_place_find(const char *text, size_t size, const json_place *place, size_t *out_line,
                     size_t *out_column)
{
  cursor c = {text, text + size};
  const char *at;

  go(&c, place);
  *out_line = 1;
  *out_column = 1;
  for (at = text; at < c.at; at++) {
    *out_line += *at == '\n';
    /* Bytes in the middle of a UTF-8 character are no column of their own. */
    *out_column = *at == '\n' ? 1 : *out_column + (((unsigned char)*at & 0xc0u) != 0x80u);
  }
}

static size_t put(const json_place *place, char *text, size_t size)
{
  size_t used;
  int n;

  if (place->up == NULL) {
    return 0;
  }
  used = put(place->up, text, size);
  if (used >= size) {
    return used;
  }
  if (place->key == NULL) {
    n = snprintf(text + used, size - used, "[%zu]", place->index);
  } else {
    n = snprintf(text + used, size - used, "%s%s", used != 0 ? "." : "", place->key);
  }
  return used + (n > 0 ? (size_t)n : 0);
}

const char *json_place_text(const json_place *place, char *out_text, size_t size)
{
  out_text[0] = '\0';
  put(place, out_text, size);
  return out_text;
}
