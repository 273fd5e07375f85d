/*
 * engine_scan.c - files to pieces and matches back to files; engine_scan.h is the contract.
 *
 * Files between the one that is read and the one that is handed over next wait in a queue in the
 * order of the list.  A file is complete when it was read to its end and every piece is done.  Of
 * the file at the front, matches that nothing can come before any more are handed over early, so
 * that a large file with a match at every byte needs no more memory than a small one.
 */
#include "tools/scan/engine_scan.h"

#include "tools/scan/file_reader.h"
#include "tools/scan/support.h"
#include "tools/scan/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The region that pieces lie in, and the number of pieces in flight. */
#define REGION_BYTES (UINT64_C(32) << 20)
#define REGION_LIMIT (UINT64_C(1) << 32)
#define MIN_SLOTS 4u
#define MAX_SLOTS 4096u
#define BANK_RECORDS (UINT32_C(1) << 18)
#define PROGRESS_NS UINT64_C(200000000)
/* Matches of one file that are kept before some are handed over early, unless the options say. */
#define KEEP_MATCHES 65536u

/* A piece that was submitted, until it and all pieces of its file before it are done. */
typedef struct piece {
  struct open_file *file;
  struct piece *next;
  uint64_t end; /* of its fresh bytes in the file */
  bool done;
} piece;

typedef struct open_file {
  const char *path;
  vyre__scan_match *matches;
  size_t kept, capacity;
  size_t hold; /* so many are kept before some are handed over early */
  uint64_t count;
  piece *first, *last; /* in the order of the file */
  uint64_t settled;    /* every match that ends up to here has come */
  bool read;           /* to its end */
} open_file;

typedef struct scan {
  const vyre__scan_options *options;
  const vyre__scan_sink *sink;
  const uint32_t *lengths; /* of the rules' patterns */
  vyre__team team;
  uint8_t *tail; /* the last bytes of the piece before, `overlap` at most */
  uint32_t overlap, fresh;
  uint32_t min_length;
  size_t keep;       /* matches of one file, see KEEP_MATCHES */
  open_file **queue; /* ring of `queue_capacity` places */
  size_t queue_first, queue_count, queue_capacity;
  uint64_t progress_ns;
  vyre__scan_stats *stats;
  bool sink_failed;
} scan;

/* ---- sizes ---- */

/*
 * The most rules that can end at one byte: a piece must not want more records than a 32-bit result
 * counts.  Entries are chains from longer to shorter rules (automaton.h).
 */
static vyre_status most_per_byte(const vyre__automaton *automaton, uint64_t *out_most,
                                 vyre_error *err)
{
  const uint32_t *words = (const uint32_t *)(const void *)automaton->blob;
  const uint32_t *entries = words + words[VYRE__AUTOMATON_W_ENTRIES] / 4;
  const uint32_t count = (words[VYRE__AUTOMATON_W_ITEMS] - words[VYRE__AUTOMATON_W_ENTRIES]) / 16;
  uint32_t *total = vyre__scan_alloc(count, sizeof *total);
  uint64_t most = 1;
  uint32_t i, at, sum, stop;

  if (total == NULL) {
    return SCAN_NO_MEMORY(err, "the automaton's entries");
  }
  /* Twice along each chain, up to the first entry whose sum is known: once to add, once to keep. */
  for (i = 1; i < count; i++) {
    sum = 0;
    for (at = i; at != 0 && at < count && total[at] == 0; at = entries[4 * at + 2]) {
      sum += entries[4 * at + 1];
    }
    stop = at;
    sum += at != 0 && at < count ? total[at] : 0;
    for (at = i; at != stop; at = entries[4 * at + 2]) {
      total[at] = sum;
      sum -= entries[4 * at + 1];
    }
    most = total[i] > most ? total[i] : most;
  }
  vyre__scan_free(total);
  *out_most = most;
  return VYRE_OK;
}

/* The least of what suits each of the devices; the team refuses too many of them. */
static uint32_t usual_piece(vyre_device *const *devices, uint32_t device_count)
{
  uint32_t size = VYRE__SCAN_PIECE, i;

  for (i = 0; i < device_count && device_count <= VYRE__TEAM_MOST; i++) {
    vyre_device_info info = {0};
    info.struct_size = sizeof info;
    if (vyre_device_get_info(devices[i], &info, NULL) == VYRE_OK &&
        info.device_class != VYRE_DEVICE_CPU) {
      size = VYRE__SCAN_PIECE_GPU;
    }
  }
  return size;
}

