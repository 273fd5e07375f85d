/*
 * bundle.c - reading a bundle.  The image is not trusted: every number is checked before it is
 * used, and parts must lie in order, so that none overlaps another.
 */
#include "core/program/bundle.h"

#include "core/base/alloc.h"
#include "core/base/checked.h"
#include "core/base/error.h"

struct vyre_bundle {
  const char *manifest; /* in the image, or NULL */
  uint32_t count;
  vyre_code code[]; /* texts and bytes lie in the image */
};

#define REFUSE(...)                                                                                \
  VYRE_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "make the bundle again with `vyre compile`", __VA_ARGS__)
#define U64(value) ((unsigned long long)(value))

static vyre_status check_header(const unsigned char *image, uint64_t size, vyre_error *err)
{
  static const unsigned char zeros[VYRE__BUNDLE_HEADER - VYRE__BUNDLE_AT_RESERVED];
  uint64_t room = 0, stated = 0;
  uint32_t count = 0, version = 0;
  if (size < VYRE__BUNDLE_HEADER || memcmp(image, VYRE__BUNDLE_MAGIC, 8) != 0)
    return REFUSE("this is not a bundle of kernels");
  version = vyre__get_u32(image + VYRE__BUNDLE_AT_VERSION);
  if (version != VYRE__BUNDLE_VERSION)
    return REFUSE("the bundle has version %u, this library reads version %u", version,
                  VYRE__BUNDLE_VERSION);
  stated = vyre__get_u64(image + VYRE__BUNDLE_AT_SIZE);
  if (stated != size)
    return REFUSE("the bundle has %llu bytes, its header says %llu", U64(size), U64(stated));
  if (vyre__bundle_hash(image, size) != vyre__get_u64(image + VYRE__BUNDLE_AT_HASH))
    return REFUSE("the bundle is damaged: its hash is wrong");
  if (memcmp(image + VYRE__BUNDLE_AT_RESERVED, zeros, sizeof zeros) != 0)
    return REFUSE("the bundle's header has reserved bytes that are not zero");
  count = vyre__get_u32(image + VYRE__BUNDLE_AT_COUNT);
  room = (size - VYRE__BUNDLE_HEADER) / VYRE__BUNDLE_ENTRY;
  if (!count || count > room)
    return REFUSE("the bundle says that it holds %u kernels, it has room for %llu", count,
                  U64(room));
  return VYRE_OK;
}

/* The manifest is the first part behind the table; `*end` moves behind it. */
static vyre_status read_manifest(const unsigned char *image, uint64_t size, uint64_t *end,
                                 const char **out_manifest, vyre_error *err)
{
  uint64_t offset = vyre__get_u64(image + VYRE__BUNDLE_AT_MANIFEST);
  uint64_t length = vyre__get_u64(image + VYRE__BUNDLE_AT_MANIFEST_SIZE);
  *out_manifest = NULL;
  if (!offset && !length)
    return VYRE_OK;
  if (offset < *end || !length || !vyre__range_fits(offset, length, size) ||
      memchr(image + offset, 0, (size_t)length) != image + offset + length - 1)
    return REFUSE("the bundle's manifest of %llu bytes at %llu is broken", U64(length),
                  U64(offset));
  *out_manifest = (const char *)image + offset;
  *end = offset + length;
  return VYRE_OK;
}

static vyre_status read_entry(const unsigned char *image, uint64_t size, uint32_t index,
                              uint64_t *end, vyre_code *out_code, vyre_error *err)
{
  const unsigned char *entry = image + VYRE__BUNDLE_HEADER + (uint64_t)index * VYRE__BUNDLE_ENTRY;
  uint64_t offset = vyre__get_u64(entry + VYRE__BUNDLE_ENTRY_AT_OFFSET);
  uint64_t length = vyre__get_u64(entry + VYRE__BUNDLE_ENTRY_AT_SIZE);
  if (!entry[0] || !memchr(entry, 0, VYRE__BUNDLE_FORMAT_SIZE) ||
      !memchr(entry + VYRE__BUNDLE_ENTRY_AT_ARCH, 0, VYRE__BUNDLE_ARCH_SIZE))
    return REFUSE("kernel %u of the bundle: format or architecture is no text", index);
  if (offset < *end || offset % VYRE__BUNDLE_ALIGN || !length ||
      !vyre__range_fits(offset, length, size))
    return REFUSE("kernel %u of the bundle: its %llu bytes at %llu do not lie behind what comes "
                  "before and inside the %llu bytes of the image",
                  index, U64(length), U64(offset), U64(size));
  out_code->struct_size = sizeof *out_code;
  out_code->format = (const char *)entry;
  out_code->arch = (const char *)entry + VYRE__BUNDLE_ENTRY_AT_ARCH;
  out_code->data = image + offset;
  out_code->size = length;
  *end = offset + length;
  return VYRE_OK;
}

vyre_status vyre_bundle_open(const void *image, uint64_t size, vyre_bundle **out_bundle,
                             vyre_error *err)
{
  const unsigned char *bytes = image;
  vyre_bundle *bundle = NULL;
  uint64_t end = 0, total = 0;
  uint32_t count = 0;
  vyre_status status = VYRE_OK;
  if (!image || !out_bundle)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "%s is NULL",
                     image ? "out_bundle" : "image");
  status = check_header(bytes, size, err);
  if (status != VYRE_OK)
    return status;
  count = vyre__get_u32(bytes + VYRE__BUNDLE_AT_COUNT);
  if (vyre__checked_multiply(count, sizeof(vyre_code), &total) &&
      vyre__checked_add(total, sizeof *bundle, &total))
    bundle = vyre__allocate_zeroed(&vyre__default_allocator, 1, total);
  if (!bundle)
    return VYRE_FAIL_MEMORY(err, "a bundle");
  bundle->count = count;
  end = VYRE__BUNDLE_HEADER + (uint64_t)count * VYRE__BUNDLE_ENTRY;
  status = read_manifest(bytes, size, &end, &bundle->manifest, err);
  for (uint32_t i = 0; i < count && status == VYRE_OK; ++i)
    status = read_entry(bytes, size, i, &end, &bundle->code[i], err);
  if (status == VYRE_OK)
    *out_bundle = bundle;
  else
    vyre_bundle_destroy(bundle);
  return status;
}

void vyre_bundle_destroy(vyre_bundle *bundle)
{
  vyre__deallocate(&vyre__default_allocator, bundle);
}

const vyre_code *vyre_bundle_code(const vyre_bundle *bundle, uint32_t *out_count)
{
  if (out_count)
    *out_count = bundle ? bundle->count : 0;
  return bundle ? bundle->code : NULL;
}

const char *vyre_bundle_manifest(const vyre_bundle *bundle)
{
  return bundle ? bundle->manifest : NULL;
}
