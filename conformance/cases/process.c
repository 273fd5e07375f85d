/* process.c - what a plugin does to the process that loads it: nothing. */
#include "conformance/steps.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A whole life: load, open, work, close; the plugin stays loaded. */
static void live(conform *c)
{
  conform_load(c);
  conform_open(c);
  conform_tour(c);
  conform_close(c);
}

/* What a vendor's library does once and for good when it is opened is its own. */
static void let_vendor_open(conform *c)
{
  if (!(conform_load(c)->flags & VYRE_BACKEND_MAY_UNLOAD))
    live(c);
}

/* ---- environment ---- */

static uint64_t environment_hash(void)
{
  uint64_t hash = 0xcbf29ce484222325u;
  for (char **entry = environ; *entry; ++entry)
    for (const char *byte = *entry;; ++byte) {
      hash = (hash ^ (unsigned char)*byte) * 0x100000001b3u;
      if (!*byte)
        break;
    }
  return hash;
}

static void run_environment(conform *c)
{
  char before[4096], after[4096];
  const mode_t mask = umask(0);
  umask(mask);
  let_vendor_open(c);
  const uint64_t variables = environment_hash();
  char **const list = environ;
  CHECK(c, getcwd(before, sizeof before), "no working directory");
  live(c);
  CHECK(c, environment_hash() == variables && environ == list,
        "the environment was written (ABI-010)");
  CHECK(c, getcwd(after, sizeof after) && !strcmp(before, after),
        "the working directory was changed (ABI-013)");
  const mode_t now = umask(mask);
  CHECK(c, now == mask, "the umask was changed (ABI-013)");
}

/* ---- signals ---- */

#define RESTORER 0x04000000 /* SA_RESTORER, a bit of the C library's own */

static void run_signals(conform *c)
{
  static struct sigaction before[65], now;
  sigset_t mask, mask_now;
  stack_t stack, stack_now;
  for (int number = 1; number < 65; ++number)
    sigaction(number, NULL, &before[number]);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  sigaltstack(NULL, &stack);
  live(c);
  for (int number = 1; number < 65; ++number) {
    if (sigaction(number, NULL, &now))
      continue;
    /* The C library marks what was ever set: handlers that were put back are as they were. */
    now.sa_flags = (now.sa_flags & ~RESTORER) | (before[number].sa_flags & RESTORER);
    CHECK(c, now.sa_handler == before[number].sa_handler && now.sa_flags == before[number].sa_flags,
          "a handler of signal %d was installed (ABI-010)", number);
  }
  pthread_sigmask(SIG_SETMASK, NULL, &mask_now);
  for (int number = 1; number < 65; ++number)
    CHECK(c, sigismember(&mask, number) == sigismember(&mask_now, number),
          "the caller's mask of signal %d was changed (ABI-013)", number);
  sigaltstack(NULL, &stack_now);
  CHECK(c, stack.ss_sp == stack_now.ss_sp, "the caller's signal stack was changed (ABI-013)");
}

static void run_rounding(conform *c)
{
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  live(c);
  CHECK(c, fegetround() == FE_TONEAREST, "the rounding mode was changed (ABI-013)");
  for (uint32_t i = 0; i < COUNT_OF(modes); ++i) {
    fesetround(modes[i]);
    live(c);
    CHECK(c, fegetround() == modes[i], "the caller's rounding mode was changed (ABI-013)");
  }
}

/* ---- what stays ---- */

static void run_leftovers(conform *c)
{
  uint32_t threads = 0, descriptors = 0;
  /* What opens once and stays for good (a vendor's library) is not what a close leaves. */
  live(c);
  threads = conform_threads_settle(1);
  descriptors = conform_descriptors();
  live(c);
  CHECK(c, conform_threads_settle(threads) <= threads,
        "%u threads are there after the last device is closed, %u before (ABI-014)",
        conform_threads(), threads);
  /* A vendor's library that stays may keep some of its own. */
  CHECK(c, threads == 1 || !(conform_load(c)->flags & VYRE_BACKEND_MAY_UNLOAD),
        "%u threads are left after the last device is closed (ABI-014)", threads - 1);
  CHECK(c, conform_descriptors() == descriptors, "file descriptors are left open (ABI-014)");
  CHECK(c, !conform_live_blocks(c), "%llu blocks of the host are left in use (ABI-014)",
        (unsigned long long)conform_live_blocks(c));
}

static void run_silence(conform *c)
{
  const struct timespec moment = {0, 30000000};
  uint64_t calls = 0;
  live(c);
  calls = __atomic_load_n(&c->host.calls, __ATOMIC_RELAXED);
  nanosleep(&moment, NULL);
  CHECK(c, __atomic_load_n(&c->host.calls, __ATOMIC_RELAXED) == calls,
        "host services were called after the last device was closed (ABI-011)");
  /* Not from destructors either. */
  conform_unload(c);
  CHECK(c, __atomic_load_n(&c->host.calls, __ATOMIC_RELAXED) == calls,
        "host services were called while the plugin was unloaded (ABI-011)");
  CHECK(c, !c->host.broken, "blocks of the host were written outside");
  CHECK(c, !c->host.bad_requests, "%llu calls of host services were malformed",
        (unsigned long long)c->host.bad_requests);
}

