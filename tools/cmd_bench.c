/*
 * cmd_bench.c - `vyre bench`: finds the benchmark, prints its report.
 */
#include "bench/bench.h"
#include "tools/cli.h"

#include <stdio.h>
#include <unistd.h>

static const char help[] =
    "Usage: vyre bench NAME [--json FILE] [--device SEL] [--rounds N] [--jobs N] [--ms N]\n"
    "       vyre bench ring [--cells LIST] [--peers FILE] [--soak[=SECONDS]]\n"
    "       vyre bench --list\n"
    "\n"
    "Runs a benchmark.  What is compared is measured in one process and told as ratios; rows\n"
    "with a target say whether it was met.\n"
    "\n"
    "      --json FILE    also write the report as JSON\n"
    "  -d, --device SEL   which device; default cpu\n"
    "      --rounds N     measured rounds; default: the benchmark's own\n"
    "      --jobs N       work items a round; default: the benchmark's own\n"
    "      --ms N         ring: milliseconds of one measurement\n"
    "      --cells LIST   ring: which: 1P1C, 2P2C:32 or hand-off, separated by commas\n"
    "      --peers FILE   ring: the module with other queues; scripts/bench-ring builds it\n"
    "      --soak[=N]     ring: check it for N seconds (60) instead of measuring\n"
    "  -l, --list         the names\n"
    "  -h, --help         this text\n"
    "\n"
    "Exit status: 0 it ran, whether or not targets were met; 2 an error, or a wrong result.\n";

#define SOAK_SECONDS 60u

static int list_all(void)
{
  const bench_entry *entry;
  uint32_t i;

  for (i = 0; (entry = bench_at(i)) != NULL; i++) {
    printf("%-9s %s\n", entry->name, entry->summary);
  }
  return CLI_OK;
}

static int run_bench(const bench_entry *entry, const bench_options *options, const char *json)
{
  vyre_error err = VYRE_ERROR_INIT;
  bench_report report;
  int exit_status = CLI_OK;

  bench_report_init(&report);
  if (entry->run(options, &report, &err) != VYRE_OK) {
    cli_report(entry->name, &err);
    exit_status = CLI_ERROR;
  } else {
    if (!bench_report_print(&report, stdout)) {
      exit_status = CLI_ERROR; /* main() tells */
    }
    if (json != NULL && bench_report_write_json(&report, json, &err) != VYRE_OK) {
      cli_report(NULL, &err);
      exit_status = CLI_ERROR;
    }
    if (report.wrong) {
      cli_error("%s: results were wrong, see above", entry->name);
      exit_status = CLI_ERROR;
    }
  }
  bench_report_free(&report);
  return exit_status;
}

/* The option that takes a number: where it goes. */
static uint32_t *number_of(bench_options *options, int option)
{
  switch (option) {
  case 'r':
    return &options->rounds;
  case 'n':
    return &options->jobs;
  case 'm':
    return &options->ms;
  case 's':
    return &options->soak;
  default:
    return NULL;
  }
}

/* An option that the benchmark does not look at; NULL if there is none. */
static const char *out_of_place(const bench_entry *entry, const bench_options *options)
{
  if (entry->run == bench_ring) {
    return options->jobs != 0 ? "--jobs" : options->device != NULL ? "--device" : NULL;
  }
  return options->soak != 0       ? "--soak"
         : options->ms != 0       ? "--ms"
         : options->cells != NULL ? "--cells"
         : options->peers != NULL ? "--peers"
                                  : NULL;
}

static int run(int argc, char **argv)
{
  static const struct option longs[] = {{"json", required_argument, NULL, 'j'},
                                        {"device", required_argument, NULL, 'd'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"jobs", required_argument, NULL, 'n'},
                                        {"ms", required_argument, NULL, 'm'},
                                        {"cells", required_argument, NULL, 'c'},
                                        {"peers", required_argument, NULL, 'p'},
                                        {"soak", optional_argument, NULL, 's'},
                                        {"list", no_argument, NULL, 'l'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  bench_options options = BENCH_OPTIONS_INIT;
  const bench_entry *entry;
  const char *json = NULL, *extra;
  uint64_t number;
  int option, exit_status;

  if (argc > 1 && bench_child(argc - 1, argv + 1, &exit_status)) {
    return exit_status;
  }
  while ((option = cli_next_option(&cli_verb_bench, argc, argv, "d:lh", longs)) !=
         CLI_OPTIONS_END) {
    switch (option) {
    case 'j':
      json = optarg;
      break;
    case 'd':
      options.device = optarg;
      break;
    case 'c':
      options.cells = optarg;
      break;
    case 'p':
      options.peers = optarg;
      break;
    case 'r':
    case 'n':
    case 'm':
    case 's':
      number = SOAK_SECONDS;
      if (optarg != NULL && !cli_number(optarg, 1, UINT32_MAX, &number)) {
        return cli_usage("'%s': give a number from 1 to %u", optarg, UINT32_MAX);
      }
      *number_of(&options, option) = (uint32_t)number;
      break;
    case 'l':
      return list_all();
    default:
      return option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
    }
  }
  if (optind + 1 != argc) {
    return cli_usage(optind == argc ? "the name of a benchmark is missing; --list names them"
                                    : "give one name, and a value of --soak as --soak=N");
  }
  entry = bench_find(argv[optind]);
  if (entry == NULL) {
    return cli_usage("there is no benchmark '%s'; --list names them", argv[optind]);
  }
  extra = out_of_place(entry, &options);
  if (extra != NULL) {
    return cli_usage("%s is not an option of the benchmark '%s'", extra, entry->name);
  }
  options.progress = isatty(STDERR_FILENO) ? stderr : NULL;
  return run_bench(entry, &options, json);
}

const cli_verb cli_verb_bench = {"bench", "measure, and compare by ratios", help, run};
