/* vocabulary.c - text and host function of each word, side by side; see vocabulary.h. */
#include "tests/gridsync/vocabulary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what host functions are written with ---- */

static uint64_t get(const plain_item *item, uint32_t p, uint64_t i)
{
  uint64_t value = 0; /* little-endian, as the cpu plugin's machines are */
  memcpy(&value, item->data[p] + i * item->element_sizes[p], item->element_sizes[p]);
  return value;
}

/* Keeps the bits that the element has room for. */
static void set(const plain_item *item, uint32_t p, uint64_t i, uint64_t value)
{
  memcpy(item->data[p] + i * item->element_sizes[p], &value, item->element_sizes[p]);
}

/* Stores and says so if that changes something. */
static void change(const plain_item *item, uint32_t p, uint64_t i, uint64_t value)
{
  uint64_t old = get(item, p, i);
  set(item, p, i, value);
  if (get(item, p, i) != old)
    *item->changed = true;
}

static uint64_t count(const plain_item *item, uint32_t p)
{
  return item->counts[p];
}

static uint64_t push(const plain_item *item, uint32_t n)
{
  uint32_t value = 0;
  memcpy(&value, (const char *)item->push + (item->tag + n) * 4, 4);
  return value;
}

static uint64_t place(const plain_item *item)
{
  uint64_t id[3], n[3];
  for (int d = 0; d < 3; ++d) {
    id[d] = (uint64_t)item->group[d] * item->size[d] + item->local[d];
    n[d] = (uint64_t)item->groups[d] * item->size[d];
  }
  return id[0] + n[0] * (id[1] + n[1] * id[2]);
}

static uint64_t group_items(const plain_item *item)
{
  return (uint64_t)item->size[0] * item->size[1] * item->size[2];
}

static uint64_t groups(const plain_item *item)
{
  return (uint64_t)item->groups[0] * item->groups[1] * item->groups[2];
}

static uint64_t group_place(const plain_item *item)
{
  return item->group[0] +
         (uint64_t)item->groups[0] * (item->group[1] + (uint64_t)item->groups[1] * item->group[2]);
}

static uint64_t local_place(const plain_item *item)
{
  return item->local[0] +
         (uint64_t)item->size[0] * (item->local[1] + (uint64_t)item->size[1] * item->local[2]);
}

static uint64_t items(const plain_item *item)
{
  return groups(item) * group_items(item);
}

void word_write_head(FILE *to)
{
  fprintf(to,
          "typedef struct constants { vyre_u32 k[%u]; } constants;\n"
          "VYRE_FUNCTION vyre_u64 least(vyre_u64 a, vyre_u64 b)\n"
          "{\n"
          "  return a < b ? a : b;\n"
          "}\n"
          "VYRE_FUNCTION vyre_u64 group_items(vyre_ctx *c)\n"
          "{\n"
          "  return (vyre_u64)vyre_local_size(c, 0) * vyre_local_size(c, 1) *\n"
          "         vyre_local_size(c, 2);\n"
          "}\n"
          "VYRE_FUNCTION vyre_u64 group_place(vyre_ctx *c)\n"
          "{\n"
          "  return vyre_group_id(c, 0) + (vyre_u64)vyre_group_count(c, 0) *\n"
          "         (vyre_group_id(c, 1) + (vyre_u64)vyre_group_count(c, 1) *\n"
          "          vyre_group_id(c, 2));\n"
          "}\n"
          "VYRE_FUNCTION vyre_u64 groups(vyre_ctx *c)\n"
          "{\n"
          "  return (vyre_u64)vyre_group_count(c, 0) * vyre_group_count(c, 1) *\n"
          "         vyre_group_count(c, 2);\n"
          "}\n"
          "VYRE_FUNCTION vyre_u64 local_place(vyre_ctx *c)\n"
          "{\n"
          "  return vyre_local_id(c, 0) + (vyre_u64)vyre_local_size(c, 0) *\n"
          "         (vyre_local_id(c, 1) + (vyre_u64)vyre_local_size(c, 1) *\n"
          "          vyre_local_id(c, 2));\n"
          "}\n",
          WORD_PUSH_COUNT);
}

/* ---- the words ---- */

#define ALL_SIZES 15u
#define IN(sizes)                                                                                  \
  {                                                                                                \
    VYRE_READ_ONLY, sizes, 0                                                                       \
  }
