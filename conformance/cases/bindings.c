/* bindings.c - what a kernel sees of its bindings, and what comes back of them. */
#include "conformance/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sizes around powers of two and around the workgroup. */
static const uint32_t counts[] = {0,   1,   2,   63,   64,   65,   127, 128,
                                  255, 256, 257, 1025, 2048, 2049, 4097};

static void run_add(conform *c)
{
  for (uint32_t i = 0; i < COUNT_OF(counts); ++i)
    conform_run_add(c, conform_kernel(c, "basic", "add"), counts[i], 64);
}

/* One start of a binding that may be written: with data or without. */
static void start_as(conform *c, vyre_access access, bool given)
{
  static unsigned char bytes[300], copy[700], out[700];
  conform_launch launch;
  conform_random_fill(c, bytes, sizeof bytes);
  conform_random_fill(c, copy, sizeof copy);
  conform_launch_init(&launch, conform_kernel(c, "basic", "bump"));
  conform_launch_grid(&launch, 5, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, bytes, sizeof bytes, 1, NULL);
  conform_launch_host(&launch, access, given ? copy : NULL, sizeof copy, 1, out);
  conform_run(c, &launch);
  for (size_t k = 0; k < sizeof out; ++k) {
    const unsigned char want = k < sizeof bytes ? (unsigned char)(bytes[k] + 1u)
                               : given          ? copy[k]
                                                : 0;
    CHECK(c, out[k] == want, "access %u: byte %zu is %u, expected is %u (%s)", access, k, out[k],
          want, given ? "DISP-003" : "DISP-002");
  }
}

/* Zeros without data; what is not written keeps its bytes. */
static void run_start(conform *c)
{
  for (int turn = 0; turn < 3; ++turn) {
    start_as(c, VYRE_READ_WRITE, true);
    start_as(c, VYRE_READ_WRITE, false);
    start_as(c, VYRE_WRITE_ONLY, true);
    start_as(c, VYRE_WRITE_ONLY, false);
  }
}

/* ---- widths and sizes ---- */

#define MOST 4097u

/* `turn_1` to `turn_8` over n elements of that width. */
static void turn(conform *c, uint32_t width, uint32_t n)
{
  static unsigned char first[MOST * 8], second[MOST * 8], out[MOST * 8], old[MOST * 8];
  char entry[16];
  conform_launch launch;
  snprintf(entry, sizeof entry, "turn_%u", width);
  conform_random_fill(c, first, (uint64_t)n * width);
  conform_random_fill(c, second, (uint64_t)n * width);
  conform_launch_init(&launch, conform_kernel(c, "bound", entry));
  conform_launch_grid(&launch, n ? (n + 63) / 64 : 1, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, first, n, width, NULL);
  conform_launch_host(&launch, VYRE_READ_WRITE, second, n, width, out);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, n, width, old);
  launch.bindings[0].id = 40;
  launch.bindings[1].id = 3;
  launch.bindings[2].id = 17;
  launch.desc.id_limit = 41;
  conform_run(c, &launch);
  CHECK(c, !memcmp(old, second, (size_t)n * width),
        "%u elements of %u bytes do not start as a copy of the data (DISP-003)", n, width);
  for (uint32_t i = 0; i < n; ++i)
    CHECK(c, !memcmp(out + (size_t)i * width, first + (size_t)(n - 1 - i) * width, width),
          "element %u of %u of %u bytes is wrong", i, n, width);
}

static void run_widths(conform *c)
{
  for (uint32_t width = 1; width <= 8; width *= 2)
    for (uint32_t i = 0; i < COUNT_OF(counts); ++i)
      turn(c, width, counts[i]);
}

/* Bytes in every number around small words: the last ones are not lost, none behind is written. */
static void run_odd_sizes(conform *c)
{
  for (uint32_t n = 1; n <= 40; ++n)
    turn(c, 1, n);
  for (uint32_t n = 250; n <= 260; ++n) {
    turn(c, 1, n);
    turn(c, 2, n);
  }
}

