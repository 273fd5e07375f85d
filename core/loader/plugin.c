/* plugin.c - dlopen(), the handshake, and the way back out of each. */
#include "core/loader/plugin.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/loader/elf.h"
#include "core/loader/table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

vyre_status vyre__plugin_error(vyre_error *err, const vyre_backend *backend, const char *function,
                               vyre_status status, const vyre_error *from)
{
  const char *name = backend ? backend->name : "the plugin";
  vyre_error said = VYRE_ERROR_INIT;
  vyre__error_copy(&said, from);
  said.message[sizeof said.message - 1] = '\0';
  said.fix[sizeof said.fix - 1] = '\0';
  vyre__text_printable(said.message, true);
  vyre__text_printable(said.fix, true);
  if (status < 0 || status >= VYRE_STATUS_COUNT)
    return VYRE_FAIL_VENDOR(err, VYRE_ERROR_INTERNAL, status, "update vyre or the plugin",
                            "%s: %s failed with code %d, which this host does not know: %s", name,
                            function, (int)status, said.message);
  if (!said.message[0])
    return VYRE_FAIL_VENDOR(err, status, said.vendor_code, NULL,
                            "%s: %s failed without a text (ABI-009): %s", name, function,
                            vyre_status_text(status));
  said.struct_size = (uint32_t)sizeof said;
  said.code = status;
  said.where[sizeof said.where - 1] = '\0';
  vyre__text_printable(said.where, false);
  if (!said.fix[0])
    snprintf(said.fix, sizeof said.fix, "%s", vyre_status_fix(status));
  return vyre__error_copy(err, &said);
}

/* dlerror() answers once and only in this thread; its text goes with the next call. */
static vyre_status open_library(const char *path, void **out_library, vyre_error *err)
{
  char with_slash[4096];
  const char *text = NULL;
  /* A name without a slash would be looked for in the system's library folders. */
  if (!strchr(path, '/')) {
    int length = snprintf(with_slash, sizeof with_slash, "./%s", path);
    if (length < 0 || (size_t)length >= sizeof with_slash)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, NULL, "the file's name is too long");
    path = with_slash;
  }
  dlerror();
  *out_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*out_library)
    return VYRE_OK;
  text = dlerror();
  return VYRE_FAIL(err, VYRE_ERROR_NOT_FOUND,
                   "install the library or version that the text names, or remove the plugin",
                   "the dynamic linker says: %s", text ? text : "nothing");
}

static vyre_status shake_hands(void *library, const vyre_host *host,
                               const vyre_backend **out_backend, vyre_error *err)
{
  vyre_error said = VYRE_ERROR_INIT;
  const vyre_backend *table = NULL;
  vyre_backend_query_fn query = NULL;
  vyre_status status;
  void *symbol = dlsym(library, VYRE_BACKEND_QUERY_SYMBOL);
  if (!symbol)
    return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, NULL,
                     "not a vyre plugin: it does not export " VYRE_BACKEND_QUERY_SYMBOL);
  memcpy(&query, &symbol, sizeof query); /* ISO C has no cast from object to function */
  status = query(host, &table, &said);
  if (status)
    return vyre__plugin_error(err, NULL, VYRE_BACKEND_QUERY_SYMBOL, status, &said);
  if (!table)
    return VYRE_FAIL(err, VYRE_ERROR_ABI_MISMATCH,
                     "update the plugin, or report this to whoever made it",
                     VYRE_BACKEND_QUERY_SYMBOL " succeeded and gave no table (ABI-020)");
  status = vyre__table_check(table, host, err);
  if (!status)
    *out_backend = table;
  return status;
}

vyre_status vyre__plugin_open(const char *path, const vyre_allocator *allocator,
                              const vyre_host *host, vyre__plugin *out_plugin,
                              vyre_candidate_stage *out_stage, vyre_error *err)
{
  vyre__plugin plugin = {NULL, NULL};
  vyre_status status = vyre__elf_check(path, allocator, out_stage, err);
  if (status)
    return status;
  *out_stage = VYRE_CANDIDATE_OPEN;
  status = open_library(path, &plugin.library, err);
  if (status)
    return status;
  *out_stage = VYRE_CANDIDATE_HANDSHAKE;
  status = shake_hands(plugin.library, host, &plugin.backend, err);
  if (status) {
    vyre__plugin_discard(&plugin);
    return status;
  }
  *out_stage = VYRE_CANDIDATE_LOADED;
  *out_plugin = plugin;
  return VYRE_OK;
}

void vyre__plugin_close(vyre__plugin *plugin)
{
  if (plugin->library && (plugin->backend->flags & VYRE_BACKEND_MAY_UNLOAD))
    dlclose(plugin->library);
  plugin->library = NULL;
  plugin->backend = NULL;
}

/*
 * The handshake touches no device and opens no vendor library, and a plugin has no destructors:
 * unloading is safe here even for one that must stay once a device was opened.
 */
void vyre__plugin_discard(vyre__plugin *plugin)
{
  if (plugin->library)
    dlclose(plugin->library);
  plugin->library = NULL;
  plugin->backend = NULL;
}
