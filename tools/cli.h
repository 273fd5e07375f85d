/*
 * cli.h - what every verb of the command shares: exit statuses, messages, the device, files.
 *
 * Results go to stdout, everything else to stderr.  A verb is a function from its own arguments
 * (argv[0] is "vyre VERB") to an exit status; it returns, it never calls exit().
 */
#ifndef VYRE_TOOLS_CLI_H
#define VYRE_TOOLS_CLI_H

#include "vyre.h"

#include <getopt.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses, the same for every verb. */
#define CLI_OK 0    /* done; for scan: there are matches */
#define CLI_NONE 1  /* done, and nothing was found */
#define CLI_ERROR 2 /* an error, told on stderr */

typedef struct cli_verb {
  const char *name;
  const char *summary; /* one line for `vyre --help` */
  const char *help;    /* the whole text of `vyre VERB --help` */
  int (*run)(int argc, char **argv);
} cli_verb;

extern const cli_verb cli_verb_devices, cli_verb_scan, cli_verb_run, cli_verb_compile,
    cli_verb_bench;

/* ---- messages ---- */

/* "vyre" or "vyre VERB": what messages begin with.  Set by main(). */
extern const char *cli_name;

/* Why stdout could not be written, for a verb that saw it; main() tells. */
extern int cli_stdout_errno;

/* "vyre VERB: error: …" on stderr, with a line end. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);
/* "vyre VERB: note: …": nothing is wrong, but somebody may want to know. */
__attribute__((format(printf, 1, 2))) void cli_note(const char *format, ...);
/* The message of a library's error and the line "  fix: …".  `what` (may be NULL) stands first. */
void cli_report(const char *what, const vyre_error *err);
/* A wrong command line: the message, then where the help is.  Returns CLI_ERROR. */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);

/* SGR sequences for stdout, "" unless it is a terminal (NO_COLOR and TERM=dumb are honoured). */
typedef struct cli_colours {
  const char *bold, *dim, *red, *green, *plain;
} cli_colours;
cli_colours cli_stdout_colours(void);

/*
 * One option of a verb, by getopt_long with `shorts` and `longs`; told apart are --help, which is
 * printed, and what is wrong, which is told with a hint.  Returns the option, or:
 */
#define CLI_OPTIONS_END (-1)
#define CLI_OPTIONS_HELP (-2) /* printed: return CLI_OK */
#define CLI_OPTIONS_WRONG (-3)
int cli_next_option(const cli_verb *verb, int argc, char **argv, const char *shorts,
                    const struct option *longs);
/* Every verb's table has it. */
#define CLI_HELP_OPTION                                                                            \
  {                                                                                                \
    "help", no_argument, NULL, 'h'                                                                 \
  }

/* A decimal number in [low, high], with an optional suffix k, m or g (1024, 1024^2, 1024^3). */
bool cli_number(const char *text, uint64_t low, uint64_t high, uint64_t *out_number);

/* ---- the library ---- */

/* A context that logs warnings to stderr; CLI_ERROR was told already if it returns false. */
bool cli_context(vyre_context **out_context);
/* A context and the device for `selector` (NULL: VYRE_DEVICE, else the best). */
bool cli_device(const char *selector, vyre_context **out_context, vyre_device **out_device);
/* "cpu:0 (AMD EPYC …)", cut to `size`. */
const char *cli_device_text(const vyre_device *device, char *out_text, size_t size);

/* ---- files ---- */

/* The whole file, followed by a NUL that is not counted.  free() it. */
vyre_status cli_read_file(const char *path, char **out_data, size_t *out_size, vyre_error *err);

/*
 * A file written as a whole or not at all: begin writes a temporary file beside it, commit renames
 * it.  A path that exists and is no regular file (a pipe, /dev/stdout) is written at commit.
 */
typedef struct cli_output {
  const char *path; /* borrowed */
  char *target;     /* with links resolved; where the path leads to no regular file, as given */
  char *temporary;  /* NULL for what is no regular file */
  const void *data; /* borrowed until commit or abandon */
  size_t size;
} cli_output;
vyre_status cli_output_begin(cli_output *output, const char *path, const void *data, size_t size,
                             vyre_error *err);
vyre_status cli_output_commit(cli_output *output, vyre_error *err);
/*
 * Commits all, which have begun.  What is no regular file comes first: it may refuse, as a rename
 * hardly ever does.  Two outputs of one file are an error, and nothing is touched.
 */
vyre_status cli_outputs_commit(cli_output *outputs, uint32_t count, vyre_error *err);
/* After either, and after a failed begin; removes what was not committed. */
void cli_output_end(cli_output *output);

/* `base` is a file: PATH as seen from its folder.  free() it; NULL without memory. */
char *cli_beside(const char *base, const char *path);

/* Fills an error record for the tools. */
__attribute__((format(printf, 5, 6))) vyre_status cli_fail(vyre_error *err, vyre_status code,
                                                           int64_t vendor, const char *fix,
                                                           const char *format, ...);

/* ---- JSON ---- */

/* One object on one line of stdout; takes the reference.  NULL means that memory ran out. */
bool cli_print_json(json_t *object, size_t flags);
/* A time in seconds, null where nobody measured it. */
json_t *cli_json_seconds(uint64_t nanoseconds);

#endif
