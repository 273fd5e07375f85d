/* module.c - kernel code: loading, looking entries up, and every way to fail. */
#include "conformance/cases/answer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- loading ---- */

static void run_load(conform *c)
{
  vyre_backend_device *device = conform_open(c);
  const uint64_t before = conform_live_blocks(c);
  vyre_backend_module *module =
      conform_load_text(c, device, "answer", conform_answer_text(5, 9), 0);
  conform_check_answer(c, conform_find(c, module, "answer"), 5, 9);
  c->counted.module_unload(device, module);
  /* The pool that the launch has started may keep blocks; a second time it needs no more. */
  const uint64_t between = conform_live_blocks(c);
  module = conform_load_text(c, device, "answer", conform_answer_text(5, 9), 0);
  conform_check_answer(c, conform_find(c, module, "answer"), 5, 9);
  c->counted.module_unload(device, module);
  CHECK(c, conform_live_blocks(c) <= between, "loading and unloading leaves blocks in use");
  (void)before;
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

/* What was borrowed for the call is not looked at after it. */
static void run_borrowed(conform *c)
{
  char format[] = "vyre-c", arch[] = "", name[] = "the name";
  vyre_backend_device *device = conform_open(c);
  vyre_module_desc desc = {
      .struct_size = sizeof desc, .format = format, .arch = arch, .name = name};
  vyre_backend_module *module = NULL;
  const char *text = conform_answer_text(3, 4);
  char *whole = conform_compose(c, "answer", text, strlen(text), &desc.size);
  const uint64_t size = desc.size;
  desc.data = whole;
  CHECK_OK(c, c->counted.module_load(device, &desc, &module, err));
  memset(whole, 0xff, size);
  free(whole);
  memset(name, 'x', sizeof name - 1);
  memset(format, 'x', sizeof format - 1);
  memset(&desc, 0xff, sizeof desc);
  conform_check_answer(c, conform_find(c, module, "answer"), 3, 4);
  c->counted.module_unload(device, module);
}

/* The text ends with its size: behind it is nothing that may be read. */
static void run_no_end(conform *c)
{
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  vyre_backend_device *device = conform_open(c);
  vyre_module_desc desc = {.struct_size = sizeof desc, .format = "vyre-c", .arch = ""};
  vyre_backend_module *module = NULL;
  const char *text = conform_answer_text(7, 1);
  char *whole = conform_compose(c, "answer", text, strlen(text), &desc.size);
  const uint64_t pages = (desc.size + page - 1) / page * page;
  char *memory =
      mmap(NULL, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(c, memory != MAP_FAILED && !mprotect(memory + pages, page, PROT_NONE), "no memory");
  memcpy(memory + pages - desc.size, whole, desc.size);
  free(whole);
  desc.data = memory + pages - desc.size;
  CHECK_OK(c, c->counted.module_load(device, &desc, &module, err));
  conform_check_answer(c, conform_find(c, module, "answer"), 7, 1);
  c->counted.module_unload(device, module);
  munmap(memory, pages + page);
}

static void run_two(conform *c)
{
  vyre_backend_device *device = conform_open(c);
  vyre_backend_module *first = conform_load_text(c, device, "first", conform_answer_text(11, 1), 0);
  vyre_backend_module *second =
      conform_load_text(c, device, "second", conform_answer_text(13, 2), 0);
  vyre_backend_kernel *a = NULL, *b = NULL;
  CHECK(c, first != second, "two modules have one handle");
  a = conform_find(c, first, "answer");
  b = conform_find(c, second, "answer");
  for (int turn = 0; turn < 3; ++turn) {
    conform_check_answer(c, a, 11, 1);
    conform_check_answer(c, b, 13, 2);
  }
  c->counted.module_unload(device, first);
  conform_check_answer(c, b, 13, 2);
  c->counted.module_unload(device, second);
}

static void reload(conform *c)
{
  vyre_backend_module *module =
      conform_load_text(c, c->device, "answer", conform_answer_text(17, 3), 0);
  conform_check_answer(c, conform_find(c, module, "answer"), 17, 3);
  c->counted.module_unload(c->device, module);
}

static void run_reload(conform *c)
{
  conform_open(c);
  /* Each turn compiles: with some plugins that takes a second. */
  conform_check_growth(c, reload, 30, "loading, running and unloading a module");
}

/* ---- what is refused ---- */

static void run_unknown_format(conform *c)
{
  static const char *const wrong[] = {"", "vyre-d", "VYRE-C", "vyre-c ", "spirv-99"};
  static char bytes[] = "some bytes", text[VYRE_ERROR_MESSAGE_SIZE];
  const vyre_backend *b = conform_load(c);
  for (uint32_t i = 0; i < COUNT_OF(wrong); ++i) {
    vyre_module_desc desc = conform_plain_desc(bytes, sizeof bytes);
    desc.format = wrong[i];
    conform_refuse_module(c, &desc, VYRE_ERROR_MODULE_FORMAT, -1, text);
    for (uint32_t k = 0; k < b->format_count; ++k)
      CHECK(c, strstr(text, conform_format_at(b, k)->format),
            "the text for format '%s' does not list '%s', which is taken (KRN-004): %.500s",
            wrong[i], conform_format_at(b, k)->format, text);
  }
}

static void run_unknown_flags(conform *c)
{
  static const uint64_t flags[] = {1ull << 1, 1ull << 63, VYRE_MODULE_DEBUG | 1ull << 20};
  const char *text = conform_answer_text(1, 1);
  uint64_t size = 0;
  char *whole = conform_compose(c, "answer", text, strlen(text), &size);
  for (uint32_t i = 0; i < COUNT_OF(flags); ++i) {
    vyre_module_desc desc = conform_plain_desc(whole, size);
    desc.flags = flags[i];
    conform_refuse_module(c, &desc, VYRE_ERROR_INVALID_ARGUMENT, -1, NULL);
  }
  free(whole);
}

static void run_desc_sizes(conform *c)
{
  struct {
    vyre_module_desc desc;
    unsigned char more[64];
  } large;
  const char *text = conform_answer_text(19, 5);
  vyre_backend_module *module = NULL;
  uint64_t size = 0;
  char *whole = conform_compose(c, "answer", text, strlen(text), &size);
  memset(&large, 0xff, sizeof large);
  large.desc = conform_plain_desc(whole, size);
  large.desc.struct_size = VYRE_MODULE_DESC_SIZE_0_1 - 1;
  conform_refuse_module(c, &large.desc, VYRE_ERROR_INVALID_ARGUMENT, -1, NULL);
  large.desc.struct_size = 0;
  conform_refuse_module(c, &large.desc, VYRE_ERROR_INVALID_ARGUMENT, -1, NULL);
  large.desc.struct_size = sizeof large;
  large.desc.name = NULL;
  CHECK_OK(c, c->counted.module_load(conform_open(c), &large.desc, &module, err));
  conform_check_answer(c, conform_find(c, module, "answer"), 19, 5);
  c->counted.module_unload(c->device, module);
  free(whole);
}

/* A plugin that stays has a vendor's library, whose compiler may say to stderr, too, what is wrong
   with a text: that is not the plugin's printing. */
static void let_vendor_print(conform *c)
{
  if (conform_load(c)->flags & VYRE_BACKEND_MAY_UNLOAD)
    return;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(c, nowhere >= 0 && dup2(nowhere, STDERR_FILENO) == STDERR_FILENO, "no /dev/null");
  close(nowhere);
}

/* The complaint has the user's own line. */
static void run_compile_error(conform *c)
{
  static const char *const faults[] = {"this is no statement;", "undeclared_name = 3;",
                                       "vyre_no_such_word(c);", "return }"};
  let_vendor_print(c);
  for (uint32_t i = 0; i < COUNT_OF(faults); ++i) {
    const uint32_t line = (uint32_t)(3000 + conform_random_below(c, 6000));
    char source[512], message[VYRE_ERROR_MESSAGE_SIZE];
    uint64_t size = 0;
    char *whole = NULL;
    snprintf(source, sizeof source,
             "#define VYRE_BUFFER_out 0\n"
             "VYRE_SEGMENT(answer)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
             "{\n  (void)c;\n  (void)out;\n"
             "#line %u \"user.c\"\n  %s\n}\n"
             "VYRE_ENTRY(answer, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n",
             line, faults[i]);
    whole = conform_compose(c, "answer", source, strlen(source), &size);
    const vyre_module_desc desc = conform_plain_desc(whole, size);
    conform_refuse_module(c, &desc, VYRE_ERROR_COMPILE_FAILED, -1, message);
    CHECK(c, conform_says_number(message, line) && strstr(message, "user.c"),
          "the fault '%s' stands in user.c:%u, the text says (KRN-003): %.900s", faults[i], line,
          message);
    free(whole);
  }
}

static void run_not_found(conform *c)
{
  static const char *const names[] = {"answers",
                                      "answe",
                                      "",
                                      "Answer",
                                      "vyre_entry_answer",
                                      "a_name_that_nobody_has_given_to_an_entry"};
  vyre_backend_device *device = conform_open(c);
  vyre_backend_module *module =
      conform_load_text(c, device, "answer", conform_answer_text(1, 2), 0);
  char longest[3000];
  memset(longest, 'n', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  for (uint32_t i = 0; i < COUNT_OF(names); ++i) {
    vyre_backend_kernel *kernel = NULL;
    vyre_kernel_info info, kept;
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    memset(&info, 0x66, sizeof info);
    info.struct_size = sizeof info;
    kept = info;
    CHECK_FAILS(c, c->counted.kernel_find(module, names[i], &kernel, &info, err),
                VYRE_ERROR_NOT_FOUND, -1);
    CHECK(c, !kernel && !memcmp(&info, &kept, sizeof info),
          "a failed kernel_find has written (ABI-008)");
    CHECK(c, conform_live_blocks(c) == before,
          "a failed kernel_find leaves blocks in use (ABI-008)");
    c->counted.kernel_find(module, names[i], &kernel, NULL, &record);
    CHECK(c, strstr(record.message, names[i]), "the text does not name '%s' (KRN-006): %.300s",
          names[i], record.message);
    CHECK(c, c->counted.kernel_find(module, names[i], &kernel, NULL, NULL) == VYRE_ERROR_NOT_FOUND,
          "without an error record kernel_find ends otherwise (ABI-009)");
  }
  vyre_backend_kernel *kernel = NULL;
  CHECK_FAILS(c, c->counted.kernel_find(module, longest, &kernel, NULL, err), VYRE_ERROR_NOT_FOUND,
              VYRE_ERROR_INVALID_ARGUMENT);
  conform_check_answer(c, conform_find(c, module, "answer"), 1, 2);
  c->counted.module_unload(device, module);
}

/* ---- kernel info ---- */

static void run_kernel_info(conform *c)
{
  struct {
    vyre_kernel_info info;
    unsigned char behind[64];
  } to;
  const vyre_backend_device_info *device = conform_info(c);
  vyre_backend_module *module = conform_module(c, "basic");
  vyre_backend_kernel *kernel = NULL, *again = NULL;
  uint32_t items = 0;
  memset(&to, 0x44, sizeof to);
  to.info.struct_size = sizeof to;
  CHECK_OK(c, c->counted.kernel_find(module, "add", &kernel, &to.info, err));
  CHECK(c, to.info.struct_size >= VYRE_KERNEL_INFO_SIZE_0_1 && to.info.struct_size < sizeof to,
        "into %zu bytes it says that it wrote %u (ABI-002)", sizeof to, to.info.struct_size);
  for (uint32_t i = to.info.struct_size; i < sizeof to; ++i)
    CHECK(c, ((unsigned char *)&to)[i] == 0x44,
          "byte %u behind the kernel's info was written "
          "(ABI-002)",
          i);
  items = to.info.max_workgroup_items;
  CHECK(c, items, "max_workgroup_items is 0, at least 1 (KRN-007)");
  CHECK(c, items <= device->max_workgroup_items,
        "the kernel takes %u items, the device %u (KRN-007)", items, device->max_workgroup_items);
  CHECK(c, to.info.workgroup_memory <= device->max_workgroup_memory,
        "the kernel uses more workgroup memory than the device has (KRN-007)");
  to.info.struct_size = VYRE_KERNEL_INFO_SIZE_0_1 - 1;
  CHECK_FAILS(c, c->counted.kernel_find(module, "add", &again, &to.info, err),
              VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, !again, "a failed kernel_find has stored a kernel (ABI-008)");
  CHECK_OK(c, c->counted.kernel_find(module, "add", &again, NULL, err));
  /* It lives as long as its module, and one group of that many items runs. */
  items = conform_most_items(c, "basic", "add");
  conform_run_add(c, kernel, items < 4000 ? items : 4000, items);
  conform_run_add(c, again, 257, items);
  for (int i = 0; i < 100; ++i)
    conform_find(c, module, "add");
  conform_run_add(c, kernel, 65, 64);
}

/* ---- debug code ---- */

#define WRONG_AT 100u

static const char debug_text[] =
    "#define VYRE_BUFFER_small 0\n"
    "#define VYRE_BUFFER_large 1\n"
    "VYRE_SEGMENT(reach)(vyre_ctx *c, VYRE_IN(vyre_u32) small, VYRE_OUT(vyre_u32) large)\n"
    "{\n"
    "  vyre_u64 i = vyre_global_id(c, 0);\n"
    "  if (i < vyre_count(c, large))\n"
    "#line 6543 \"reach.c\"\n"
    "    vyre_at(c, large, i) = vyre_at(c, small, i);\n"
    "}\n"
    "VYRE_ENTRY(reach, (VYRE_PARAM_IN(0, small), VYRE_PARAM_OUT(1, large)),\n"
    "           (VYRE_ARG(0, small), VYRE_ARG(1, large)));\n";

static void run_debug(conform *c)
{
  static uint32_t small[257], large[257];
  vyre_backend_device *device = conform_open(c);
  vyre_backend_module *module =
      conform_load_text(c, device, "reach", debug_text, VYRE_MODULE_DEBUG);
  vyre_backend_kernel *kernel = conform_find(c, module, "reach");
  conform_launch launch;
  conform_random_fill(c, small, sizeof small);
  for (int turn = 0; turn < 2; ++turn) {
    vyre_backend_pending *pending = NULL;
    vyre_slot slot = {.struct_size = sizeof slot, .data = large, .capacity = 257 * 4};
    /* In range: as without the flag. */
    conform_launch_init(&launch, kernel);
    conform_launch_grid(&launch, 5, 64);
    conform_launch_host(&launch, VYRE_READ_ONLY, small, 257, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, 257, 4, large);
    conform_run(c, &launch);
    CHECK(c, !memcmp(small, large, sizeof large), "a debug kernel has other results");
    /* One element too few: the launch ends with an error, every time it is asked for. */
    launch.bindings[0].element_count = 256;
    pending = conform_start(c, device, &launch);
    for (int i = 0; i < 3; ++i) {
      vyre_error record = VYRE_ERROR_INIT;
      CHECK_FAILS(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, err),
                  VYRE_ERROR_DISPATCH_FAILED, -1);
      c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, &record);
      CHECK(c,
            strstr(record.message, "small") && conform_says_number(record.message, 256) &&
                conform_says_number(record.message, 6543),
            "an index outside a buffer: the text must name small, 256, 256 and line 6543 "
            "(KRN-008): %.600s",
            record.message);
    }
    CHECK(c, c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, NULL) == VYRE_ERROR_DISPATCH_FAILED,
          "without an error record pending_wait ends otherwise (ABI-009)");
    CHECK_FAILS(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err),
                VYRE_ERROR_DISPATCH_FAILED, -1);
    c->counted.pending_release(pending);
  }
  conform_tour(c);
  c->counted.module_unload(device, module);
}

