/* text.c - a growing text. */
#include "core/base/text.h"

#include "core/base/checked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vyre__text_init(vyre__text *text, const vyre_allocator *allocator)
{
  memset(text, 0, sizeof *text);
  text->allocator = *allocator;
}

void vyre__text_free(vyre__text *text)
{
  vyre__deallocate(&text->allocator, text->data);
  text->data = NULL;
  text->size = text->capacity = 0;
}

/* Makes room for `more` bytes and the NUL. */
static bool reserve(vyre__text *text, uint64_t more)
{
  uint64_t need = 0, capacity = text->capacity ? text->capacity : 256;
  char *grown = NULL;
  if (text->failed || !vyre__checked_add(text->size, more, &need) || need > UINT64_MAX / 4) {
    text->failed = true;
    return false;
  }
  need += 1;
  if (need <= text->capacity)
    return true;
  while (capacity < need)
    capacity *= 2;
  grown = vyre__allocate(&text->allocator, capacity, 1);
  if (!grown) {
    text->failed = true;
    return false;
  }
  if (text->size)
    memcpy(grown, text->data, (size_t)text->size);
  vyre__deallocate(&text->allocator, text->data);
  text->data = grown;
  text->capacity = capacity;
  return true;
}

void vyre__text_add(vyre__text *text, const char *data, uint64_t size)
{
  if (!reserve(text, size))
    return;
  if (size)
    memcpy(text->data + text->size, data, (size_t)size);
  text->size += size;
  text->data[text->size] = '\0';
}

void vyre__text_format(vyre__text *text, const char *format, ...)
{
  va_list arguments, again;
  int size;
  va_start(arguments, format);
  va_copy(again, arguments);
  size = vsnprintf(NULL, 0, format, arguments);
  if (size < 0)
    text->failed = true;
  else if (reserve(text, (uint64_t)size)) {
    vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
    text->size += (uint64_t)size;
  }
  va_end(again);
  va_end(arguments);
}

char *vyre__text_take(vyre__text *text, uint64_t *out_size)
{
  char *data = NULL;
  if (!text->failed && reserve(text, 0)) {
    data = text->data;
    data[text->size] = '\0';
    if (out_size)
      *out_size = text->size;
    text->data = NULL;
  }
  vyre__text_free(text);
  return data;
}

void vyre__text_printable(char *text, bool lines)
{
  for (unsigned char *at = (unsigned char *)text; *at; ++at) {
    if (*at == '\n' || *at == '\t') {
      *at = lines ? *at : ' ';
    } else if (*at < 0x20 || *at == 0x7f) {
      *at = '?';
    } else if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) { /* U+0080 to U+009F */
      at[0] = at[1] = '?';
    }
  }
}