/* Files that the host has open, at the numbers that come first, are the host's. */
static void run_descriptors(conform *c)
{
  enum { FIRST = 3, PAST = 64 };
  struct stat about[PAST], now;
  bool mine[PAST] = {false};
  const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  CHECK(c, file >= 0 && !fstat(file, &about[FIRST]), "no file");
  /* Loaded before, so that what the plugin opens itself is not taken for ours. */
  conform_load(c);
  for (int fd = FIRST; fd < PAST; ++fd) {
    if (fd != file && fcntl(fd, F_GETFD) >= 0)
      continue;
    mine[fd] = fd == file || dup2(file, fd) == fd;
    CHECK(c, mine[fd] && !fstat(fd, &about[fd]), "no file");
  }
  live(c);
  live(c);
  for (int fd = FIRST; fd < PAST; ++fd)
    CHECK(c,
          !mine[fd] || (!fstat(fd, &now) && now.st_dev == about[fd].st_dev &&
                        now.st_ino == about[fd].st_ino),
          "the host's file descriptor %d was closed, or is another file's (ABI-013)", fd);
}

/* ---- symbols ---- */

static void run_scope(conform *c)
{
  static const char *const names[] = {VYRE_BACKEND_QUERY_SYMBOL, "vyre_entry_add", "vyre_entry_ids",
                                      "vyre_native_trap",        "vyre_kernel",    "backend_query"};
  live(c);
  conform_open(c);
  conform_kernel(c, "basic", "add");
  for (uint32_t i = 0; i < COUNT_OF(names); ++i)
    CHECK(c, !dlsym(RTLD_DEFAULT, names[i]), "'%s' is in the global scope (ABI-015)", names[i]);
}

/* Names that a sanitizer or the linker adds. */
static bool is_allowed(const char *name)
{
  static const char *const prefixes[] = {"__odr_asan", "__asan",  "__tsan", "__ubsan",
                                         "__start_",   "__stop_", "__lsan", "_init",
                                         "_fini",      "_edata",  "_end",   "__bss_start"};
  for (uint32_t i = 0; i < COUNT_OF(prefixes); ++i)
    if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
      return true;
  return !strcmp(name, VYRE_BACKEND_QUERY_SYMBOL);
}

typedef struct image {
  const unsigned char *bytes;
  uint64_t size;
} image;

static image map_file(conform *c, const char *path)
{
  struct stat about;
  image file = {NULL, 0};
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(c, fd >= 0 && !fstat(fd, &about), "%s cannot be opened", path);
  file.size = (uint64_t)about.st_size;
  file.bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
  CHECK(c, file.bytes != MAP_FAILED, "%s cannot be mapped", path);
  close(fd);
  return file;
}

static const ElfW(Shdr) * section(conform *c, const image *file, uint32_t type, uint32_t *out_index)
{
  const ElfW(Ehdr) *header = (const void *)file->bytes;
  CHECK(c,
        file->size >= sizeof *header && !memcmp(file->bytes, ELFMAG, SELFMAG) &&
            header->e_shoff + (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)) <= file->size,
        "the plugin is no whole ELF file");
  for (uint32_t i = *out_index; i < header->e_shnum; ++i) {
    const ElfW(Shdr) *row = (const void *)(file->bytes + header->e_shoff + i * sizeof *row);
    *out_index = i;
    if (row->sh_type == type)
      return row;
  }
  return NULL;
}

/* The one symbol that it exports. */
static void run_exports(conform *c)
{
  const image file = map_file(c, conform_plugin_path(c));
  uint32_t index = 0;
  const ElfW(Shdr) *table = section(c, &file, SHT_DYNSYM, &index), *names = NULL;
  const ElfW(Ehdr) *header = (const void *)file.bytes;
  CHECK(c, table && table->sh_link < header->e_shnum, "it has no symbols");
  names = (const void *)(file.bytes + header->e_shoff + table->sh_link * sizeof *names);
  for (uint64_t i = 1; i < table->sh_size / sizeof(ElfW(Sym)); ++i) {
    const ElfW(Sym) *symbol = (const void *)(file.bytes + table->sh_offset + i * sizeof *symbol);
    const char *name = (const char *)file.bytes + names->sh_offset + symbol->st_name;
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    if (symbol->st_shndx == SHN_UNDEF || visibility == STV_HIDDEN || visibility == STV_INTERNAL ||
        ELF64_ST_BIND(symbol->st_info) == STB_LOCAL)
      continue;
    CHECK(c, is_allowed(name), "it exports '%s'; %s is the one symbol to export (ABI-015)", name,
          VYRE_BACKEND_QUERY_SYMBOL);
  }
}

