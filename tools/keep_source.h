/*
 * keep_source.h - --keep-temps: the text that a program compiles, in a file.
 */
#ifndef VYRE_TOOLS_KEEP_SOURCE_H
#define VYRE_TOOLS_KEEP_SOURCE_H

#include "tools/manifest.h"

/*
 * Writes FOLDER/NAME.vyre.c, NAME being the manifest's name (a '/' in it becomes '_').  It is
 * written before anything is compiled: a text that the compiler refuses is there to be read.
 * `*out_path` is free()d by the caller.
 */
vyre_status keep_source(const manifest *m, const char *folder, char **out_path, vyre_error *err);

#endif
