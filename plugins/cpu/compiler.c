/*
 * compiler.c - the search for a C compiler; see compiler.h.
 */
#include "compiler.h"

#include "plugins/common/cache.h"
#include "plugins/common/host.h"
#include "plugins/common/sha256.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_LIMIT_NS 10000000000ull

/* Directories that are searched when the environment is not to be trusted, or has no PATH. */

/* The only state of the plugin beside the host: fixed in size, filled once for each load. */
static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static bool searched;
static vyre__cpu_compiler the_compiler;

__attribute__((format(printf, 2, 3))) static void note(vyre__cpu_compiler *compiler,
                                                       const char *format, ...)
{
  size_t used = strlen(compiler->reason);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(compiler->reason + used, sizeof(compiler->reason) - used, format, arguments);
  va_end(arguments);
}

/* Runs it and stores the first line that it says about itself; false if it does not run. */
static bool run_version(vyre__cpu_compiler *compiler)
{
  char log[1024];
  char option[] = "--version";
  char *arguments[] = {compiler->path, option, NULL};
  vyre__cpu_run run = {.log = log, .log_size = sizeof(log)};
  vyre__cpu_run_program(arguments, VERSION_LIMIT_NS, &run);
  if (!run.started || run.timed_out || run.exit_code != 0 || !log[0])
    return false;
  snprintf(compiler->version, sizeof(compiler->version), "%.*s", (int)strcspn(log, "\n"), log);
  return true;
}

/*
 * The same, from the cache if this very file has been asked before: a compiler takes from one
 * millisecond to hundreds to say its version, and a cached kernel needs nothing else of it.
 */
static bool ask_version(vyre__cpu_compiler *compiler)
{
  uint64_t numbers[] = {compiler->file_size, compiler->file_time_ns, compiler->file_inode};
  unsigned char key[VYRE__HASH_SIZE];
  vyre__plugin_sha256 hash;
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, "compiler", sizeof("compiler"));
  vyre__plugin_sha256_add(&hash, numbers, sizeof(numbers));
  vyre__plugin_sha256_add(&hash, compiler->path, strlen(compiler->path));
  vyre__plugin_sha256_final(&hash, key);
  if (vyre__plugin_cache_get_text(key, compiler->version, sizeof(compiler->version)))
    return true;
  if (!run_version(compiler))
    return false;
  vyre__plugin_cache_put_text(key, compiler->version);
  return true;
}

static bool try_path(vyre__cpu_compiler *compiler, const char *path)
{
  struct stat file;
  if (strlen(path) >= sizeof(compiler->path) || stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
      access(path, X_OK) != 0)
    return false;
  memcpy(compiler->path, path, strlen(path) + 1);
  compiler->file_size = (uint64_t)file.st_size;
  compiler->file_time_ns =
      (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
  compiler->file_inode = (uint64_t)file.st_ino;
  compiler->found = ask_version(compiler);
  if (!compiler->found)
    note(compiler, " %s (does not run);", path);
  return compiler->found;
}

/* A name with a slash is a path, another one is looked up in PATH. */
static bool try_name(vyre__cpu_compiler *compiler, const char *name)
{
  char path[PATH_MAX];
  if (strchr(name, '/')) {
    if (try_path(compiler, name))
      return true;
    note(compiler, " %s;", name);
    return false;
  }
  const char *list = vyre__plugin_environment("PATH");
  for (const char *part = list ? list : VYRE__CPU_SAFE_PATH; *part;) {
    int length = (int)strcspn(part, ":");
    /* Only absolute directories: the working directory is the host's, and may be anybody's. */
    if (*part == '/' &&
        snprintf(path, sizeof(path), "%.*s/%s", length, part, name) < (int)sizeof(path) &&
        try_path(compiler, path))
      return true;
    part += length;
    part += *part == ':';
  }
  note(compiler, " %s;", name);
  return false;
}

static void search(vyre__cpu_compiler *compiler)
{
#if defined(VYRE_CPU_SANITIZER_CC)
  /* Kernels need the same sanitizer runtime as the plugin, so the same compiler. */
  static const char *const names[] = {VYRE_CPU_SANITIZER_CC};
#else
  static const char *const names[] = {"cc", "gcc", "clang"};
#endif
  const char *wanted = vyre__plugin_environment("VYRE_CC");
  note(compiler, "no C compiler; tried");
  if (wanted) {
    if (!try_name(compiler, wanted))
      note(compiler, " set VYRE_CC to a C compiler, or unset it");
    return;
  }
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (try_name(compiler, names[i]))
      return;
  note(compiler, " install one (Debian: apt-get install gcc libc6-dev) or set VYRE_CC");
}

const vyre__cpu_compiler *vyre__cpu_compiler_find(void)
{
  pthread_mutex_lock(&search_lock);
  if (!searched) {
    search(&the_compiler);
    if (the_compiler.found)
      the_compiler.reason[0] = '\0';
    searched = true;
  }
  pthread_mutex_unlock(&search_lock);
  return &the_compiler;
}
