/* table.c - the table itself: texts, formats, slots and what they say together. */
#include "conformance/steps.h"

#include <stdlib.h>
#include <string.h>

static const vyre_backend_format *format_at(const vyre_backend *b, uint32_t index)
{
  return (const void *)((const char *)b->formats + index * b->format_stride);
}

/* Bytes of the UTF-8 character at `at`; 0 if it is none. */
static size_t character(const unsigned char *at)
{
  const size_t size = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < size; ++i)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
      (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f) || *at > 0xf4)
    return 0;
  return size;
}

/* UTF-8 without control characters, at most `most` bytes. */
static void check_text(conform *c, const char *text, size_t least, size_t most, const char *what)
{
  size_t length = 0;
  CHECK(c, text, "%s is NULL", what);
  length = strnlen(text, most + 1);
  CHECK(c, length >= least && length <= most, "%s has %zu bytes, expected are %zu to %zu", what,
        length, least, most);
  for (size_t i = 0, size = 0; i < length; i += size) {
    size = character((const unsigned char *)text + i);
    CHECK(c, size, "%s is no UTF-8 from byte %zu on (TAB-001)", what, i);
  }
  for (size_t i = 0; i < length; ++i)
    CHECK(c, (unsigned char)text[i] >= 0x20, "%s has the control character 0x%02x", what,
          (unsigned)(unsigned char)text[i]);
}

