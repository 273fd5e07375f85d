/*
 * program.c - the search for a compiler that is a program, and what its end means; see program.h.
 */
#include "plugins/common/program.h"

#include "plugins/common/cache.h"
#include "plugins/common/error.h"
#include "plugins/common/host.h"
#include "plugins/common/sha256.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_LIMIT_NS 10000000000ull
#define DEFAULT_LIMIT_S 120u

/* -------- looking for one -------- */

void vyre__plugin_program_note(vyre__plugin_program *program, const char *format, ...)
{
  size_t used = strlen(program->reason);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(program->reason + used, sizeof(program->reason) - used, format, arguments);
  va_end(arguments);
}

/* Runs it and stores the first line that it says about itself; false if it does not run. */
static bool run_version(vyre__plugin_program *program)
{
  char log[1024];
  char option[] = "--version";
  char *arguments[] = {program->path, option, NULL};
  vyre__plugin_run run = {.log = log, .log_size = sizeof(log)};
  vyre__plugin_run_program(arguments, VERSION_LIMIT_NS, &run);
  if (!run.started || run.timed_out || run.exit_code != 0 || !log[0])
    return false;
  snprintf(program->version, sizeof(program->version), "%.*s", (int)strcspn(log, "\n"), log);
  return true;
}

/*
 * The same, from the cache if this very file has been asked before: a compiler takes from one
 * millisecond to hundreds to say its version, and a cached kernel needs nothing else of it.
 */
static bool ask_version(vyre__plugin_program *program)
{
  uint64_t numbers[] = {program->file_size, program->file_time_ns, program->file_inode};
  unsigned char key[VYRE__HASH_SIZE];
  vyre__plugin_sha256 hash;
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, "compiler", sizeof("compiler"));
  vyre__plugin_sha256_add(&hash, numbers, sizeof(numbers));
  vyre__plugin_sha256_add(&hash, program->path, strlen(program->path));
  vyre__plugin_sha256_final(&hash, key);
  if (vyre__plugin_cache_get_text(key, program->version, sizeof(program->version)))
    return true;
  if (!run_version(program))
    return false;
  vyre__plugin_cache_put_text(key, program->version);
  return true;
}

static bool try_path(vyre__plugin_program *program, const char *path)
{
  struct stat file;
  if (strlen(path) >= sizeof(program->path) || stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
      access(path, X_OK) != 0)
    return false;
  memcpy(program->path, path, strlen(path) + 1);
  program->file_size = (uint64_t)file.st_size;
  program->file_time_ns =
      (uint64_t)file.st_mtim.tv_sec * 1000000000u + (uint64_t)file.st_mtim.tv_nsec;
  program->file_inode = (uint64_t)file.st_ino;
  program->found = ask_version(program);
  if (!program->found)
    vyre__plugin_program_note(program, " %s (does not run);", path);
  return program->found;
}

bool vyre__plugin_program_try(vyre__plugin_program *program, const char *name)
{
  char path[PATH_MAX];
  if (strchr(name, '/')) {
    if (try_path(program, name))
      return true;
    vyre__plugin_program_note(program, " %s;", name);
    return false;
  }
  const char *list = vyre__plugin_environment("PATH");
  for (const char *part = list ? list : VYRE__PLUGIN_SAFE_PATH; *part;) {
    int length = (int)strcspn(part, ":");
    /* Only absolute directories: the working directory is the host's, and may be anybody's. */
    if (*part == '/' &&
        snprintf(path, sizeof(path), "%.*s/%s", length, part, name) < (int)sizeof(path) &&
        try_path(program, path))
      return true;
    part += length;
    part += *part == ':';
  }
  vyre__plugin_program_note(program, " %s;", name);
  return false;
}

/* -------- one run -------- */

uint64_t vyre__plugin_compiler_limit_ns(void)
{
  const char *given = vyre__plugin_environment("VYRE_CC_TIMEOUT");
  unsigned long seconds = given ? strtoul(given, NULL, 10) : 0;
  if (seconds < 1 || seconds > 86400)
    seconds = DEFAULT_LIMIT_S;
  return (uint64_t)seconds * 1000000000u;
}

vyre_status vyre__plugin_compiler_judge(const char *name, const char *path,
                                        const vyre__plugin_run *run, vyre_error *err)
{
  if (!run->started)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_COMPILE_FAILED, run->error_number,
                              "free memory or processes, then try again",
                              "%s: the compiler %s could not be started (error %d)", name, path,
                              run->error_number);
  if (run->timed_out)
    return PLUGIN_FAIL(err, VYRE_ERROR_COMPILE_FAILED,
                       "make the kernel smaller, or set VYRE_CC_TIMEOUT to more seconds",
                       "%s: the compiler %s had not ended after %llu s", name, path,
                       (unsigned long long)(vyre__plugin_compiler_limit_ns() / 1000000000u));
  if (run->exit_code != 0)
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_COMPILE_FAILED,
                              run->signal ? run->signal : run->exit_code, NULL, "%s: %s%s", name,
                              run->log,
                              run->log[0]   ? ""
                              : run->signal ? "the compiler was killed"
                                            : "the compiler failed and said nothing");
  return VYRE_OK;
}

/* -------- the folder -------- */

vyre_status vyre__plugin_temporary_make(char *out_path, size_t size, vyre_error *err)
{
  const char *base = vyre__plugin_environment("TMPDIR");
  /* Room for the names of the files. */
  if (snprintf(out_path, size, "%s/vyre-XXXXXX", base ? base : "/tmp") >= (int)size - 16 ||
      !mkdtemp(out_path))
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_IO, errno,
                              "set TMPDIR to a folder that can be written",
                              "no temporary folder in %s (error %d)", base ? base : "/tmp", errno);
  return VYRE_OK;
}

void vyre__plugin_temporary_remove(const char *path, const char *const *names)
{
  char file[PATH_MAX];
  for (size_t i = 0; names[i]; ++i)
    if (snprintf(file, sizeof(file), "%s/%s", path, names[i]) < (int)sizeof(file))
      unlink(file);
  rmdir(path);
}
