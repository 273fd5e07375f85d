/*
 * plugin.c - a small vyre plugin: handshake, the one device, and modules, which the system's C
 * compiler makes.  launch.c runs them.
 *
 * It is tier 1 and nothing more: every slot of the other tiers is NULL, and no capability bit
 * claims one.
 */
#include "plugin.h"

#include "prelude.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* vyre_kernel.h and prelude_end.h, in prelude.h by the build; the NUL does not count. */
#define PRELUDE_SIZE (sizeof prelude - 1)

/* ---- errors ---- */

/* True if the record of the caller reaches to the end of a field. */
#define HOLDS(err, field) ((err)->struct_size >= offsetof(vyre_error, field) + sizeof((err)->field))

void template_fail(vyre_error *err, vyre_status code, int64_t system_code, int line,
                   const char *fix, const char *format, ...)
{
  if (!err)
    return;
  if (HOLDS(err, code))
    err->code = code;
  if (HOLDS(err, vendor_code))
    err->vendor_code = system_code;
  if (HOLDS(err, where))
    snprintf(err->where, sizeof err->where, PLUGIN_NAME ":%d", line);
  if (HOLDS(err, message)) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
  }
  if (HOLDS(err, fix))
    snprintf(err->fix, sizeof err->fix, "%s", fix);
}

/* ---- the device ---- */

/* The host of the last handshake; atomic, because handshakes may come from several threads. */
static const vyre_host *the_host;

/* The first executable `cc` of PATH; only absolute folders, the working directory is the host's. */
static bool find_compiler(char out_path[PATH_MAX])
{
  const char *list = secure_getenv("PATH");
  for (const char *part = list ? list : "/usr/bin:/bin"; *part; part += *part == ':') {
    const int length = (int)strcspn(part, ":");
    if (*part == '/' && snprintf(out_path, PATH_MAX, "%.*s/cc", length, part) < PATH_MAX &&
        access(out_path, X_OK) == 0)
      return true;
    part += length;
  }
  return false;
}

static vyre_status device_count(uint32_t *out_count, vyre_error *err)
{
  (void)err;
  *out_count = 1;
  return VYRE_OK;
}

static vyre_status check_index(uint32_t index, vyre_error *err)
{
  return index == 0 ? VYRE_OK
                    : FAIL(err, VYRE_ERROR_NOT_FOUND, "use device 0",
                           "there is no device %u, there is 1", index);
}

static vyre_status device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  vyre_backend_device_info info = {.device_class = VYRE_DEVICE_OTHER,
                                   .name = "vyre plugin template",
                                   .id = PLUGIN_NAME,
                                   .driver = "no compiler",
                                   .max_workgroup_memory = MAX_LOCAL_BYTES,
                                   .max_workgroup = {MAX_ITEMS, MAX_ITEMS, MAX_ITEMS},
                                   .max_workgroup_items = MAX_ITEMS,
                                   .max_groups = {MAX_GROUPS_X, MAX_GROUPS_YZ, MAX_GROUPS_YZ},
                                   .compute_units = 1,
                                   .progress = VYRE_PROGRESS_NONE,
                                   .max_push_bytes = MAX_PUSH_BYTES,
                                   .max_bindings = MAX_BINDINGS,
                                   .persistent_reason = "this plugin has tier 1 only",
                                   .compiler_reason = "there is no cc in PATH",
                                   .grid_sync = VYRE_GRID_SYNC_NONE,
                                   .grid_sync_reason = "this plugin has tier 1 only"};
  char compiler[PATH_MAX];
  vyre_status status = check_index(index, err);
  if (status == VYRE_OK)
    status = CHECK_SIZE(err, out_info, vyre_backend_device_info, VYRE_BACKEND_DEVICE_INFO_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (find_compiler(compiler)) {
    info.capabilities = VYRE_CAP_COMPILER;
    snprintf(info.driver, sizeof info.driver, "%.120s", compiler);
    info.compiler_reason[0] = '\0';
  }
  /* An older host has a shorter structure, a newer one a longer (ABI-002). */
  info.struct_size =
      out_info->struct_size < sizeof info ? out_info->struct_size : (uint32_t)sizeof info;
  memcpy(out_info, &info, info.struct_size);
  return VYRE_OK;
}