#define OUT(sizes)                                                                                 \
  {                                                                                                \
    VYRE_WRITE_ONLY, sizes, 0                                                                      \
  }
#define OUT_ALL(sizes)                                                                             \
  {                                                                                                \
    VYRE_WRITE_ONLY, sizes, VYRE_BINDING_WRITES_ALL                                                \
  }
#define INOUT(sizes)                                                                               \
  {                                                                                                \
    VYRE_READ_WRITE, sizes, 0                                                                      \
  }
#define SCRATCH                                                                                    \
  {                                                                                                \
    VYRE_WORKGROUP, 4, 0                                                                           \
  }

/* A value xored with itself shifted, and with a constant. */
static const char mix_body[] = "  if (i < vyre_count(c, $0)) {\n"
                               "    const vyre_u64 v = vyre_at(c, $0, i);\n"
                               "    const vyre_u64 w = (@0)(v ^ v >> ($b & 63u) ^ $a);\n"
                               "    if (w != v) {\n"
                               "      vyre_at(c, $0, i) = (@0)w;\n"
                               "      vyre_changed(c);\n"
                               "    }\n"
                               "  }\n";
static void mix(const plain_item *item)
{
  uint64_t i = place(item);
  if (i < count(item, 0)) {
    uint64_t v = get(item, 0, i);
    change(item, 0, i, v ^ v >> (push(item, 1) & 63) ^ push(item, 0));
  }
}

/* Elements fetched by an index that lies in a buffer. */
static const char gather_body[] =
    "  const vyre_u64 from = vyre_count(c, $1), indexes = vyre_count(c, $2);\n"
    "  if (i < vyre_count(c, $0) && from && indexes)\n"
    "    vyre_at(c, $0, i) =\n"
    "        (@0)vyre_at(c, $1, ((vyre_u64)vyre_at(c, $2, i % indexes) + $a) % from);\n"
    "  if (i == 0u && ($b & 3u) == 3u)\n"
    "    vyre_changed(c);\n";
static void gather(const plain_item *item)
{
  uint64_t i = place(item), from = count(item, 1), indexes = count(item, 2);
  if (i < count(item, 0) && from && indexes)
    set(item, 0, i, get(item, 1, (get(item, 2, i % indexes) + push(item, 0)) % from));
  if (i == 0 && (push(item, 1) & 3) == 3)
    *item->changed = true;
}

/* Two words that write disjoint halves; the other half must survive. */
static const char lower_body[] = "  if (i < vyre_count(c, $0) / 2u)\n"
                                 "    vyre_at(c, $0, i) = (@0)(i * $a + $b);\n";
static void lower(const plain_item *item)
{
  uint64_t i = place(item);
  if (i < count(item, 0) / 2)
    set(item, 0, i, i * push(item, 0) + push(item, 1));
}

static const char upper_body[] =
    "  const vyre_u64 count = vyre_count(c, $0), from = vyre_count(c, $1);\n"
    "  if (i >= count / 2u && i < count && from)\n"
    "    vyre_at(c, $0, i) = (@0)((vyre_u64)vyre_at(c, $1, i % from) + $a);\n";
static void upper(const plain_item *item)
{
  uint64_t i = place(item), n = count(item, 0), from = count(item, 1);
  if (i >= n / 2 && i < n && from)
    set(item, 0, i, get(item, 1, i % from) + push(item, 0));
}

/* Neighbours read from another buffer. */
static const char stencil_body[] =
    "  const vyre_u64 read = vyre_count(c, $1);\n"
    "  if (i < vyre_count(c, $0) && i < read) {\n"
    "    const vyre_u64 here = vyre_at(c, $1, i);\n"
    "    const vyre_u64 left = i ? (vyre_u64)vyre_at(c, $1, i - 1u) : here;\n"
    "    const vyre_u64 right = i + 1u < read ? (vyre_u64)vyre_at(c, $1, i + 1u) : here;\n"
    "    vyre_at(c, $0, i) = (@0)((left / 4u + here / 2u + right / 4u) ^ ($a & 1u));\n"
    "  }\n";
static void stencil(const plain_item *item)
{
  uint64_t i = place(item), n = count(item, 1);
  if (i < count(item, 0) && i < n) {
    uint64_t here = get(item, 1, i), left = i ? get(item, 1, i - 1) : here;
    uint64_t right = i + 1 < n ? get(item, 1, i + 1) : here;
    set(item, 0, i, (left / 4 + here / 2 + right / 4) ^ (push(item, 0) & 1));
  }
}

