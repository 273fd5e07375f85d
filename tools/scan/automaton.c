/*
 * automaton.c - lays the trie out as the handler's constants; automaton.h documents the blob.
 *
 * Words are written as the host's own, so the host has to be little-endian.
 */
#include "tools/scan/automaton.h"

#include "tools/scan/support.h"
#include "tools/scan/trie.h"

#include <stdalign.h>
#include <stddef.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the blob is little-endian");
_Static_assert(alignof(max_align_t) >= VYRE__AUTOMATON_ALIGNMENT, "calloc() aligns the blob");
_Static_assert(sizeof(vyre__trie_entry) == 16, "an entry of the trie is one of the blob");

/* Above this many rules most pairs of a text begin one of them, and skipping costs more than it
 * saves. */
#define PAIRS_MAX_RULES 64u
#define PAIRS_BYTES 65536u

/* A blob being laid out: first every table gets its place, then memory, then contents. */
typedef struct layout {
  const vyre__rules *rules;
  const vyre__trie *trie;
  bool dense, pairs;
  uint32_t reporting; /* dense: states that report */
  uint64_t pattern_bytes;
  uint64_t size;
  uint32_t words[VYRE__AUTOMATON_HEADER_WORDS];
  uint8_t *blob;
} layout;

/* A rule whose match by the folded automaton has to be compared with the input. */
static bool needs_compare(const vyre__trie *trie, const vyre__rule *rule)
{
  uint32_t i;

  if (!trie->folded || rule->ignore_case) {
    return false;
  }
  for (i = 0; i < rule->pattern_length; i++) {
    const uint8_t lower = vyre__fold(rule->pattern[i]);
    if (lower >= 'a' && lower <= 'z') {
      return true;
    }
  }
  return false;
}

/* Gives a table of `count` elements its place; sums stay below 2^64 since counts are 32-bit sums
 * and products of table sizes that were checked. */
static void place(layout *l, uint32_t word, uint64_t count, uint64_t size)
{
  l->words[word] = (uint32_t)l->size; /* means nothing unless the final size fits, see below */
  l->size += count * size;
  l->size =
      (l->size + (VYRE__AUTOMATON_ALIGNMENT - 1)) & ~(uint64_t)(VYRE__AUTOMATON_ALIGNMENT - 1);
}

static vyre_status plan(layout *l, vyre_error *err)
{
  const vyre__trie *trie = l->trie;
  uint32_t *const words = l->words;
  uint32_t i;

  for (i = 0; i < trie->key_count; i++) {
    const vyre__rule rule = vyre__rules_get(l->rules, i);
    l->pattern_bytes += needs_compare(trie, &rule) ? rule.pattern_length : 0;
  }
  for (i = 0; i < trie->states; i++) {
    l->reporting += trie->report[i] != 0;
  }
  l->size = VYRE__AUTOMATON_HEADER_WORDS * sizeof(uint32_t);
  place(l, VYRE__AUTOMATON_W_CLASS_MAP, 256, 1);
  place(l, VYRE__AUTOMATON_W_TRANSITIONS, (l->dense ? (uint64_t)trie->states : 1) * trie->classes,
        4);
  place(l, VYRE__AUTOMATON_W_REPORT, l->dense ? l->reporting : trie->states, 4);
  place(l, VYRE__AUTOMATON_W_ENTRIES, trie->entry_count, sizeof(vyre__trie_entry));
  place(l, VYRE__AUTOMATON_W_ITEMS, trie->key_count, 8);
  place(l, VYRE__AUTOMATON_W_PATTERNS, l->pattern_bytes, 1);
  if (!l->dense) {
    place(l, VYRE__AUTOMATON_W_CHILDREN, (uint64_t)trie->states + 1, 4);
    place(l, VYRE__AUTOMATON_W_LABELS, trie->states, 1);
    place(l, VYRE__AUTOMATON_W_FAILURES, trie->states, 4);
  }
  if (l->pairs) {
    place(l, VYRE__AUTOMATON_W_PAIRS, PAIRS_BYTES, 1);
  }
  if (l->size > UINT32_MAX) {
    return SCAN_ERROR(err, VYRE_ERROR_UNSUPPORTED, 0, "split the rules over several scans",
                      "the automaton of these rules needs %llu bytes, the limit is %u",
                      (unsigned long long)l->size, (unsigned)UINT32_MAX);
  }
  words[VYRE__AUTOMATON_W_MAGIC] = VYRE__AUTOMATON_MAGIC;
  words[VYRE__AUTOMATON_W_VERSION] = VYRE__AUTOMATON_VERSION;
  words[VYRE__AUTOMATON_W_FORM] = l->dense ? VYRE__AUTOMATON_DENSE : VYRE__AUTOMATON_COMPACT;
  words[VYRE__AUTOMATON_W_FLAGS] = trie->folded ? VYRE__AUTOMATON_FOLDED : 0;
  words[VYRE__AUTOMATON_W_SIZE] = (uint32_t)l->size;
  words[VYRE__AUTOMATON_W_CLASSES] = trie->classes;
  words[VYRE__AUTOMATON_W_STATES] = trie->states;
  words[VYRE__AUTOMATON_W_RULES] = trie->key_count;
  words[VYRE__AUTOMATON_W_MIN_LENGTH] = trie->min_length;
  words[VYRE__AUTOMATON_W_MAX_LENGTH] = trie->max_length;
  words[VYRE__AUTOMATON_W_FIRST_REPORT] =
      l->dense ? (trie->states - l->reporting) * trie->classes : 0;
  return VYRE_OK;
}