/* How large a piece is and how many there are; `usual`: its bytes unless the options say it. */
static vyre_status choose_sizes(scan *s, const vyre__automaton *automaton, uint32_t usual,
                                vyre__matcher_options *out_options, vyre_error *err)
{
  uint64_t most = 1, limit, slot, slots;
  vyre_status status = most_per_byte(automaton, &most, err);

  if (status != VYRE_OK) {
    return status;
  }
  s->overlap = automaton->max_length - 1;
  s->min_length = automaton->min_length;
  s->fresh = s->options->piece != 0 ? s->options->piece : usual;
  if (s->options->piece == 0 && s->fresh < s->overlap) {
    s->fresh = s->overlap; /* at most half of the work is done twice */
  }
  /* A piece wants at most `most` records for each byte, and its result counts to 2^32 - 1. */
  limit = UINT32_MAX / most;
  limit = limit < REGION_LIMIT / MIN_SLOTS ? limit : REGION_LIMIT / MIN_SLOTS;
  if (s->overlap >= limit) {
    return SCAN_ERROR(err, VYRE_ERROR_UNSUPPORTED, 0, "scan with fewer or shorter rules at a time",
                      "the longest pattern has %u bytes and %llu rules can end at one byte: too "
                      "much for one piece",
                      automaton->max_length, (unsigned long long)most);
  }
  if (s->fresh > limit - s->overlap) {
    s->fresh = (uint32_t)(limit - s->overlap);
  }
  slot = ((uint64_t)s->overlap + s->fresh + 63) / 64 * 64;
  slots = REGION_BYTES / slot;
  slots = slots < MIN_SLOTS ? MIN_SLOTS : slots > MAX_SLOTS ? MAX_SLOTS : slots;
  while (slots * slot > REGION_LIMIT - 64) {
    slots--;
  }
  out_options->mode = s->options->mode;
  out_options->slot_size = (uint32_t)slot;
  out_options->slots = (uint32_t)slots;
  out_options->bank_records =
      s->options->bank_records != 0 ? s->options->bank_records : BANK_RECORDS;
  return VYRE_OK;
}

/* ---- the queue of files ---- */

static open_file *add_file(scan *s, const char *path)
{
  open_file *file = vyre__scan_alloc(1, sizeof *file);
  open_file **grown;
  size_t i;

  if (file == NULL) {
    return NULL;
  }
  if (s->queue_count == s->queue_capacity) {
    const size_t capacity = s->queue_capacity == 0 ? 64 : s->queue_capacity * 2;
    grown = vyre__scan_alloc(capacity, sizeof *grown);
    if (grown == NULL) {
      vyre__scan_free(file);
      return NULL;
    }
    for (i = 0; i < s->queue_count; i++) {
      grown[i] = s->queue[(s->queue_first + i) % s->queue_capacity];
    }
    vyre__scan_free(s->queue);
    s->queue = grown;
    s->queue_first = 0;
    s->queue_capacity = capacity;
  }
  file->path = path;
  file->hold = s->keep;
  s->queue[(s->queue_first + s->queue_count++) % s->queue_capacity] = file;
  return file;
}

static void free_file(open_file *file)
{
  piece *next;

  for (; file->first != NULL; file->first = next) {
    next = file->first->next;
    vyre__scan_free(file->first);
  }
  vyre__scan_free(file->matches);
  vyre__scan_free(file);
}

static int compare_matches(const void *left, const void *right)
{
  const vyre__scan_match *a = left, *b = right;

  if (a->offset != b->offset) {
    return a->offset < b->offset ? -1 : 1;
  }
  return a->rule < b->rule ? -1 : a->rule > b->rule;
}

static void sort_matches(open_file *file)
{
  size_t i;

  /* Often they came in order already. */
  for (i = 1; i < file->kept; i++) {
    if (compare_matches(&file->matches[i - 1], &file->matches[i]) > 0) {
      qsort(file->matches, file->kept, sizeof *file->matches, compare_matches);
      return;
    }
  }
}

/* Hands over what comes before every match that is still to come, if that is enough to be worth it.
 */
