/* generate.c - see generate.h.  All arithmetic is on u64; a store keeps the element's bits. */
#include "tests/gridsync/generate.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* leaves */
  CONSTANT,
  PUSHED,
  PLACE, /* the element's index */
  COUNT,
  LOCAL,
  OWN, /* this element of a parameter */
  LEAVES,
  /* one operand */
  ANYWHERE = LEAVES, /* an element of a parameter that is only read */
  NOT,
  NEGATIVE,
  POPCOUNT,
  LEADING,
  TRAILING,
  NARROW32,
  NARROW8,
  PAIRS,
  /* two */
  ADD = PAIRS,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
  REST,
  AND,
  OR,
  XOR,
  LEFT,
  RIGHT,
  LESS,
  EQUAL,
  LEAST,
  CHOICE, /* three */
  KINDS
};

/* ---- drawing ---- */

/* A parameter that may be read here; UINT32_MAX if there is none. */
static uint32_t readable(const generated *g, bool anywhere, uint64_t *state)
{
  uint32_t fits[WORD_PARAMS], count = 0;
  for (uint32_t p = 0; p < g->as_word.param_count; ++p) {
    const vyre_access access = g->as_word.params[p].access;
    if (access == VYRE_READ_ONLY || (access == VYRE_READ_WRITE && !anywhere))
      fits[count++] = p;
  }
  return count ? fits[draw_below(state, count)] : UINT32_MAX;
}

static uint32_t draw_leaf(const generated *g, generated_node *node, uint32_t locals,
                          uint64_t *state)
{
  node->number = (uint32_t)draw_below(state, WORD_PUSH);
  switch (draw_below(state, 7)) {
  case 0:
    node->value = draw_number(state) >> draw_below(state, 64);
    return CONSTANT;
  case 1:
    return PUSHED;
  case 2:
    node->number = (uint32_t)draw_below(state, g->as_word.param_count);
    return COUNT;
  case 3:
    node->number = (uint32_t)draw_below(state, locals);
    return locals ? LOCAL : PLACE;
  case 4:
    return PLACE;
  default:
    node->number = readable(g, false, state);
    return node->number == UINT32_MAX ? PLACE : OWN;
  }
}

static uint32_t draw_tree(generated *g, uint32_t depth, uint32_t locals, uint64_t *state)
{
  const uint32_t index = g->node_count;
  generated_node *node = &g->nodes[index];
  uint32_t operands = 0;
  if (index >= GENERATED_NODES)
    return 0; /* no room: the constant that stands there */
  if (index + 8 > GENERATED_NODES || !depth || draw_below(state, 6) == 0)
    depth = 0;
  ++g->node_count;
  memset(node, 0, sizeof *node);
  node->kind = depth ? LEAVES + (uint32_t)draw_below(state, KINDS - LEAVES) : LEAVES;
  if (depth && node->kind == ANYWHERE) {
    node->number = readable(g, true, state);
    if (node->number == UINT32_MAX)
      node->kind = NOT;
  }
  if (!depth) {
    node->kind = draw_leaf(g, node, locals, state);
    return index;
  }
  operands = node->kind == CHOICE ? 3 : node->kind >= PAIRS ? 2 : 1;
  for (uint32_t i = 0; i < operands; ++i)
    node->of[i] = draw_tree(g, depth - 1, locals, state);
  return index;
}

/* ---- text ---- */

static void write_tree(FILE *to, const generated *g, uint32_t index)
{
  static const char *const before[KINDS] = {
      [NOT] = "(~",
      [NEGATIVE] = "(0u - ",
      [POPCOUNT] = "(vyre_u64)vyre_popcount_u64(",
      [LEADING] = "(vyre_u64)vyre_clz_u64(",
      [TRAILING] = "(vyre_u64)vyre_ctz_u64(",
      [NARROW32] = "(vyre_u64)(vyre_u32)(",
      [NARROW8] = "(vyre_u64)(vyre_u8)(",
      [LEFT] = "vyre_shl_u64(",
      [RIGHT] = "vyre_shr_u64(",
      [LESS] = "(vyre_u64)(",
      [EQUAL] = "(vyre_u64)(",
      [LEAST] = "least(",
  };
  static const char *const between[KINDS] = {
      [ADD] = " + ",        [SUBTRACT] = " - ", [MULTIPLY] = " * ", [DIVIDE] = " / (1u | ",
      [REST] = " % (1u | ", [AND] = " & ",      [OR] = " | ",       [XOR] = " ^ ",
      [LEFT] = ", ",        [RIGHT] = ", ",     [LESS] = " < ",     [EQUAL] = " == ",
      [LEAST] = ", ",
  };
  const generated_node *node = &g->nodes[index];
  switch (node->kind) {
  case CONSTANT:
    fprintf(to, "(vyre_u64)0x%llxu", (unsigned long long)node->value);
    return;
  case PUSHED:
    fprintf(to, "(vyre_u64)$%c", (char)('a' + node->number));
    return;
  case PLACE:
    fputs("e", to);
    return;
  case COUNT:
    fprintf(to, "vyre_count(c, $%u)", node->number);
    return;
  case LOCAL:
    fprintf(to, "v%u", node->number);
    return;
  case OWN:
    fprintf(to, "(e < vyre_count(c, $%u) ? (vyre_u64)vyre_at(c, $%u, e) : 0u)", node->number,
            node->number);
    return;
  case ANYWHERE:
    fprintf(to, "(vyre_count(c, $%u) ? (vyre_u64)vyre_at(c, $%u, ", node->number, node->number);
    write_tree(to, g, node->of[0]);
    fprintf(to, " %% vyre_count(c, $%u)) : 0u)", node->number);
    return;
  case CHOICE:
    fputs("(", to);
    write_tree(to, g, node->of[0]);
    fputs(" & 1u ? ", to);
    write_tree(to, g, node->of[1]);
    fputs(" : ", to);
    write_tree(to, g, node->of[2]);
    fputs(")", to);
    return;
  default:
    fputs(before[node->kind] ? before[node->kind] : "(", to);
    write_tree(to, g, node->of[0]);
    if (node->kind >= PAIRS) {
      fputs(between[node->kind], to);
      write_tree(to, g, node->of[1]);
    }
    fputs(node->kind == DIVIDE || node->kind == REST ? "))" : ")", to);
  }
}

