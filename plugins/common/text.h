/*
 * text.h - looking for words in kernel source.
 */
#ifndef VYRE_PLUGIN_TEXT_H
#define VYRE_PLUGIN_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if one of the words occurs in the text as a whole identifier, outside comments, character
 * and string literals.  `words` ends in NULL.
 */
bool vyre__plugin_text_has_word(const char *text, uint64_t size, const char *const *words);

#endif
