/*
 * main.c - the command `vyre`: finds the verb, and sees to it that a result which could not be
 * written is never taken for a success.
 */
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *cli_name = "vyre";
int cli_stdout_errno;

static const cli_verb *const verbs[] = {&cli_verb_devices, &cli_verb_scan, &cli_verb_run,
                                        &cli_verb_compile, &cli_verb_bench};
#define VERBS (sizeof verbs / sizeof verbs[0])

static void print_help(void)
{
  size_t i;

  fputs("Usage: vyre VERB [ARGUMENT...]\n"
        "       vyre --help | --version\n"
        "\n"
        "Runs compute programs on whatever accelerator the machine has.\n"
        "\n"
        "Verbs:\n",
        stdout);
  for (i = 0; i < VERBS; i++) {
    printf("  %-9s %s\n", verbs[i]->name, verbs[i]->summary);
  }
  fputs("\n"
        "`vyre VERB --help` tells about a verb.\n"
        "\n"
        "Exit status:\n"
        "  0  it worked; for scan: there are matches\n"
        "  1  it worked and found nothing: no match, no device\n"
        "  2  an error: a wrong command line, a file, a device; stderr names it and the fix\n"
        "\n"
        "Environment:\n"
        "  VYRE_DEVICE       the device for commands without --device\n"
        "  VYRE_PLUGIN_PATH  folders with plugins, separated by ':', before the usual ones\n"
        "  VYRE_CPU_THREADS  threads of the cpu plugin; default: the CPUs this process may use\n"
        "  VYRE_CACHE_DIR    where compiled kernels are kept; default: ~/.cache/vyre\n"
        "  NO_COLOR          no colours on a terminal\n",
        stdout);
}

/* Everything that was printed has to arrive: a full disk or a closed pipe is an error. */
static int finish(int status)
{
  const bool earlier = ferror(stdout) != 0;

  errno = 0;
  if (fflush(stdout) != 0 || earlier) {
    const int code = cli_stdout_errno != 0 ? cli_stdout_errno : errno;
    cli_error("cannot write to standard output: %s", code != 0 ? strerror(code) : "write error");
    return CLI_ERROR;
  }
  return status;
}

/* A standard stream that was closed must not become some file that is opened later.  What takes its
   place cannot be written, so that writing to it is still an error. */
static void hold_standard_streams(void)
{
  int fd;

  do {
    fd = open("/dev/null", O_RDONLY | O_NOCTTY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) {
    close(fd);
  }
}

int main(int argc, char **argv)
{
  static char name[32];
  size_t i;

  hold_standard_streams();
  /* A reader that went away is seen as a write error. */
  signal(SIGPIPE, SIG_IGN);
  if (argc < 2) {
    return cli_usage("a verb is missing");
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
      strcmp(argv[1], "help") == 0) {
    print_help();
    return finish(CLI_OK);
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    printf("vyre %s\n", vyre_version());
    return finish(CLI_OK);
  }
  for (i = 0; i < VERBS; i++) {
    if (strcmp(argv[1], verbs[i]->name) == 0) {
      snprintf(name, sizeof name, "vyre %s", verbs[i]->name);
      cli_name = name;
      argv[1] = name;
      return finish(verbs[i]->run(argc - 1, argv + 1));
    }
  }
  return cli_usage("there is no verb '%s'", argv[1]);
}
