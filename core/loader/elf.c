/* elf.c - what an ELF file must be before it may be opened as a plugin. */
#include "core/loader/elf.h"

#include "core/base/error.h"
#include "core/loader/elf_file.h"
#include "vyre_backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/*
 * The sanitizer runtimes.  One that is not in the process from its start aborts the process when it
 * is loaded later, or misses memory that it should know.
 */
static const struct {
  const char *flag;        /* of the compiler */
  const char *gcc_library; /* how DT_NEEDED names begin */
  const char *clang_library;
  const char *symbol; /* how undefined symbols begin */
} runtimes[] = {
    {"address", "libasan.so", "libclang_rt.asan", "__asan_init"},
    {"thread", "libtsan.so", "libclang_rt.tsan", "__tsan_init"},
    {"undefined", "libubsan.so", "libclang_rt.ubsan", "__ubsan_handle_"},
    {"hwaddress", "libhwasan.so", "libclang_rt.hwasan", "__hwasan_init"},
    {"memory", "libmsan.so", "libclang_rt.msan", "__msan_init"},
    {"leak", "liblsan.so", "libclang_rt.lsan", "__lsan_init"},
};

#define RUNTIME_COUNT (sizeof runtimes / sizeof runtimes[0])

static bool begins_with(const char *text, const char *prefix)
{
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool library_is_here(const char *name)
{
  void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle)
    dlclose(handle);
  return handle != NULL;
}

static vyre_status refuse_sanitizer(size_t runtime, const char *what, vyre_error *err)
{
  char fix[VYRE_ERROR_FIX_SIZE];
  const char *flag = runtimes[runtime].flag;
  snprintf(fix, sizeof fix,
           "build the plugin without -fsanitize=%s, or run it in a host that is built with "
           "-fsanitize=%s by the same compiler",
           flag, flag);
  return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, fix,
                   "built with -fsanitize=%s (it needs %s), and this process has no such runtime",
                   flag, what);
}

static vyre_status check_needed(const vyre__elf_file *file, vyre_error *err)
{
  uint64_t i;
  size_t k;
  for (i = 0; i < file->dynamic_count; i++) {
    const char *name = NULL;
    if (file->dynamic[i].d_tag != DT_NEEDED)
      continue;
    name = vyre__elf_string(file, file->dynamic[i].d_un.d_val);
    for (k = 0; k < RUNTIME_COUNT; k++)
      if ((begins_with(name, runtimes[k].gcc_library) ||
           begins_with(name, runtimes[k].clang_library)) &&
          !library_is_here(name))
        return refuse_sanitizer(k, name, err);
  }
  return VYRE_OK;
}

static vyre_status check_undefined(const char *name, vyre_error *err)
{
  size_t k;
  for (k = 0; k < RUNTIME_COUNT; k++)
    if (begins_with(name, runtimes[k].symbol) && !dlsym(RTLD_DEFAULT, name))
      return refuse_sanitizer(k, name, err);
  return VYRE_OK;
}

static bool is_query(const ElfW(Sym) * symbol, const char *name)
{
  /* The three macros are the same for both classes. */
  unsigned type = ELF64_ST_TYPE(symbol->st_info), bind = ELF64_ST_BIND(symbol->st_info);
  unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
  return strcmp(name, VYRE_BACKEND_QUERY_SYMBOL) == 0 && symbol->st_shndx != SHN_UNDEF &&
         (bind == STB_GLOBAL || bind == STB_WEAK) && (type == STT_FUNC || type == STT_NOTYPE) &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

static vyre_status check_symbols(const vyre__elf_file *file, vyre_candidate_stage *out_stage,
                                 vyre_error *err)
{
  bool has_query = false;
  vyre_status status;
  uint64_t i;
  for (i = 1; i < file->symbol_count; i++) {
    const ElfW(Sym) *symbol = &file->symbols[i];
    const char *name = vyre__elf_string(file, symbol->st_name);
    if (symbol->st_shndx == SHN_UNDEF && (status = check_undefined(name, err)))
      return status;
    if (is_query(symbol, name))
      has_query = true;
  }
  if (has_query)
    return VYRE_OK;
  *out_stage = VYRE_CANDIDATE_HANDSHAKE;
  return VYRE_FAIL(err, VYRE_ERROR_NOT_A_PLUGIN, NULL,
                   "not a vyre plugin: it does not export " VYRE_BACKEND_QUERY_SYMBOL);
}

vyre_status vyre__elf_check(const char *path, const vyre_allocator *allocator,
                            vyre_candidate_stage *out_stage, vyre_error *err)
{
  vyre__elf_file file;
  vyre_status status;
  *out_stage = VYRE_CANDIDATE_FILE;
  status = vyre__elf_open(&file, path, allocator, err);
  if (status)
    return status;
  *out_stage = VYRE_CANDIDATE_ELF;
  status = vyre__elf_read_header(&file, err);
  if (!status)
    status = vyre__elf_read_dynamic(&file, err);
  if (!status)
    status = check_needed(&file, err);
  if (!status)
    status = check_symbols(&file, out_stage, err);
  vyre__elf_close(&file);
  return status;
}
