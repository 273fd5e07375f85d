/* memory.c - calls while the host's memory runs out, at each allocation in turn (ABI-008). */
#include "conformance/steps.h"

#include <stdlib.h>
#include <string.h>

/* A call is tried until it no longer asks so often; more turns than that are not tried. */
#define MOST_TURNS 60u

static void fail_at(conform *c, uint64_t n)
{
  __atomic_store_n(&c->host.fail_at, n, __ATOMIC_RELAXED);
}

/* Whether the failure has come to pass; none is left for later. */
static bool has_failed(conform *c)
{
  const bool failed = !__atomic_load_n(&c->host.fail_at, __ATOMIC_RELAXED);
  fail_at(c, 0);
  return failed;
}

/* A failed call: the code of memory, a text, nothing stored, nothing left. */
static void check_failure(conform *c, vyre_status status, const vyre_error *record,
                          const void *stored, uint64_t before, const char *what, uint32_t n)
{
  CHECK(c,
        status == VYRE_ERROR_OUT_OF_HOST_MEMORY || status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY ||
            status == VYRE_ERROR_COMPILE_FAILED,
        "%s without memory at allocation %u returned %d: %.300s", what, n, (int)status,
        record->message);
  CHECK(c, record->code == status && record->message[0],
        "%s without memory at allocation %u has no code or no text (ABI-009)", what, n);
  CHECK(c, !stored, "%s without memory at allocation %u has stored a handle (ABI-008)", what, n);
  CHECK(c, conform_live_blocks(c) == before,
        "%s without memory at allocation %u leaves %lld blocks in use (ABI-008)", what, n,
        (long long)(conform_live_blocks(c) - before));
}

static void run_open(conform *c)
{
  static const vyre_backend_device_options options = {.struct_size = sizeof options};
  const vyre_backend *b = conform_load(c);
  for (uint32_t n = 1; n <= MOST_TURNS; ++n) {
    vyre_backend_device *device = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    fail_at(c, n);
    vyre_status status = b->device_open(c->device_index, &options, &device, &record);
    const bool failed = has_failed(c);
    if (status != VYRE_OK) {
      check_failure(c, status, &record, device, before, "device_open", n);
      continue;
    }
    CHECK(c, device, "device_open succeeded and gave no device");
    b->device_close(device);
    CHECK(c, conform_live_blocks(c) == before, "device_close leaves blocks in use (ABI-014)");
    if (!failed)
      break;
  }
  conform_tour(c);
}

static const char text_of_one[] =
    "#define VYRE_BUFFER_out 0\n"
    "VYRE_SEGMENT(one)(vyre_ctx *c, VYRE_OUT(vyre_u32) out)\n"
    "{\n  if (vyre_count(c, out)) out[0] = 1u;\n}\n"
    "VYRE_ENTRY(one, (VYRE_PARAM_OUT(0, out)), (VYRE_ARG(0, out)));\n";

static void run_load(conform *c)
{
  vyre_backend_device *device = conform_open(c);
  vyre_module_desc desc = {
      .struct_size = sizeof desc, .format = "vyre-c", .arch = "", .name = "one"};
  char *whole = conform_compose(c, "one", text_of_one, strlen(text_of_one), &desc.size);
  desc.data = whole;
  for (uint32_t n = 1; n <= MOST_TURNS; ++n) {
    vyre_backend_module *module = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    fail_at(c, n);
    vyre_status status = c->counted.module_load(device, &desc, &module, &record);
    const bool failed = has_failed(c);
    if (status != VYRE_OK) {
      check_failure(c, status, &record, module, before, "module_load", n);
      continue;
    }
    CHECK(c, module, "module_load succeeded and gave no module");
    c->counted.module_unload(device, module);
    CHECK(c, conform_live_blocks(c) == before, "module_unload leaves blocks in use (ABI-008)");
    if (!failed)
      break;
  }
  free(whole);
  conform_tour(c);
}

static void run_compile(conform *c)
{
  const vyre_backend *b = conform_load(c);
  vyre_compile_desc desc = {.struct_size = sizeof desc, .arch = "", .name = "one"};
  char *whole = conform_compose(c, "one", text_of_one, strlen(text_of_one), &desc.source_size);
  for (uint32_t i = 0; i < b->format_count && !desc.format; ++i) {
    const vyre_backend_format *format =
        (const void *)((const char *)b->formats + i * b->format_stride);
    if (strcmp(format->format, "vyre-c") != 0)
      desc.format = format->format;
  }
  if (!b->compile || !desc.format)
    conform_not_supported(c, "it makes no code ahead of time");
  desc.source = whole;
  for (uint32_t n = 1; n <= MOST_TURNS; ++n) {
    vyre_blob blob = {.struct_size = sizeof blob};
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    fail_at(c, n);
    vyre_status status = b->compile(&desc, &blob, &record);
    const bool failed = has_failed(c);
    if (status == VYRE_ERROR_UNSUPPORTED)
      break; /* a format that it loads and cannot make */
    if (status != VYRE_OK) {
      check_failure(c, status, &record, blob.data, before, "compile", n);
      continue;
    }
    CHECK(c, blob.data && blob.size, "compile succeeded and gave no bytes");
    c->host.table.deallocate(c->host.table.self, blob.data);
    CHECK(c, conform_live_blocks(c) == before,
          "compile leaves more than the blob in use (KRN-005)");
    if (!failed)
      break;
  }
  free(whole);
}

