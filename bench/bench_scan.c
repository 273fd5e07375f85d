/*
 * bench_scan.c - bytes a second of the scan's handler, in one engine: over bytes that lie on the
 * device, and over bytes of the host that the device reads where they are; beside what the link and
 * the memory of the device can do.
 *
 * The bytes are small letters and blanks, the sets literals of 5 to 12 letters, all from one seed.
 * How often the rules of a set occur in the first pieces is counted by plain C as well, and every
 * run has to come to the same number of matches in all.
 */
#include "bench/bare_peer.h"
#include "bench/work.h"
#include "tools/scan/automaton.h"

#include "embed/bench_scan_handler.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES (UINT32_C(256) << 20)
#define PIECE 8192u
#define MOST_PIECES (UINT32_MAX / PIECE)
#define DEFAULT_ROUNDS 3u
#define SUBMIT 512u
#define REAP 1024u
#define CAPACITY 16384u
#define BANK_RECORDS (UINT32_C(1) << 21)
#define LIMIT UINT64_C(60000000000)
#define SHORTEST 5u
#define LONGEST 12u
/* Comparisons that counting by plain C may take. */
#define MOST_COMPARISONS UINT64_C(200000000)

static const struct {
  uint32_t literals;
  bool has_target;
} sets[] = {{8, true}, {30, true}, {1000, false}, {50000, false}};
#define SETS (sizeof sets / sizeof sets[0])

typedef struct scan_bench {
  bench_device device;
  bench_bare_peer bare;
  uint8_t *bytes;
  uint32_t size, pieces;
  vyre_buffer *input; /* on the device */
  vyre__rules *rules;
  vyre__automaton automaton;
  vyre_engine *engine;
  vyre_completion completions[REAP];
  vyre_work_item items[SUBMIT];
  uint32_t checked;  /* pieces that plain C has counted */
  uint64_t expected; /* matches in them */
  uint64_t matches;  /* in all pieces, of the first run */
  double *values;
} scan_bench;

