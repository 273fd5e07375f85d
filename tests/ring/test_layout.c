/*
 * The ring's memory as each compiler lays it out: this build's, every C and C++ compiler of the
 * machine with and without the kernel language's types, and the run-time compiler of every device.
 * The table that it prints is the layout; a compiler that sees another one fails the test.
 */
#include "tests/program/sample.h"
#include "tests/ring/ring_help.h"

#include <unistd.h>

typedef struct row {
  const char *structure;
  const char *field; /* NULL: the structure itself */
  uint32_t offset, size;
} row;

static const row rows[] = {
#define STRUCTURE(structure) {#structure, NULL, 0, sizeof(structure)},
#define FIELD(structure, field)                                                                    \
  {#structure, #field, offsetof(structure, field), sizeof(((structure *)0)->field)},
#include "tests/ring/layout_fields.def"
#undef STRUCTURE
#undef FIELD
};
#define ROWS (sizeof rows / sizeof *rows)
#define NUMBERS (2 * ROWS)

#define MOST_COLUMNS 16u

typedef struct column {
  char name[40];
  uint32_t numbers[NUMBERS]; /* offset and size of each row */
} column;

static column columns[MOST_COLUMNS];
static uint32_t column_count;

static column *add_column(const char *name)
{
  column *c;
  assert_true(column_count < MOST_COLUMNS);
  c = &columns[column_count++];
  snprintf(c->name, sizeof c->name, "%s", name);
  return c;
}

static void print_table(void)
{
  for (uint32_t k = 0; k < column_count; ++k)
    printf("%c: %s\n", (char)('A' + k), columns[k].name);
  printf("%-36s", "");
  for (uint32_t k = 0; k < column_count; ++k)
    printf("  %12c", (char)('A' + k));
  printf("\n");
  for (size_t i = 0; i < ROWS; ++i) {
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", rows[i].structure, rows[i].field ? "." : "",
             rows[i].field ? rows[i].field : "");
    printf("%-36s", name);
    for (uint32_t k = 0; k < column_count; ++k)
      printf("  0x%03x %6u", columns[k].numbers[2 * i], columns[k].numbers[2 * i + 1]);
    printf("\n");
  }
}

static void assert_same(const column *c)
{
  for (size_t i = 0; i < ROWS; ++i)
    if (c->numbers[2 * i] != rows[i].offset || c->numbers[2 * i + 1] != rows[i].size)
      fail_msg("%s: %s.%s is %u bytes at 0x%x, not %u at 0x%x", c->name, rows[i].structure,
               rows[i].field ? rows[i].field : "", c->numbers[2 * i + 1], c->numbers[2 * i],
               rows[i].size, rows[i].offset);
}

/* ---- texts for the compilers: differences of addresses, since a kernel has no offsetof ---- */

typedef struct text {
  char bytes[64000];
  size_t length;
} text;

static void append(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(text *t, const char *format, ...)
{
  va_list arguments;
  int n;
  va_start(arguments, format);
  n = vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, arguments);
  va_end(arguments);
  assert_true(n >= 0 && (size_t)n < sizeof t->bytes - t->length);
  t->length += (size_t)n;
}

/* A program that prints the numbers; `prelude` is what it includes first. */
static void write_host_program(text *t, const char *prelude)
{
  t->length = 0;
  append(t, "%s#include \"vyre_ring_layout.h\"\n#include <stdio.h>\nint main(void)\n{\n", prelude);
  for (size_t i = 0; i < ROWS; ++i)
    if (!rows[i].field)
      append(t, "  static %s at_%s;\n", rows[i].structure, rows[i].structure);
  for (size_t i = 0; i < ROWS; ++i) {
    const char *s = rows[i].structure, *f = rows[i].field;
    if (f)
      append(t,
             "  printf(\"%%u %%u\\n\", (unsigned)((char *)&at_%s.%s - (char *)&at_%s),\n"
             "         (unsigned)sizeof at_%s.%s);\n",
             s, f, s, s, f);
    else
      append(t, "  printf(\"0 %%u\\n\", (unsigned)sizeof at_%s);\n", s);
  }
  append(t, "  return 0;\n}\n");
}

