/*
 * manifest.h - the JSON file that describes a program or a handler set; docs/manifest.md is its
 * specification.
 *
 * A manifest file and a bundle (.vyreb), which keeps the manifest that it was made from, are read
 * into the same record.  An error names file, line, column and field.
 */
#ifndef VYRE_TOOLS_MANIFEST_H
#define VYRE_TOOLS_MANIFEST_H

#include "vyre.h"

#include <jansson.h>
#include <stddef.h>

typedef struct manifest {
  bool is_program;               /* else a handler set */
  vyre_program_desc program;     /* everything it points to belongs to the manifest */
  vyre_engine_handlers handlers; /* without rule sets: they are the caller's */
  const char *name;
  const char *kernel; /* as written; NULL if a bundle was opened directly */

  /* Owned by the rest. */
  char *text; /* the manifest's own bytes, followed by a NUL */
  size_t text_size;
  json_t *root;
  vyre_buffer_decl *buffers;
  vyre_segment_decl *segments;
  vyre_segment_binding **bindings; /* one list a segment */
  vyre_handler_decl *handler_decls;
  char *kernel_path;
  char *kernel_data; /* source, or the image of a bundle */
  size_t kernel_size;
  vyre_bundle *bundle;
  vyre_code source; /* the one row of a source file */
} manifest;

/* Reads a manifest or a bundle, and the kernel file that it names (relative to the manifest). */
vyre_status manifest_open(const char *path, manifest *out_manifest, vyre_error *err);

/*
 * Reads a manifest's text alone; no file is opened and `code` stays empty.  `name` stands for the
 * file in messages.  For tests, and for manifest_open().
 */
vyre_status manifest_parse(const char *name, const char *text, size_t size, manifest *out_manifest,
                           vyre_error *err);

/* Frees everything; a zeroed record is accepted. */
void manifest_close(manifest *m);

#endif
