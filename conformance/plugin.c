/* plugin.c - loading the plugin, opening its device; see case.h. */
#include "conformance/plain.h"
#include "conformance/run.h"

#include <dlfcn.h>
#include <string.h>

static void *open_library(conform *c)
{
  void *library = dlopen(c->plugin, RTLD_NOW | RTLD_LOCAL);
  const char *reason = library ? NULL : dlerror();
  CHECK(c, library, "dlopen: %s", reason ? reason : "no reason given");
  return library;
}

vyre_backend_query_fn conform_query(conform *c)
{
  void *symbol = NULL;
  vyre_backend_query_fn query = NULL;
  if (!c->library)
    c->library = open_library(c);
  symbol = dlsym(c->library, VYRE_BACKEND_QUERY_SYMBOL);
  CHECK(c, symbol, "it exports no %s: it is not a vyre plugin", VYRE_BACKEND_QUERY_SYMBOL);
  memcpy(&query, &symbol, sizeof query);
  return query;
}

const vyre_backend *conform_load(conform *c)
{
  vyre_backend_query_fn query = NULL;
  if (c->loads++)
    return &c->counted;
  query = conform_query(c);
  CHECK_OK(c, query(&c->host.table, &c->real, err));
  CHECK(c, c->real, "the handshake succeeded and gave no table (ABI-020)");
  CHECK(c, c->real->struct_size >= VYRE_BACKEND_SIZE_0_1,
        "the table has %u bytes, at least %u are needed (ABI-001)", c->real->struct_size,
        VYRE_BACKEND_SIZE_0_1);
  conform_count_calls(c->real, c->report->calls, &c->report->last_slot, &c->counted);
  return &c->counted;
}

void conform_unload(conform *c)
{
  if (!c->loads || --c->loads)
    return;
  conform_close(c);
  if (c->real->flags & VYRE_BACKEND_MAY_UNLOAD) {
    dlclose(c->library);
    c->library = NULL;
  }
  c->real = NULL;
}

const vyre_backend_device_info *conform_info(conform *c)
{
  const vyre_backend *b = conform_load(c);
  if (!c->info.struct_size) {
    vyre_backend_device_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    CHECK_OK(c, b->device_info(c->device_index, &info, err));
    c->info = info;
  }
  conform_unload(c);
  return &c->info;
}

vyre_backend_device *conform_open(conform *c)
{
  static const vyre_backend_device_options options = {.struct_size = sizeof options};
  const vyre_backend *b = NULL;
  if (c->device)
    return c->device;
  b = conform_load(c);
  CHECK_OK(c, b->device_open(c->device_index, &options, &c->device, err));
  CHECK(c, c->device, "device_open succeeded and gave no device");
  return c->device;
}

void conform_close(conform *c)
{
  if (!c->device)
    return;
  for (uint32_t i = 0; i < CONFORM_MAX_MODULES; ++i) {
    if (c->modules[i].module)
      c->counted.module_unload(c->device, c->modules[i].module);
    memset(&c->modules[i], 0, sizeof c->modules[i]);
  }
  c->counted.device_close(c->device);
  c->device = NULL;
  conform_unload(c);
}

uint64_t conform_live_blocks(const conform *c)
{
  return __atomic_load_n(&c->host.live_blocks, __ATOMIC_RELAXED);
}

/* ---- the probe ---- */

static void keep(char *to, size_t size, const char *text)
{
  size_t length = text ? strnlen(text, size - 1) : 0;
  if (length)
    memcpy(to, text, length);
  to[length] = '\0';
  if (length == size - 1)
    conform_end_plain(to);
}

static void keep_formats(const vyre_backend *b, conform_probe *probe)
{
  size_t used = 0;
  for (uint32_t i = 0; i < b->format_count && i < 64; ++i) {
    const vyre_backend_format *format =
        (const void *)((const char *)b->formats + i * b->format_stride);
    const char *parts[4] = {i ? ", " : "", format->format, format->arch[0] ? ":" : "",
                            format->arch};
    probe->takes_vyre_c = probe->takes_vyre_c || !strcmp(format->format, "vyre-c");
    for (int p = 0; p < 4; ++p) {
      keep(probe->formats + used, sizeof probe->formats - used, parts[p]);
      used += strlen(probe->formats + used);
    }
  }
}

void conform_probe_plugin(conform *c)
{
  conform_probe *probe = &c->report->probe;
  const vyre_backend *b = conform_load(c);
  vyre_error err = VYRE_ERROR_INIT;
  keep(probe->name, sizeof probe->name, b->name);
  keep(probe->version, sizeof probe->version, b->version);
  keep(probe->vendor, sizeof probe->vendor, b->vendor);
  keep(probe->build_id, sizeof probe->build_id, b->build_id);
  probe->abi_minor = b->abi_minor;
  probe->header_version = b->header_version;
  probe->sanitizer = b->sanitizer;
  probe->flags = b->flags;
  keep_formats(b, probe);
  probe->status = b->device_count(&probe->device_count, &err);
  if (probe->status == VYRE_OK && c->device_index < probe->device_count) {
    probe->device.struct_size = sizeof probe->device;
    probe->status = b->device_info(c->device_index, &probe->device, &err);
  }
  err.message[sizeof err.message - 1] = '\0';
  if (probe->status != VYRE_OK)
    keep(c->report->text, sizeof c->report->text, err.message);
  probe->state = CONFORM_STATE_RETURNED;
}