static void read_layout_header(text *t)
{
  FILE *file = fopen(VYRE_TEST_SOURCE_DIR "/include/vyre_ring_layout.h", "r");
  assert_non_null(file);
  t->length = fread(t->bytes, 1, sizeof t->bytes - 1, file);
  fclose(file);
  assert_true(t->length > 1000 && t->length < sizeof t->bytes - 1);
  t->bytes[t->length] = 0;
}

/* A kernel that writes the numbers: the header's own text, and one segment. */
static void write_kernel(text *t)
{
  read_layout_header(t);
  append(t, "VYRE_SEGMENT(look)(vyre_ctx *c, VYRE_IN(vyre_u8) region, VYRE_OUT(vyre_u32) out)\n"
            "{\n  vyre_u32 k = 0u;\n  if (vyre_global_id(c, 0) != 0u)\n    return;\n");
  for (size_t i = 0; i < ROWS; ++i) {
    const char *s = rows[i].structure, *f = rows[i].field;
    append(t, "  vyre_at(c, out, k++) = ");
    if (f)
      append(t,
             "(vyre_u32)((VYRE_GLOBAL const vyre_u8 *)&((VYRE_GLOBAL const %s *)region)->%s - "
             "region);\n  vyre_at(c, out, k++) = (vyre_u32)sizeof(((VYRE_GLOBAL const %s "
             "*)region)->%s);\n",
             s, f, s, f);
    else
      append(t, "0u;\n  vyre_at(c, out, k++) = (vyre_u32)sizeof(%s);\n", s);
  }
  append(t, "}\n");
}

/* ---- this build ---- */

static void test_this_build(void **state)
{
  column *c = add_column("this build");
  uint32_t end = 0;
  (void)state;
  for (size_t i = 0; i < ROWS; ++i) {
    c->numbers[2 * i] = rows[i].offset;
    c->numbers[2 * i + 1] = rows[i].size;
  }
  /* The table leaves nothing out: each field of the header begins where one before it ends. */
  for (size_t i = 0; i < ROWS; ++i) {
    if (!rows[i].field || strcmp(rows[i].structure, "vyre_ring_header") != 0 ||
        strchr(rows[i].field, '.'))
      continue;
    assert_int_equal(rows[i].offset, end);
    end += rows[i].size;
  }
  assert_int_equal(end, sizeof(vyre_ring_header));
  /* Lines of different writers. */
  assert_int_equal(offsetof(vyre_ring_header, head) / VYRE_RING_LINE, 1);
  assert_int_equal(offsetof(vyre_ring_header, tail) / VYRE_RING_LINE, 2);
  assert_int_equal(offsetof(vyre_ring_header, stop) / VYRE_RING_LINE, 3);
  assert_int_equal(offsetof(vyre_ring_header, state) / VYRE_RING_LINE, 7);
}

/* ---- the compilers of this machine ---- */

static const struct {
  const char *compiler, *options, *suffix, *prelude, *name;
} compilers[] = {
    {"gcc", "-std=c11", "c", "", "gcc"},
    {"gcc", "-std=c11", "c", "#include \"vyre_kernel.h\"\n", "gcc, device side"},
    {"clang", "-std=c11", "c", "", "clang"},
    {"clang", "-std=c11", "c", "#include \"vyre_kernel.h\"\n", "clang, device side"},
    {"g++", "-std=c++17", "cc", "", "g++"},
    {"clang++", "-std=c++17", "cc", "", "clang++"},
};

static bool is_there(const char *compiler)
{
  char command[200];
  snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", compiler);
  return system(command) == 0;
}

