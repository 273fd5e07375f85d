/*
 * random.c - kernels that are drawn from the seed: expressions over three numbers, that the case
 * works out by itself.  Nobody passes these by knowing the suite's kernels.
 */
#include "conformance/steps.h"

#include <stdio.h>
#include <string.h>

#define NODES 64u
#define VALUES 500u

typedef enum operation {
  LEAF, /* one of the three numbers */
  CONSTANT,
  ADD,
  SUB,
  MUL,
  AND,
  OR,
  XOR,
  SHL,
  SHR,
  DIV,
  MOD,
  LESS,
  PICK, /* first ? second : third */
  POPCOUNT,
  CLZ,
  OPERATIONS
} operation;

typedef struct node {
  operation what;
  uint64_t value;
  uint32_t child[3];
} node;

typedef struct tree {
  node nodes[NODES];
  uint32_t count;
  uint32_t width; /* 32 or 64 */
} tree;

typedef struct text {
  char bytes[16384];
  size_t size;
} text;

#define PUT(to, ...)                                                                               \
  ((to)->size +=                                                                                   \
   (size_t)snprintf((to)->bytes + (to)->size, sizeof((to)->bytes) - (to)->size, __VA_ARGS__))

static uint32_t grow(conform *c, tree *t, uint32_t depth)
{
  const uint32_t index = t->count++;
  node *self = &t->nodes[index];
  const bool leaf = !depth || t->count + 8 > NODES;
  self->what =
      (operation)(leaf ? conform_random_below(c, 2) : 2 + conform_random_below(c, OPERATIONS - 2));
  self->value = self->what == LEAF ? conform_random_below(c, 3)
                                   : conform_random(c) >> conform_random_below(c, 64);
  if (t->width == 32)
    self->value &= 0xffffffffu;
  if (leaf)
    return index;
  for (int k = 0; k < 3; ++k)
    if (k == 0 || (k == 1 && self->what < POPCOUNT) || self->what == PICK)
      self->child[k] = grow(c, t, depth - 1);
  return index;
}

static uint64_t evaluate(const tree *t, uint32_t index, const uint64_t *numbers)
{
  const node *self = &t->nodes[index];
  const uint64_t all = t->width == 32 ? 0xffffffffu : UINT64_MAX;
  uint64_t a = 0, b = 0, count = 0;
  if (self->what == LEAF)
    return numbers[self->value];
  if (self->what == CONSTANT)
    return self->value;
  a = evaluate(t, self->child[0], numbers);
  if (self->what < POPCOUNT)
    b = evaluate(t, self->child[1], numbers);
  switch (self->what) {
  case ADD:
    return (a + b) & all;
  case SUB:
    return (a - b) & all;
  case MUL:
    return (a * b) & all;
  case AND:
    return a & b;
  case OR:
    return a | b;
  case XOR:
    return a ^ b;
  case SHL:
    return (a << (b % t->width)) & all;
  case SHR:
    return a >> (b % t->width);
  case DIV:
    return a / (b | 1);
  case MOD:
    return a % (b | 1);
  case LESS:
    return a < b;
  case PICK:
    return a & 1 ? b : evaluate(t, self->child[2], numbers);
  case POPCOUNT:
    for (; a; a &= a - 1)
      count += 1;
    return count;
  default: /* CLZ */
    while (count < t->width && !(a >> (t->width - 1 - count) & 1))
      count += 1;
    return count;
  }
}

static void write_tree(const tree *t, uint32_t index, text *to);

static void write_call(const tree *t, const node *self, const char *word, text *to)
{
  PUT(to, "%s_u%u(", word, t->width);
  write_tree(t, self->child[0], to);
  if (self->what < POPCOUNT) {
    PUT(to, ", ");
    write_tree(t, self->child[1], to);
  }
  PUT(to, ")");
}

static void write_pair(const tree *t, const node *self, const char *before, const char *between,
                       const char *after, text *to)
{
  PUT(to, "%s", before);
  write_tree(t, self->child[0], to);
  PUT(to, "%s", between);
  write_tree(t, self->child[1], to);
  PUT(to, "%s", after);
}