static void hand_over_early(scan *s, open_file *file)
{
  /* What comes later ends behind `settled`, so it begins at or behind this byte. */
  const uint64_t limit = file->settled > s->overlap ? file->settled - s->overlap : 0;
  size_t low = 0, high;

  if (file->kept < file->hold || file != s->queue[s->queue_first] || s->sink_failed) {
    return;
  }
  sort_matches(file);
  high = file->kept;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (file->matches[middle].offset < limit) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low != 0) {
    s->sink_failed = !s->sink->file(s->sink->self, file->path, file->matches, low);
    file->kept -= low;
    memmove(file->matches, file->matches + low, file->kept * sizeof *file->matches);
  }
  /* Twice what is left: sorting it again has to be paid for by as many new ones. */
  file->hold = file->kept * 2 > s->keep ? file->kept * 2 : s->keep;
}

/* Hands over the complete files at the front. */
static void hand_over(scan *s)
{
  while (s->queue_count != 0) {
    open_file *file = s->queue[s->queue_first];
    if (!file->read || file->first != NULL || s->sink_failed) {
      return;
    }
    sort_matches(file);
    s->stats->files++;
    s->stats->matches += file->count;
    s->sink_failed =
        !s->sink->file(s->sink->self, file->path, s->options->count_only ? NULL : file->matches,
                       s->options->count_only ? file->count : file->kept);
    s->queue_first = (s->queue_first + 1) % s->queue_capacity;
    s->queue_count--;
    free_file(file);
  }
}

/* ---- events of the matchers ---- */

static bool on_match(void *self, void *owner, uint64_t end, uint32_t rule)
{
  scan *s = self;
  open_file *file = ((piece *)owner)->file;

  file->count++;
  if (s->options->count_only || s->sink_failed) {
    return true;
  }
  if (!vyre__scan_reserve((void **)&file->matches, &file->capacity, file->kept + 1,
                          sizeof *file->matches)) {
    return false;
  }
  file->matches[file->kept].offset = end - s->lengths[rule];
  file->matches[file->kept++].rule = rule;
  return true;
}

static void on_done(void *self, void *owner)
{
  scan *s = self;
  open_file *file = ((piece *)owner)->file;
  piece *first;

  ((piece *)owner)->done = true;
  while ((first = file->first) != NULL && first->done) {
    file->settled = first->end;
    file->first = first->next;
    vyre__scan_free(first);
  }
  hand_over_early(s, file);
}

/* A piece of `file` behind those that it has. */
static piece *add_piece(open_file *file, uint64_t end)
{
  piece *added = vyre__scan_alloc(1, sizeof *added);

  if (added == NULL) {
    return NULL;
  }
  added->file = file;
  added->end = end;
  if (file->first == NULL) {
    file->first = added;
  } else {
    file->last->next = added;
  }
  file->last = added;
  return added;
}

/* ---- reading ---- */

static void show_progress(scan *s)
{
  struct timespec now;
  uint64_t ns;

  if (s->sink->progress == NULL) {
    return;
  }
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  if (ns - s->progress_ns >= PROGRESS_NS) {
    s->progress_ns = ns;
    s->sink->progress(s->sink->self, s->stats->files, s->stats->bytes);
  }
}

/* Keeps the end of a piece, the overlap with the next one. */
static uint32_t keep_tail(scan *s, const uint8_t *bytes, uint32_t size)
{
  const uint32_t kept = size < s->overlap ? size : s->overlap;

  memcpy(s->tail, bytes + size - kept, kept);
  return kept;
}

static vyre_status scan_pieces(scan *s, open_file *file, vyre__file_reader *reader, vyre_error *err)
{
  uint64_t position = 0; /* of the next fresh byte */
  uint32_t prefix = 0, got = 0;
  vyre__team_slot slot = {0, 0};
  vyre_status status;
  piece *added;
  uint8_t *bytes;
  bool more = true;

  while (more && !s->sink_failed) {
    status = vyre__team_take(&s->team, &bytes, &slot, err);
    if (status != VYRE_OK) {
      return status;
    }
    memcpy(bytes, s->tail, prefix);
    more = vyre__file_reader_read(reader, bytes + prefix, s->fresh, &got);
    s->stats->bytes += got;
    if (got == 0 || prefix + got < s->min_length) {
      prefix = more ? keep_tail(s, bytes, prefix + got) : 0;
      vyre__team_put_back(&s->team, slot);
    } else {
      const uint32_t size = prefix + got, before = prefix;
      prefix = more ? keep_tail(s, bytes, size) : 0;
      added = add_piece(file, position + got);
      if (added == NULL) {
        return SCAN_NO_MEMORY(err, "the pieces of a file");
      }
      status = vyre__team_submit(&s->team, slot, added, position - before, before, size, err);
      if (status != VYRE_OK) {
        return status;
      }
    }
    position += got;
    hand_over(s);
    show_progress(s);
  }
  return VYRE_OK;
}