static void *table(const layout *l, uint32_t word)
{
  return l->blob + l->words[word];
}

/* Transition rows.  States that report come last, so that one comparison tells them. */
static vyre_status fill_dense(const layout *l, vyre_error *err)
{
  const vyre__trie *trie = l->trie;
  uint32_t *transitions = table(l, VYRE__AUTOMATON_W_TRANSITIONS);
  uint32_t *report = table(l, VYRE__AUTOMATON_W_REPORT);
  uint32_t *rows = vyre__scan_alloc(trie->states, sizeof *rows);
  uint32_t quiet = 0, loud = l->words[VYRE__AUTOMATON_W_FIRST_REPORT];
  uint32_t state, child;

  if (rows == NULL) {
    return SCAN_NO_MEMORY(err, "the automaton");
  }
  for (state = 0; state < trie->states; state++) {
    uint32_t *next = trie->report[state] != 0 ? &loud : &quiet;
    if (next == &loud) {
      *report++ = trie->report[state];
    }
    rows[state] = *next;
    *next += trie->classes;
  }
  for (state = 0; state < trie->states; state++) {
    uint32_t *row = transitions + rows[state];
    if (state != 0) { /* where a state has no edge, it does what its longest suffix does */
      memcpy(row, transitions + rows[trie->failures[state]], trie->classes * sizeof *row);
    }
    for (child = trie->children[state]; child < trie->children[state + 1]; child++) {
      row[trie->labels[child]] = rows[child];
    }
  }
  vyre__scan_free(rows);
  return VYRE_OK;
}

static void fill_compact(const layout *l)
{
  const vyre__trie *trie = l->trie;
  uint32_t *root = table(l, VYRE__AUTOMATON_W_TRANSITIONS);
  const size_t words = trie->states * sizeof(uint32_t);
  uint32_t child;

  for (child = trie->children[0]; child < trie->children[1]; child++) {
    root[trie->labels[child]] = child;
  }
  memcpy(table(l, VYRE__AUTOMATON_W_REPORT), trie->report, words);
  memcpy(table(l, VYRE__AUTOMATON_W_CHILDREN), trie->children, words + sizeof(uint32_t));
  memcpy(table(l, VYRE__AUTOMATON_W_LABELS), trie->labels, trie->states);
  memcpy(table(l, VYRE__AUTOMATON_W_FAILURES), trie->failures, words);
}

static void fill_items(const layout *l)
{
  const vyre__trie *trie = l->trie;
  uint32_t *item = table(l, VYRE__AUTOMATON_W_ITEMS);
  uint32_t patterns = l->words[VYRE__AUTOMATON_W_PATTERNS];
  uint32_t i;

  memcpy(table(l, VYRE__AUTOMATON_W_ENTRIES), trie->entries,
         trie->entry_count * sizeof *trie->entries);
  for (i = 0; i < trie->key_count; i++) {
    const vyre__rule rule = vyre__rules_get(l->rules, trie->keys[i].rule);
    *item++ = trie->keys[i].rule;
    if (needs_compare(trie, &rule)) {
      memcpy(l->blob + patterns, rule.pattern, rule.pattern_length);
      *item++ = patterns;
      patterns += rule.pattern_length;
    } else {
      *item++ = 0;
    }
  }
}

