/*
 * open.c - finding a library of NVIDIA's by the loader; see library.h.
 */
#include "plugins/cuda/library.h"

#include "plugins/common/host.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

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

void *vyre__cuda_open(const char *variable, const char *const *names, char *tried,
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

void vyre__cuda_path_of(void *library, char *out_path, uint64_t size)
{
  struct link_map *map = NULL;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name;
  snprintf(out_path, size, "%s", known ? map->l_name : "");
}
