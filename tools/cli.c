/*
 * cli.c - messages, options and the device, shared by the verbs.  Files are in cli_files.c.
 */
#include "tools/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *kind, const char *format, va_list args)
{
  /* Lines of stdout before this one come first where both go to one place. */
  fflush(stdout);
  fprintf(stderr, "%s: %s", cli_name, kind);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
}

void cli_error(const char *format, ...)
{
  va_list args;

  va_start(args, format);
  say("error: ", format, args);
  va_end(args);
}

void cli_note(const char *format, ...)
{
  va_list args;

  va_start(args, format);
  say("note: ", format, args);
  va_end(args);
}

void cli_report(const char *what, const vyre_error *err)
{
  const char *message = err->message[0] != '\0' ? err->message : vyre_status_text(err->code);
  const char *fix = err->fix[0] != '\0' ? err->fix : vyre_status_fix(err->code);

  if (what != NULL) {
    cli_error("%s: %s", what, message);
  } else {
    cli_error("%s", message);
  }
  fprintf(stderr, "  fix: %s\n", fix);
}

int cli_usage(const char *format, ...)
{
  va_list args;

  va_start(args, format);
  say("", format, args);
  va_end(args);
  fprintf(stderr, "Try '%s --help'.\n", cli_name);
  return CLI_ERROR;
}

cli_colours cli_stdout_colours(void)
{
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  const bool plain = !isatty(STDOUT_FILENO) || (no_color != NULL && no_color[0] != '\0') ||
                     term == NULL || strcmp(term, "dumb") == 0;
  const cli_colours colours = {"\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m"};
  const cli_colours none = {"", "", "", "", ""};

  return plain ? none : colours;
}

int cli_next_option(const cli_verb *verb, int argc, char **argv, const char *shorts,
                    const struct option *longs)
{
  const int option = getopt_long(argc, argv, shorts, longs, NULL);

  if (option == 'h') {
    fputs(verb->help, stdout);
    return CLI_OPTIONS_HELP;
  }
  if (option == '?') { /* getopt has told what is wrong */
    fprintf(stderr, "Try '%s --help'.\n", cli_name);
    return CLI_OPTIONS_WRONG;
  }
  return option;
}

bool cli_number(const char *text, uint64_t low, uint64_t high, uint64_t *out_number)
{
  unsigned long long value;
  unsigned shift = 0;
  char *end;

  if (text[0] < '0' || text[0] > '9') {
    return false;
  }
  errno = 0;
  value = strtoull(text, &end, 10);
  switch (*end) {
  case 'k':
    shift = 10;
    break;
  case 'm':
    shift = 20;
    break;
  case 'g':
    shift = 30;
    break;
  default:
    break;
  }
  end += shift != 0;
  if (errno != 0 || *end != '\0' || value > UINT64_MAX >> shift) {
    return false;
  }
  value <<= shift;
  *out_number = value;
  return value >= low && value <= high;
}

static void log_line(void *self, vyre_log_level level, const char *text)
{
  (void)self;
  fprintf(stderr, "%s: %s: %s\n", cli_name, level == VYRE_LOG_ERROR ? "error" : "warning", text);
}

bool cli_context(vyre_context **out_context)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_error err = VYRE_ERROR_INIT;

  options.log = log_line;
  options.log_level = VYRE_LOG_WARNING;
  if (vyre_context_create(&options, out_context, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return false;
  }
  return true;
}

bool cli_device(const char *selector, vyre_context **out_context, vyre_device **out_device)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;

  if (!cli_context(out_context)) {
    return false;
  }
  request.selector = selector;
  if (vyre_device_open(*out_context, &request, out_device, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    vyre_context_destroy(*out_context);
    *out_context = NULL;
    return false;
  }
  return true;
}

const char *cli_device_text(const vyre_device *device, char *out_text, size_t size)
{
  vyre_device_info info;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (vyre_device_get_info(device, &info, NULL) == VYRE_OK) {
    snprintf(out_text, size, "%s (%s)", info.selector, info.name);
  } else {
    snprintf(out_text, size, "unknown");
  }
  return out_text;
}

bool cli_print_json(json_t *object, size_t flags)
{
  bool ok = object != NULL && json_dumpf(object, stdout, flags) == 0;

  if (object == NULL) {
    cli_error("no memory for the JSON text");
  } else if (ok) {
    ok = fputc('\n', stdout) != EOF;
  } /* a write error of stdout is told by main() */
  json_decref(object);
  return ok;
}

json_t *cli_json_seconds(uint64_t nanoseconds)
{
  return nanoseconds == VYRE_TIME_ABSENT ? json_null() : json_real((double)nanoseconds * 1e-9);
}
