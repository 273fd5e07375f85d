/*
 * library.c - finding and opening the vendor's library; see library.h.
 *
 * It is never closed: runtimes start threads and keep state that does not survive that.
 */
#include "library.h"

#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE "VYRE_OPENCL_LIBRARY"
#define INSTALL                                                                                    \
  "install the vendor's OpenCL and the loader (Debian: apt-get install ocl-icd-libopencl1, and "   \
  "pocl-opencl-icd for the processor), or set " VARIABLE " to the library"

static vyre__cl_calls the_calls;
static char the_path[PATH_MAX];
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static const vyre__cl_calls *opened; /* atomic */

const vyre__cl_calls *vyre__opencl_calls(void)
{
  /* Acquire: pairs with the release in vyre__opencl_library(). */
  return __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
}

const char *vyre__opencl_library_path(void)
{
  return vyre__opencl_calls() ? the_path : "";
}

/* A list of names and what the loader said of each. */
typedef struct attempts {
  char text[1024];
  size_t used;
} attempts;

static void *try_open(const char *name, int flags, attempts *tried)
{
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
  if (!handle && !(flags & RTLD_NOLOAD)) {
    const char *said = dlerror();
    const int length = snprintf(tried->text + tried->used, sizeof(tried->text) - tried->used,
                                "%s%s: %s", tried->used ? "; " : "", name, said ? said : "?");
    if (length > 0 && (size_t)length < sizeof(tried->text) - tried->used)
      tried->used += (size_t)length;
  }
  return handle;
}

/* The variable alone if it is set; else one that is in the process already; else the system's. */
static void *open_any(attempts *tried)
{
  static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
  const char *given = vyre__plugin_environment(VARIABLE);
  void *handle = NULL;
  if (given)
    return try_open(given, 0, tried);
  for (size_t i = 0; i < 2 && !handle; ++i)
    handle = try_open(names[i], RTLD_NOLOAD, tried);
  for (size_t i = 0; i < 2 && !handle; ++i)
    handle = try_open(names[i], 0, tried);
  return handle;
}

enum { OPTIONAL, REQUIRED };

static const struct {
  size_t place; /* of the pointer in vyre__cl_calls */
  int need;
  const char *name;
} rows[] = {
#define ROW(need, result, name, parameters) {offsetof(vyre__cl_calls, name), need, #name},
    VYRE__CL_CALLS(ROW)
#undef ROW
};

/* The name of the first required entry point that is missing, or NULL. */
static const char *resolve(void *handle, vyre__cl_calls *calls)
{
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    void *entry = dlsym(handle, rows[i].name);
    if (!entry && rows[i].need == REQUIRED)
      return rows[i].name;
    /* POSIX has functions in objects of the size of `void *`. */
    memcpy((char *)calls + rows[i].place, &entry, sizeof(entry));
  }
  return NULL;
}

static vyre_status open_library(vyre_error *err)
{
  attempts tried = {.used = 0};
  struct link_map *map = NULL;
  void *handle = open_any(&tried);
  if (!handle)
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY, INSTALL, "there is no OpenCL library: %s",
                       tried.text);
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
    snprintf(the_path, sizeof(the_path), "%s", map->l_name);
  const char *missing = resolve(handle, &the_calls);
  if (missing) {
    /* Not closed: it may have started something. */
    return PLUGIN_FAIL(err, VYRE_ERROR_VENDOR_LIBRARY,
                       "install a loader and a runtime of OpenCL 1.2 or later, or set " VARIABLE
                       " to one",
                       "%s has no %s: it is older than OpenCL 1.2, or a stub", the_path, missing);
  }
  return VYRE_OK;
}

vyre_status vyre__opencl_library(const vyre__cl_calls **out_calls, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  pthread_mutex_lock(&library_lock);
  if (!vyre__opencl_calls()) {
    status = open_library(err);
    /* Release: pairs with the acquire in vyre__opencl_calls(); table and path are whole. */
    if (status == VYRE_OK)
      __atomic_store_n(&opened, &the_calls, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&library_lock);
  if (status == VYRE_OK)
    *out_calls = vyre__opencl_calls();
  return status;
}