/* Host bytes that end, or begin, where the next page may not be touched: no byte beside is read. */
static void run_edges(conform *c)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  unsigned char *memory = mmap(NULL, 5 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(c,
        memory != MAP_FAILED && !mprotect(memory + page, page, PROT_READ | PROT_WRITE) &&
            !mprotect(memory + 3 * page, page, PROT_READ | PROT_WRITE),
        "no memory");
  for (uint32_t n = 1; n <= 70; ++n)
    for (int at_end = 0; at_end < 2; ++at_end) {
      unsigned char *in = memory + page + (at_end ? page - n : 0);
      unsigned char *out = memory + 3 * page + (at_end ? page - n : 0);
      vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = n};
      vyre_backend_pending *pending = NULL;
      conform_launch launch;
      conform_random_fill(c, in, n);
      conform_launch_init(&launch, conform_kernel(c, "basic", "bump"));
      conform_launch_grid(&launch, 2, 64);
      conform_launch_host(&launch, VYRE_READ_ONLY, in, n, 1, NULL);
      conform_launch_host(&launch, VYRE_READ_WRITE, in, n, 1, NULL);
      pending = conform_start(c, conform_open(c), &launch);
      CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
      c->counted.pending_release(pending);
      for (uint32_t i = 0; i < n; ++i)
        CHECK(c, out[i] == (unsigned char)(in[i] + 1u), "byte %u of %u is wrong", i, n);
    }
  munmap(memory, 5 * page);
}

/* DISP-005: a size of 0, with data and without, in every access. */
static void run_zero_size(conform *c)
{
  unsigned char bytes[16] = {1, 2, 3}, nothing = 0x55;
  conform_launch launch;
  for (int given = 0; given < 2; ++given) {
    const void *data = given ? bytes : NULL;
    conform_launch_init(&launch, conform_kernel(c, "bound", "idle"));
    conform_launch_grid(&launch, 3, 5);
    conform_launch_host(&launch, VYRE_READ_ONLY, data, 0, 1, NULL);
    conform_launch_host(&launch, VYRE_READ_WRITE, data, 0, 1, &nothing);
    launch.bindings[0].id = 40;
    launch.bindings[1].id = 3;
    launch.desc.id_limit = 41;
    conform_run(c, &launch);
    CHECK(c, nothing == 0x55, "a binding of size 0 has written a byte (DISP-005)");
  }
  /* The slot of a binding of size 0 may have no data. */
  vyre_slot slot = {.struct_size = sizeof slot, .binding_id = 99, .size = 99};
  vyre_backend_pending *pending = conform_start(c, c->device, &launch);
  CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
  CHECK(c, slot.binding_id == 3 && slot.size == 0 && !slot.data && !slot.capacity,
        "the slot of a binding of size 0 says id %u and %llu bytes (READ-002)", slot.binding_id,
        (unsigned long long)slot.size);
  c->counted.pending_release(pending);
  turn(c, 4, 0);
}

/* ---- addresses ---- */

/* Valid, apart from each other, aligned to 16 bytes, wherever the host's own bytes lie. */
static void run_alignment(conform *c)
{
  static const uint32_t sizes[] = {1, 3, 15, 16, 17, 33, 100};
  static unsigned char bytes[400], second[400], third[400];
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s)
    for (uint32_t shift = 0; shift < 3; ++shift) {
      const uint32_t n = sizes[s];
      static const uint32_t ids[] = {40, 3, 17, 7, 11, 0};
      uint64_t seen[5] = {0};
      vyre_slot slots[3];
      conform_launch launch;
      vyre_backend_pending *pending = NULL;
      conform_launch_init(&launch, conform_kernel(c, "bound", "where"));
      conform_launch_host(&launch, VYRE_READ_ONLY, bytes + shift * 5, n, 1, NULL);
      conform_launch_host(&launch, VYRE_READ_WRITE, bytes + shift * 7 + 1, n, 1, NULL);
      conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, n, 1, NULL);
      conform_launch_local(&launch, n, 1);
      conform_launch_local(&launch, n + 1, 1);
      conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 5, 8, NULL);
      for (uint32_t i = 0; i < 6; ++i)
        launch.bindings[i].id = ids[i];
      launch.desc.id_limit = 41;
      memset(slots, 0, sizeof slots);
      for (uint32_t i = 0; i < 3; ++i) {
        slots[i].struct_size = sizeof slots[i];
        slots[i].capacity = i == 2 ? sizeof seen : n;
      }
      slots[0].data = second + shift; /* results may go anywhere */
      slots[1].data = third + 3 * shift;
      slots[2].data = seen;
      pending = conform_start(c, conform_open(c), &launch);
      CHECK_OK(c, c->counted.pending_read(pending, slots, 3, sizeof slots[0], NULL, err));
      c->counted.pending_release(pending);
      for (uint32_t i = 0; i < 5; ++i) {
        CHECK(c, i >= 3 || seen[i], "binding %u is at no address (DISP-006)", i);
        CHECK(c, seen[i] % 16 == 0, "binding %u of %u bytes is at 0x%llx (DISP-006)", i, n,
              (unsigned long long)seen[i]);
      }
      for (uint32_t i = 0; i < 3; ++i)
        for (uint32_t k = 0; k < i; ++k)
          CHECK(c, seen[i] + n <= seen[k] || seen[k] + n <= seen[i],
                "bindings %u and %u overlap (DISP-003)", k, i);
      CHECK(c, seen[3] + n <= seen[4] || seen[4] + n + 1 <= seen[3],
            "two workgroup bindings overlap (DISP-006)");
    }
}