static void run_find(conform *c)
{
  vyre_backend_module *module = conform_module(c, "basic");
  for (uint32_t n = 1; n <= MOST_TURNS; ++n) {
    vyre_backend_kernel *kernel = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    const uint64_t before = conform_live_blocks(c);
    fail_at(c, n);
    vyre_status status = c->counted.kernel_find(module, "add", &kernel, NULL, &record);
    const bool failed = has_failed(c);
    if (status != VYRE_OK) {
      check_failure(c, status, &record, kernel, before, "kernel_find", n);
      continue;
    }
    CHECK(c, kernel, "kernel_find succeeded and gave no kernel");
    if (!failed)
      break;
  }
  conform_tour(c);
}

/* A launch may also find out later: then the handle tells, and is released as any other. */
static void launch_until_it_runs(conform *c, conform_launch *launch, void *out, uint64_t size)
{
  vyre_backend_device *device = conform_open(c);
  for (uint32_t n = 1; n <= MOST_TURNS; ++n) {
    vyre_backend_pending *pending = NULL;
    vyre_error record = VYRE_ERROR_INIT;
    vyre_slot slot = {.struct_size = sizeof slot, .data = out, .capacity = size};
    const uint64_t before = conform_live_blocks(c);
    fail_at(c, n);
    vyre_status status = c->counted.dispatch(device, &launch->desc, &pending, &record);
    if (status != VYRE_OK) {
      fail_at(c, 0);
      check_failure(c, status, &record, pending, before, "dispatch", n);
      continue;
    }
    CHECK(c, pending, "dispatch succeeded and gave no handle");
    status = c->counted.pending_wait(pending, VYRE_NO_TIMEOUT, &record);
    const bool failed = has_failed(c);
    CHECK(c,
          status == VYRE_OK || (failed &&
                                (status == VYRE_ERROR_OUT_OF_HOST_MEMORY ||
                                 status == VYRE_ERROR_OUT_OF_DEVICE_MEMORY) &&
                                record.message[0]),
          "a launch without memory at allocation %u ended with %d: %.300s", n, (int)status,
          record.message);
    if (status == VYRE_OK)
      CHECK_OK(c, c->counted.pending_read(pending, &slot, 1, sizeof slot, NULL, err));
    c->counted.pending_release(pending);
    if (!failed)
      return;
  }
}

static void run_dispatch(conform *c)
{
  static uint32_t value[2048], out[2048];
  conform_launch launch;
  conform_random_fill(c, value, sizeof value);
  conform_launch_init(&launch, conform_kernel(c, "shared", "reverse"));
  conform_launch_grid(&launch, 32, 64);
  conform_launch_host(&launch, VYRE_READ_ONLY, value, 2048, 4, NULL);
  conform_launch_host(&launch, VYRE_READ_WRITE, NULL, 2048, 4, NULL);
  conform_launch_local(&launch, 64, 4);
  launch_until_it_runs(c, &launch, out, sizeof out);
  for (uint32_t i = 0; i < 2048; ++i)
    CHECK(c, out[i] == value[i / 64 * 64 + 63 - i % 64],
          "after launches that had no memory element %u is wrong", i);
  conform_tour(c);
  conform_close(c);
  CHECK(c, !conform_live_blocks(c), "%llu blocks are in use after the device is closed (ABI-008)",
        (unsigned long long)conform_live_blocks(c));
}

static const conform_case rows[] = {
    CORE_CASE("memory.open", "ABI-008 ABI-009", CONFORM_NEEDS_KERNELS, run_open),
    CORE_CASE("memory.load", "ABI-008 ABI-009", CONFORM_NEEDS_VYRE_C, run_load),
    CORE_CASE("memory.compile", "ABI-008 ABI-009 KRN-005", CONFORM_NEEDS_VYRE_C, run_compile),
    CORE_CASE("memory.find", "ABI-008 ABI-009", CONFORM_NEEDS_KERNELS, run_find),
    CORE_CASE("memory.dispatch", "ABI-008 ABI-009", CONFORM_NEEDS_KERNELS, run_dispatch),
};
CONFORM_TABLE(conform_cases_memory, rows);