/* Counts up to a limit and stays there: a fixpoint after a number of passes. */
static const char saturate_body[] =
    "  const vyre_u64 limit = (@0)($a & 63u), step = 1u + ($b & 7u);\n"
    "  if (i < vyre_count(c, $0)) {\n"
    "    const vyre_u64 v = vyre_at(c, $0, i);\n"
    "    if (v < limit) {\n"
    "      vyre_at(c, $0, i) = (@0)(limit - v < step ? limit : v + step);\n"
    "      vyre_changed(c);\n"
    "    }\n"
    "  }\n";
static void saturate(const plain_item *item)
{
  uint64_t i = place(item), limit = push(item, 0) & 63, step = 1 + (push(item, 1) & 7);
  if (i < count(item, 0)) {
    uint64_t v = get(item, 0, i);
    if (v < limit)
      change(item, 0, i, limit - v < step ? limit : v + step);
  }
}

/* The least label goes one edge further; the target is reached by many, through atomics. */
static const char smallest_body[] =
    "  const vyre_u64 labels = vyre_count(c, $0), edges = vyre_count(c, $2);\n"
    "  if (labels && edges)\n"
    "    for (vyre_u64 j = i; j < vyre_count(c, $1); j += n) {\n"
    "      const vyre_u64 to = ((vyre_u64)vyre_at(c, $2, j % edges) ^ ($a & 7u)) % labels;\n"
    "      const vyre_u32 label = (vyre_u32)vyre_at(c, $1, j);\n"
    "      if (vyre_atomic_min_u32(&vyre_at(c, $0, to), label, VYRE_RELAXED,\n"
    "                              VYRE_SCOPE_DEVICE) > label)\n"
    "        vyre_changed(c);\n"
    "    }\n";
static void smallest(const plain_item *item)
{
  uint64_t labels = count(item, 0), edges = count(item, 2);
  if (labels && edges)
    for (uint64_t j = place(item); j < count(item, 1); j += items(item)) {
      uint64_t to = (get(item, 2, j % edges) ^ (push(item, 0) & 7)) % labels;
      uint64_t label = get(item, 1, j) & UINT32_MAX;
      if (label < get(item, 0, to))
        change(item, 0, to, label);
    }
}

/* Bytes, whatever the elements are. */
static const char bytes_body[] =
    "  const vyre_u32 turn = $a & 7u;\n"
    "  VYRE_GLOBAL vyre_u8 *raw = (VYRE_GLOBAL vyre_u8 *)$0;\n"
    "  for (vyre_u64 j = i; j < vyre_count(c, $0) * #0u; j += n) {\n"
    "    const vyre_u32 v = raw[j], w = (v << turn | v >> (8u - turn)) & 255u;\n"
    "    if (v != w) {\n"
    "      raw[j] = (vyre_u8)w;\n"
    "      vyre_changed(c);\n"
    "    }\n"
    "  }\n";
static void bytes(const plain_item *item)
{
  uint32_t turn = (uint32_t)push(item, 0) & 7;
  for (uint64_t j = place(item); j < count(item, 0) * item->element_sizes[0]; j += items(item)) {
    uint32_t v = item->data[0][j], w = (v << turn | v >> (8 - turn)) & 255;
    item->data[0][j] = (uint8_t)w;
    *item->changed = *item->changed || v != w;
  }
}

/* Write-only, and not everywhere. */
static const char gaps_body[] = "  if (i < vyre_count(c, $0) && i % (2u + ($a & 3u)) == 1u)\n"
                                "    vyre_at(c, $0, i) = (@0)(i * 77u + $b);\n";
static void gaps(const plain_item *item)
{
  uint64_t i = place(item);
  if (i < count(item, 0) && i % (2 + (push(item, 0) & 3)) == 1)
    set(item, 0, i, i * 77 + push(item, 1));
}

/* Write-only, and everywhere, whatever the grid. */
static const char fill_body[] = "  VYRE_SPREAD(c, j, vyre_count(c, $0)) {\n"
                                "    vyre_at(c, $0, j) = (@0)(j * $a ^ $b);\n"
                                "  }\n";
static void fill(const plain_item *item)
{
  for (uint64_t j = place(item); j < count(item, 0); j += items(item))
    set(item, 0, j, (j * push(item, 0)) ^ push(item, 1));
}