static vyre_status device_open(uint32_t index, const vyre_backend_device_options *options,
                               vyre_backend_device **out_device, vyre_error *err)
{
  vyre_status status = check_index(index, err);
  if (status == VYRE_OK && options)
    status =
        CHECK_SIZE(err, options, vyre_backend_device_options, VYRE_BACKEND_DEVICE_OPTIONS_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (options && options->flags)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the flags to 0",
                "unknown device flags 0x%llx", (unsigned long long)options->flags);
  /* Acquire: pairs with the release in vyre_backend_query(). */
  const vyre_host *host = __atomic_load_n(&the_host, __ATOMIC_ACQUIRE);
  vyre_backend_device *device =
      host->allocate(host->self, sizeof *device, _Alignof(vyre_backend_device));
  if (!device)
    return FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "free memory, then try again",
                "no memory for a device");
  device->host = host;
  *out_device = device;
  return VYRE_OK;
}

static void device_close(vyre_backend_device *device)
{
  if (device)
    device->host->deallocate(device->host->self, device);
}

/* ---- modules ---- */

/* A folder of our own with the text, what the compiler says, and what it makes. */
typedef struct workshop {
  char compiler[PATH_MAX];
  char folder[PATH_MAX];
  char source[PATH_MAX + 16], log[PATH_MAX + 16], library[PATH_MAX + 16];
} workshop;

static vyre_status open_workshop(workshop *shop, vyre_error *err)
{
  const char *base = secure_getenv("TMPDIR");
  if (!base || !*base)
    base = "/tmp";
  if (!find_compiler(shop->compiler))
    return FAIL(err, VYRE_ERROR_UNSUPPORTED, "install a C compiler", "there is no cc in PATH");
  if (snprintf(shop->folder, sizeof shop->folder, "%s/vyre-" PLUGIN_NAME "-XXXXXX", base) >=
          PATH_MAX ||
      !mkdtemp(shop->folder))
    return FAIL_SYSTEM(err, VYRE_ERROR_IO, errno, "set TMPDIR to a folder that can be written",
                       "no temporary folder in %s (error %d)", base, errno);
  snprintf(shop->source, sizeof shop->source, "%s/kernel.c", shop->folder);
  snprintf(shop->log, sizeof shop->log, "%s/log", shop->folder);
  snprintf(shop->library, sizeof shop->library, "%s/kernel.so", shop->folder);
  return VYRE_OK;
}

static void close_workshop(const workshop *shop)
{
  unlink(shop->source);
  unlink(shop->log);
  unlink(shop->library);
  rmdir(shop->folder);
}

/* The text is the prelude, then the author's (KRN-001); it need not end in NUL. */
static vyre_status write_source(const workshop *shop, const vyre_module_desc *desc, vyre_error *err)
{
  FILE *file = fopen(shop->source, "wxe");
  bool good = file && fputs("#line 1 \"prelude\"\n", file) >= 0 &&
              fwrite(desc->data, 1, desc->size, file) == desc->size && putc('\n', file) != EOF;
  const int number = errno;
  if (file && fclose(file))
    good = false;
  return good ? VYRE_OK
              : FAIL_SYSTEM(err, VYRE_ERROR_IO, number,
                            "free space, or set TMPDIR to another folder",
                            "%s could not be written (error %d)", shop->source, number);
}

/*
 * Entries without barriers run plainly and need no stack for each item.  A word in a comment only
 * costs time.
 */
static bool has_barrier(const vyre_module_desc *desc)
{
  static const char word[] = "vyre_barrier";
  const char *text = desc->data;
  uint64_t skip = 0;
  if (desc->size >= PRELUDE_SIZE && !memcmp(text, prelude, PRELUDE_SIZE))
    skip = PRELUDE_SIZE;
  return memmem(text + skip, desc->size - skip, word, sizeof word - 1) != NULL;
}