static vyre_status scan_file(scan *s, const vyre__walk_file *entry, vyre_error *err)
{
  vyre__file_reader reader;
  vyre_status status = VYRE_OK;
  open_file *file;

  if (!vyre__file_reader_open(&reader, entry)) {
    s->stats->errors += reader.level == VYRE__WALK_ERROR;
    s->sink->trouble(s->sink->self, reader.level, entry->path, reader.cause);
    return VYRE_OK;
  }
  file = add_file(s, entry->path);
  if (file == NULL) {
    status = SCAN_NO_MEMORY(err, "the list of open files");
  } else {
    status = scan_pieces(s, file, &reader, err);
    file->read = true;
  }
  vyre__file_reader_close(&reader);
  if (reader.cause[0] != '\0') {
    s->stats->errors += reader.level == VYRE__WALK_ERROR;
    s->sink->trouble(s->sink->self, reader.level, entry->path, reader.cause);
  }
  return status;
}

/* ---- the whole scan ---- */

static void fill_stats(const scan *s)
{
  vyre__matcher_stats stats;

  vyre__team_get_stats(&s->team, &stats, s->stats->share);
  s->stats->pieces = stats.items;
  s->stats->retries = stats.retries;
  s->stats->launches = stats.launches;
  s->stats->swaps = stats.swaps;
  s->stats->workers = stats.workers;
  s->stats->persistent = stats.persistent;
  s->stats->bank_records = stats.bank_records;
}

static vyre_status prepare(scan *s, vyre_device *const *devices, uint32_t device_count,
                           const vyre__rules *rules, const vyre__automaton *automaton,
                           const vyre_code *code, uint32_t code_count, vyre_error *err)
{
  const vyre__matcher_events events = {s, on_match, on_done};
  const uint32_t rule_count = vyre__rules_count(rules);
  vyre__matcher_options options;
  vyre_status status =
      choose_sizes(s, automaton, usual_piece(devices, device_count), &options, err);
  uint32_t *lengths, i;

  if (status != VYRE_OK) {
    return status;
  }
  lengths = vyre__scan_alloc(rule_count, sizeof *lengths);
  s->lengths = lengths;
  s->tail = vyre__scan_alloc(s->overlap, 1);
  if (lengths == NULL || s->tail == NULL) {
    return SCAN_NO_MEMORY(err, "the scan");
  }
  for (i = 0; i < rule_count; i++) {
    lengths[i] = vyre__rules_get(rules, i).pattern_length;
  }
  status = vyre__team_open(&s->team, devices, device_count, automaton, code, code_count, &options,
                           &events, err);
  for (i = 0; status == VYRE_OK && i < device_count; i++) {
    snprintf(s->stats->choice[i], sizeof s->stats->choice[i], "%s",
             vyre__matcher_choice(s->team.matchers[i]));
  }
  return status;
}

vyre_status vyre__scan_run(vyre_device *const *devices, uint32_t device_count,
                           const vyre__rules *rules, const vyre__automaton *automaton,
                           const vyre_code *code, uint32_t code_count, const vyre__walk_list *list,
                           const vyre__scan_options *options, const vyre__scan_sink *sink,
                           vyre__scan_stats *out_stats, vyre_error *err)
{
  vyre_status status;
  size_t i;
  scan s;

  memset(&s, 0, sizeof s);
  memset(out_stats, 0, sizeof *out_stats);
  s.options = options;
  s.sink = sink;
  s.keep = options->keep != 0 ? options->keep : KEEP_MATCHES;
  s.stats = out_stats;
  status = prepare(&s, devices, device_count, rules, automaton, code, code_count, err);
  for (i = 0; status == VYRE_OK && i < list->count && !s.sink_failed; i++) {
    status = scan_file(&s, &list->files[i], err);
    hand_over(&s);
  }
  if (status == VYRE_OK && !s.sink_failed) {
    status = vyre__team_flush(&s.team, err);
    hand_over(&s);
  }
  fill_stats(&s);
  vyre__team_close(&s.team); /* nothing tells of files any more */
  while (s.queue_count != 0) {
    free_file(s.queue[s.queue_first]);
    s.queue_first = (s.queue_first + 1) % s.queue_capacity;
    s.queue_count--;
  }
  vyre__scan_free(s.queue);
  vyre__scan_free(s.tail);
  vyre__scan_free((void *)(uintptr_t)s.lengths);
  return status;
}
