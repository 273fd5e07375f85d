/*
 * compile.c - from `vyre-c` text to code of the vendor: the cache, then the vendor's run-time
 * compiler.  Needs no device and no driver.
 */
#include "plugins/gpu/compile.h"

#include "plugins/common/cache.h"
#include "plugins/common/error.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"
#include "plugins/common/sha256.h"
#include "plugins/gpu/launch.h"

#include <stdio.h>
#include <string.h>

/* Changes when something about the way of compiling does that the rest of a key does not show. */
#define RECIPE "vyre gpu recipe 1"

static void hash_text(vyre__plugin_sha256 *hash, const char *text)
{
  vyre__plugin_sha256_add(hash, text, strlen(text) + 1);
}

/* The prelude is a part of the text; what compilers put behind it is not. */
static void make_key(const vyre__gpu_source *source, unsigned char *out_key)
{
  const uint64_t numbers[] = {VYRE__GPU_LAUNCH_ABI, source->flags, source->size};
  vyre__plugin_sha256 hash;
  vyre__plugin_sha256_init(&hash);
  hash_text(&hash, RECIPE);
  hash_text(&hash, vyre__gpu_driver.name);
  hash_text(&hash, vyre__gpu_driver.compiler_version());
  hash_text(&hash, source->format);
  hash_text(&hash, source->arch);
  vyre__plugin_sha256_add(&hash, numbers, sizeof(numbers));
  vyre__plugin_sha256_add(&hash, source->text, source->size);
  hash_text(&hash, VYRE__GPU_TEXT_END);
  vyre__plugin_sha256_final(&hash, out_key);
}

static vyre_status check_source(const vyre__gpu_source *source, vyre_error *err)
{
  char reason[VYRE_DEVICE_REASON_SIZE] = "";
  if (source->flags & ~VYRE_MODULE_DEBUG)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "%s: unknown module flags 0x%llx", source->name,
                       (unsigned long long)source->flags);
  if (source->size && !source->text)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the text", "%s: the text is NULL",
                       source->name);
  if (!vyre__gpu_driver.compiler_find(reason, sizeof(reason)))
    return PLUGIN_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                       "install the vendor's run-time compiler, or use kernels built ahead of time "
                       "(`vyre compile`)",
                       "%s: %s", source->name, reason);
  return VYRE_OK;
}

vyre_status vyre__gpu_compile_source(const vyre__gpu_source *source, void **out_data,
                                     uint64_t *out_size, vyre_error *err)
{
  unsigned char key[VYRE__HASH_SIZE];
  vyre_blob blob = {.struct_size = sizeof(blob)};
  vyre_status status = check_source(source, err);
  if (status != VYRE_OK)
    return status;
  make_key(source, key);
  void *cached = vyre__plugin_cache_get_sealed(source->host, key, source->format, &blob.size);
  if (cached) {
    *out_data = cached;
    *out_size = blob.size;
    return VYRE_OK;
  }
  status = vyre__gpu_driver.compile(source->host, source->text, source->size, source->name,
                                    source->format, source->arch,
                                    (source->flags & VYRE_MODULE_DEBUG) != 0, &blob, err);
  if (status != VYRE_OK)
    return status;
  vyre__plugin_cache_put_sealed(source->host, key, source->format, blob.data, blob.size);
  *out_data = blob.data;
  *out_size = blob.size;
  return VYRE_OK;
}

vyre_status vyre__gpu_refuse_format(const char *name, const char *format, bool is_made,
                                    vyre_error *err)
{
  char list[256] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < vyre__gpu_driver.format_count; ++i) {
    const vyre_backend_format *one = &vyre__gpu_driver.formats[i];
    if (is_made && strcmp(one->format, "vyre-c") == 0)
      continue;
    const int added = snprintf(list + used, sizeof(list) - used, "%s\"%s%s%s\"", used ? ", " : "",
                               one->format, one->arch[0] ? ":" : "", one->arch);
    if (added < 0 || (size_t)added >= sizeof(list) - used)
      break;
    used += (size_t)added;
  }
  return PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT, "use one of these formats",
                     "%s: the %s plugin %s %s, not \"%.64s\"", name, vyre__gpu_driver.name,
                     is_made ? "makes" : "takes", list, format ? format : "(null)");
}

static bool is_made_format(const char *format)
{
  for (uint32_t i = 0; format && i < vyre__gpu_driver.format_count; ++i)
    if (strcmp(vyre__gpu_driver.formats[i].format, format) == 0)
      return strcmp(format, "vyre-c") != 0;
  return false;
}

vyre_status vyre__gpu_compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err)
{
  void *data = NULL;
  uint64_t size = 0;
  vyre_status status = PLUGIN_CHECK_SIZE(err, desc, vyre_compile_desc, VYRE_COMPILE_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_blob, vyre_blob, VYRE_BLOB_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  const vyre__gpu_source source = {.host = vyre__plugin_host(),
                                   .text = desc->source,
                                   .size = desc->source_size,
                                   .name = desc->name ? desc->name : "kernel",
                                   .flags = desc->flags,
                                   .format = desc->format,
                                   .arch = desc->arch ? desc->arch : ""};
  if (!is_made_format(desc->format))
    return vyre__gpu_refuse_format(source.name, desc->format, true, err);
  status = vyre__gpu_compile_source(&source, &data, &size, err);
  if (status != VYRE_OK)
    return status;
  out_blob->data = data;
  out_blob->size = size;
  if (out_blob->struct_size > sizeof(*out_blob))
    out_blob->struct_size = sizeof(*out_blob);
  return VYRE_OK;
}
