/*
 * printer.h - what `vyre scan` prints about a file: lines or JSON, or one count.
 *
 * A path is printed as the bytes that it has, also line ends and control characters; JSON escapes
 * them, and a path that is not UTF-8 is given in base64.
 */
#ifndef VYRE_SCAN_PRINTER_H
#define VYRE_SCAN_PRINTER_H

#include "tools/scan/engine_scan.h"

#include <stdio.h>

typedef enum vyre__print_form {
  VYRE__PRINT_LINES, /* PATH:OFFSET:ID */
  VYRE__PRINT_JSON,  /* {"path": …, "offset": …, "length": …, "rule": …} */
  VYRE__PRINT_COUNT, /* PATH:N of files with matches, or {"path": …, "count": …} */
  VYRE__PRINT_COUNT_JSON,
  VYRE__PRINT_NOTHING
} vyre__print_form;

typedef struct vyre__printer {
  FILE *out;
  vyre__print_form form;
  const vyre__rules *rules;
  char *path; /* the path as JSON, reused */
  size_t path_capacity;
  char **tails; /* of each rule: what follows the offset, made when first needed */
  uint32_t *tail_lengths;
} vyre__printer;

vyre_status vyre__printer_open(vyre__printer *printer, FILE *out, vyre__print_form form,
                               const vyre__rules *rules, vyre_error *err);
void vyre__printer_close(vyre__printer *printer);

/* False: the stream has an error, or memory ran out (errno tells). */
bool vyre__printer_file(vyre__printer *printer, const char *path, const vyre__scan_match *matches,
                        uint64_t count);

#endif