/* ---- ids and counts ---- */

static void run_ids(conform *c)
{
  static const uint32_t limits[] = {41, 42, 64, VYRE_BINDING_IDS};
  unsigned char a[3] = {9, 1, 1}, b[7] = {8, 1, 1, 1, 1, 1, 1}, d[1] = {7};
  for (uint32_t i = 0; i < COUNT_OF(limits); ++i) {
    uint64_t seen[7] = {0};
    conform_launch launch;
    conform_launch_init(&launch, conform_kernel(c, "bound", "counts"));
    conform_launch_grid(&launch, 2, 3);
    conform_launch_host(&launch, VYRE_READ_ONLY, a, 3, 1, NULL);
    conform_launch_host(&launch, VYRE_READ_ONLY, b, 7, 1, NULL);
    conform_launch_host(&launch, VYRE_READ_ONLY, d, 1, 1, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 7, 8, seen);
    launch.bindings[0].id = 40;
    launch.bindings[1].id = 3;
    launch.bindings[2].id = 17;
    launch.bindings[3].id = 0;
    launch.desc.id_limit = limits[i];
    /* vyre_count() answers what the descriptor says, in elements and not in bytes. */
    launch.bindings[0].element_count = 0x123456789abcdefull;
    conform_run(c, &launch);
    CHECK(c, seen[0] == 0x123456789abcdefull && seen[1] == 7 && seen[2] == 1 && seen[3] == 7,
          "vyre_count() answers %llu, %llu, %llu, %llu (DISP-007)", (unsigned long long)seen[0],
          (unsigned long long)seen[1], (unsigned long long)seen[2], (unsigned long long)seen[3]);
    CHECK(c, seen[4] == 9 && seen[5] == 8 && seen[6] == 7,
          "bindings come to other parameters than their order says (DISP-007)");
  }
}

/* ---- many ---- */

/* A kernel with n parameters: the last is the sum of the others, each times its number. */
static void run_many_of(conform *c, uint32_t n)
{
  static uint32_t data[CONFORM_MAX_ARGUMENTS][37], out[37];
  static char text[32768];
  vyre_backend_module *module = NULL;
  conform_launch launch;
  size_t at = 0;
#define PUT(...) at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__)
  for (uint32_t i = 0; i < n; ++i)
    PUT("#define VYRE_BUFFER_b%u %u\n", i, i);
  PUT("VYRE_SEGMENT(many)(vyre_ctx *c");
  for (uint32_t i = 0; i + 1 < n; ++i)
    PUT(", VYRE_IN(vyre_u32) b%u", i);
  PUT(", VYRE_OUT(vyre_u32) b%u)\n{\n  vyre_u64 i = vyre_global_id(c, 0);\n"
      "  if (i >= vyre_count(c, b%u)) return;\n  vyre_u32 sum = 0u;\n",
      n - 1, n - 1);
  for (uint32_t i = 0; i + 1 < n; ++i)
    PUT("  sum += b%u[i] * %uu;\n", i, i + 3);
  PUT("  b%u[i] = sum;\n}\nVYRE_ENTRY(many, (", n - 1);
  for (uint32_t i = 0; i + 1 < n; ++i)
    PUT("VYRE_PARAM_IN(%u, b%u), ", i, i);
  PUT("VYRE_PARAM_OUT(%u, b%u)), (", n - 1, n - 1);
  for (uint32_t i = 0; i < n; ++i)
    PUT("%sVYRE_ARG(%u, b%u)", i ? ", " : "", i, i);
  PUT("));\n");
#undef PUT
  module = conform_load_text(c, conform_open(c), "many", text, 0);
  conform_random_fill(c, data, sizeof data);
  conform_launch_init(&launch, conform_find(c, module, "many"));
  conform_launch_grid(&launch, 2, 32);
  for (uint32_t i = 0; i + 1 < n; ++i)
    conform_launch_host(&launch, VYRE_READ_ONLY, data[i], 37, 4, NULL);
  conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 37, 4, out);
  conform_run(c, &launch);
  for (uint32_t k = 0; k < 37; ++k) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i + 1 < n; ++i)
      sum += data[i][k] * (i + 3);
    CHECK(c, out[k] == sum, "with %u bindings element %u is %u, expected is %u", n, k, out[k], sum);
  }
  c->counted.module_unload(c->device, module);
}