static void run_texts(conform *c)
{
  const vyre_backend *b = conform_load(c);
  check_text(c, b->name, 1, 63, "the name");
  CHECK(c, strspn(b->name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(b->name),
        "the name '%s' is not of [a-z0-9_-]+ (TAB-001)", b->name);
  check_text(c, b->version, 1, 255, "the version");
  check_text(c, b->vendor, 1, 255, "the vendor");
  check_text(c, b->build_id, 0, 255, "the build id");
  CHECK(c, b->sanitizer <= VYRE_SANITIZER_MEMORY, "the sanitizer kind is %u", b->sanitizer);
}

static void check_format(conform *c, const vyre_backend *b, uint32_t index)
{
  const vyre_backend_format *format = format_at(b, index);
  CHECK(c, format->struct_size >= VYRE_BACKEND_FORMAT_SIZE_0_1,
        "format %u says %u bytes, at least %u are needed (ABI-001)", index, format->struct_size,
        VYRE_BACKEND_FORMAT_SIZE_0_1);
  CHECK(c, format->struct_size <= b->format_stride,
        "format %u has %u bytes, the next one begins after %llu (ABI-004)", index,
        format->struct_size, (unsigned long long)b->format_stride);
  CHECK(c, format->reserved == 0, "a reserved field of format %u is not zero (ABI-005)", index);
  check_text(c, format->format, 1, 63, "the name of a format");
  check_text(c, format->arch, 0, 63, "the architecture of a format");
  for (uint32_t i = 0; i < index; ++i)
    CHECK(c,
          strcmp(format_at(b, i)->format, format->format) != 0 ||
              strcmp(format_at(b, i)->arch, format->arch) != 0,
          "format %s for '%s' is listed twice (TAB-002)", format->format, format->arch);
}

static void run_formats(conform *c)
{
  const vyre_backend *b = conform_load(c);
  bool source = false;
  CHECK(c, b->format_count && b->formats, "it takes no format at all (TAB-002)");
  CHECK(c, b->format_count <= 4096, "it lists %u formats", b->format_count);
  CHECK(c, b->format_stride >= VYRE_BACKEND_FORMAT_SIZE_0_1,
        "formats have a stride of %llu bytes, at least %u are needed (ABI-004)",
        (unsigned long long)b->format_stride, VYRE_BACKEND_FORMAT_SIZE_0_1);
  for (uint32_t i = 0; i < b->format_count; ++i) {
    check_format(c, b, i);
    source = source || !strcmp(format_at(b, i)->format, "vyre-c");
  }
  if (source) {
    CHECK(c, b->prelude && b->prelude_size, "it takes vyre-c and has no prelude (TAB-002)");
    CHECK(c, !memchr(b->prelude, '\0', b->prelude_size),
          "there is a NUL inside the prelude's size (KRN-001)");
  } else {
    CHECK(c, !b->prelude && !b->prelude_size, "it has a prelude and takes no vyre-c (TAB-002)");
  }
}

static void run_required(conform *c)
{
  const vyre_backend *b = conform_load(c);
  CHECK(c, b->device_count && b->device_info && b->device_open && b->device_close,
        "a device slot of tier 1 is NULL (TAB-003)");
  CHECK(c, b->module_load && b->module_unload && b->kernel_find,
        "a module slot of tier 1 is NULL (TAB-003)");
  CHECK(c, b->dispatch && b->pending_wait && b->pending_read && b->pending_release,
        "a dispatch slot of tier 1 is NULL (TAB-003)");
}

/* Tier 5: the slots of a capability are there together. */
static void check_tier5(conform *c, const vyre_backend *b, uint64_t bits)
{
  const uint32_t interop =
      !!b->event_record + !!b->event_wait + !!b->event_release + !!b->queue_export;
  const uint32_t sequences = !!b->sequence_create + !!b->sequence_start + !!b->sequence_release;
  CHECK(c, !(bits & VYRE_CAP_TIMESTAMPS) || b->device_clock,
        "VYRE_CAP_TIMESTAMPS without device_clock (ABI-003)");
  CHECK(c, interop == 0 || interop == 4,
        "%u of 4 slots for native objects are there: all or none (ABI-003)", interop);
  CHECK(c, !(bits & VYRE_CAP_INTEROP) || interop, "VYRE_CAP_INTEROP without its slots (ABI-003)");
  CHECK(c, sequences == 0 || sequences == 3,
        "%u of 3 slots for sequences are there: all or none (ABI-003)", sequences);
  CHECK(c, !(bits & VYRE_CAP_SEQUENCES) || sequences,
        "VYRE_CAP_SEQUENCES without its slots (ABI-003)");
  CHECK(c, !(bits & VYRE_CAP_SEQUENCES) || (bits & VYRE_CAP_BUFFERS),
        "VYRE_CAP_SEQUENCES without VYRE_CAP_BUFFERS, which they bind (CAP-001)");
}

static void check_slots(conform *c, const vyre_backend *b, const vyre_backend_device_info *info)
{
  const uint64_t bits = info->capabilities;
  const uint32_t tier2 = !!b->buffer_alloc + !!b->buffer_free + !!b->buffer_upload +
                         !!b->buffer_download + !!b->buffer_fill + !!b->buffer_copy;
  bool source = false;
  for (uint32_t i = 0; i < b->format_count; ++i)
    source = source || !strcmp(format_at(b, i)->format, "vyre-c");
  CHECK(c, tier2 == 0 || tier2 == 6, "%u of 6 slots of tier 2 are there: all or none (ABI-003)",
        tier2);
  CHECK(c, !(bits & VYRE_CAP_BUFFERS) || tier2, "VYRE_CAP_BUFFERS without its slots (ABI-003)");
  CHECK(c, !(bits & VYRE_CAP_IMPORT_EXPORT) || (b->buffer_import && b->buffer_export),
        "VYRE_CAP_IMPORT_EXPORT without its slots (ABI-003)");
  CHECK(c, !(bits & VYRE_CAP_COHERENT) || b->coherent_alloc,
        "VYRE_CAP_COHERENT without coherent_alloc (ABI-003)");
  CHECK(c, !(bits & VYRE_CAP_COHERENT) || (bits & VYRE_CAP_BUFFERS),
        "VYRE_CAP_COHERENT without VYRE_CAP_BUFFERS: its buffers are bound and freed (CAP-001)");
  CHECK(c, !(bits & VYRE_CAP_PERSISTENT) || (bits & VYRE_CAP_BUFFERS),
        "VYRE_CAP_PERSISTENT without VYRE_CAP_BUFFERS, which it binds (CAP-001)");
  check_tier5(c, b, bits);
  CHECK(c, !(bits & VYRE_CAP_COMPILER) || source,
        "VYRE_CAP_COMPILER, but vyre-c is not among the formats (CAP-001)");
  CHECK(c, info->grid_sync != VYRE_GRID_SYNC_NATIVE || b->cooperative_groups,
        "grid_sync NATIVE without cooperative_groups (ABI-003)");
  CHECK(c, info->grid_sync != VYRE_GRID_SYNC_EMULATED || b->dispatch_passes,
        "grid_sync EMULATED without dispatch_passes (ABI-003)");
}

static void run_optional(conform *c)
{
  const vyre_backend *b = conform_load(c);
  uint32_t count = 0;
  CHECK_OK(c, b->device_count(&count, err));
  for (uint32_t i = 0; i < count; ++i) {
    vyre_backend_device_info info = {.struct_size = sizeof info};
    CHECK_OK(c, b->device_info(i, &info, err));
    check_slots(c, b, &info);
  }
}

/* Bits that the negotiated version has no meaning for are not set. */
static void run_flags(conform *c)
{
  const vyre_backend *b = conform_load(c);
  CHECK(c, !(b->flags & ~(uint64_t)VYRE_BACKEND_MAY_UNLOAD),
        "the table has flags 0x%llx, of which 0.%u knows 0x%llx (ABI-006)",
        (unsigned long long)b->flags, b->abi_minor, (unsigned long long)VYRE_BACKEND_MAY_UNLOAD);
}

/* ---- it stays as it is ---- */

typedef struct picture {
  unsigned char table[sizeof(vyre_backend)];
  char texts[4096];
  uint64_t prelude;
} picture;

static uint64_t hash_bytes(const void *bytes, uint64_t size)
{
  const unsigned char *at = bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < size; ++i)
    hash = (hash ^ at[i]) * 0x100000001b3u;
  return hash;
}

