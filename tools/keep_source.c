/* keep_source.c - see keep_source.h. */
#include "tools/keep_source.h"

#include "tools/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FOLDER/NAME.vyre.c; NULL without memory. */
static char *path_of(const char *folder, const char *name)
{
  static const char end[] = ".vyre.c";
  const size_t length = strlen(folder), size = length + 1 + strlen(name) + sizeof end;
  const char *slash = length != 0 && folder[length - 1] == '/' ? "" : "/";
  char *path = malloc(size), *at;

  if (path == NULL) {
    return NULL;
  }
  snprintf(path, size, "%s%s%s%s", folder, slash, name, end);
  for (at = path + length + strlen(slash); *at != '\0'; at++) {
    *at = *at == '/' ? '_' : *at;
  }
  return path;
}

vyre_status keep_source(const manifest *m, const char *folder, char **out_path, vyre_error *err)
{
  cli_output file;
  vyre_status status;
  char *text = NULL, *path = NULL;
  uint64_t size = 0;

  memset(&file, 0, sizeof file);
  if (!m->is_program) {
    return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "leave --keep-temps out",
                    "--keep-temps keeps the text of a program, and %s describes handlers", m->name);
  }
  if (m->source.data == NULL) {
    return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0,
                    "give the manifest whose \"kernel\" is a vyre-c source",
                    "--keep-temps: %s is compiled already and has no text to keep", m->name);
  }
  status = vyre_program_source(&m->program, NULL, &text, &size, err);
  if (status != VYRE_OK) {
    return status;
  }
  path = path_of(folder, m->name);
  status = path == NULL
               ? cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for a path")
               : cli_output_begin(&file, path, text, (size_t)size, err);
  if (status == VYRE_OK) {
    status = cli_output_commit(&file, err);
  }
  cli_output_end(&file);
  free(text);
  if (status == VYRE_OK) {
    *out_path = path;
    path = NULL;
  }
  free(path);
  return status;
}