static void run_many(conform *c)
{
  const uint32_t most = conform_info(c)->max_bindings;
  run_many_of(c, 1);
  run_many_of(c, 16);
  run_many_of(c, most < CONFORM_MAX_ARGUMENTS ? most : CONFORM_MAX_ARGUMENTS);
}

/* Every binding writable: results come back in their order, each to its slot. */
static void run_outputs(conform *c)
{
  static uint32_t start[3][200], out[3][200];
  conform_launch launch;
  conform_random_fill(c, start, sizeof start);
  conform_launch_init(&launch, conform_kernel(c, "basic", "add"));
  conform_launch_grid(&launch, 4, 64);
  for (uint32_t i = 0; i < 3; ++i)
    conform_launch_host(&launch, VYRE_READ_WRITE, start[i], 200 - i, 4, out[i]);
  launch.bindings[2].element_count = 150;
  conform_run(c, &launch);
  CHECK(c, !memcmp(out[0], start[0], 200 * 4) && !memcmp(out[1], start[1], 199 * 4),
        "bytes that the kernel does not write come back otherwise (DISP-003)");
  for (uint32_t i = 0; i < 198; ++i) {
    const uint32_t want = i < 150 ? start[0][i] + start[1][i] : start[2][i];
    CHECK(c, out[2][i] == want, "element %u is %u, expected is %u (READ-001)", i, out[2][i], want);
  }
}

/* ---- workgroup memory ---- */

static void run_workgroup(conform *c)
{
  static uint32_t out[8 * 16];
  const uint64_t most = conform_info(c)->max_workgroup_memory;
  uint64_t sizes[] = {4, 20, 1024, 4096, most / 2 / 4 * 4, most / 4 * 4};
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
    const uint32_t words = (uint32_t)(sizes[s] / 4 < 65536 ? sizes[s] / 4 : 65536);
    conform_launch launch;
    if (!words || sizes[s] > most)
      continue;
    conform_launch_init(&launch, conform_kernel(c, "shared", "fill"));
    conform_launch_grid(&launch, 8, 16);
    conform_launch_host(&launch, VYRE_READ_ONLY, &words, 1, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 8 * 16, 4, out);
    conform_launch_local(&launch, words, 4);
    conform_run(c, &launch);
    for (uint32_t g = 0; g < 8; ++g)
      for (uint32_t i = 0; i < 16; ++i) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < words; ++k)
          sum += (uint32_t)((k + i) % words * 2654435761u + g) ^ k;
        CHECK(c, out[g * 16 + i] == sum,
              "group %u, item %u reads other bytes of %u words of workgroup memory", g, i, words);
      }
  }
}

/* ---- strides and structure sizes ---- */

typedef struct wide_binding {
  vyre_binding binding;
  unsigned char more[40];
} wide_binding;

typedef struct wide_slot {
  vyre_slot slot;
  unsigned char more[24];
} wide_slot;

typedef struct wide_desc {
  vyre_dispatch_desc desc;
  unsigned char more[48];
} wide_desc;