/* Marks the pairs that `rule` may begin with: bytes of equal class are alike to the automaton. */
static void fill_pairs(const layout *l)
{
  const uint8_t *class_map = l->trie->class_map;
  uint8_t *pairs = table(l, VYRE__AUTOMATON_W_PAIRS);
  uint32_t rule, first, second;

  for (rule = 0; rule < l->trie->key_count; rule++) {
    const vyre__trie_key *key = &l->trie->keys[rule];
    for (first = 0; first < 256; first++) {
      for (second = 0; class_map[first] == key->classes[0] && second < 256; second++) {
        if (key->length == 1 || class_map[second] == key->classes[1]) {
          pairs[first | second << 8] = 1;
        }
      }
    }
  }
}

/* Whether to build the dense form; an error if it is asked for and does not fit. */
static vyre_status choose_form(layout *l, const vyre__automaton_options *options, vyre_error *err)
{
  const uint64_t cells = (uint64_t)l->trie->states * l->trie->classes; /* below 2^32 * 2^9 */
  const uint64_t limit =
      options->dense_limit != 0 ? options->dense_limit : VYRE__AUTOMATON_DENSE_LIMIT;
  const bool fits = cells <= UINT32_MAX && cells * 4 <= limit;

  if (options->form == VYRE__AUTOMATON_DENSE && !fits) {
    return SCAN_ERROR(err, VYRE_ERROR_UNSUPPORTED, 0, "use the compact form or fewer rules",
                      "a dense automaton of %u states and %u classes is larger than %llu bytes",
                      l->trie->states, l->trie->classes, (unsigned long long)limit);
  }
  l->dense = fits && options->form != VYRE__AUTOMATON_COMPACT;
  l->pairs = l->dense && !options->no_pairs && l->trie->key_count <= PAIRS_MAX_RULES;
  return VYRE_OK;
}

static vyre_status fill(layout *l, vyre_error *err)
{
  vyre_status status = VYRE_OK;

  l->blob = vyre__scan_alloc((size_t)l->size, 1);
  if (l->blob == NULL) {
    return SCAN_NO_MEMORY(err, "the automaton");
  }
  memcpy(l->blob, l->words, sizeof l->words);
  memcpy(table(l, VYRE__AUTOMATON_W_CLASS_MAP), l->trie->class_map, 256);
  fill_items(l);
  if (l->dense) {
    status = fill_dense(l, err);
  } else {
    fill_compact(l);
  }
  if (l->pairs) {
    fill_pairs(l);
  }
  return status;
}

vyre_status vyre__automaton_build(const vyre__rules *rules, const vyre__automaton_options *options,
                                  vyre__automaton *out_automaton, vyre_error *err)
{
  const vyre__automaton_options defaults = {0};
  vyre__trie trie;
  layout l;
  vyre_status status;

  memset(&l, 0, sizeof l);
  status = vyre__trie_build(rules, &trie, err);
  if (status != VYRE_OK) {
    return status;
  }
  l.rules = rules;
  l.trie = &trie;
  status = choose_form(&l, options != NULL ? options : &defaults, err);
  if (status == VYRE_OK) {
    status = plan(&l, err);
  }
  if (status == VYRE_OK) {
    status = fill(&l, err);
  }
  if (status == VYRE_OK) {
    out_automaton->blob = l.blob;
    out_automaton->blob_size = (uint32_t)l.size;
    out_automaton->form = l.dense ? VYRE__AUTOMATON_DENSE : VYRE__AUTOMATON_COMPACT;
    out_automaton->states = trie.states;
    out_automaton->classes = trie.classes;
    out_automaton->rules = trie.key_count;
    out_automaton->min_length = trie.min_length;
    out_automaton->max_length = trie.max_length;
  } else {
    vyre__scan_free(l.blob);
  }
  vyre__trie_destroy(&trie);
  return status;
}

void vyre__automaton_destroy(vyre__automaton *automaton)
{
  vyre__scan_free(automaton->blob);
  memset(automaton, 0, sizeof *automaton);
}
