/* module.c - see module.h. */
#include "bench/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* PROGRAM/../../lib/vyre-bench/FILE; false if this program's path is not known or too long. */
static bool beside_this_program(const char *file, char *out_path, size_t size)
{
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  char *slash;
  int n;
  if (length <= 0)
    return false;
  self[length] = 0;
  slash = strrchr(self, '/');
  if (!slash)
    return false;
  *slash = 0;
  n = snprintf(out_path, size, "%s/../lib/vyre-bench/%s", self, file);
  return n > 0 && (size_t)n < size;
}

vyre_status bench_module_refuse(const bench_module_kind *kind, const char *path, const char *why,
                                vyre_error *err)
{
  if (err) {
    err->code = VYRE_ERROR_IO;
    snprintf(err->message, sizeof err->message, "%.1000s: %.900s", path ? path : kind->file, why);
    snprintf(err->fix, sizeof err->fix, "%s", kind->cure);
  }
  return VYRE_ERROR_IO;
}

vyre_status bench_module_open(const bench_module_kind *kind, const char *path, void **out_module,
                              const void **out_table, vyre_error *err)
{
  /* A path with a slash, so that it is looked for here and nowhere else. */
  char place[PATH_MAX + 64];
  const void *(*query)(void) = NULL;
  const char *why;
  void *symbol;
  *out_module = NULL;
  *out_table = NULL;
  if (path)
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path);
  else if (!beside_this_program(kind->file, place, sizeof place) || access(place, F_OK) != 0)
    return VYRE_OK;
  *out_module = dlopen(place, RTLD_NOW | RTLD_LOCAL);
  if (!*out_module) {
    why = dlerror();
    return bench_module_refuse(kind, place, why ? why : "it cannot be opened", err);
  }
  symbol = dlsym(*out_module, kind->symbol);
  if (symbol) {
    memcpy(&query, &symbol, sizeof query);
    *out_table = query();
  }
  if (*out_table)
    return VYRE_OK;
  bench_module_close(*out_module);
  *out_module = NULL;
  return bench_module_refuse(kind, place, "it is not the module of this version", err);
}

void bench_module_close(void *module)
{
  if (module)
    dlclose(module);
}