/* Sums of a and b in structures that are larger than the plugin's, or say so too. */
static void add_with_strides(conform *c, bool large)
{
  static uint32_t data[3][100], out[3][100];
  wide_binding bindings[3];
  wide_slot slots[3];
  wide_desc desc;
  conform_launch launch;
  vyre_backend_pending *pending = NULL;
  conform_random_fill(c, data, sizeof data);
  conform_launch_init(&launch, conform_kernel(c, "basic", "add"));
  conform_launch_grid(&launch, 2, 64);
  memset(bindings, 0xee, sizeof bindings);
  memset(slots, 0xee, sizeof slots);
  memset(&desc, 0xee, sizeof desc);
  for (uint32_t i = 0; i < 3; ++i) {
    conform_launch_host(&launch, VYRE_READ_WRITE, data[i], 100, 4, NULL);
    bindings[i].binding = launch.bindings[i];
    slots[i].slot = (vyre_slot){.struct_size = sizeof slots[i].slot,
                                .binding_id = 99,
                                .data = out[i],
                                .capacity = sizeof out[i]};
    if (large)
      bindings[i].binding.struct_size = sizeof bindings[i];
    if (large)
      slots[i].slot.struct_size = sizeof slots[i];
  }
  desc.desc = launch.desc;
  desc.desc.bindings = &bindings[0].binding;
  desc.desc.binding_stride = sizeof bindings[0];
  if (large)
    desc.desc.struct_size = sizeof desc;
  CHECK_OK(c, c->counted.dispatch(conform_open(c), &desc.desc, &pending, err));
  CHECK_OK(c, c->counted.pending_read(pending, &slots[0].slot, 3, sizeof slots[0], NULL, err));
  c->counted.pending_release(pending);
  for (uint32_t i = 0; i < 300; ++i) {
    const uint32_t k = i % 100, want = i < 200 ? data[i / 100][k] : data[0][k] + data[1][k];
    CHECK(c, out[i / 100][k] == want, "output %u, element %u is %u, expected is %u (ABI-004)",
          i / 100, k, out[i / 100][k], want);
  }
  for (uint32_t s = 0; s < 3; ++s) {
    for (uint32_t i = 0; i < sizeof slots[s].more; ++i)
      CHECK(c, slots[s].more[i] == 0xee, "byte %u behind slot %u was written (ABI-002)", i, s);
    CHECK(c, slots[s].slot.binding_id == s && slots[s].slot.size == sizeof out[s],
          "slot %u says id %u and %llu bytes (READ-002)", s, slots[s].slot.binding_id,
          (unsigned long long)slots[s].slot.size);
  }
}

/* ABI-004: readers step by the stride; ABI-001: they accept larger structures. */
static void run_stride(conform *c)
{
  add_with_strides(c, false);
  add_with_strides(c, true);
}

/* ---- what is refused ---- */