static const char copy_body[] =
    "  const vyre_u64 from = vyre_count(c, $1);\n"
    "  for (vyre_u64 j = i; j < vyre_count(c, $0); j += n)\n"
    "    vyre_at(c, $0, j) = (@0)(from ? (vyre_u64)vyre_at(c, $1, j % from) + $a : $b);\n";
static void copy(const plain_item *item)
{
  uint64_t from = count(item, 1);
  for (uint64_t j = place(item); j < count(item, 0); j += items(item))
    set(item, 0, j, from ? get(item, 1, j % from) + push(item, 0) : push(item, 1));
}

/* The last writes first. */
static const char reverse_body[] =
    "  const vyre_u64 count = vyre_count(c, $0), from = vyre_count(c, $1);\n"
    "  if (i < count && i < from)\n"
    "    vyre_at(c, $0, count - 1u - i) = (@0)((vyre_u64)vyre_at(c, $1, i) ^ $a);\n";
static void reverse(const plain_item *item)
{
  uint64_t i = place(item), n = count(item, 0), from = count(item, 1);
  if (i < n && i < from)
    set(item, 0, n - 1 - i, get(item, 1, i) ^ push(item, 0));
}

/* A sum in workgroup memory, by a tree; each group adds its own to the whole. */
#define TREE 10u /* 2^10 items are the most */
static const char sum_body[] =
    "  const vyre_u64 count = vyre_count(c, $1), here = local_place(c);\n"
    "  vyre_u32 own = 0u;\n"
    "  for (vyre_u64 j = i; j < count; j += n)\n"
    "    own += (vyre_u32)vyre_at(c, $1, j);\n"
    "  $2[here] = own;\n"
    "  vyre_barrier(c);\n"
    "  for (vyre_u32 step = 512u; step; step /= 2u) {\n"
    "    if (here < step && here + step < group_items(c))\n"
    "      $2[here] += $2[here + step];\n"
    "    vyre_barrier(c);\n"
    "  }\n"
    "  if (here == 0u && vyre_count(c, $0)) {\n"
    "    vyre_atomic_add_u32(&vyre_at(c, $0, $a % vyre_count(c, $0)), $2[0], VYRE_RELAXED,\n"
    "                        VYRE_SCOPE_DEVICE);\n"
    "    if ($2[0]) vyre_changed(c);\n"
    "  }\n";
static void sum(const plain_item *item)
{
  uint64_t here = local_place(item), own = 0, step = item->phase ? 1024u >> item->phase : 0;
  if (item->phase == 0) {
    for (uint64_t j = place(item); j < count(item, 1); j += items(item))
      own += get(item, 1, j);
    set(item, 2, here, own);
  } else if (item->phase <= TREE) {
    if (here < step && here + step < group_items(item))
      set(item, 2, here, get(item, 2, here) + get(item, 2, here + step));
  } else if (here == 0 && count(item, 0)) {
    change(item, 0, push(item, 0) % count(item, 0),
           get(item, 0, push(item, 0) % count(item, 0)) + get(item, 2, 0));
  }
}

/* Items of a group trade values. */
static const char trade_body[] =
    "  const vyre_u64 here = local_place(c);\n"
    "  $1[here] = i < vyre_count(c, $0) ? (vyre_u32)vyre_at(c, $0, i) : 0u;\n"
    "  vyre_barrier(c);\n"
    "  if (i < vyre_count(c, $0)) {\n"
    "    const vyre_u64 w = (@0)$1[(here + $a) % group_items(c)];\n"
    "    if (w != vyre_at(c, $0, i)) {\n"
    "      vyre_at(c, $0, i) = (@0)w;\n"
    "      vyre_changed(c);\n"
    "    }\n"
    "  }\n";
static void trade(const plain_item *item)
{
  uint64_t i = place(item), here = local_place(item);
  if (item->phase == 0)
    set(item, 1, here, i < count(item, 0) ? get(item, 0, i) : 0);
  else if (i < count(item, 0))
    change(item, 0, i, get(item, 1, (here + push(item, 0)) % group_items(item)));
}

/* Bins, counted by atomics that commute. */
static const char tally_body[] =
    "  const vyre_u64 bins = vyre_count(c, $0);\n"
    "  if (bins && ($a & 1u))\n"
    "    for (vyre_u64 j = i; j < vyre_count(c, $1); j += n) {\n"
    "      vyre_atomic_add_u32(&vyre_at(c, $0, (vyre_u64)vyre_at(c, $1, j) % bins), $b | 1u,\n"
    "                          VYRE_RELAXED, VYRE_SCOPE_DEVICE);\n"
    "      vyre_changed(c);\n"
    "    }\n";
