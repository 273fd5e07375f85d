/*
 * depends.c - from the packages' dependencies to the edges of a graph, as `apt-cache depends` lists
 * them.
 *
 *   1. Every alternative of `a | b` counts.
 *   2. `a` is the package of that name and of the architecture of who asks, whatever version is
 *      asked for; and every other package that provides `a`, in a fitting version if one is asked
 *      for.
 *   3. A name that no installed package bears is passed over, though others may provide it.  To apt
 *      a name with an architecture behind it, `a:any` or `a:amd64`, is such a name.
 *
 * Whoever wants names to be followed that are only provided asks for them (`virtual_too`); then
 *
 *   4. `a:any` is provided by packages that are Multi-Arch: allowed;
 *   5. `a:amd64` is the package of that architecture, `a:native` that of the machine's;
 *   6. a package that is Multi-Arch: foreign serves every architecture.
 */
#include "dpkg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A word in somebody's text. */
typedef struct word {
  const char *text;
  size_t length;
} word;

/* `name[:qualifier] [(relation version)]`, of a dependency or of what a package provides. */
typedef struct term {
  word name, qualifier, relation, version;
} term;

/* A name under which a package can be found. */
typedef struct offer {
  word name;
  const char *architecture; /* of those whom it serves; NULL: everybody */
  const char *version;      /* NULL: provided without one */
  size_t version_length;
  uint32_t package;
  bool any; /* it answers to NAME:any */
  bool own; /* the package's own name: its version is not looked at */
} offer;

typedef struct offers {
  offer *rows;
  size_t count, capacity;
} offers;

typedef struct edge_list {
  graph_edge *rows;
  size_t count, capacity;
} edge_list;

static bool word_is(word w, const char *text)
{
  return strlen(text) == w.length && memcmp(w.text, text, w.length) == 0;
}

