/* zoo_plugin.c - the handshake, and the tables that forward to the cpu plugin; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static vyre_backend tables[VYRE_ABI_MINOR]; /* of 0.1, 0.2, … */
static vyre_backend other;                  /* see two_tables */
static char vendor[32];                     /* see texts_change */
static const vyre_backend *real_tables[VYRE_ABI_MINOR];
static const vyre_host *the_host; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const vyre_host *zoo__host(void)
{
  /* Acquire: pairs with the release in vyre_backend_query(). */
  return __atomic_load_n(&the_host, __ATOMIC_ACQUIRE);
}

const vyre_backend *zoo__real(void)
{
  for (uint32_t i = VYRE_ABI_MINOR; i-- > 0;)
    if (real_tables[i])
      return real_tables[i];
  return NULL;
}

char *zoo__vendor(void)
{
  return vendor;
}

bool zoo__emulates(void)
{
  return ZOO_IS(emulated) || ZOO_IS(passes_last_barrier) || ZOO_IS(passes_one_less) ||
         ZOO_IS(passes_one_more) || ZOO_IS(passes_no_word) || ZOO_IS(passes_wrong_count) ||
         ZOO_IS(cooperative_taken) || ZOO_IS(passes_untested) || ZOO_IS(passes_first_only) ||
         ZOO_IS(passes_unchecked);
}

/* ZOO_CPU_DIR is where the cpu plugin lies as seen from us; it is loaded with us (ABI-023). */
static vyre_backend_query_fn real_query(void)
{
  char path[4096];
  Dl_info me;
  void *library = NULL, *symbol = NULL;
  const char *slash = NULL;
  vyre_backend_query_fn query = NULL;
  int mode = RTLD_NOW | RTLD_NOLOAD | (ZOO_IS(global_scope) ? RTLD_GLOBAL : RTLD_LOCAL);
  if (!dladdr(&lock, &me) || !(slash = strrchr(me.dli_fname, '/')))
    return NULL;
  snprintf(path, sizeof path, "%.*s/%s/libvyre_cpu.so", (int)(slash - me.dli_fname), me.dli_fname,
           ZOO_CPU_DIR);
  library = dlopen(path, mode);
  if (!library)
    return NULL;
  symbol = dlsym(library, VYRE_BACKEND_QUERY_SYMBOL);
  memcpy(&query, &symbol, sizeof query);
  dlclose(library); /* our own dependency keeps it */
  return query;
}

/* Formats that do not say how large they are. */
static void take_formats(vyre_backend *table)
{
  static vyre_backend_format formats[16];
  for (uint32_t i = 0; i < table->format_count && i < 16; ++i) {
    memcpy(&formats[i], (const char *)table->formats + i * table->format_stride, sizeof formats[0]);
    formats[i].struct_size = 0;
  }
  table->formats = formats;
  table->format_stride = sizeof formats[0];
}

static void break_table(vyre_backend *table)
{
  if (ZOO_IS(short_table))
    table->struct_size = VYRE_BACKEND_SIZE_0_1 - 8;
  if (ZOO_IS(flags_of_its_own))
    table->flags |= 1ull << 40;
  if (ZOO_IS(missing_slot))
    table->buffer_fill = NULL;
  if (ZOO_IS(seq_missing_slot))
    table->sequence_release = NULL;
  if (ZOO_IS(missing_required))
    table->pending_read = NULL;
  if (ZOO_IS(upper_name))
    table->name = "CPU proxy";
  if (ZOO_IS(vendor_not_text))
    table->vendor = "\xc3\x28 \xff\xfe\x1b[31m";
  if (ZOO_IS(text_nowhere))
    table->vendor = (const char *)(uintptr_t)0x10;
  if (ZOO_IS(prelude_nowhere))
    table->prelude = (const char *)(uintptr_t)0x1000;
  if (ZOO_IS(huge_formats))
    table->format_count = UINT32_MAX;
  if (ZOO_IS(format_size))
    take_formats(table);
  if (ZOO_IS(texts_change)) {
    strcpy(vendor, "vyre");
    table->vendor = vendor;
  }
}