static void run_barriers(conform *c)
{
  static uint32_t value[2048], out[2048];
  static const uint32_t sizes[] = {1, 2, 3, 31, 32, 33, 64, 100, 128};
  const uint32_t most = conform_most_items(c, "shared", "scan");
  conform_launch launch;
  for (uint32_t s = 0; s < COUNT_OF(sizes); ++s) {
    const uint32_t n = sizes[s], groups = 2048 / n;
    if (n > most)
      continue;
    conform_random_fill(c, value, sizeof value);
    conform_launch_init(&launch, conform_kernel(c, "shared", "scan"));
    conform_launch_grid(&launch, groups, n);
    conform_launch_host(&launch, VYRE_READ_ONLY, value, 2048, 4, NULL);
    conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 2048, 4, out);
    conform_launch_local(&launch, n, 4);
    conform_launch_local(&launch, n, 4);
    conform_run(c, &launch);
    for (uint32_t g = 0; g < groups; ++g)
      for (uint32_t i = 0, sum = 0; i < n; ++i) {
        sum += value[g * n + i];
        CHECK(c, out[g * n + i] == sum,
              "sum %u of group %u of %u items is %u, expected is %u (LANG-003)", i, g, n,
              out[g * n + i], sum);
      }
  }
}

static const conform_case rows[] = {
    CORE_CASE("module.load", "KRN-001 KRN-002 ABI-014", CONFORM_NEEDS_VYRE_C, run_load),
    CORE_CASE("module.borrowed", "KRN-001", CONFORM_NEEDS_VYRE_C, run_borrowed),
    CORE_CASE("module.no_end", "KRN-001", CONFORM_NEEDS_VYRE_C, run_no_end),
    CORE_CASE("module.two", "KRN-002", CONFORM_NEEDS_VYRE_C, run_two),
    CORE_CASE("module.reload", "ABI-008", CONFORM_NEEDS_VYRE_C, run_reload),
    CORE_CASE("module.unknown_format", "KRN-004 ABI-008 ABI-009", 0, run_unknown_format),
    CORE_CASE("module.unknown_flags", "ABI-006 ABI-008", CONFORM_NEEDS_VYRE_C, run_unknown_flags),
    CORE_CASE("module.desc_sizes", "ABI-001", CONFORM_NEEDS_VYRE_C, run_desc_sizes),
    CORE_CASE("module.compile_error", "KRN-003 ABI-008 ABI-009", CONFORM_NEEDS_VYRE_C,
              run_compile_error),
    CORE_CASE("module.not_found", "KRN-006 ABI-008 ABI-009", CONFORM_NEEDS_VYRE_C, run_not_found),
    CORE_CASE("module.kernel_info", "KRN-007 ABI-001 ABI-002", CONFORM_NEEDS_KERNELS,
              run_kernel_info),
    CORE_CASE("module.debug", "KRN-008 DISP-032 ABI-009", CONFORM_NEEDS_VYRE_C, run_debug),
    CORE_CASE("module.barriers", "LANG-003", CONFORM_NEEDS_KERNELS, run_barriers),
};
CONFORM_TABLE(conform_cases_module, rows);