static int compare_words(word a, word b)
{
  const size_t least = a.length < b.length ? a.length : b.length;
  const int order = memcmp(a.text, b.text, least);

  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Room for one more row; false without memory. */
static bool reserve(void **rows, size_t count, size_t *capacity, size_t row_size)
{
  const size_t larger = *capacity == 0 ? 4096 : *capacity * 2;
  void *grown;

  if (count < *capacity) {
    return true;
  }
  grown = realloc(*rows, larger * row_size);
  if (grown == NULL) {
    return false;
  }
  *rows = grown;
  *capacity = larger;
  return true;
}

/* ---- reading ---- */

static const char *skip_blanks(const char *text)
{
  while (isspace((unsigned char)*text)) {
    text++;
  }
  return text;
}

static word take(const char **text, const char *stop)
{
  const word w = {*text, strcspn(*text, stop)};

  *text += w.length;
  return w;
}

/* The next term at `*text`, which moves on behind its ',' or '|'; false at the end. */
static bool read_term(const char **text, term *t)
{
  const char *at = *text;

  memset(t, 0, sizeof *t);
  while (isspace((unsigned char)*at) || *at == ',' || *at == '|') {
    at++;
  }
  if (*at == '\0') {
    *text = at;
    return false;
  }
  t->name = take(&at, ":,|( \t\n");
  if (*at == ':') {
    at++;
    t->qualifier = take(&at, ",|( \t\n");
  }
  at = skip_blanks(at);
  if (*at == '(') {
    at = skip_blanks(at + 1);
    t->relation.text = at;
    t->relation.length = strspn(at, "<>=");
    at = skip_blanks(at + t->relation.length);
    t->version = take(&at, ") \t\n");
  }
  at += strcspn(at, ",|");
  *text = at;
  return true;
}

/* ---- versions ---- */

/* '~' sorts before the end of a version, letters before the rest. */
static int character_order(const char *at, const char *end)
{
  if (at == end || isdigit((unsigned char)*at)) {
    return 0;
  }
  if (*at == '~') {
    return -1;
  }
  return isalpha((unsigned char)*at) ? (unsigned char)*at : (unsigned char)*at + 256;
}

/* One part of a version, without epoch and '-': words and numbers in turn. */
static int compare_parts(const char *a, const char *a_end, const char *b, const char *b_end)
{
  while (a < a_end || b < b_end) {
    int first_difference = 0;
    while ((a < a_end && !isdigit((unsigned char)*a)) ||
           (b < b_end && !isdigit((unsigned char)*b))) {
      const int difference = character_order(a, a_end) - character_order(b, b_end);
      if (difference != 0) {
        return difference;
      }
      a++;
      b++;
    }
    while (a < a_end && *a == '0') {
      a++;
    }
    while (b < b_end && *b == '0') {
      b++;
    }
    while (a < a_end && b < b_end && isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
      if (first_difference == 0) {
        first_difference = *a - *b;
      }
      a++;
      b++;
    }
    if (a < a_end && isdigit((unsigned char)*a)) {
      return 1;
    }
    if (b < b_end && isdigit((unsigned char)*b)) {
      return -1;
    }
    if (first_difference != 0) {
      return first_difference;
    }
  }
  return 0;
}

static const char *last_dash(const char *text, const char *end)
{
  for (const char *at = end; at > text; at--) {
    if (at[-1] == '-') {
      return at - 1;
    }
  }
  return end;
}

static int compare_versions(word a, word b)
{
  const char *a_text = a.text, *a_end = a.text + a.length;
  const char *b_text = b.text, *b_end = b.text + b.length;
  const char *a_colon = memchr(a_text, ':', a.length), *b_colon = memchr(b_text, ':', b.length);
  const char *a_dash, *b_dash;
  /* An epoch that is not given is 0. */
  int order = compare_parts(a_colon == NULL ? "" : a_text, a_colon == NULL ? "" : a_colon,
                            b_colon == NULL ? "" : b_text, b_colon == NULL ? "" : b_colon);

  if (order != 0) {
    return order;
  }
  a_text = a_colon == NULL ? a_text : a_colon + 1;
  b_text = b_colon == NULL ? b_text : b_colon + 1;
  a_dash = last_dash(a_text, a_end);
  b_dash = last_dash(b_text, b_end);
  order = compare_parts(a_text, a_dash, b_text, b_dash);
  return order != 0 ? order
                    : compare_parts(a_dash < a_end ? a_dash + 1 : a_end, a_end,
                                    b_dash < b_end ? b_dash + 1 : b_end, b_end);
}

int dpkg_compare_versions(const char *a, const char *b)
{
  return compare_versions((word){a, strlen(a)}, (word){b, strlen(b)});
}

/* Does an offer's version satisfy `(relation version)`?  One without a version satisfies none. */
static bool version_fits(const offer *o, const term *t)
{
  int order;

  if (t->relation.length == 0) {
    return true;
  }
  if (o->version == NULL) {
    return false;
  }
  order = compare_versions((word){o->version, o->version_length}, t->version);
  if (word_is(t->relation, "<<")) {
    return order < 0;
  }
  if (word_is(t->relation, "<=") || word_is(t->relation, "<")) {
    return order <= 0;
  }
  if (word_is(t->relation, ">>")) {
    return order > 0;
  }
  if (word_is(t->relation, ">=") || word_is(t->relation, ">")) {
    return order >= 0;
  }
  return order == 0;
}

/* ---- what there is ---- */

static bool add_offer(offers *all, offer o)
{
  if (!reserve((void **)&all->rows, all->count, &all->capacity, sizeof o)) {
    return false;
  }
  all->rows[all->count++] = o;
  return true;
}

static bool add_offers(offers *all, const dpkg *d, uint32_t package)
{
  const dpkg_package *p = &d->packages[package];
  const char *provides = p->provides;
  offer o = {{p->name, strlen(p->name)},
             p->architecture,
             p->version,
             strlen(p->version),
             package,
             false,
             true};
  term t;

  if (!add_offer(all, o)) {
    return false;
  }
  o.own = false;
  o.architecture = NULL;
  if (p->foreign && !add_offer(all, o)) {
    return false;
  }
  o.any = true;
  if (p->allowed && !add_offer(all, o)) {
    return false;
  }
  while (read_term(&provides, &t)) {
    const bool versioned = t.relation.length != 0;
    o = (offer){t.name,
                p->foreign ? NULL : p->architecture,
                versioned ? t.version.text : NULL,
                t.version.length,
                package,
                word_is(t.qualifier, "any"),
                false};
    if (!add_offer(all, o)) {
      return false;
    }
    o.any = true;
    o.architecture = NULL;
    if (p->allowed && !add_offer(all, o)) {
      return false;
    }
  }
  return true;
}

static int compare_offers(const void *a, const void *b)
{
  const offer *x = a, *y = b;
  const int order = compare_words(x->name, y->name);

  return order != 0 ? order : (x->package > y->package) - (x->package < y->package);
}

static size_t first_offer(const offers *all, word name)
{
  size_t low = 0, high = all->count;

  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (compare_words(all->rows[middle].name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- edges ---- */

static bool serves(const dpkg *d, const offer *o, const term *t, const char *architecture)
{
  const bool any = word_is(t->qualifier, "any");

  if (o->any != any) {
    return false;
  }
  if (o->architecture == NULL) {
    return true;
  }
  if (t->qualifier.length == 0) {
    return strcmp(o->architecture, architecture) == 0;
  }
  return any || (word_is(t->qualifier, "native") ? strcmp(o->architecture, d->native) == 0
                                                 : word_is(t->qualifier, o->architecture));
}

/* The offers of the term's name are rows begin … end - 1; is one of them a package that bears it?
 */
static bool is_borne(const dpkg *d, const offer *begin, const offer *end, const term *t,
                     const char *architecture)
{
  for (const offer *o = begin; o < end && t->qualifier.length == 0; o++) {
    if (o->own && serves(d, o, t, architecture)) {
      return true;
    }
  }
  return false;
}

static bool add_edges(edge_list *edges, const dpkg *d, const offers *all, uint32_t package,
                      const char *depends, bool virtual_too)
{
  const char *architecture = d->packages[package].architecture;
  term t;

  while (read_term(&depends, &t)) {
    const offer *begin = all->rows + first_offer(all, t.name), *end = begin;
    while (end < all->rows + all->count && compare_words(end->name, t.name) == 0) {
      end++;
    }
    if (!virtual_too && !is_borne(d, begin, end, &t, architecture)) {
      continue;
    }
    for (const offer *o = begin; o < end; o++) {
      if (!serves(d, o, &t, architecture) || !(o->own || version_fits(o, &t))) {
        continue;
      }
      if (!reserve((void **)&edges->rows, edges->count, &edges->capacity, sizeof *edges->rows)) {
        return false;
      }
      edges->rows[edges->count++] = (graph_edge){package, o->package};
    }
  }
  return true;
}

bool dpkg_edges(const dpkg *d, bool virtual_too, graph_edge **out_edges, uint32_t *out_count)
{
  offers all = {NULL, 0, 0};
  edge_list edges = {NULL, 0, 0};
  bool good = true;

  for (uint32_t i = 0; good && i < d->count; i++) {
    good = add_offers(&all, d, i);
  }
  if (good && all.count > 0) {
    qsort(all.rows, all.count, sizeof *all.rows, compare_offers);
  }
  for (uint32_t i = 0; good && i < d->count; i++) {
    good = add_edges(&edges, d, &all, i, d->packages[i].pre_depends, virtual_too) &&
           add_edges(&edges, d, &all, i, d->packages[i].depends, virtual_too);
  }
  free(all.rows);
  if (!good || edges.count > UINT32_MAX) {
    free(edges.rows);
    return false;
  }
  *out_edges = edges.rows;
  *out_count = (uint32_t)edges.count;
  return true;
}
