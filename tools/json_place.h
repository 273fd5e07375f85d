/*
 * json_place.h - where a value of a JSON text stands: the line and column that a message about it
 * names.  The parser keeps no positions, so the text is walked once more for the one value.
 */
#ifndef VYRE_TOOLS_JSON_PLACE_H
#define VYRE_TOOLS_JSON_PLACE_H

#include <stddef.h>

/* A value by the way to it: the root has no `up`; else the member `key`, or element `index`. */
typedef struct json_place {
  const struct json_place *up;
  const char *key; /* NULL: an element */
  size_t index;
} json_place;

/* Line and column, from 1, of a value in a text that is valid JSON and has it; of the end if not.
 */
void json_place_find(const char *text, size_t size, const json_place *place, size_t *out_line,
                     size_t *out_column);

/* "buffers[2].access"; "" for the root.  Cut to `size`. */
const char *json_place_text(const json_place *place, char *out_text, size_t size);

#endif
