/*
 * compile.c - from `vyre-c` text to a native container: the cache, then the system's compiler in a
 * folder of its own.
 */
#include "compile.h"

#include "compiler.h"
#include "container.h"
#include "device.h"
#include "plugins/common/cache.h"
#include "plugins/common/error.h"
#include "plugins/common/program.h"
#include "plugins/common/text.h"
#include "sanitizer.h"
#include "trap.h"

#include "embed/vyre__kernel_header.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS 40
#define LOG_BYTES 65536u
#define KERNEL "vyren" /* what the names of cached kernels end in */
#define KNOWN_FLAGS VYRE_MODULE_DEBUG

/* Changes when something about the way of compiling does that the arguments do not show. */
#define RECIPE "vyre cpu recipe 1"

/* Identifiers of a kernel that may wait for something outside its launch: it must not run in the
   thread that calls dispatch(). */
static const char *const waiting_words[] = {"vyre_backoff",
                                            "vyre_pause",
                                            "vyre_clock_ns",
                                            "vyre_atomic_load_u32",
                                            "vyre_atomic_load_u64",
                                            "vyre_atomic_exchange_u32",
                                            "vyre_atomic_cas_u32",
                                            "vyre_atomic_cas_u64",
                                            "vyre_atomic_exchange_u64",
                                            NULL};
static const char *const barrier_words[] = {"vyre_barrier", NULL};

/* The compiler's command line without the files. */
typedef struct options {
  const char *arguments[MAX_ARGUMENTS];
  uint32_t count;
} options;

static void add(options *list, const char *argument)
{
  if (list->count < MAX_ARGUMENTS)
    list->arguments[list->count++] = argument;
}

/* True if the author's part of the text, behind our prelude, uses one of the words. */
static bool uses(const vyre__cpu_source *source, const char *const *words)
{
  uint64_t skip = 0;
  if (source->size >= vyre__kernel_header_size &&
      memcmp(source->text, vyre__kernel_header, vyre__kernel_header_size) == 0)
    skip = vyre__kernel_header_size;
  return vyre__plugin_text_has_word(source->text + skip, source->size - skip, words);
}

/* Flags of every kernel. */
static const char *const common_options[] = {
    "-x", "c", "-std=c11", "-fPIC", "-shared",
    /* Bit-equal everywhere: no contraction.  The others allow vector code and change no result:
       kernels see neither errno nor traps. */
    "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
    "-fvisibility=hidden",
    /* The common subset with C++, where these are errors. */
    "-Werror=implicit-function-declaration", "-Werror=implicit-int", "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types", "-Werror=return-type"};

/* Checked arithmetic that ends the launch (trap.h).  The library of the checks is left out: the
   text brings its own. */
static const char *const debug_options[] = {
    "-O1",
    "-g",
    "-DVYRE_DEBUG=1",
    "-fsanitize=shift,signed-integer-overflow,integer-divide-by-zero",
    "-fno-sanitize-recover=shift,signed-integer-overflow,integer-divide-by-zero",
    "-nodefaultlibs"};

#define ADD_ALL(list, array)                                                                       \
  for (size_t i = 0; i < sizeof(array) / sizeof((array)[0]); ++i)                                  \
  add((list), (array)[i])

static void choose_options(const vyre__cpu_source *source, options *list)
{
  ADD_ALL(list, common_options);
  add(list, source->level->flag);
#if defined(VYRE__CPU_SANITIZER_FLAG)
  add(list, VYRE__CPU_SANITIZER_FLAG);
  add(list, "-fno-omit-frame-pointer");
#else
  add(list, "-Wl,--no-undefined");
#endif
  if (source->flags & VYRE_MODULE_DEBUG) {
    ADD_ALL(list, debug_options);
  } else {
    add(list, "-O3");
#if defined(VYRE__CPU_ASAN)
    add(list, "-fsanitize=undefined");
    add(list, "-fno-sanitize-recover=all");
#endif
  }
  if (uses(source, barrier_words))
    add(list, "-DVYRE_HAS_BARRIER=1");
  if (uses(source, waiting_words))
    add(list, "-DVYRE_MAY_WAIT=1");
}

/* -------- the key -------- */

static void hash_text(vyre__plugin_sha256 *hash, const char *text)
{
  vyre__plugin_sha256_add(hash, text, strlen(text) + 1);
}