/* Starts the compiler without a shell; its output goes to the log.  The error of posix_spawn(). */
static int spawn_compiler(const workshop *shop, const vyre_module_desc *desc, pid_t *out_child)
{
  const char *const arguments[] = {
      shop->compiler, "-x", "c", "-std=c11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
      /* LANG-002: nothing is contracted.  Buffers of bytes are also read by words. */
      "-ffp-contract=off", "-fno-strict-aliasing",
      /* A word that does not exist is the compiler's complaint, with a line (KRN-003). */
      "-Werror=implicit-function-declaration", "-Wl,-z,defs",
      has_barrier(desc) ? "-DVYRE_HAS_BARRIER=1" : "-DVYRE_HAS_BARRIER=0",
      desc->flags & VYRE_MODULE_DEBUG ? "-DVYRE_DEBUG=1" : "-DVYRE_DEBUG=0", "-o", shop->library,
      shop->source, "-lm", NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  int failure = posix_spawn_file_actions_init(&files);
  if (failure)
    return failure;
  failure = posix_spawnattr_init(&attributes);
  if (failure) {
    posix_spawn_file_actions_destroy(&files);
    return failure;
  }
  /* The host may block signals or ignore SIGCHLD: the compiler waits for its own children. */
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGCHLD);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  failure = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (!failure)
    failure = posix_spawn_file_actions_addopen(&files, 1, shop->log, O_WRONLY | O_CREAT, 0600);
  if (!failure)
    failure = posix_spawn_file_actions_adddup2(&files, 1, 2);
  if (!failure)
    failure = posix_spawn(out_child, shop->compiler, &files, &attributes,
                          (char *const *)(uintptr_t)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure;
}

/* The beginning of what the compiler said. */
static void read_log(const workshop *shop, char out_text[VYRE_ERROR_MESSAGE_SIZE])
{
  FILE *file = fopen(shop->log, "re");
  const size_t size = file ? fread(out_text, 1, VYRE_ERROR_MESSAGE_SIZE - 1, file) : 0;
  out_text[size] = '\0';
  if (file)
    fclose(file);
}

static vyre_status compile(const workshop *shop, const vyre_module_desc *desc, vyre_error *err)
{
  const char *name = desc->name ? desc->name : "kernel";
  char log[VYRE_ERROR_MESSAGE_SIZE];
  pid_t child = -1, got = -1;
  int state = 0;
  const int failure = spawn_compiler(shop, desc, &child);
  if (failure)
    return FAIL_SYSTEM(err, VYRE_ERROR_COMPILE_FAILED, failure,
                       "free memory or processes, then try again",
                       "%s: %s could not be started (error %d)", name, shop->compiler, failure);
  do
    got = waitpid(child, &state, 0);
  while (got < 0 && errno == EINTR);
  /* In a host that ignores SIGCHLD there is no state: then the file tells. */
  if (got == child ? state == 0 : access(shop->library, R_OK) == 0)
    return VYRE_OK;
  read_log(shop, log);
  return FAIL_SYSTEM(err, VYRE_ERROR_COMPILE_FAILED, state,
                     "correct the source: the message has its own lines", "%s: %s", name,
                     log[0] ? log : "the compiler failed and said nothing");
}

static vyre_status check_module(const vyre_module_desc *desc, vyre_error *err)
{
  const vyre_status status = CHECK_SIZE(err, desc, vyre_module_desc, VYRE_MODULE_DESC_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (strcmp(desc->format, "vyre-c") != 0)
    return FAIL(err, VYRE_ERROR_MODULE_FORMAT, "give the text of the kernel",
                "the format is '%.64s', this plugin takes: vyre-c", desc->format);
  if (desc->flags & ~(uint64_t)VYRE_MODULE_DEBUG)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use the flags of the negotiated version",
                "unknown module flags 0x%llx", (unsigned long long)desc->flags);
  return VYRE_OK;
}

static vyre_status module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                               vyre_backend_module **out_module, vyre_error *err)
{
  const vyre_host *host = device->host;
  vyre_backend_module *module = NULL;
  workshop shop;
  vyre_status status = check_module(desc, err);
  if (status == VYRE_OK)
    status = open_workshop(&shop, err);
  if (status != VYRE_OK)
    return status;
  status = write_source(&shop, desc, err);
  if (status == VYRE_OK)
    status = compile(&shop, desc, err);
  if (status != VYRE_OK)
    goto done;
  module = host->allocate(host->self, sizeof *module, _Alignof(vyre_backend_module));
  if (!module) {
    status = FAIL(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "free memory, then try again",
                  "no memory for a module");
    goto done;
  }
  module->host = host;
  module->library = dlopen(shop.library, RTLD_NOW | RTLD_LOCAL);
  if (!module->library) {
    const char *reason = dlerror();
    status = FAIL(err, VYRE_ERROR_MODULE_FORMAT, "set TMPDIR to a folder from which code may run",
                  "%s", reason ? reason : "dlopen() gave no reason");
    host->deallocate(host->self, module);
    goto done;
  }
  *out_module = module;

done:
  close_workshop(&shop);
  return status;
}

