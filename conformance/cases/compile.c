/* compile.c - code made ahead of time, and bytes that are no code. */
#include "conformance/cases/answer.h"

#include <stdlib.h>
#include <string.h>

/* ---- compile() ---- */

static void run_compile(conform *c)
{
  const vyre_backend *b = conform_load(c);
  vyre_backend_device *device = conform_open(c);
  const char *text = conform_answer_text(23, 6);
  vyre_compile_desc desc = {.struct_size = sizeof desc, .arch = "", .name = "answer"};
  uint64_t size = 0;
  char *whole = conform_compose(c, "answer", text, strlen(text), &size);
  if (!b->compile)
    conform_not_supported(c, "the slot compile is NULL");
  desc.source = whole;
  desc.source_size = size;
  for (uint32_t i = 0; i < b->format_count; ++i) {
    const vyre_backend_format *format = conform_format_at(b, i);
    const uint64_t before = conform_live_blocks(c);
    vyre_blob blob = {.struct_size = sizeof blob};
    vyre_module_desc load = {
        .struct_size = sizeof load, .format = format->format, .arch = format->arch};
    vyre_backend_module *module = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    vyre_status status = VYRE_OK;
    if (!strcmp(format->format, "vyre-c"))
      continue;
    desc.format = format->format;
    desc.arch = format->arch;
    status = b->compile(&desc, &blob, &record);
    if (status == VYRE_ERROR_UNSUPPORTED)
      continue; /* a format that it loads and cannot make */
    CHECK(c, status == VYRE_OK, "compile to %s for '%s' returned %d: %.900s", format->format,
          format->arch, (int)status, record.message);
    CHECK(c, blob.data && blob.size && blob.struct_size == sizeof blob,
          "compile succeeded and gave no bytes");
    CHECK(c, conform_live_blocks(c) == before + 1,
          "the bytes are not one block of host->allocate() (KRN-005)");
    load.data = blob.data;
    load.size = blob.size;
    CHECK_OK(c, b->module_load(device, &load, &module, err));
    memset(blob.data, 0, blob.size);
    c->host.table.deallocate(c->host.table.self, blob.data);
    conform_check_answer(c, conform_find(c, module, "answer"), 23, 6);
    b->module_unload(device, module);
  }
  free(whole);
}