static void write_store(FILE *to, const generated *g, const generated_store *store)
{
  const uint32_t p = store->param;
  fprintf(to, "    if (e < vyre_count(c, $%u) && (", p);
  write_tree(to, g, store->condition);
  fputs(" & 3u)) {\n      const vyre_u64 w = ", to);
  write_tree(to, g, store->value);
  fputs(";\n", to);
  if (g->as_word.params[p].access == VYRE_READ_WRITE)
    fprintf(to, "      if (vyre_at(c, $%u, e) != (@%u)w)\n        vyre_changed(c);\n", p, p);
  fprintf(to, "      vyre_at(c, $%u, e) = (@%u)w;\n    }\n", p, p);
}

static void write_text(generated *g)
{
  size_t size = 0;
  FILE *to = open_memstream(&g->body, &size);
  if (!to)
    abort();
  fputs("  vyre_u64 most = 0u;\n", to);
  for (uint32_t s = 0; s < g->store_count; ++s)
    fprintf(to, "  if (most < vyre_count(c, $%u)) most = vyre_count(c, $%u);\n", g->stores[s].param,
            g->stores[s].param);
  fprintf(to, "  for (vyre_u64 e = i; e < most; e += %s) {\n", g->strided ? "n" : "most");
  for (uint32_t l = 0; l < g->local_count; ++l) {
    const generated_local *local = &g->locals[l];
    fprintf(to, "    vyre_u64 v%u = ", l);
    write_tree(to, g, local->first);
    fprintf(to, ";\n    for (vyre_u32 r = 0u; r < %uu; ++r)\n      v%u = ", local->times, l);
    write_tree(to, g, local->next);
    fputs(";\n", to);
  }
  for (uint32_t s = 0; s < g->store_count; ++s)
    write_store(to, g, &g->stores[s]);
  fputs("  }\n", to);
  fclose(to);
}

/* ---- evaluating ---- */

typedef struct scope {
  const plain_item *item;
  const generated *of;
  uint64_t e;
  uint64_t locals[GENERATED_LOCALS];
} scope;

static uint64_t element(const plain_item *item, uint32_t p, uint64_t i)
{
  uint64_t value = 0;
  memcpy(&value, item->data[p] + i * item->element_sizes[p], item->element_sizes[p]);
  return value;
}

static uint64_t pushed(const plain_item *item, uint32_t n)
{
  uint32_t value = 0;
  memcpy(&value, (const char *)item->push + (item->tag + n) * 4, 4);
  return value;
}

static uint64_t bits_of(uint64_t v)
{
  uint64_t n = 0;
  for (; v; v &= v - 1)
    ++n;
  return n;
}

static uint64_t leaf(const scope *in, const generated_node *node)
{
  switch (node->kind) {
  case CONSTANT:
    return node->value;
  case PUSHED:
    return pushed(in->item, node->number);
  case PLACE:
    return in->e;
  case COUNT:
    return in->item->counts[node->number];
  case LOCAL:
    return in->locals[node->number];
  default: /* OWN */
    return in->e < in->item->counts[node->number] ? element(in->item, node->number, in->e) : 0;
  }
}

static uint64_t single(const scope *in, const generated_node *node, uint64_t a)
{
  switch (node->kind) {
  case ANYWHERE: {
    const uint64_t count = in->item->counts[node->number];
    return count ? element(in->item, node->number, a % count) : 0;
  }
  case NOT:
    return ~a;
  case NEGATIVE:
    return 0 - a;
  case POPCOUNT:
    return bits_of(a);
  case LEADING: {
    uint64_t n = 0;
    while (n < 64 && !(a >> (63 - n) & 1))
      ++n;
    return n;
  }
  case TRAILING: {
    uint64_t n = 0;
    while (n < 64 && !(a >> n & 1))
      ++n;
    return n;
  }
  case NARROW32:
    return (uint32_t)a;
  default:
    return (uint8_t)a;
  }
}