static void make_key(const vyre__cpu_source *source, const vyre__plugin_program *compiler,
                     const options *list, unsigned char *out_key)
{
  uint64_t numbers[] = {
      VYRE_NATIVE_ABI,     VYRE__CPU_CONTAINER_VERSION, VYRE__CPU_SANITIZER,  source->size,
      compiler->file_size, compiler->file_time_ns,      compiler->file_inode, source->flags};
  vyre__plugin_sha256 hash;
  vyre__plugin_sha256_init(&hash);
  hash_text(&hash, RECIPE);
  hash_text(&hash, VYRE__CPU_TRAP_TEXT);
  vyre__plugin_sha256_add(&hash, numbers, sizeof(numbers));
  hash_text(&hash, source->level->name);
  hash_text(&hash, compiler->path);
  hash_text(&hash, compiler->version);
  for (uint32_t i = 0; i < list->count; ++i)
    hash_text(&hash, list->arguments[i]);
  vyre__plugin_sha256_add(&hash, source->text, source->size);
  vyre__plugin_sha256_final(&hash, out_key);
}

/* -------- the folder -------- */

void vyre__cpu_temporary_remove(const char *path)
{
  static const char *const names[] = {"kernel.c", "kernel.so", NULL};
  vyre__plugin_temporary_remove(path, names);
}

static vyre_status write_source(const vyre__cpu_source *source, const char *path, vyre_error *err)
{
  FILE *file = fopen(path, "wxe");
  bool written = file != NULL;
  if (written && (source->flags & VYRE_MODULE_DEBUG))
    written = fputs(VYRE__CPU_TRAP_TEXT, file) >= 0;
  /* Lines before the first #line of the text are the prelude's. */
  written = written && fputs("#line 1 \"vyre-c\"\n", file) >= 0 &&
            fwrite(source->text, 1, source->size, file) == source->size && fputc('\n', file) >= 0;
  int number = errno;
  if (file && fclose(file) != 0)
    written = false;
  if (written)
    return VYRE_OK;
  return PLUGIN_FAIL_VENDOR(err, VYRE_ERROR_IO, number, NULL, "%s could not be written (error %d)",
                            path, number);
}

/* -------- the compiler -------- */

/* Compiles kernel.c in `folder` to kernel.so. */
static vyre_status run_compiler(const vyre__cpu_source *source,
                                const vyre__plugin_program *compiler, const options *list,
                                const char *input, const char *output, vyre_error *err)
{
  const char *arguments[MAX_ARGUMENTS + 8];
  uint32_t count = 0;
  char *log = vyre__plugin_allocate(source->host, LOG_BYTES, 1);
  if (!log)
    return PLUGIN_FAIL_MEMORY(err, "the compiler's log");
  arguments[count++] = compiler->path;
  for (uint32_t i = 0; i < list->count; ++i)
    arguments[count++] = list->arguments[i];
  arguments[count++] = "-o";
  arguments[count++] = output;
  arguments[count++] = input;
  arguments[count++] = "-lm";
  arguments[count++] = "-lc";
  arguments[count] = NULL;
  vyre__plugin_run run = {.log = log, .log_size = LOG_BYTES};
  vyre__plugin_run_program((char *const *)arguments, vyre__plugin_compiler_limit_ns(), &run);
  vyre_status status = vyre__plugin_compiler_judge(source->name, compiler->path, &run, err);
  vyre__plugin_deallocate(source->host, log);
  return status;
}

static vyre_status build(const vyre__cpu_source *source, const vyre__plugin_program *compiler,
                         const options *list, const unsigned char *key, void **out_data,
                         uint64_t *out_size, vyre_error *err)
{
  char folder[PATH_MAX], input[PATH_MAX], output[PATH_MAX];
  vyre_status status = vyre__plugin_temporary_make(folder, sizeof(folder), err);
  if (status != VYRE_OK)
    return status;
  snprintf(input, sizeof(input), "%.*s/kernel.c", PATH_MAX - 16, folder);
  snprintf(output, sizeof(output), "%.*s/kernel.so", PATH_MAX - 16, folder);
  status = write_source(source, input, err);
  if (status == VYRE_OK)
    status = run_compiler(source, compiler, list, input, output, err);
  if (status != VYRE_OK)
    goto done;
  void *data = vyre__plugin_file_read(source->host, output, sizeof(vyre__cpu_container), out_size);
  if (!data) {
    status = access(output, R_OK) == 0 ? PLUGIN_FAIL_MEMORY(err, "compiled code")
                                       : PLUGIN_FAIL(err, VYRE_ERROR_COMPILE_FAILED,
                                                     "set VYRE_CC to a working C compiler",
                                                     "%s: the compiler %s made no shared object",
                                                     source->name, compiler->path);
    goto done;
  }
  vyre__cpu_container_seal(data, source->level->name, key, *out_size - sizeof(vyre__cpu_container));
  *out_data = data;

done:
  if (vyre__plugin_environment("VYRE_KEEP_TEMPS"))
    vyre__plugin_log(source->host, VYRE_LOG_INFO, "cpu: %s is kept in %s", source->name, folder);
  else
    vyre__cpu_temporary_remove(folder);
  return status;
}