static void refuse(conform *c, const conform_launch *launch)
{
  vyre_backend_pending *pending = NULL;
  const uint64_t before = conform_live_blocks(c);
  CHECK_FAILS(c, c->counted.dispatch(conform_open(c), &launch->desc, &pending, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, !pending, "a failed dispatch has stored a handle (ABI-008)");
  CHECK(c, conform_live_blocks(c) == before, "a failed dispatch leaves blocks in use (ABI-008)");
  CHECK(c,
        c->counted.dispatch(conform_open(c), &launch->desc, &pending, NULL) ==
                VYRE_ERROR_INVALID_ARGUMENT &&
            !pending,
        "without an error record dispatch ends otherwise (ABI-009)");
}

static void run_refused(conform *c)
{
  static uint32_t a[64], out[64];
  conform_launch good, wrong;
  conform_launch_init(&good, conform_kernel(c, "basic", "add"));
  conform_launch_grid(&good, 1, 64);
  conform_launch_host(&good, VYRE_READ_ONLY, a, 64, 4, NULL);
  conform_launch_host(&good, VYRE_READ_ONLY, a, 64, 4, NULL);
  conform_launch_host(&good, VYRE_WRITE_ONLY, NULL, 64, 4, out);
#define WRONG(change)                                                                              \
  do {                                                                                             \
    wrong = good;                                                                                  \
    wrong.desc.bindings = wrong.bindings;                                                          \
    change;                                                                                        \
    refuse(c, &wrong);                                                                             \
  } while (0)
  WRONG(wrong.bindings[1].kind = 3);
  WRONG(wrong.bindings[1].kind = UINT32_MAX);
  WRONG(wrong.bindings[2].access = 4);
  WRONG(wrong.bindings[0].access = UINT32_MAX);
  WRONG(wrong.bindings[1].struct_size = VYRE_BINDING_SIZE_0_1 - 1);
  WRONG(wrong.bindings[2].struct_size = 0);
  WRONG(wrong.desc.struct_size = VYRE_DISPATCH_DESC_SIZE_0_1 - 1);
  WRONG(wrong.desc.struct_size = 0);
  WRONG(wrong.bindings[2].id = 3); /* id_limit is 3 */
  WRONG(wrong.bindings[0].id = UINT32_MAX);
  WRONG(wrong.bindings[1].access = VYRE_WORKGROUP);
  WRONG(wrong.bindings[1].kind = VYRE_BINDING_WORKGROUP);
  WRONG(wrong.desc.binding_stride = VYRE_BINDING_SIZE_0_1 - 1);
#undef WRONG
  conform_run(c, &good);
  conform_tour(c);
}

/*
 * The kind BUFFER: a plugin without buffers refuses it, whatever stands in the field; one with
 * buffers where there is none.
 */
static void run_buffer_kind(conform *c)
{
  static uint64_t nothing[32];
  static uint32_t a[64];
  const bool has = (conform_info(c)->capabilities & VYRE_CAP_BUFFERS) != 0;
  conform_launch launch;
  for (uint32_t k = 0; k < 3; ++k)
    for (uint32_t some = 0; some < (has ? 1u : 2u); ++some) {
      vyre_backend_kernel *const add = conform_kernel(c, "basic", "add");
      vyre_backend_pending *pending = NULL;
      const uint64_t before = conform_live_blocks(c);
      conform_launch_init(&launch, add);
      conform_launch_grid(&launch, 1, 64);
      conform_launch_host(&launch, VYRE_READ_ONLY, a, 64, 4, NULL);
      conform_launch_host(&launch, VYRE_READ_ONLY, a, 64, 4, NULL);
      conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 64, 4, NULL);
      launch.bindings[k].kind = VYRE_BINDING_BUFFER;
      launch.bindings[k].data = NULL;
      launch.bindings[k].buffer = some ? (vyre_backend_buffer *)(void *)nothing : NULL;
      CHECK_FAILS(c, c->counted.dispatch(c->device, &launch.desc, &pending, err),
                  VYRE_ERROR_INVALID_ARGUMENT, has ? -1 : VYRE_ERROR_UNSUPPORTED);
      CHECK(c, !pending && conform_live_blocks(c) == before,
            "a launch that was refused leaves a handle or blocks (ABI-008)");
    }
  conform_tour(c);
}

static const conform_case rows[] = {
    CORE_CASE("bindings.add", "DISP-001 DISP-005 READ-001 READ-002 DISP-030", CONFORM_NEEDS_KERNELS,
              run_add),
    CORE_CASE("bindings.start", "DISP-002 DISP-003", CONFORM_NEEDS_KERNELS, run_start),
    CORE_CASE("bindings.widths", "DISP-003 READ-002", CONFORM_NEEDS_KERNELS, run_widths),
    CORE_CASE("bindings.odd_sizes", "DISP-003 READ-002", CONFORM_NEEDS_KERNELS, run_odd_sizes),
    CORE_CASE("bindings.edges", "DISP-003 READ-002", CONFORM_NEEDS_KERNELS, run_edges),
    CORE_CASE("bindings.zero_size", "DISP-005 READ-002", CONFORM_NEEDS_KERNELS, run_zero_size),
    CORE_CASE("bindings.alignment", "DISP-006 DISP-003", CONFORM_NEEDS_KERNELS, run_alignment),
    CORE_CASE("bindings.ids", "DISP-007", CONFORM_NEEDS_KERNELS, run_ids),
    CORE_CASE("bindings.many", "DISP-007 CAP-001 DEV-003", CONFORM_NEEDS_VYRE_C, run_many),
    CORE_CASE("bindings.outputs", "READ-001 READ-002 DISP-003", CONFORM_NEEDS_KERNELS, run_outputs),
    CORE_CASE("bindings.workgroup", "DISP-006 CAP-001", CONFORM_NEEDS_KERNELS, run_workgroup),
    CORE_CASE("bindings.stride", "ABI-001 ABI-002 ABI-004 READ-002", CONFORM_NEEDS_KERNELS,
              run_stride),
    CORE_CASE("bindings.refused", "DISP-008 ABI-001 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_refused),
    CORE_CASE("bindings.buffer_kind", "DISP-008 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
              run_buffer_kind),
};
CONFORM_TABLE(conform_cases_bindings, rows);