static uint32_t draw(uint32_t *seed)
{
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

/* ---- bytes and rules ---- */

static vyre_status make_bytes(scan_bench *b, uint32_t size, vyre_error *err)
{
  uint32_t seed = 1;
  b->pieces = size / PIECE;
  b->size = b->pieces * PIECE;
  b->bytes = malloc(b->size);
  if (!b->bytes || !b->pieces)
    return bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the bytes");
  for (uint32_t i = 0; i < b->size; ++i) {
    const uint32_t letter = draw(&seed) % 32;
    b->bytes[i] = letter < 26 ? (uint8_t)('a' + letter) : ' ';
  }
  return VYRE_OK;
}

/* "r7 qwertz" a line. */
static vyre_status make_rules(scan_bench *b, uint32_t literals, vyre_error *err)
{
  const size_t room = (size_t)literals * (LONGEST + 16);
  char *text = malloc(room);
  size_t length = 0;
  uint32_t seed = literals;
  vyre_status status = text ? vyre__rules_create(&b->rules, err)
                            : bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rules");
  for (uint32_t i = 0; i < literals && status == VYRE_OK; ++i) {
    uint32_t letters = SHORTEST + draw(&seed) % (LONGEST - SHORTEST + 1);
    length += (size_t)snprintf(text + length, room - length, "r%u ", i);
    while (letters--)
      text[length++] = (char)('a' + draw(&seed) % 26);
    text[length++] = '\n';
  }
  if (status == VYRE_OK)
    status = vyre__rules_add_text(b->rules, "literals", text, length, err);
  if (status == VYRE_OK)
    status = vyre__rules_finish(b->rules, err);
  if (status == VYRE_OK)
    status = vyre__automaton_build(b->rules, NULL, &b->automaton, err);
  free(text);
  return status;
}

static void drop_rules(scan_bench *b)
{
  vyre__automaton_destroy(&b->automaton);
  vyre__rules_destroy(b->rules);
  b->rules = NULL;
}

/* By plain C, in as many pieces as take no time to speak of. */
static void count_matches(scan_bench *b)
{
  const uint32_t rules = vyre__rules_count(b->rules);
  const uint64_t pieces = MOST_COMPARISONS / ((uint64_t)rules * PIECE);
  b->checked = pieces < b->pieces ? (uint32_t)pieces : b->pieces;
  b->checked = b->checked ? b->checked : 1;
  b->expected = 0;
  for (uint32_t r = 0; r < rules; ++r) {
    const vyre__rule rule = vyre__rules_get(b->rules, r);
    for (uint32_t p = 0; p < b->checked; ++p) {
      const uint8_t *at = b->bytes + (size_t)p * PIECE, *end = at + PIECE - rule.pattern_length + 1;
      for (; at < end; ++at)
        b->expected += at[0] == rule.pattern[0] && !memcmp(at, rule.pattern, rule.pattern_length);
    }
  }
}

/* ---- an engine ---- */

static vyre_status start(scan_bench *b, vyre_buffer *input, vyre_error *err)
{
  vyre_engine_handlers handlers = VYRE_ENGINE_HANDLERS_INIT;
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  vyre_handler_decl handler = VYRE_HANDLER_DECL_INIT;
  vyre_rule_set rules = VYRE_RULE_SET_INIT;
  vyre_code code = VYRE_CODE_INIT;
  vyre_status status;
  code.format = "vyre-c";
  code.data = bench_scan_handler;
  code.size = bench_scan_handler_size;
  code.name = "scan_kernel.c";
  handler.name = "scan";
  handler.flags = VYRE_HANDLER_RECORDS;
  rules.constants = b->automaton.blob;
  rules.constants_size = b->automaton.blob_size;
  handlers.name = "scan";
  handlers.handlers = &handler;
  handlers.handler_count = 1;
  handlers.code = &code;
  handlers.code_count = 1;
  handlers.rule_sets = &rules;
  handlers.rule_set_count = 1;
  options.capacity = options.max_unfinished = CAPACITY;
  options.bank_records = BANK_RECORDS;
  options.input = input;
  options.input_size = input ? 0 : b->size;
  status = vyre_engine_start(b->device.device, &handlers, &options, &b->engine, err);
  if (status == VYRE_OK && !input)
    memcpy(vyre_engine_input(b->engine, NULL), b->bytes, b->size);
  return status;
}

/* `matches`: in all pieces; `in_checked`: in those that plain C has counted. */
static vyre_status reap(scan_bench *b, uint32_t *reaped, uint64_t *matches, uint64_t *in_checked)
{
  uint32_t n = 0;
  const vyre_status status = vyre_engine_reap(b->engine, b->completions, REAP, LIMIT, &n);
  for (uint32_t i = 0; i < n; ++i) {
    const vyre_completion *c = &b->completions[i];
    if (c->status != VYRE_OK)
      return c->status;
    *matches += c->result;
    *in_checked += c->correlation < b->checked ? c->result : 0;
  }
  *reaped += n;
  return status;
}

/* All pieces once; then the bank is empty again. */
static vyre_status scan_all(scan_bench *b, double *out_seconds, vyre_error *err)
{
  uint64_t matches = 0, in_checked = 0;
  uint32_t submitted = 0, reaped = 0, records = 0;
  const vyre_record *unused = NULL;
  vyre_status status = VYRE_OK;
  const double begin = bench_now();
  while (reaped < b->pieces && status == VYRE_OK) {
    uint32_t n = 0, count = b->pieces - submitted < SUBMIT ? b->pieces - submitted : SUBMIT;
    for (uint32_t i = 0; i < count; ++i)
      b->items[i] = (vyre_work_item){.input_offset = (submitted + i) * PIECE,
                                     .input_len = PIECE,
                                     .correlation = submitted + i};
    if (count)
      status = vyre_engine_submit_many(b->engine, b->items, count, NULL, &n);
    submitted += n;
    if (!count || status == VYRE_ERROR_QUEUE_FULL)
      status = reap(b, &reaped, &matches, &in_checked);
  }
  *out_seconds = bench_now() - begin;
  if (status == VYRE_OK)
    status = vyre_engine_swap_bank(b->engine, LIMIT, &unused, &records);
  if (status != VYRE_OK)
    return bench_fail(err, status, "the engine");
  if (!b->matches)
    b->matches = matches;
  return in_checked == b->expected && matches == b->matches && records == matches
             ? VYRE_OK
             : bench_fail(err, VYRE_ERROR_INTERNAL,
                          "the engine's matches are not those of plain C");
}

/* Gigabytes a second, the median of the rounds; one run before them does not count. */
static vyre_status measure(scan_bench *b, vyre_buffer *input, uint32_t rounds, double *out_rate,
                           vyre_error *err)
{
  double seconds = 0;
  vyre_status status = start(b, input, err);
  if (status == VYRE_OK)
    status = scan_all(b, &seconds, err);
  for (uint32_t round = 0; round < rounds && status == VYRE_OK; ++round) {
    status = scan_all(b, &seconds, err);
    b->values[round] = b->size / seconds * 1e-9;
  }
  vyre_engine_destroy(b->engine);
  b->engine = NULL;
  *out_rate = status == VYRE_OK ? bench_median(b->values, rounds) : 0;
  return status;
}

/* ---- rows ---- */

/* Gigabytes a second of a bare copy; 0 without a module for this device. */
static vyre_status copy_rate(const scan_bench *b, uint32_t kind, double *out_rate, vyre_error *err)
{
  double seconds = 0;
  vyre_status status = VYRE_OK;
  *out_rate = 0;
  if (!b->bare.calls)
    return VYRE_OK;
  status = bench_bare_check(&b->bare, b->bare.calls->copy(b->bare.self, kind, b->size, 8, &seconds),
                            err);
  if (status == VYRE_OK)
    *out_rate = 8.0 * b->size / seconds * 1e-9;
  return status;
}

static vyre_status report_set(scan_bench *b, uint32_t set, double link, uint32_t rounds,
                              bench_report *report, vyre_error *err)
{
  const uint32_t literals = sets[set].literals;
  double on_device = 0, from_host = 0;
  char name[BENCH_NAME_SIZE];
  vyre_status status = make_rules(b, literals, err);
  b->matches = 0;
  if (status == VYRE_OK) {
    count_matches(b);
    status = measure(b, b->input, rounds, &on_device, err);
  }
  if (status == VYRE_OK)
    status = measure(b, NULL, rounds, &from_host, err);
  drop_rules(b);
  if (status != VYRE_OK)
    return status;
  snprintf(name, sizeof name, "%u literals, bytes on the device", literals);
  if (link > 0 && sets[set].has_target)
    bench_report_at_least(report, name, on_device, "GB/s", 100);
  else
    bench_report_value(report, name, on_device, "GB/s");
  snprintf(name, sizeof name, "%u literals, bytes of the host", literals);
  bench_report_value(report, name, from_host, "GB/s");
  if (link > 0) {
    snprintf(name, sizeof name, "%u literals, bytes of the host / link", literals);
    if (sets[set].has_target)
      bench_report_at_least(report, name, from_host / link, "ratio", 0.8);
    else
      bench_report_value(report, name, from_host / link, "ratio");
  }
  snprintf(name, sizeof name, "%u literals, matches", literals);
  bench_report_value(report, name, (double)b->matches, "");
  return VYRE_OK;
}

static vyre_status prepare(scan_bench *b, const bench_options *options, bench_report *report,
                           vyre_error *err)
{
  vyre_status status = bench_device_open(&b->device, options->device, err);
  if (status == VYRE_OK)
    status = bench_bare_open(&b->device, report, &b->bare, err);
  if (status == VYRE_OK && options->jobs > MOST_PIECES) {
    status = bench_fail(err, VYRE_ERROR_INVALID_ARGUMENT, "--jobs: an item's offset has 32 bits");
    if (err)
      snprintf(err->fix, sizeof err->fix, "give at most %u pieces of %u bytes", MOST_PIECES, PIECE);
  }
  if (status == VYRE_OK)
    status = make_bytes(b, options->jobs ? options->jobs * PIECE : DEFAULT_BYTES, err);
  if (status == VYRE_OK)
    status = vyre_buffer_create(b->device.device, b->size, &b->input, err);
  if (status == VYRE_OK)
    status = vyre_buffer_upload(b->input, 0, b->bytes, b->size, err);
  return status;
}

vyre_status bench_scan(const bench_options *options, bench_report *report, vyre_error *err)
{
  const uint32_t rounds = options->rounds ? options->rounds : DEFAULT_ROUNDS;
  scan_bench *b = calloc(1, sizeof *b);
  double up = 0, across = 0;
  vyre_status status = VYRE_OK;
  if (b)
    b->values = calloc(rounds, sizeof *b->values);
  if (!b || !b->values)
    status = bench_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the rounds");
  if (status == VYRE_OK)
    status = prepare(b, options, report, err);
  if (status == VYRE_OK) {
    snprintf(report->title, sizeof report->title, "scan: %u bytes in pieces of %u", b->size, PIECE);
    snprintf(report->device, sizeof report->device, "%.30s (%.60s)", b->device.info.selector,
             b->device.info.name);
    status = copy_rate(b, BENCH_BARE_UP, &up, err);
  }
  if (status == VYRE_OK)
    status = copy_rate(b, BENCH_BARE_ACROSS, &across, err);
  if (status == VYRE_OK && up > 0) {
    bench_report_value(report, "bare copy to the device, the link", up, "GB/s");
    bench_report_value(report, "bare copy within the device", across, "GB/s");
  }
  for (uint32_t set = 0; set < SETS && status == VYRE_OK; ++set)
    status = report_set(b, set, up, rounds, report, err);
  if (b) {
    vyre_buffer_destroy(b->input);
    bench_bare_close(&b->bare);
    bench_device_close(&b->device);
    free(b->bytes);
    free(b->values);
  }
  free(b);
  return status;
}