static void tally(const plain_item *item)
{
  uint64_t bins = count(item, 0);
  if (bins && (push(item, 0) & 1))
    for (uint64_t j = place(item); j < count(item, 1); j += items(item))
      change(item, 0, get(item, 1, j) % bins,
             get(item, 0, get(item, 1, j) % bins) + (push(item, 1) | 1));
}

/* Bits, set by atomics: grows until nothing is new. */
static const char mark_body[] =
    "  const vyre_u64 words = vyre_count(c, $0);\n"
    "  if (words)\n"
    "    for (vyre_u64 j = i; j < vyre_count(c, $1); j += n) {\n"
    "      const vyre_u64 v = vyre_at(c, $1, j), bit = vyre_shl_u64(1u, v + $a);\n"
    "      if (!(vyre_atomic_or_u64(&vyre_at(c, $0, (v >> 6) % words), bit, VYRE_RELAXED,\n"
    "                               VYRE_SCOPE_DEVICE) & bit))\n"
    "        vyre_changed(c);\n"
    "    }\n";
static void mark(const plain_item *item)
{
  uint64_t n = count(item, 0);
  if (n)
    for (uint64_t j = place(item); j < count(item, 1); j += items(item)) {
      uint64_t v = get(item, 1, j);
      change(item, 0, (v >> 6) % n,
             get(item, 0, (v >> 6) % n) | 1ull << ((v + push(item, 0)) & 63));
    }
}

/* Blocks of sixteen elements, taken by groups in turns. */
static const char blocks_body[] =
    "  const vyre_u64 count = vyre_count(c, $0), blocks = (count + 15u) / 16u;\n"
    "  for (vyre_u64 block = group_place(c); block < blocks; block += groups(c))\n"
    "    for (vyre_u64 j = local_place(c); j < 16u; j += group_items(c))\n"
    "      if (block * 16u + j < count) {\n"
    "        const vyre_u64 v = vyre_at(c, $0, block * 16u + j);\n"
    "        const vyre_u64 w = (@0)(v * (2u * (vyre_u64)$a + 1u) + $b);\n"
    "        if (w != v) {\n"
    "          vyre_at(c, $0, block * 16u + j) = (@0)w;\n"
    "          vyre_changed(c);\n"
    "        }\n"
    "      }\n";
static void blocks(const plain_item *item)
{
  uint64_t n = count(item, 0);
  for (uint64_t block = group_place(item); block < (n + 15) / 16; block += groups(item))
    for (uint64_t j = block * 16 + local_place(item); j < block * 16 + 16; j += group_items(item))
      if (j < n)
        change(item, 0, j, get(item, 0, j) * (2 * push(item, 0) + 1) + push(item, 1));
}

/* Every second item has nothing to do. */
static const char some_body[] = "  if ((i ^ $a) & 1u || i >= vyre_count(c, $0))\n"
                                "    return;\n"
                                "  if ($b & 1u) {\n"
                                "    vyre_at(c, $0, i) = (@0)(vyre_at(c, $0, i) + $b);\n"
                                "    vyre_changed(c);\n"
                                "  }\n";
static void some(const plain_item *item)
{
  uint64_t i = place(item);
  if (((i ^ push(item, 0)) & 1) || i >= count(item, 0))
    return;
  if (push(item, 1) & 1) {
    set(item, 0, i, get(item, 0, i) + push(item, 1));
    *item->changed = true;
  }
}

/* Floats, correctly rounded; no NaN, whose bits nobody promises. */
static const char root_body[] =
    "  const vyre_u64 from = vyre_count(c, $1);\n"
    "  if (i < vyre_count(c, $0) && from) {\n"
    "    const vyre_f32 x = (vyre_f32)((vyre_u32)vyre_at(c, $1, i % from) & 0xffffffu);\n"
    "    const vyre_f32 y = vyre_sqrt_f32(x) * 1.1f + (vyre_f32)($a & 255u) / 3.0f;\n"
    "    ((VYRE_GLOBAL vyre_f32 *)$0)[i] = vyre_fma_f32(y, 0.7f, x);\n"
    "  }\n";