/* Code that runs by itself: each toolchain puts one entry there, which is its own. */
static void run_constructors(conform *c)
{
  const image file = map_file(c, conform_plugin_path(c));
  static const struct {
    uint32_t type;
    const char *name;
  } kinds[] = {{SHT_INIT_ARRAY, "constructors"},
               {SHT_FINI_ARRAY, "destructors"},
               {SHT_PREINIT_ARRAY, "constructors"}};
  const vyre_backend *b = conform_load(c);
  if (b->sanitizer != VYRE_SANITIZER_NONE)
    return; /* its runtime brings some */
  for (uint32_t i = 0; i < COUNT_OF(kinds); ++i) {
    uint32_t index = 0;
    const ElfW(Shdr) *table = section(c, &file, kinds[i].type, &index);
    CHECK(c, !table || table->sh_size <= sizeof(void *), "it has %llu %s (ABI-010)",
          (unsigned long long)(table->sh_size / sizeof(void *)), kinds[i].name);
  }
}

/* ---- unloading ---- */

static void whole_life(conform *c)
{
  conform_load(c);
  conform_open(c);
  conform_run_add(c, conform_kernel(c, "basic", "add"), 1025, 64);
  conform_close(c);
  conform_unload(c);
}

/* It works in each tenth turn only: with some plugins compiling takes a second. */
static void often(conform *c)
{
  static uint32_t turn;
  if (turn++ % 10 == 0) {
    whole_life(c);
    return;
  }
  conform_load(c);
  conform_open(c);
  conform_close(c);
  conform_unload(c);
}

static void run_reload(conform *c)
{
  conform_check_growth(c, often, 100, "loading and unloading the plugin");
  CHECK(c, !c->library, "the suite still holds the plugin");
}

/* Nothing of it is left in the process, and its next load knows nothing of this one. */
static void run_unload(conform *c)
{
  void *library = NULL;
  whole_life(c);
  library = dlopen(conform_plugin_path(c), RTLD_NOW | RTLD_NOLOAD);
  CHECK(c, !library, "the plugin says that it may be unloaded, and stays (ABI-016)");
  whole_life(c);
}

/* ---- fork ---- */

/* A child that does nothing but end takes nothing away from its parent. */
static void run_fork(conform *c)
{
  conform_open(c);
  conform_tour(c);
  for (int turn = 0; turn < 3; ++turn) {
    int status = 0;
    const pid_t child = fork();
    CHECK(c, child >= 0, "no process");
    if (!child)
      _exit(5);
    CHECK(c, waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5,
          "a child that does nothing ended with status 0x%x", (unsigned)status);
    conform_tour(c);
  }
  conform_close(c);
}

/* Standard streams may be closed: nothing is printed, nothing depends on them. */
static void run_no_streams(conform *c)
{
  conform_load(c);
  close(0);
  close(1);
  close(2);
  conform_open(c);
  conform_tour(c);
  conform_close(c);
}

static const conform_case rows[] = {
    CORE_CASE("process.environment", "ABI-010 ABI-013", CONFORM_NEEDS_KERNELS, run_environment),
    CORE_CASE("process.signals", "ABI-010 ABI-013", CONFORM_NEEDS_KERNELS, run_signals),
    CORE_CASE("process.rounding", "ABI-013", CONFORM_NEEDS_KERNELS, run_rounding),
    CORE_CASE("process.leftovers", "ABI-014", CONFORM_NEEDS_KERNELS, run_leftovers),
    CORE_CASE("process.descriptors", "ABI-013", CONFORM_NEEDS_KERNELS, run_descriptors),
    CORE_CASE("process.silence", "ABI-011", CONFORM_NEEDS_KERNELS, run_silence),
    CORE_CASE("process.scope", "ABI-015", CONFORM_NEEDS_KERNELS, run_scope),
    CORE_CASE("process.exports", "ABI-015", CONFORM_NEEDS_NO_DEVICE, run_exports),
    CORE_CASE("process.constructors", "ABI-010", CONFORM_NEEDS_NO_DEVICE, run_constructors),
    CORE_CASE("process.reload", "ABI-016", CONFORM_NEEDS_MAY_UNLOAD | CONFORM_NEEDS_KERNELS,
              run_reload),
    CORE_CASE("process.unload", "ABI-016", CONFORM_NEEDS_MAY_UNLOAD | CONFORM_NEEDS_KERNELS,
              run_unload),
    CORE_CASE("process.fork", "ABI-017", CONFORM_NEEDS_KERNELS, run_fork),
    CORE_CASE("process.no_streams", "ABI-010", CONFORM_NEEDS_KERNELS, run_no_streams),
};
CONFORM_TABLE(conform_cases_process, rows);