static uint64_t pair(uint32_t kind, uint64_t a, uint64_t b)
{
  switch (kind) {
  case ADD:
    return a + b;
  case SUBTRACT:
    return a - b;
  case MULTIPLY:
    return a * b;
  case DIVIDE:
    return a / (b | 1);
  case REST:
    return a % (b | 1);
  case AND:
    return a & b;
  case OR:
    return a | b;
  case XOR:
    return a ^ b;
  case LEFT:
    return a << (b & 63);
  case RIGHT:
    return a >> (b & 63);
  case LESS:
    return a < b;
  case EQUAL:
    return a == b;
  default:
    return a < b ? a : b;
  }
}

static uint64_t value_of(const scope *in, uint32_t index)
{
  const generated_node *node = &in->of->nodes[index];
  if (node->kind < LEAVES)
    return leaf(in, node);
  if (node->kind < PAIRS)
    return single(in, node, value_of(in, node->of[0]));
  if (node->kind == CHOICE)
    return value_of(in, node->of[value_of(in, node->of[0]) & 1 ? 1 : 2]);
  return pair(node->kind, value_of(in, node->of[0]), value_of(in, node->of[1]));
}

static void store(const scope *in, const generated_store *to)
{
  const plain_item *item = in->item;
  uint64_t value = 0, old = 0;
  if (in->e >= item->counts[to->param] || !(value_of(in, to->condition) & 3))
    return;
  value = value_of(in, to->value);
  old = element(item, to->param, in->e);
  memcpy(item->data[to->param] + in->e * item->element_sizes[to->param], &value,
         item->element_sizes[to->param]);
  if (in->of->as_word.params[to->param].access == VYRE_READ_WRITE &&
      element(item, to->param, in->e) != old)
    *item->changed = true;
}

static void run_generated(const plain_item *item)
{
  scope in = {.item = item, .of = item->self};
  uint64_t id[3], n[3], most = 0, step = 0;
  for (int d = 0; d < 3; ++d) {
    id[d] = (uint64_t)item->group[d] * item->size[d] + item->local[d];
    n[d] = (uint64_t)item->groups[d] * item->size[d];
  }
  for (uint32_t s = 0; s < in.of->store_count; ++s)
    if (most < item->counts[in.of->stores[s].param])
      most = item->counts[in.of->stores[s].param];
  step = in.of->strided ? n[0] * n[1] * n[2] : most;
  for (in.e = id[0] + n[0] * (id[1] + n[1] * id[2]); in.e < most; in.e += step) {
    for (uint32_t l = 0; l < in.of->local_count; ++l) {
      in.locals[l] = value_of(&in, in.of->locals[l].first);
      for (uint32_t r = 0; r < in.of->locals[l].times; ++r)
        in.locals[l] = value_of(&in, in.of->locals[l].next);
    }
    for (uint32_t s = 0; s < in.of->store_count; ++s)
      store(&in, &in.of->stores[s]);
  }
}

/* ---- a word ---- */

static void draw_params(generated *g, uint64_t *state)
{
  word *w = &g->as_word;
  g->store_count = 1 + (uint32_t)draw_below(state, GENERATED_STORES);
  w->param_count = g->store_count + (uint32_t)draw_below(state, WORD_PARAMS - g->store_count + 1);
  for (uint32_t p = 0; p < w->param_count; ++p) {
    w->params[p].sizes = 15;
    w->params[p].access = p >= g->store_count         ? VYRE_READ_ONLY
                          : draw_below(state, 4) == 0 ? VYRE_WRITE_ONLY
                                                      : VYRE_READ_WRITE;
  }
}

const word *generated_next(void *self, uint32_t segment, uint64_t *state, const void **out_self)
{
  generated *g = &((generated_set *)self)->segments[segment];
  free(g->body);
  memset(g, 0, sizeof *g);
  g->as_word.name = "generated";
  g->as_word.phases = 1;
  g->as_word.run = run_generated;
  draw_params(g, state);
  g->nodes[g->node_count++].kind = CONSTANT;
  g->strided = draw_below(state, 2);
  g->local_count = (uint32_t)draw_below(state, GENERATED_LOCALS + 1);
  for (uint32_t l = 0; l < g->local_count; ++l) {
    g->locals[l].first = draw_tree(g, 3, l, state);
    g->locals[l].next = draw_tree(g, 3, l + 1, state);
    g->locals[l].times = (uint32_t)draw_below(state, 4);
  }
  for (uint32_t s = 0; s < g->store_count; ++s) {
    g->stores[s].param = s;
    g->stores[s].condition = draw_tree(g, 2, g->local_count, state);
    g->stores[s].value = draw_tree(g, 4, g->local_count, state);
  }
  write_text(g);
  g->as_word.body = g->body;
  *out_self = g;
  return &g->as_word;
}

void generated_free(generated_set *set)
{
  for (uint32_t i = 0; i < DRAWN_SEGMENTS; ++i)
    free(set->segments[i].body);
  memset(set, 0, sizeof *set);
}