/* A container that was cached under the key.  A compile for another level is cached too, so that
   only a whole one with this key counts; whether it fits is for whoever loads it. */
static void *get_cached(const vyre_host *host, const unsigned char *key, uint64_t *out_size)
{
  void *data = vyre__plugin_cache_get(host, key, KERNEL, out_size);
  if (data && !vyre__cpu_container_is_whole(data, *out_size, key)) {
    vyre__plugin_log(host, VYRE_LOG_DEBUG, "cpu: a cached kernel is damaged and is made again");
    vyre__plugin_deallocate(host, data);
    data = NULL;
  }
  return data;
}

vyre_status vyre__cpu_compile_source(const vyre__cpu_source *source, void **out_data,
                                     uint64_t *out_size, vyre_error *err)
{
  unsigned char key[VYRE__HASH_SIZE];
  options list = {.count = 0};
  if (source->flags & ~(uint64_t)KNOWN_FLAGS)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                       "%s: unknown module flags 0x%llx", source->name,
                       (unsigned long long)source->flags);
  if (source->size && !source->text)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the text", "%s: the text is NULL",
                       source->name);
  const vyre__plugin_program *compiler = vyre__cpu_compiler_find();
  if (!compiler->found)
    return PLUGIN_FAIL(
        err, VYRE_ERROR_UNSUPPORTED,
        "install a C compiler (Debian: apt-get install gcc libc6-dev), set VYRE_CC, or "
        "use kernels built ahead of time (`vyre compile`)",
        "%s: %s", source->name, compiler->reason);
  choose_options(source, &list);
  make_key(source, compiler, &list, key);
  *out_data = get_cached(source->host, key, out_size);
  if (*out_data)
    return VYRE_OK;
  vyre_status status = build(source, compiler, &list, key, out_data, out_size, err);
  if (status == VYRE_OK)
    vyre__plugin_cache_put(source->host, key, KERNEL, *out_data, *out_size);
  return status;
}

vyre_status vyre__cpu_compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err)
{
  void *data = NULL;
  uint64_t size = 0;
  vyre_status status = PLUGIN_CHECK_SIZE(err, desc, vyre_compile_desc, VYRE_COMPILE_DESC_SIZE_0_1);
  if (status == VYRE_OK)
    status = PLUGIN_CHECK_SIZE(err, out_blob, vyre_blob, VYRE_BLOB_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  vyre__cpu_source source = {.host = vyre__plugin_host(),
                             .text = desc->source,
                             .size = desc->source_size,
                             .name = desc->name ? desc->name : "kernel",
                             .level = vyre__cpu_level_find(desc->arch),
                             .flags = desc->flags};
  if (!desc->format || strcmp(desc->format, "native") != 0 || !source.level)
    return PLUGIN_FAIL(
        err, VYRE_ERROR_MODULE_FORMAT, "ask for \"native\" and a level of this kind of processor",
        "%s: the cpu device makes \"native\" for %s and better levels, not \"%s\" for "
        "\"%s\"",
        source.name, vyre__cpu_level_find("")->name, desc->format ? desc->format : "(null)",
        desc->arch ? desc->arch : "");
  status = vyre__cpu_compile_source(&source, &data, &size, err);
  if (status != VYRE_OK)
    return status;
  out_blob->data = data;
  out_blob->size = size;
  if (out_blob->struct_size > sizeof(*out_blob))
    out_blob->struct_size = sizeof(*out_blob);
  return VYRE_OK;
}
