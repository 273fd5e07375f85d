/*
 * plain.h - texts of a plugin as they may be shown: they can hold any bytes.
 */
#ifndef VYRE_CONFORMANCE_PLAIN_H
#define VYRE_CONFORMANCE_PLAIN_H

#include <stddef.h>
#include <stdio.h>

/*
 * The bytes of the character at `text` if it is well-formed UTF-8 and none that steers a terminal;
 * 0 otherwise, and at the end.
 */
size_t conform_plain_length(const char *text);

/* `line_end` in place of each line end, \xNN of each byte that must not be shown. */
void conform_print_plain(FILE *to, const char *text, const char *line_end);

/* The same as a new text, for free(); line ends stay.  NULL without memory. */
char *conform_make_plain(const char *text);

/* Cuts a text whose last character was cut in its middle, so that it ends with a whole one. */
void conform_end_plain(char *text);

#endif