static void write_tree(const tree *t, uint32_t index, text *to)
{
  static const char *const signs[OPERATIONS] = {
      [ADD] = " + ", [SUB] = " - ", [MUL] = " * ", [AND] = " & ", [OR] = " | ", [XOR] = " ^ "};
  const node *self = &t->nodes[index];
  switch (self->what) {
  case LEAF:
    PUT(to, "%c", "xyz"[self->value]);
    return;
  case CONSTANT:
    PUT(to, "(vyre_u%u)%lluull", t->width, (unsigned long long)self->value);
    return;
  case SHL:
    write_call(t, self, "vyre_shl", to);
    return;
  case SHR:
    write_call(t, self, "vyre_shr", to);
    return;
  case POPCOUNT:
    write_call(t, self, "vyre_popcount", to);
    return;
  case CLZ:
    write_call(t, self, "vyre_clz", to);
    return;
  case DIV:
    write_pair(t, self, "(", " / (", " | 1u))", to);
    return;
  case MOD:
    write_pair(t, self, "(", " % (", " | 1u))", to);
    return;
  case LESS:
    PUT(to, "(vyre_u%u)", t->width);
    write_pair(t, self, "(", " < ", ")", to);
    return;
  case PICK:
    write_pair(t, self, "((", " & 1u) ? ", " : ", to);
    write_tree(t, self->child[2], to);
    PUT(to, ")");
    return;
  default:
    write_pair(t, self, "(", signs[self->what], ")", to);
    return;
  }
}

/* A kernel of any name, with the tree between its lines. */
static void write_kernel(const tree *t, const char *name, text *to)
{
  to->size = 0;
  PUT(to,
      "#define VYRE_BUFFER_first 0\n#define VYRE_BUFFER_second 1\n"
      "VYRE_SEGMENT(%s)(vyre_ctx *c, VYRE_IN(vyre_u%u) first, VYRE_OUT(vyre_u%u) second)\n{\n"
      "  const vyre_u64 i = vyre_global_id(c, 0);\n"
      "  if (i < vyre_count(c, second)) {\n"
      "    const vyre_u%u x = first[3u * i], y = first[3u * i + 1u], z = first[3u * i + 2u];\n"
      "    second[i] = (",
      name, t->width, t->width, t->width);
  write_tree(t, 0, to);
  PUT(to,
      ") + (x ^ y ^ z);\n  }\n}\n"
      "VYRE_ENTRY(%s, (VYRE_PARAM_IN(0, first), VYRE_PARAM_OUT(1, second)),\n"
      "           (VYRE_ARG(0, first), VYRE_ARG(1, second)));\n",
      name);
}

static void check_tree(conform *c, const tree *t, vyre_backend_kernel *kernel, const text *source)
{
  static uint64_t numbers[VALUES * 3], out[VALUES];
  static uint32_t narrow[VALUES * 3], narrow_out[VALUES];
  const bool small = t->width == 32;
  conform_launch launch;
  for (uint32_t i = 0; i < VALUES * 3; ++i) {
    numbers[i] = conform_random(c) >> conform_random_below(c, 64);
    if (small)
      numbers[i] &= 0xffffffffu;
    narrow[i] = (uint32_t)numbers[i];
  }
  conform_launch_init(&launch, kernel);
  conform_launch_grid(&launch, 8, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, small ? (void *)narrow : (void *)numbers, VALUES * 3,
                      t->width / 8, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, VALUES, t->width / 8,
                      small ? (void *)narrow_out : (void *)out);
  conform_run(c, &launch);
  for (uint32_t i = 0; i < VALUES; ++i) {
    const uint64_t *of = &numbers[3 * i], got = small ? narrow_out[i] : out[i];
    uint64_t want = evaluate(t, 0, of) + (of[0] ^ of[1] ^ of[2]);
    if (small)
      want &= 0xffffffffu;
    CHECK(c, got == want,
          "x = 0x%llx, y = 0x%llx, z = 0x%llx: 0x%llx, expected is 0x%llx (LANG-001):\n%.1500s",
          (unsigned long long)of[0], (unsigned long long)of[1], (unsigned long long)of[2],
          (unsigned long long)got, (unsigned long long)want, source->bytes);
  }
}

static void draw(conform *c, uint32_t width, uint32_t kernels)
{
  static tree t;
  static text source;
  for (uint32_t k = 0; k < kernels; ++k) {
    char name[32];
    vyre_backend_module *module = NULL;
    memset(&t, 0, sizeof t);
    t.width = width;
    grow(c, &t, 6);
    snprintf(name, sizeof name, "k%llx", (unsigned long long)conform_random(c));
    write_kernel(&t, name, &source);
    CHECK(c, source.size < sizeof source.bytes, "the suite's kernel is too long");
    module = conform_load_text(c, conform_open(c), name, source.bytes, 0);
    check_tree(c, &t, conform_find(c, module, name), &source);
    c->counted.module_unload(c->device, module);
  }
}

static void run_narrow(conform *c)
{
  draw(c, 32, 4);
}

static void run_wide(conform *c)
{
  draw(c, 64, 4);
}

static const conform_case rows[] = {
    CORE_CASE("random.narrow", "LANG-001 KRN-002", CONFORM_NEEDS_VYRE_C, run_narrow),
    CORE_CASE("random.wide", "LANG-001 KRN-002", CONFORM_NEEDS_VYRE_C, run_wide),
};
CONFORM_TABLE(conform_cases_random, rows);
