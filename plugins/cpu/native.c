/*
 * native.c - opening the shared object of a container; see native.h.
 *
 * The code goes to a memory file and is opened by its name under /proc.  The loader knows an open
 * object again by that name, so the descriptor, which is in the name, must not be used for another
 * one while the object is open: it is closed with it.  Where this does not work (no /proc, memory
 * files that cannot be executed), the code goes to a temporary file.
 */
#include "native.h"

#include "compile.h"
#include "container.h"
#include "plugins/common/error.h"
#include "plugins/common/program.h"
#include "trap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool put(int file, const char *data, uint64_t size)
{
  for (uint64_t done = 0; done < size;) {
    ssize_t written = write(file, data + done, size - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    done += (uint64_t)written;
  }
  return true;
}

static bool open_memory(const char *code, uint64_t size, vyre__cpu_native *out_native)
{
  char path[64];
  int file = memfd_create("vyre-kernel", MFD_CLOEXEC);
  if (file < 0)
    return false;
  /* A spelling that others who do the same do not use. */
  snprintf(path, sizeof(path), "/proc/self/./fd/./%d", file);
  void *handle = put(file, code, size) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!handle) {
    close(file);
    return false;
  }
  out_native->handle = handle;
  out_native->file = file;
  return true;
}

static vyre_status open_disk(const char *code, uint64_t size, const char *name,
                             vyre__cpu_native *out_native, vyre_error *err)
{
  char folder[PATH_MAX], path[PATH_MAX];
  vyre_status status = vyre__plugin_temporary_make(folder, sizeof(folder), err);
  if (status != VYRE_OK)
    return status;
  snprintf(path, sizeof(path), "%.*s/kernel.so", PATH_MAX - 16, folder);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool written = file >= 0 && put(file, code, size);
  int number = errno;
  if (file >= 0)
    written = close(file) == 0 && written;
  void *handle = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!written) {
    status = PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_IO, number, NULL,
                                "%s: %s could not be written (error %d)", name, path, number);
  } else if (!handle) {
    const char *text = dlerror();
    status =
        PLUGIN_FAIL(err, VYRE_ERROR_MODULE_FORMAT,
                    "set TMPDIR to a folder from which code may run, or build the kernel again",
                    "%s: the code cannot be opened: %s", name, text ? text : "no reason given");
  } else {
    out_native->handle = handle;
    out_native->file = -1;
  }
  vyre__cpu_temporary_remove(folder);
  return status;
}

vyre_status vyre__cpu_native_open(const void *data, uint64_t size, const char *name,
                                  vyre__cpu_native *out_native, vyre_error *err)
{
  const char *code = (const char *)data + sizeof(vyre__cpu_container);
  size -= sizeof(vyre__cpu_container);
  if (!open_memory(code, size, out_native)) {
    vyre_status status = open_disk(code, size, name, out_native, err);
    if (status != VYRE_OK)
      return status;
  }
  vyre__cpu_trap_fn *trap = dlsym(out_native->handle, VYRE__CPU_TRAP_SYMBOL);
  if (trap)
    *trap = vyre__cpu_trap;
  return VYRE_OK;
}

void vyre__cpu_native_close(vyre__cpu_native *native)
{
  if (native->handle)
    dlclose(native->handle);
  if (native->file >= 0)
    close(native->file);
}
