/*
 * cmd_bench.c - `vyre bench`: finds the benchmark, prints its report.
 */
#include "bench/bench.h"
#include "tools/cli.h"

#include <stdio.h>
#include <unistd.h>

static const char help[] =
    "Usage: vyre bench NAME [--json FILE] [--device SEL] [--rounds N] [--jobs N] [--ms N]\n"
    "       vyre bench engine [--device SEL] [--jobs N] [--soak[=SECONDS]]\n"
    "       vyre bench ring [--cells LIST] [--peers FILE] [--soak[=SECONDS]]\n"
    "       vyre bench gridsync [--cells LIST] [--peers FILE] [--segments N] [--passes N]\n"
    "                           [--words N] [--edges N]\n"
    "       vyre bench --list\n"
    "\n"
    "Runs a benchmark.  What is compared is measured in one process and told as ratios; rows\n"
    "with a target say whether it was met.\n"
    "\n"
    "      --json FILE    also write the report as JSON\n"
    "  -d, --device SEL   which device; default cpu\n"
    "      --rounds N     measured rounds; default: the benchmark's own\n"
    "      --jobs N       work items a round, of flow the most; default: the benchmark's own\n"
    "      --ms N         ring, gridsync: milliseconds of one measurement\n"
    "      --cells LIST   which, separated by commas.  ring: 1P1C, 2P2C:32 or hand-off;\n"
    "                     gridsync: barrier, segments, passes, words, uniform, power\n"
    "      --peers FILE   the module with what it is compared with: ring: other queues, built by\n"
    "                     scripts/bench-ring; gridsync: a search, by scripts/bench-gridsync\n"
    "      --segments N, --passes N, --words N, --edges N\n"
    "                     gridsync: the most of each; default 128, 64, 4m (2^22), 1000000\n"
    "      --soak[=N]     ring, engine: check it for N seconds (60) instead of measuring\n"
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

/* The option that takes a number: where it goes, and the most that it may be. */
static uint32_t *number_of(bench_options *options, int option, uint32_t *out_most)
{
  *out_most = option == 'g'                    ? 4096
              : option == 'w' || option == 'e' ? UINT32_C(1) << 28
                                               : UINT32_MAX;
  switch (option) {
  case 'r':
    return &options->rounds;
  case 'n':
    return &options->jobs;
  case 'm':
    return &options->ms;
  case 's':
    return &options->soak;
  case 'g':
    return &options->segments;
  case 'a':
    return &options->passes;
  case 'w':
    return &options->words;
  case 'e':
    return &options->edges;
  default:
    return NULL;
  }
}

/* An option that was given and that the benchmark does not look at; NULL if there is none. */
static const char *out_of_place(const bench_entry *entry, const bench_options *options)
{
  const struct {
    const char *name;
    bool given;
    uint32_t option;
  } rows[] = {{"--jobs", options->jobs != 0, BENCH_JOBS},
              {"--rounds", options->rounds != 0, BENCH_ROUNDS},
              {"--ms", options->ms != 0, BENCH_MS},
              {"--soak", options->soak != 0, BENCH_SOAK},
              {"--device", options->device != NULL, BENCH_DEVICE},
              {"--cells", options->cells != NULL, BENCH_CELLS},
              {"--peers", options->peers != NULL, BENCH_PEERS},
              {"--segments", options->segments != 0, BENCH_SIZES},
              {"--passes", options->passes != 0, BENCH_SIZES},
              {"--words", options->words != 0, BENCH_SIZES},
              {"--edges", options->edges != 0, BENCH_SIZES}};
  size_t i;

  for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].given && (entry->options & rows[i].option) == 0) {
      return rows[i].name;
    }
  }
  return NULL;
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
                                        {"segments", required_argument, NULL, 'g'},
                                        {"passes", required_argument, NULL, 'a'},
                                        {"words", required_argument, NULL, 'w'},
                                        {"edges", required_argument, NULL, 'e'},
                                        {"soak", optional_argument, NULL, 's'},
                                        {"list", no_argument, NULL, 'l'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  bench_options options = BENCH_OPTIONS_INIT;
  const bench_entry *entry;
  const char *json = NULL, *extra;
  uint64_t number;
  uint32_t *place, most;
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
    case 'g':
    case 'a':
    case 'w':
    case 'e':
      number = SOAK_SECONDS;
      place = number_of(&options, option, &most);
      if (optarg != NULL && !cli_number(optarg, 1, most, &number)) {
        return cli_usage("'%s': give a number from 1 to %u", optarg, most);
      }
      *place = (uint32_t)number;
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
