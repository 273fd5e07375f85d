/*
 * offline.c - from `vyre-c` text to a code object, by clang; see offline.h.
 */
#include "plugins/hip/offline.h"

#include "plugins/common/cache.h"
#include "plugins/common/error.h"
#include "plugins/common/host.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "VYRE_HIP_CC"
#define DEBIAN "apt-get install clang-22 lld-22"
#define LOG_BYTES 65536u
#define MAX_ARGUMENTS 32u

/* The only state: fixed in size, filled once. */
static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static bool searched;
static vyre__plugin_program the_compiler;

/* A bare object of a version that ROCm takes since 5.2. */
const char *const vyre__hip_offline_options[] = {
    "-x",        "hip",       "--cuda-device-only",      "--no-gpu-bundle-output",
    "-nogpulib", "-nogpuinc", "-mcode-object-version=5", NULL};

static void search(vyre__plugin_program *compiler)
{
  const char *wanted = vyre__plugin_environment(VARIABLE);
  vyre__plugin_program_note(compiler, "no clang for AMD GPUs; tried");
  if (!vyre__plugin_program_try(compiler, wanted ? wanted : "clang-22"))
    vyre__plugin_program_note(compiler, wanted ? " set " VARIABLE " to a clang, or unset it"
                                               : " install one (Debian: " DEBIAN
                                                 ") or set " VARIABLE);
}

const vyre__plugin_program *vyre__hip_offline_find(void)
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

/* -------- one compile -------- */

static vyre_status write_source(const char *path, const char *source, vyre_error *err)
{
  FILE *file = fopen(path, "wxe");
  /* Lines before the first #line of the text are the prelude's. */
  bool written = file && fputs("#line 1 \"vyre-c\"\n", file) >= 0 && fputs(source, file) >= 0;
  const int number = errno;
  if (file && fclose(file) != 0)
    written = false;
  if (written)
    return VYRE_OK;
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_IO, number, NULL, "%s could not be written (error %d)",
                            path, number);
}

static vyre_status judge(const vyre__plugin_program *compiler, const char *name,
                         const vyre__plugin_run *run, vyre_error *err)
{
  const bool failed = run->started && !run->timed_out && run->exit_code != 0;
  if (failed && (strstr(run->log, "unsupported HIP gpu architecture") ||
                 strstr(run->log, "invalid target ID")))
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_MODULE_FORMAT, run->exit_code,
                              "name another clang in " VARIABLE, "%s: %s", name, run->log);
  /* Without its own linker it takes an older one, which knows neither options nor machine. */
  if (failed && (strstr(run->log, "lld: error: unknown") || strstr(run->log, "\"lld\" doesn't")))
    return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_VENDOR_LIBRARY, run->exit_code,
                              "install the lld of the same version (Debian: " DEBIAN ")",
                              "%s: %s has no linker: %s", name, compiler->path, run->log);
  return vyre__plugin_compiler_judge(name, compiler->path, run, err);
}

static vyre_status run_compiler(const vyre__plugin_program *compiler, const vyre_host *host,
                                const char *name, const char *const *options, uint32_t option_count,
                                const char *input, const char *output, vyre_error *err)
{
  const char *arguments[MAX_ARGUMENTS];
  const uint32_t room = MAX_ARGUMENTS - 4; /* files, and the NULL */
  uint32_t count = 0;
  char *log = vyre__plugin_allocate(host, LOG_BYTES, 1);
  if (!log)
    return PLUGIN_FAIL_MEMORY(err, "the compiler's log");
  arguments[count++] = compiler->path;
  for (uint32_t i = 0; vyre__hip_offline_options[i]; ++i)
    arguments[count++] = vyre__hip_offline_options[i];
  for (uint32_t i = 0; i < option_count && count < room; ++i)
    arguments[count++] = options[i];
  arguments[count++] = "-o";
  arguments[count++] = output;
  arguments[count++] = input;
  arguments[count] = NULL;
  vyre__plugin_run run = {.log = log, .log_size = LOG_BYTES};
  vyre__plugin_run_program((char *const *)arguments, vyre__plugin_compiler_limit_ns(), &run);
  const vyre_status status = judge(compiler, name, &run, err);
  vyre__plugin_deallocate(host, log);
  return status;
}

/* The object, in memory from the host. */
static vyre_status fetch(const vyre__plugin_program *compiler, const vyre_host *host,
                         const char *name, const char *path, vyre_blob *out_blob, vyre_error *err)
{
  uint64_t size = 0;
  void *data = vyre__plugin_file_read(host, path, 0, &size);
  if (!data && access(path, R_OK) == 0)
    return PLUGIN_FAIL_MEMORY(err, "compiled code");
  if (!data || size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0) {
    vyre__plugin_deallocate(host, data);
    return PLUGIN_FAIL(err, VYRE_ERROR_COMPILE_FAILED, "set " VARIABLE " to a working clang",
                       "%s: %s made no code object", name, compiler->path);
  }
  out_blob->data = data;
  out_blob->size = size;
  return VYRE_OK;
}

vyre_status vyre__hip_offline_compile(const vyre__plugin_program *compiler, const vyre_host *host,
                                      const char *source, const char *name,
                                      const char *const *options, uint32_t option_count,
                                      vyre_blob *out_blob, vyre_error *err)
{
  static const char *const files[] = {"kernel.hip", "kernel.hsaco", NULL};
  char folder[PATH_MAX], input[PATH_MAX], output[PATH_MAX];
  vyre_status status = vyre__plugin_temporary_make(folder, sizeof(folder), err);
  if (status != VYRE_OK)
    return status;
  snprintf(input, sizeof(input), "%.*s/%s", PATH_MAX - 16, folder, files[0]);
  snprintf(output, sizeof(output), "%.*s/%s", PATH_MAX - 16, folder, files[1]);
  status = write_source(input, source, err);
  if (status == VYRE_OK)
    status = run_compiler(compiler, host, name, options, option_count, input, output, err);
  if (status == VYRE_OK)
    status = fetch(compiler, host, name, output, out_blob, err);
  if (vyre__plugin_environment("VYRE_KEEP_TEMPS"))
    vyre__plugin_log(host, VYRE_LOG_INFO, "hip: %s is kept in %s", name, folder);
  else
    vyre__plugin_temporary_remove(folder, files);
  return status;
}