static void append(picture *to, size_t *used, const char *text)
{
  const size_t size = strlen(text) + 1;
  if (*used + size > sizeof to->texts)
    return;
  memcpy(to->texts + *used, text, size);
  *used += size;
}

static void take_picture(const conform *c, picture *out)
{
  const vyre_backend *b = c->real;
  size_t used = 0;
  memset(out, 0, sizeof *out);
  memcpy(out->table, b, b->struct_size < sizeof out->table ? b->struct_size : sizeof out->table);
  append(out, &used, b->name);
  append(out, &used, b->version);
  append(out, &used, b->vendor);
  append(out, &used, b->build_id);
  for (uint32_t i = 0; i < b->format_count; ++i) {
    append(out, &used, format_at(b, i)->format);
    append(out, &used, format_at(b, i)->arch);
  }
  out->prelude = b->prelude ? hash_bytes(b->prelude, b->prelude_size) : 0;
}

static void run_stable(conform *c)
{
  static picture before, now;
  const vyre_backend *again = NULL, *first = NULL;
  conform_load(c);
  first = c->real;
  take_picture(c, &before);
  conform_open(c);
  conform_tour(c);
  take_picture(c, &now);
  CHECK(c, !memcmp(&before, &now, sizeof now),
        "the table or a text in it changed while a device is open (ABI-012)");
  conform_close(c);
  take_picture(c, &now);
  CHECK(c, !memcmp(&before, &now, sizeof now),
        "the table or a text in it changed when the device was closed (ABI-012)");
  CHECK_OK(c, conform_query(c)(&c->host.table, &again, err));
  CHECK(c, again == first, "after a device was closed there is another table (ABI-021)");
}

/* Numbers of fixed width: nothing beside them is written. */
static void run_widths(conform *c)
{
  const vyre_backend *b = conform_load(c);
  uint32_t words[5] = {0xa1a1a1a1u, 0xa1a1a1a1u, 0, 0xa1a1a1a1u, 0xa1a1a1a1u};
  CHECK_OK(c, b->device_count(&words[2], err));
  for (uint32_t i = 0; i < 5; ++i)
    CHECK(c, i == 2 || words[i] == 0xa1a1a1a1u, "device_count writes beside its 32 bits (ABI-007)");
}

static const conform_case rows[] = {
    CORE_CASE("table.texts", "TAB-001", CONFORM_NEEDS_NO_DEVICE, run_texts),
    CORE_CASE("table.formats", "TAB-002 ABI-001 ABI-004 ABI-005 KRN-001", CONFORM_NEEDS_NO_DEVICE,
              run_formats),
    CORE_CASE("table.required", "TAB-003", CONFORM_NEEDS_NO_DEVICE, run_required),
    CORE_CASE("table.optional", "ABI-003 CAP-001", CONFORM_NEEDS_NO_DEVICE, run_optional),
    CORE_CASE("table.flags", "ABI-006", CONFORM_NEEDS_NO_DEVICE, run_flags),
    CORE_CASE("table.stable", "ABI-012 ABI-021", CONFORM_NEEDS_KERNELS, run_stable),
    CORE_CASE("table.widths", "ABI-007", CONFORM_NEEDS_NO_DEVICE, run_widths),
};
CONFORM_TABLE(conform_cases_table, rows);
