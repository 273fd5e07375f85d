/* text.h - a growing text whose only failure is memory, told once at its end. */
#ifndef VYRE_CORE_BASE_TEXT_H
#define VYRE_CORE_BASE_TEXT_H

#include "core/base/alloc.h"

typedef struct vyre__text {
  vyre_allocator allocator;
  char *data;    /* ends in NUL once something was added; NULL before */
  uint64_t size; /* without the NUL */
  uint64_t capacity;
  bool failed; /* an allocation failed: data is incomplete */
} vyre__text;

void vyre__text_init(vyre__text *text, const vyre_allocator *allocator);
void vyre__text_free(vyre__text *text);
void vyre__text_add(vyre__text *text, const char *data, uint64_t size);
__attribute__((format(printf, 2, 3))) void vyre__text_format(vyre__text *text, const char *format,
                                                             ...);
/* The text, owned by the caller now (free with the allocator), or NULL if it failed. */
char *vyre__text_take(vyre__text *text, uint64_t *out_size);

/*
 * Makes a text of somebody else's fit to be printed, in place: control characters, those of UTF-8's
 * second block too, become '?', so that no text of a plugin or a compiler drives a terminal.  Line
 * ends and tabs stay in `lines`, else they become blanks.
 */
void vyre__text_printable(char *text, bool lines);

#endif
