/*
 * open.c - finding a vendor's library by the loader, once a process; see open.h.
 */
#include "plugins/gpu/open.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void append(char *tried, uint64_t size, const char *name, const char *why)
{
  const size_t used = strlen(tried), length = strlen(name);
  /* The loader's text mostly begins with the name. */
  const bool is_named = strncmp(why, name, length) == 0;
  if (used + 1 < size)
    snprintf(tried + used, size - used, "%s%s%s%s", used ? "; " : "", is_named ? "" : name,
             is_named ? "" : ": ", why);
}

static void *try_name(const char *name, int flags, char *tried, uint64_t size)
{
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
  if (!library && !(flags & RTLD_NOLOAD)) {
    const char *why = dlerror();
    append(tried, size, name, why ? why : "the loader gives no reason");
  }
  return library;
}

void *vyre__gpu_open(const char *variable, const char *const *names, char *tried,
                     uint64_t tried_size)
{
  const char *given = vyre__plugin_environment(variable);
  void *library = NULL;
  tried[0] = '\0';
  if (given)
    return try_name(given, 0, tried, tried_size);
  /* The application's own copy, whichever of them it is: two drivers in a process do not mix. */
  for (uint32_t i = 0; !library && names[i]; ++i)
    library = try_name(names[i], RTLD_NOLOAD, tried, tried_size);
  for (uint32_t i = 0; !library && names[i]; ++i)
    library = try_name(names[i], 0, tried, tried_size);
  return library;
}

void vyre__gpu_path_of(void *library, char *out_path, uint64_t size)
{
  struct link_map *map = NULL;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name;
  snprintf(out_path, size, "%s", known ? map->l_name : "");
}

/* -------- entry points -------- */

void vyre__gpu_resolve(void *library, void *table, const vyre__gpu_entry *entries, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i) {
    void *symbol = dlsym(library, entries[i].symbol);
    if (!symbol && entries[i].other)
      symbol = dlsym(library, entries[i].other);
    /* Function pointers of the table are stored through their bytes: ISO C has no other way. */
    memcpy((char *)table + entries[i].offset, &symbol, sizeof symbol);
  }
}

uint32_t vyre__gpu_missing(const void *table, const vyre__gpu_entry *entries, uint32_t count,
                           char *list, uint64_t size, int *newest)
{
  uint32_t missing = 0;
  list[0] = '\0';
  for (uint32_t i = 0; i < count; ++i) {
    const size_t used = strlen(list);
    void *symbol = NULL;
    memcpy(&symbol, (const char *)table + entries[i].offset, sizeof symbol);
    if (!entries[i].required || symbol)
      continue;
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", entries[i].symbol);
    *newest = entries[i].since > *newest ? entries[i].since : *newest;
    missing++;
  }
  return missing;
}

/* -------- once -------- */

vyre_status vyre__gpu_load_once(vyre__gpu_once *once, vyre_status (*load)(vyre_error *err),
                                vyre_error *err)
{
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&once->lock);
  if (!once->done) {
    load(&once->failure);
    once->done = true;
    once->owner = getpid();
  }
  if (once->failure.code != VYRE_OK)
    status = vyre__plugin_error_copy(err, &once->failure);
  else if (once->owner != getpid())
    status = PLUGIN_FAIL(err, VYRE_ERROR_FORKED,
                         "call exec() in the child, or look for devices only behind fork()",
                         "the parent process has used the vendor's driver, which does not go on in "
                         "a child: its threads are not there");
  pthread_mutex_unlock(&once->lock);
  return status;
}