static void run_compile_refused(conform *c)
{
  const vyre_backend *b = conform_load(c);
  const char *text = conform_answer_text(23, 6);
  vyre_compile_desc desc = {.struct_size = sizeof desc, .arch = "", .name = "answer"};
  vyre_blob blob = {.struct_size = sizeof blob}, kept = blob;
  uint64_t size = 0, before = 0;
  char *whole = conform_compose(c, "answer", text, strlen(text), &size);
  if (!b->compile)
    conform_not_supported(c, "the slot compile is NULL");
  for (uint32_t i = 0; i < b->format_count && !desc.format; ++i)
    if (strcmp(conform_format_at(b, i)->format, "vyre-c") != 0)
      desc.format = conform_format_at(b, i)->format;
  if (!desc.format)
    conform_not_supported(c, "it takes nothing but vyre-c");
  desc.source = whole;
  desc.source_size = size;
  before = conform_live_blocks(c);
  desc.flags = 1ull << 62;
  CHECK_FAILS(c, b->compile(&desc, &blob, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  desc.flags = 0;
  desc.struct_size = VYRE_COMPILE_DESC_SIZE_0_1 - 1;
  CHECK_FAILS(c, b->compile(&desc, &blob, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  desc.struct_size = sizeof desc;
  blob.struct_size = kept.struct_size = VYRE_BLOB_SIZE_0_1 - 1;
  CHECK_FAILS(c, b->compile(&desc, &blob, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK(c, !memcmp(&blob, &kept, sizeof blob), "a failed compile has written (ABI-008)");
  blob.struct_size = kept.struct_size = sizeof blob;
  desc.arch = "no-such-arch-77";
  CHECK_FAILS(c, b->compile(&desc, &blob, err), VYRE_ERROR_MODULE_FORMAT,
              VYRE_ERROR_INVALID_ARGUMENT);
  desc.arch = "";
  memcpy(whole + size - 40, "\n ) nonsense ( \n", 16);
  CHECK_FAILS(c, b->compile(&desc, &blob, err), VYRE_ERROR_COMPILE_FAILED, -1);
  CHECK(c, b->compile(&desc, &blob, NULL) == VYRE_ERROR_COMPILE_FAILED,
        "without an error record compile ends otherwise (ABI-009)");
  CHECK(c, !memcmp(&blob, &kept, sizeof blob), "a failed compile has written (ABI-008)");
  CHECK(c, conform_live_blocks(c) == before, "a failed compile leaves blocks in use (ABI-008)");
  free(whole);
}

/* ---- bytes that are no code ---- */

/* Compiled code of the first format that it makes; NULL if it makes none. */
static void *make_code(conform *c, const vyre_backend_format **out_format, uint64_t *out_size)
{
  const vyre_backend *b = conform_load(c);
  const char *text = conform_answer_text(29, 7);
  uint64_t size = 0;
  char *whole = conform_compose(c, "answer", text, strlen(text), &size);
  vyre_blob blob = {.struct_size = sizeof blob};
  for (uint32_t i = 0; i < b->format_count && b->compile && !blob.data; ++i) {
    const vyre_compile_desc desc = {.struct_size = sizeof desc,
                                    .format = conform_format_at(b, i)->format,
                                    .arch = conform_format_at(b, i)->arch,
                                    .source = whole,
                                    .source_size = size};
    *out_format = conform_format_at(b, i);
    if (strcmp(desc.format, "vyre-c") != 0 && b->compile(&desc, &blob, NULL) != VYRE_OK)
      blob.data = NULL;
  }
  free(whole);
  *out_size = blob.size;
  return blob.data;
}

static void run_garbage(conform *c)
{
  const vyre_backend *b = conform_load(c);
  static char bytes[4096];
  for (uint32_t i = 0; i < b->format_count; ++i) {
    static const uint32_t sizes[] = {0, 1, 3, 16, 64, 4096};
    for (uint32_t k = 0; k < COUNT_OF(sizes); ++k) {
      vyre_module_desc desc = conform_plain_desc(bytes, sizes[k]);
      desc.format = conform_format_at(b, i)->format;
      desc.arch = conform_format_at(b, i)->arch;
      if (!strcmp(desc.format, "vyre-c"))
        continue;
      conform_random_fill(c, bytes, sizeof bytes);
      conform_refuse_module(c, &desc, VYRE_ERROR_MODULE_FORMAT, VYRE_ERROR_INVALID_ARGUMENT, NULL);
    }
  }
  conform_tour(c); /* the device has taken no harm */
}

static void run_cut_code(conform *c)
{
  const vyre_backend_format *format = NULL;
  uint64_t size = 0;
  unsigned char *code = NULL, *copy = NULL;
  conform_open(c);
  code = make_code(c, &format, &size);
  if (!code)
    conform_not_supported(c, "it makes no code ahead of time");
  copy = malloc(size);
  CHECK(c, copy, "out of memory");
  memcpy(copy, code, size);
  c->host.table.deallocate(c->host.table.self, code);
  for (int part = 1; part < 8; ++part) {
    vyre_module_desc desc = conform_plain_desc((char *)copy, size * (uint64_t)part / 8);
    desc.format = format->format;
    desc.arch = format->arch;
    conform_refuse_module(c, &desc, VYRE_ERROR_MODULE_FORMAT, VYRE_ERROR_INVALID_ARGUMENT, NULL);
  }
  free(copy);
  conform_tour(c);
}

static void run_wrong_arch(conform *c)
{
  static char text[VYRE_ERROR_MESSAGE_SIZE];
  const vyre_backend_format *format = NULL;
  vyre_module_desc desc;
  uint64_t size = 0;
  void *code = NULL;
  conform_open(c);
  code = make_code(c, &format, &size);
  if (!code)
    conform_not_supported(c, "it makes no code ahead of time");
  if (!format->arch[0])
    conform_not_supported(c, "its code has no architecture");
  desc = conform_plain_desc(code, size);
  desc.format = format->format;
  desc.arch = "nobodys-arch-4711";
  conform_refuse_module(c, &desc, VYRE_ERROR_MODULE_FORMAT, -1, text);
  CHECK(c, strstr(text, "nobodys-arch-4711") && strstr(text, format->arch),
        "the text does not name what was had and what is wanted, '%s' and '%s' (KRN-004): %.500s",
        "nobodys-arch-4711", format->arch, text);
  c->host.table.deallocate(c->host.table.self, code);
}

static const conform_case rows[] = {
    CORE_CASE("compile.load", "KRN-005", CONFORM_NEEDS_VYRE_C, run_compile),
    CORE_CASE("compile.refused", "KRN-005 ABI-001 ABI-006 ABI-008 ABI-009", CONFORM_NEEDS_VYRE_C,
              run_compile_refused),
    CORE_CASE("compile.garbage", "KRN-004 ABI-008", CONFORM_NEEDS_KERNELS, run_garbage),
    CORE_CASE("compile.cut_code", "KRN-004 ABI-008", CONFORM_NEEDS_VYRE_C, run_cut_code),
    CORE_CASE("compile.wrong_arch", "KRN-004", CONFORM_NEEDS_VYRE_C, run_wrong_arch),
};
CONFORM_TABLE(conform_cases_compile, rows);
