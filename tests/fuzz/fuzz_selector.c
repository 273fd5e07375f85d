/*
 * Device selectors (core/device/select.h), over devices with every kind of name.  The first byte is
 * the policy, the rest is the selector.
 */
#include "core/device/select.h"
#include "tests/fuzz/fuzz.h"

#define DEVICES 5u

static const struct {
  const char *backend, *selector, *id, *pci, *uuid;
  vyre_device_class class;
} rows[DEVICES] = {
    {"cuda", "cuda:0", "0000:c1:00.0", "0000:c1:00.0", "01234567-89ab-cdef-0123-456789abcdef",
     VYRE_DEVICE_GPU},
    {"cuda", "cuda:1", "0001:c2:00.0", "0001:c2:00.0", "", VYRE_DEVICE_GPU},
    {"hip", "hip:0", "igpu", "0000:02:00.0", "", VYRE_DEVICE_INTEGRATED_GPU},
    {"npu", "npu:0", "n", "", "", VYRE_DEVICE_OTHER},
    {"cpu", "cpu:0", "cpu", "", "", VYRE_DEVICE_CPU},
};

static void fill(vyre__listed_device *devices)
{
  memset(devices, 0, DEVICES * sizeof *devices);
  for (uint32_t i = 0; i < DEVICES; ++i) {
    vyre_device_info *info = &devices[i].info;
    info->device_class = rows[i].class;
    snprintf(info->backend, sizeof info->backend, "%s", rows[i].backend);
    snprintf(info->selector, sizeof info->selector, "%s", rows[i].selector);
    snprintf(info->id, sizeof info->id, "%s", rows[i].id);
    snprintf(info->pci, sizeof info->pci, "%s", rows[i].pci);
    snprintf(info->uuid, sizeof info->uuid, "%s", rows[i].uuid);
  }
}

/* Each device at most once, those that were asked for first, none that is excluded. */
static void check_order(const vyre__selection *selection)
{
  bool seen[DEVICES] = {false};
  FUZZ_REQUIRE(selection->asked_count <= selection->order_count);
  FUZZ_REQUIRE(selection->order_count <= DEVICES);
  for (uint32_t i = 0; i < selection->order_count; ++i) {
    const uint32_t device = selection->order[i];
    FUZZ_REQUIRE(device < DEVICES && !seen[device]);
    FUZZ_REQUIRE(!selection->verdicts[device].excluded_by);
    FUZZ_REQUIRE((i < selection->asked_count) == (selection->verdicts[device].matched_by != NULL));
    seen[device] = true;
  }
  if (selection->policy == VYRE_POLICY_REQUIRE)
    FUZZ_REQUIRE(selection->asked_count == selection->order_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  vyre__listed_device listed[DEVICES];
  vyre__devices devices = {
      .allocator = vyre__default_allocator, .rows = listed, .count = DEVICES, .capacity = DEVICES};
  fuzz_input in = {data, size};
  fuzz_pool pool = {.count = 0};
  vyre_error err = VYRE_ERROR_INIT;
  vyre__selection selection;
  vyre__text text;
  const vyre_policy policy = fuzz_byte(&in) % 3u;
  char *selector = fuzz_keep(&pool, in.left + 1);
  vyre_status status;
  if (in.left)
    memcpy(selector, in.at, in.left);
  fill(listed);
  status = vyre__selection_read(&selection, &devices.allocator, selector, policy, &err);
  for (uint32_t i = 0; status == VYRE_OK && i < selection.term_count; ++i)
    selection.terms[i].names_plugin = vyre__term_names(&selection.terms[i], "cuda");
  if (status == VYRE_OK)
    status = vyre__selection_judge(&selection, &devices, &err);
  fuzz_check_error(status, &err);
  if (status == VYRE_OK) {
    check_order(&selection);
    vyre__selection_failed(&selection, size % DEVICES, "because");
    vyre__text_init(&text, &vyre__default_allocator);
    vyre__selection_describe(&selection,
                             selection.order_count ? selection.order[0] : VYRE__NO_DEVICE, &text);
    FUZZ_REQUIRE(text.size && strlen(text.data) == text.size);
    vyre__text_free(&text);
    vyre__selection_free(&selection);
  }
  fuzz_free(&pool);
  return 0;
}