static void fill_table(vyre_backend *table, const vyre_backend *real)
{
  memset(table, 0, sizeof *table);
  memcpy(table, real, real->struct_size < sizeof *table ? real->struct_size : sizeof *table);
  table->name = "zoo";
  table->build_id = "a proxy of the cpu plugin";
  table->prelude = zoo__prelude(real, &table->prelude_size);
  table->device_count = zoo__device_count;
  table->device_info = real->abi_minor < 2 ? zoo__device_info_0_1 : zoo__device_info;
  table->device_open = zoo__device_open;
  table->device_close = zoo__device_close;
  table->compile = zoo__compile;
  table->module_load = zoo__module_load;
  table->module_unload = zoo__module_unload;
  table->kernel_find = zoo__kernel_find;
  table->dispatch = zoo__dispatch;
  table->pending_wait = zoo__pending_wait;
  table->pending_read = zoo__pending_read;
  table->pending_release = zoo__pending_release;
  table->buffer_alloc = zoo__buffer_alloc;
  table->buffer_free = zoo__buffer_free;
  table->buffer_upload = zoo__buffer_upload;
  table->buffer_download = zoo__buffer_download;
  table->buffer_fill = zoo__buffer_fill;
  table->buffer_copy = zoo__buffer_copy;
  table->buffer_import = zoo__buffer_import;
  table->buffer_export = zoo__buffer_export;
  table->coherent_alloc = zoo__coherent_alloc;
  if (real->abi_minor >= 2) {
    table->cooperative_groups = zoo__emulates() ? NULL : zoo__cooperative_groups;
    table->dispatch_passes = zoo__emulates() ? zoo__dispatch_passes : NULL;
    table->device_clock = zoo__device_clock;
  }
  if (real->abi_minor >= 3 && zoo__lends()) {
    table->event_record = zoo__event_record;
    table->event_wait = zoo__event_wait;
    table->event_release = zoo__event_release;
    table->queue_export = zoo__queue_export;
  }
  if (table->sequence_create) {
    table->sequence_create = zoo__sequence_create;
    table->sequence_start = zoo__sequence_start;
    table->sequence_release = zoo__sequence_release;
  }
  break_table(table);
}

/* The host as a row sees it that refuses too little. */
static const vyre_host *seen_host(const vyre_host *host)
{
  static vyre_host changed; /* lives as long as the plugin */
  if (!host ||
      !(ZOO_IS(host_flags) || ZOO_IS(short_host) || ZOO_IS(picks_lowest) || ZOO_IS(any_version)))
    return host;
  changed = *host;
  if (ZOO_IS(host_flags))
    changed.flags = 0;
  if (ZOO_IS(short_host))
    changed.struct_size = sizeof changed;
  if (ZOO_IS(picks_lowest) && host->abi_minor_min < 2 && host->abi_minor_max)
    changed.abi_minor_max = changed.abi_minor_min = 1;
  if (ZOO_IS(any_version)) {
    changed.abi_minor_min = 1;
    changed.abi_minor_max = VYRE_ABI_MINOR;
  }
  return &changed;
}

static const vyre_backend *table_for(const vyre_backend *real)
{
  const uint32_t at = real->abi_minor - 1;
  pthread_mutex_lock(&lock);
  if (real_tables[at] != real) {
    fill_table(&tables[at], real);
    real_tables[at] = real;
    other = tables[at];
  }
  pthread_mutex_unlock(&lock);
  return &tables[at];
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  static uint32_t calls;
  vyre_backend_query_fn query = real_query();
  const vyre_backend *real = NULL;
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_QUERY);
  if (!query)
    return zoo__fail(err, VYRE_ERROR_REFUSED, "the cpu plugin is not where it should be");
  if (ZOO_IS(size_equality) && host && host->struct_size != sizeof *host)
    return zoo__fail(err, VYRE_ERROR_INVALID_ARGUMENT, "vyre_host has %zu bytes, not %u",
                     sizeof *host, host->struct_size);
  host = seen_host(host);
  if (ZOO_IS(long_error) && err)
    err->struct_size = sizeof *err;
  status = zoo__pass_on(err, query(host, &real, err));
  if (status != VYRE_OK) {
    if (ZOO_IS(table_on_error))
      *out_backend = &tables[0];
    return status;
  }
  /* Release: pairs with the acquire in zoo__host(). */
  __atomic_store_n(&the_host, host, __ATOMIC_RELEASE);
  *out_backend = table_for(real);
  if (ZOO_IS(two_tables) && calls++ % 2)
    *out_backend = &other;
  if (ZOO_IS(null_table))
    *out_backend = NULL;
  if (ZOO_IS(heavy_handshake))
    (void)!fcntl(open("/dev/null", O_RDONLY | O_CLOEXEC), F_GETFD);
  return VYRE_OK;
}