/* False if the compiler is not there, or cannot make a program. */
static bool ask_compiler(size_t which, const char *folder, column *c)
{
  static text source;
  char path[300], command[1500], line[64];
  FILE *file;
  uint32_t n = 0;
  snprintf(path, sizeof path, "%s/look.%s", folder, compilers[which].suffix);
  write_host_program(&source, compilers[which].prelude);
  file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(source.bytes, 1, source.length, file), source.length);
  assert_int_equal(fclose(file), 0);
  snprintf(command, sizeof command, "%s %s -I'%s/include' '%s' -o '%s/look'",
           compilers[which].compiler, compilers[which].options, VYRE_TEST_SOURCE_DIR, path, folder);
  if (system(command) != 0)
    fail_msg("%s", command);
  snprintf(command, sizeof command, "'%s/look'", folder);
  file = popen(command, "r");
  assert_non_null(file);
  while (n + 1 < NUMBERS && fgets(line, sizeof line, file)) {
    char *end = line;
    c->numbers[n++] = (uint32_t)strtoul(line, &end, 10);
    c->numbers[n++] = (uint32_t)strtoul(end, NULL, 10);
  }
  assert_int_equal(pclose(file), 0);
  return n == NUMBERS;
}

static void test_compilers(void **state)
{
  char folder[200], command[300];
  const char *temporary = getenv("TMPDIR");
  uint32_t asked = 0;
  (void)state;
  snprintf(folder, sizeof folder, "%s/vyre-layout-XXXXXX", temporary ? temporary : "/tmp");
  assert_non_null(mkdtemp(folder));
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; ++i) {
    column *c;
    if (!is_there(compilers[i].compiler)) {
      print_message("%s is not there\n", compilers[i].compiler);
      continue;
    }
    c = add_column(compilers[i].name);
    assert_true(ask_compiler(i, folder, c));
    assert_same(c);
    ++asked;
  }
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
  if (!asked)
    skip();
}

/* ---- the devices' run-time compilers ---- */

static void ask_device(vyre_device *device, const vyre_device_info *info)
{
  static text source;
  static sample s;
  static unsigned char region[VYRE_RING_HEADER_BYTES];
  const vyre_bytes inputs[] = {{region, sizeof region}};
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  column *c;
  char name[40];
  write_kernel(&source);
  sample_empty(&s);
  sample_buffer(&s, "region", VYRE_READ_ONLY, 1, sizeof region);
  sample_buffer(&s, "out", VYRE_WRITE_ONLY, 4, NUMBERS)->flags = VYRE_BUFFER_OUTPUT;
  sample_segment(&s, "look");
  sample_bind(&s, 0, "region", VYRE_READ_ONLY);
  sample_bind(&s, 0, "out", VYRE_WRITE_ONLY);
  sample_code(&s, "vyre-c", source.bytes);
  if (vyre_program_create(device, &s.desc, &program, &err) ||
      vyre_dispatch(program, NULL, inputs, 1, &outputs, NULL, &err))
    fail_msg("%s: %s (%s)", info->selector, err.message, err.fix);
  assert_true(outputs.slots && outputs.slots[0].data);
  if (!outputs.slots)
    return; /* it tells so to a static analyser */
  assert_int_equal(outputs.slots[0].size, sizeof c->numbers);
  snprintf(name, sizeof name, "kernel on %.24s", info->selector);
  c = add_column(name);
  memcpy(c->numbers, outputs.slots[0].data, sizeof c->numbers);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  assert_same(c);
}

static void test_devices(void **state)
{
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_context *context = NULL;
  uint32_t asked = 0;
  (void)state;
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT;
  assert_int_equal(vyre_context_create(&options, &context, NULL), VYRE_OK);
  for (uint32_t i = 0; i < vyre_context_device_count(context) && column_count < MOST_COLUMNS; ++i) {
    vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
    vyre_device_info info = {0};
    vyre_device *device = NULL;
    vyre_error err = VYRE_ERROR_INIT;
    info.struct_size = sizeof info;
    assert_int_equal(vyre_context_device_info(context, i, &info, NULL), VYRE_OK);
    request.selector = info.selector;
    if (info.compiler_reason[0] || vyre_device_open(context, &request, &device, &err)) {
      print_message("%s: %s%s\n", info.selector, info.compiler_reason, err.message);
      continue;
    }
    ask_device(device, &info);
    ++asked;
    vyre_device_close(device);
  }
  vyre_context_destroy(context);
  if (!asked)
    skip();
}

static void test_table(void **state)
{
  (void)state;
  print_table();
  assert_true(column_count > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_this_build),
      cmocka_unit_test(test_compilers),
      cmocka_unit_test(test_devices),
      cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