static void root(const plain_item *item)
{
  uint64_t i = place(item), from = count(item, 1);
  if (i < count(item, 0) && from) {
    float x = (float)(get(item, 1, i % from) & 0xffffff), y = 0;
    uint32_t bits = 0;
    y = sqrtf(x) * 1.1f;
    y = y + (float)(push(item, 0) & 255) / 3.0f;
    y = fmaf(y, 0.7f, x);
    memcpy(&bits, &y, 4);
    set(item, 0, i, bits);
  }
}

/* Halved as a float until it is nothing. */
static const char halve_body[] =
    "  if (i < vyre_count(c, $0)) {\n"
    "    const vyre_u64 v = vyre_at(c, $0, i);\n"
    "    const vyre_u64 w = (@0)(vyre_u32)((vyre_f32)(vyre_u32)(v & 0xfffffu) * 0.5f);\n"
    "    if (w != v) {\n"
    "      vyre_at(c, $0, i) = (@0)w;\n"
    "      vyre_changed(c);\n"
    "    }\n"
    "  }\n";
static void halve(const plain_item *item)
{
  uint64_t i = place(item);
  if (i < count(item, 0))
    change(item, 0, i, (uint32_t)((float)(get(item, 0, i) & 0xfffff) * 0.5f));
}

/* Writes nothing; may say that something has changed all the same. */
static const char look_body[] = "  if (i < vyre_count(c, $0) && vyre_at(c, $0, i) == (@0)$a)\n"
                                "    vyre_changed(c);\n";
static void look(const plain_item *item)
{
  uint64_t i = place(item);
  uint64_t mask = item->element_sizes[0] == 8 ? ~0ull : (1ull << 8 * item->element_sizes[0]) - 1;
  if (i < count(item, 0) && get(item, 0, i) == (push(item, 0) & mask))
    *item->changed = true;
}

/* Bits that both have: at rest after one pass. */
static const char meet_body[] =
    "  const vyre_u64 from = vyre_count(c, $1);\n"
    "  if (i < vyre_count(c, $0) && from) {\n"
    "    const vyre_u64 v = vyre_at(c, $0, i);\n"
    "    const vyre_u64 w = (@0)(v & ((vyre_u64)vyre_at(c, $1, i % from) | $a));\n"
    "    if (w != v) {\n"
    "      vyre_at(c, $0, i) = (@0)w;\n"
    "      vyre_changed(c);\n"
    "    }\n"
    "  }\n";
static void meet(const plain_item *item)
{
  uint64_t i = place(item), from = count(item, 1);
  if (i < count(item, 0) && from)
    change(item, 0, i, get(item, 0, i) & (get(item, 1, i % from) | push(item, 0)));
}

/* Writes two buffers. */
static const char split_body[] =
    "  const vyre_u64 from = vyre_count(c, $2);\n"
    "  const vyre_u64 v = from ? (vyre_u64)vyre_at(c, $2, i % from) : $b;\n"
    "  if (i < vyre_count(c, $0))\n"
    "    vyre_at(c, $0, i) = (@0)(v & $a);\n"
    "  if (i < vyre_count(c, $1) && (i & 1u))\n"
    "    vyre_at(c, $1, i) = (@1)(v >> 4);\n";
static void split(const plain_item *item)
{
  uint64_t i = place(item), from = count(item, 2);
  uint64_t v = from ? get(item, 2, i % from) : push(item, 1);
  if (i < count(item, 0))
    set(item, 0, i, v & push(item, 0));
  if (i < count(item, 1) && (i & 1))
    set(item, 1, i, v >> 4);
}