static void module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  (void)device;
  if (!module)
    return;
  dlclose(module->library);
  module->host->deallocate(module->host->self, module);
}

static vyre_status kernel_find(vyre_backend_module *module, const char *name,
                               vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                               vyre_error *err)
{
  const vyre_kernel_info info = {sizeof info, MAX_ITEMS, 0};
  char symbol[512];
  if (out_info) {
    const vyre_status status =
        CHECK_SIZE(err, out_info, vyre_kernel_info, VYRE_KERNEL_INFO_SIZE_0_1);
    if (status != VYRE_OK)
      return status;
  }
  void *entry = NULL;
  if (snprintf(symbol, sizeof symbol, "vyre_entry_%s", name) < (int)sizeof symbol)
    entry = dlsym(module->library, symbol);
  if (!entry)
    return FAIL(err, VYRE_ERROR_NOT_FOUND, "give the name of a segment of the source",
                "the module has no entry '%s'", name);
  if (out_info)
    memcpy(out_info, &info, sizeof info); /* all of its fields are of 0.1 */
  *out_kernel = entry;
  return VYRE_OK;
}

/* ---- the handshake ---- */

/* How this file is compiled: a host without that runtime must not load it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER VYRE_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define SANITIZER VYRE_SANITIZER_THREAD
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZER VYRE_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER VYRE_SANITIZER_THREAD
#endif
#ifndef SANITIZER
#define SANITIZER VYRE_SANITIZER_NONE
#endif

static const vyre_backend_format formats[] = {{sizeof formats[0], 0, "vyre-c", ""}};

/* Slots that are not named are NULL: not supported. */
static const vyre_backend table = {VYRE_BACKEND_HEADER,
                                   .flags = VYRE_BACKEND_MAY_UNLOAD,
                                   .sanitizer = SANITIZER,
                                   .format_count = sizeof formats / sizeof formats[0],
                                   .name = PLUGIN_NAME,
                                   .version = PLUGIN_VERSION,
                                   .vendor = "you",
                                   .build_id = "",
                                   .formats = formats,
                                   .format_stride = sizeof formats[0],
                                   .prelude = prelude,
                                   .prelude_size = PRELUDE_SIZE,
                                   .device_count = device_count,
                                   .device_info = device_info,
                                   .device_open = device_open,
                                   .device_close = device_close,
                                   .module_load = module_load,
                                   .module_unload = module_unload,
                                   .kernel_find = kernel_find,
                                   .dispatch = template_dispatch,
                                   .pending_wait = template_pending_wait,
                                   .pending_read = template_pending_read,
                                   .pending_release = template_pending_release};

/* One version, that of the header: ABI-021 and ABI-022 are then kept by one constant table. */
vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  const vyre_status status = CHECK_SIZE(err, host, vyre_host, VYRE_HOST_SIZE_0_1);
  if (status != VYRE_OK)
    return status;
  if (host->flags)
    return FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the host's flags to 0",
                "unknown host flags 0x%llx", (unsigned long long)host->flags);
  if (host->abi_major != VYRE_ABI_MAJOR || host->abi_minor_min > VYRE_ABI_MINOR ||
      host->abi_minor_max < VYRE_ABI_MINOR)
    return FAIL(err, VYRE_ERROR_ABI_MISMATCH, "install a plugin for the host's version",
                "this plugin speaks ABI %u.%u, the host %u.%u to %u.%u", VYRE_ABI_MAJOR,
                VYRE_ABI_MINOR, host->abi_major, host->abi_minor_min, host->abi_major,
                host->abi_minor_max);
  /* Release: pairs with the acquire in device_open(). */
  __atomic_store_n(&the_host, host, __ATOMIC_RELEASE);
  *out_backend = &table;
  return VYRE_OK;
}
