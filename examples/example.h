/*
 * example.h - what the examples share: their common options, a device and a run on it, and how they
 * report.  Nothing in here is vyre's; it uses the public headers like any other program.
 *
 * Exit status of all examples: 0 all is well, 1 a check found a difference, 2 an error.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vyre.h>

#define EXAMPLE_OK 0
#define EXAMPLE_DIFFERS 1
#define EXAMPLE_ERROR 2

/* The common options' codes; a program's own begin at EXAMPLE_OWN_OPTION. */
enum {
  EXAMPLE_OPTION_ROUTE = 256,
  EXAMPLE_OPTION_CONVERGE,
  EXAMPLE_OPTION_ITERATIONS,
  EXAMPLE_OPTION_PROGRAM,
  EXAMPLE_OPTION_SAVE,
  EXAMPLE_OPTION_CHECK,
  EXAMPLE_OPTION_JSON,
  EXAMPLE_OWN_OPTION
};
#define EXAMPLE_SHORT_OPTIONS "d:h"
#define EXAMPLE_LONG_OPTIONS                                                                       \
  {"device", required_argument, NULL, 'd'}, {"route", required_argument, NULL, 256},               \
      {"converge", required_argument, NULL, 257}, {"iterations", required_argument, NULL, 258},    \
      {"program", required_argument, NULL, 259}, {"save", required_argument, NULL, 260},           \
      {"check", no_argument, NULL, 261}, {"json", no_argument, NULL, 262},                         \
  {                                                                                                \
    "help", no_argument, NULL, 'h'                                                                 \
  }
#define EXAMPLE_OPTIONS_HELP                                                                       \
  "  -d, --device SEL      which device, see `vyre devices`; default: VYRE_DEVICE, else the\n"     \
  "                        best one\n"                                                             \
  "      --route ROUTE     auto, native, resident or host; default auto\n"                         \
  "      --converge HOW    how the end is found: exact, declared or off\n"                         \
  "      --iterations N    upper bound of passes\n"                                                \
  "      --program FILE    kernels compiled ahead of time (.vyreb), instead of the source that\n"  \
  "                        is in this program\n"                                                   \
  "      --save FOLDER     keep inputs and results: NAME.in and NAME.out for each buffer, "        \
  "push.in\n"                                                                                      \
  "                        for the push constants; what `vyre run` takes and gives\n"              \
  "      --check           compare the result with one computed here in plain C\n"                 \
  "      --json            one JSON object on stdout\n"                                            \
  "  -h, --help            this text\n"
#define EXAMPLE_EXIT_HELP                                                                          \
  "Exit status: 0 all is well, 1 the check found a difference, 2 an error.\n"

typedef struct example {
  const char *name; /* of the program, for messages */
  const char *selector;
  const char *bundle_path;
  const char *save_folder;
  vyre_route route;
  vyre_converge converge;
  uint32_t iterations; /* 0: the program's */
  bool converge_given;
  bool check;
  bool json;
  vyre_context *context;
  vyre_device *device;
  vyre_device_info info;
  vyre_outputs outputs; /* of the last run */
  vyre_dispatch_result result;
} example;

/* Kernels as `vyre-c` text, and the constants that they read. */
typedef struct example_kernel {
  const char *text;
  size_t size;
  const char *file; /* for messages */
  const void *push;
  uint32_t push_size;
} example_kernel;

void example_init(example *x, const char *name);

/* "NAME: message" on stderr, with a second line that says what to do; for errors of the program's
   own.  `fix` may be NULL. */
__attribute__((format(printf, 2, 3))) void example_complain(const example *x, const char *format,
                                                            ...);

/* One of the common options; false (and a complaint) if its argument cannot be read, or it is no
   option at all. */
bool example_option(example *x, int option, const char *argument);

/* A decimal number in a range; complains. */
bool example_number(const example *x, const char *what, const char *text, uint64_t least,
                    uint64_t most, uint64_t *out_number);

/* The device that the options ask for.  Complains. */
bool example_open(example *x);

/*
 * Makes the program (its code is the bundle of the options, else the kernel's text) and runs it:
 * results in x->outputs and x->result.  `--converge` and `--iterations` go before what `desc` says.
 * A grid of its own, if the program gives none, that suits the device.  Complains.
 */
bool example_run(example *x, const vyre_program_desc *desc, const example_kernel *kernel,
                 const vyre_bytes *inputs, uint32_t input_count);

/* The bytes of an output by its position; checked to be `size`. */
const void *example_output(const example *x, uint32_t position, uint64_t size);

/* How the run went: a line on stderr, or (json) members of an object without its braces. */
void example_report(const example *x);
/* A JSON string with its quotes. */
void example_json_text(const char *text);

void example_close(example *x);

/* A whole file, with a NUL behind it; NULL (and a complaint) if it cannot be read. */
char *example_read_file(const example *x, const char *path, size_t *out_size);

/* Numbers that look random and are the same everywhere: splitmix64. */
static inline uint64_t example_random(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Nanoseconds of the monotonic clock. */
uint64_t example_now(void);

#endif