const word word_table[] = {
    {"mix", 0, 1, mix, 1, {INOUT(ALL_SIZES)}, mix_body},
    {"gather", 0, 1, gather, 3, {OUT(ALL_SIZES), IN(ALL_SIZES), IN(ALL_SIZES)}, gather_body},
    {"lower", 0, 1, lower, 1, {OUT(ALL_SIZES)}, lower_body},
    {"upper", 0, 1, upper, 2, {OUT(ALL_SIZES), IN(ALL_SIZES)}, upper_body},
    {"stencil", 0, 1, stencil, 2, {OUT(ALL_SIZES), IN(ALL_SIZES)}, stencil_body},
    {"saturate", 0, 1, saturate, 1, {INOUT(ALL_SIZES)}, saturate_body},
    {"smallest", 0, 1, smallest, 3, {INOUT(4), IN(ALL_SIZES), IN(ALL_SIZES)}, smallest_body},
    {"bytes", 0, 1, bytes, 1, {INOUT(ALL_SIZES)}, bytes_body},
    {"gaps", 0, 1, gaps, 1, {OUT(ALL_SIZES)}, gaps_body},
    {"fill", 0, 1, fill, 1, {OUT_ALL(ALL_SIZES)}, fill_body},
    {"copy", 0, 1, copy, 2, {OUT_ALL(ALL_SIZES), IN(ALL_SIZES)}, copy_body},
    {"reverse", 0, 1, reverse, 2, {OUT(ALL_SIZES), IN(ALL_SIZES)}, reverse_body},
    {"sum", WORD_BARRIER, TREE + 2, sum, 3, {INOUT(4), IN(ALL_SIZES), SCRATCH}, sum_body},
    {"trade",
     WORD_BARRIER | WORD_READS_WORKGROUP,
     2,
     trade,
     2,
     {INOUT(ALL_SIZES), SCRATCH},
     trade_body},
    {"tally", 0, 1, tally, 2, {INOUT(4), IN(ALL_SIZES)}, tally_body},
    {"mark", 0, 1, mark, 2, {INOUT(8), IN(ALL_SIZES)}, mark_body},
    {"blocks", 0, 1, blocks, 1, {INOUT(ALL_SIZES)}, blocks_body},
    {"some", 0, 1, some, 1, {INOUT(ALL_SIZES)}, some_body},
    {"root", 0, 1, root, 2, {OUT(4), IN(ALL_SIZES)}, root_body},
    {"halve", 0, 1, halve, 1, {INOUT(ALL_SIZES)}, halve_body},
    {"look", 0, 1, look, 1, {IN(ALL_SIZES)}, look_body},
    {"meet", 0, 1, meet, 2, {INOUT(ALL_SIZES), IN(ALL_SIZES)}, meet_body},
    {"split", 0, 1, split, 3, {OUT(ALL_SIZES), OUT(ALL_SIZES), IN(ALL_SIZES)}, split_body},
};
const uint32_t word_count = sizeof word_table / sizeof word_table[0];

/* ---- text ---- */

static const char *type_of(uint32_t element_size)
{
  return element_size == 1   ? "vyre_u8"
         : element_size == 2 ? "vyre_u16"
         : element_size == 4 ? "vyre_u32"
                             : "vyre_u64";
}

static void write_body(FILE *to, const char *body, const plain_program *program,
                       const plain_segment *segment)
{
  for (const char *at = body; *at; ++at) {
    const plain_buffer *buffer = NULL;
    if (!strchr("$@#", *at)) {
      fputc(*at, to);
      continue;
    }
    if (at[1] >= '0' && at[1] <= '9')
      buffer = &program->buffers[segment->bindings[at[1] - '0'].buffer];
    if (*at == '$' && buffer)
      fputs(buffer->name, to);
    else if (*at == '$')
      fprintf(to, "vyre_push(c, constants)->k[%u]", segment->tag + (uint32_t)(at[1] - 'a'));
    else if (!buffer)
      abort(); /* the table has a type or a size of no parameter */
    else if (*at == '@')
      fputs(type_of(buffer->element_size), to);
    else
      fprintf(to, "%u", buffer->element_size);
    ++at;
  }
}

void word_write(FILE *to, const word *w, const plain_program *program, const plain_segment *segment)
{
  static const char *const parameter[] = {"IN", "INOUT", "OUT", "LOCAL"};
  fprintf(to, "\n/* %s */\nVYRE_SEGMENT(%s)(vyre_ctx *c", w->name, segment->kernel);
  for (uint32_t b = 0; b < segment->binding_count; ++b) {
    const plain_buffer *buffer = &program->buffers[segment->bindings[b].buffer];
    fprintf(to, ", VYRE_%s(%s) %s", parameter[segment->bindings[b].access],
            type_of(buffer->element_size), buffer->name);
  }
  fprintf(to, ")\n{\n"
              "  const vyre_u64 i = vyre_global_id(c, 0) +\n"
              "      vyre_global_size(c, 0) * (vyre_global_id(c, 1) +\n"
              "      vyre_global_size(c, 1) * vyre_global_id(c, 2));\n"
              "  const vyre_u64 n = groups(c) * group_items(c);\n");
  write_body(to, w->body, program, segment);
  fprintf(to, "}\n");
}
