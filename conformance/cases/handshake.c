/* handshake.c - the first call, and every way in which it can be wrong. */
#include "conformance/steps.h"

#include <link.h>
#include <pthread.h>
#include <string.h>

#define MOST_HOSTS 16u

/* A host of our own; it lives as long as the plugin (see vyre_host). */
static vyre_host *new_host(conform *c)
{
  static vyre_host hosts[MOST_HOSTS];
  static uint32_t used;
  CHECK(c, used < MOST_HOSTS, "the suite makes too many hosts in one case");
  hosts[used] = c->host.table;
  return &hosts[used++];
}

static const vyre_backend *shake(conform *c, uint32_t least, uint32_t most)
{
  vyre_host *host = new_host(c);
  const vyre_backend *table = NULL;
  host->abi_minor_min = least;
  host->abi_minor_max = most;
  CHECK_OK(c, conform_query(c)(host, &table, err));
  CHECK(c, table, "the handshake succeeded and gave no table (ABI-020)");
  return table;
}

/* Any version that the host offers; never one that it does not. */
static void run_version(conform *c)
{
  const vyre_backend *table = shake(c, 1, VYRE_ABI_MINOR);
  CHECK(c, table->abi_major == VYRE_ABI_MAJOR, "it answers with major version %u, offered was %u",
        table->abi_major, VYRE_ABI_MAJOR);
  CHECK(c, table->abi_minor >= 1 && table->abi_minor <= VYRE_ABI_MINOR,
        "it answers with minor version %u, offered were 1 to %u", table->abi_minor, VYRE_ABI_MINOR);
  CHECK(c, (table->header_version & 0xffffu) >= table->abi_minor,
        "it speaks 0.%u and was compiled with header 0.%u", table->abi_minor,
        table->header_version & 0xffffu);
}

/* The highest common one: a newer host gets the same as this one, or more. */
static void run_newer_host(conform *c)
{
  const vyre_backend *now = shake(c, 1, VYRE_ABI_MINOR), *later = shake(c, 1, VYRE_ABI_MINOR + 9);
  CHECK(c, later->abi_minor >= now->abi_minor && later->abi_minor <= VYRE_ABI_MINOR + 9,
        "a host that offers more gets minor version %u, this one %u", later->abi_minor,
        now->abi_minor);
  CHECK(c, later->struct_size >= now->struct_size,
        "the table of version 0.%u has %u bytes, that of 0.%u %u (ABI-003)", later->abi_minor,
        later->struct_size, now->abi_minor, now->struct_size);
}

/* What it speaks alone it also picks where nothing higher is common. */
static void run_highest(conform *c)
{
  for (uint32_t minor = 1; minor <= VYRE_ABI_MINOR; ++minor) {
    vyre_host *host = new_host(c);
    const vyre_backend *alone = NULL, *among = NULL;
    host->abi_minor_min = host->abi_minor_max = minor;
    if (conform_query(c)(host, &alone, NULL) != VYRE_OK) {
      CHECK(c, !alone, "a failed handshake has stored a table (ABI-008)");
      continue;
    }
    CHECK(c, alone && alone->abi_minor == minor,
          "offered 0.%u alone it answers with another version (ABI-022)", minor);
    among = shake(c, 1, minor);
    CHECK(c, among->abi_minor == minor, "it speaks 0.%u and picks 0.%u from 0.1 to 0.%u (ABI-022)",
          minor, among->abi_minor, minor);
    CHECK(c, among == alone, "two tables for version 0.%u (ABI-021)", minor);
    CHECK(c, among->struct_size >= VYRE_BACKEND_SIZE_0_1,
          "the table of version 0.%u has %u bytes (ABI-001)", minor, among->struct_size);
  }
}

static void run_same_table(conform *c)
{
  const vyre_backend *first = shake(c, 1, VYRE_ABI_MINOR), *second = shake(c, 1, VYRE_ABI_MINOR);
  CHECK(c, first == second, "two calls with one version give two tables (ABI-021)");
}

static void refuse(conform *c, const vyre_host *host, vyre_status code, vyre_status other)
{
  const vyre_backend *table = NULL;
  CHECK_FAILS(c, conform_query(c)(host, &table, err), code, other);
  CHECK(c, !table, "a failed handshake has stored a table (ABI-008)");
  CHECK(c, conform_query(c)(host, &table, NULL) != VYRE_OK && !table,
        "without an error record the handshake ends otherwise (ABI-009)");
  CHECK(c, !conform_live_blocks(c), "a failed handshake leaves %llu blocks in use (ABI-008)",
        (unsigned long long)conform_live_blocks(c));
}

static void run_other_major(conform *c)
{
  vyre_host *host = new_host(c);
  vyre_error err = VYRE_ERROR_INIT;
  const vyre_backend *table = NULL;
  host->abi_major = VYRE_ABI_MAJOR + 7;
  refuse(c, host, VYRE_ERROR_ABI_MISMATCH, -1);
  conform_query(c)(host, &table, &err);
  CHECK(c, conform_says_number(err.message, VYRE_ABI_MAJOR + 7),
        "the text does not name the host's version %u: %.300s", VYRE_ABI_MAJOR + 7, err.message);
}

static void run_no_common_minor(conform *c)
{
  vyre_host *host = new_host(c);
  host->abi_minor_min = host->abi_minor_max = 60000;
  refuse(c, host, VYRE_ERROR_ABI_MISMATCH, -1);
  host = new_host(c);
  host->abi_minor_min = 60000;
  host->abi_minor_max = UINT32_MAX;
  refuse(c, host, VYRE_ERROR_ABI_MISMATCH, -1);
  host = new_host(c);
  host->abi_minor_min = host->abi_minor_max = 0; /* there is no 0.0 */
  refuse(c, host, VYRE_ERROR_ABI_MISMATCH, -1);
}

static void run_short_host(conform *c)
{
  static const uint32_t sizes[] = {0, 4, VYRE_HOST_SIZE_0_1 - 1};
  for (uint32_t i = 0; i < COUNT_OF(sizes); ++i) {
    vyre_host *host = new_host(c);
    host->struct_size = sizes[i];
    refuse(c, host, VYRE_ERROR_INVALID_ARGUMENT, VYRE_ERROR_ABI_MISMATCH);
  }
}

static void run_large_host(conform *c)
{
  static struct {
    vyre_host host;
    unsigned char more[256];
  } large;
  const vyre_backend *table = NULL;
  memset(&large, 0xff, sizeof large);
  large.host = c->host.table;
  large.host.struct_size = sizeof large;
  CHECK_OK(c, conform_query(c)(&large.host, &table, err));
  CHECK(c, table, "the handshake succeeded and gave no table (ABI-020)");
}

static void run_unknown_flags(conform *c)
{
  static const uint64_t flags[] = {1ull << 63, 1ull << 17, UINT64_MAX};
  for (uint32_t i = 0; i < COUNT_OF(flags); ++i) {
    vyre_host *host = new_host(c);
    host->flags = flags[i];
    refuse(c, host, VYRE_ERROR_INVALID_ARGUMENT, -1);
  }
}

/* A record of the caller that ends early is filled as far as it reaches. */
static void run_short_error(conform *c)
{
  static const uint32_t sizes[] = {offsetof(vyre_error, vendor_code), offsetof(vyre_error, where),
                                   offsetof(vyre_error, message), offsetof(vyre_error, fix)};
  vyre_host *host = new_host(c);
  host->abi_major = VYRE_ABI_MAJOR + 7;
  for (uint32_t i = 0; i < COUNT_OF(sizes); ++i) {
    vyre_error record;
    const vyre_backend *table = NULL;
    const unsigned char *bytes = (const unsigned char *)&record;
    memset(&record, 0x77, sizeof record);
    record.struct_size = sizes[i];
    CHECK(c, conform_query(c)(host, &table, &record) == VYRE_ERROR_ABI_MISMATCH,
          "with a short error record the handshake ends otherwise (ABI-001)");
    for (uint32_t k = sizes[i]; k < sizeof record; ++k)
      CHECK(c, bytes[k] == 0x77, "byte %u behind an error record of %u bytes was written (ABI-002)",
            k, sizes[i]);
    CHECK(c, record.code == VYRE_ERROR_ABI_MISMATCH, "the code was not stored (ABI-009)");
  }
}

static int count_object(struct dl_phdr_info *info, size_t size, void *data)
{
  (void)info;
  (void)size;
  *(uint32_t *)data += 1;
  return 0;
}

static uint32_t objects(void)
{
  uint32_t count = 0;
  dl_iterate_phdr(count_object, &count);
  return count;
}

/* Touches no device and opens no vendor library. */
static void run_light(conform *c)
{
  uint32_t threads = 0, descriptors = 0, libraries = 0;
  conform_query(c);
  threads = conform_threads();
  descriptors = conform_descriptors();
  libraries = objects();
  shake(c, 1, VYRE_ABI_MINOR);
  CHECK(c, conform_threads() == threads, "the handshake starts threads (ABI-023)");
  CHECK(c, conform_descriptors() == descriptors, "the handshake opens files (ABI-023)");
  CHECK(c, objects() == libraries, "the handshake loads libraries (ABI-023)");
}

typedef struct caller {
  conform *c;
  const vyre_host *host;
  vyre_backend_query_fn query;
  const vyre_backend *table;
  pthread_t thread;
} caller;

static void *call_often(void *argument)
{
  caller *self = argument;
  for (int i = 0; i < 500; ++i) {
    const vyre_backend *table = NULL;
    CHECK_OK(self->c, self->query(self->host, &table, err));
    CHECK(self->c, table && (!self->table || table == self->table),
          "calls from several threads give several tables (ABI-021)");
    self->table = table;
    CHECK(self->c, table->device_count && table->struct_size >= VYRE_BACKEND_SIZE_0_1,
          "another thread sees a table that is not yet filled in");
  }
  return NULL;
}

static void run_threads(conform *c)
{
  caller callers[4];
  const vyre_host *host = new_host(c);
  for (uint32_t i = 0; i < 4; ++i) {
    const caller one = {.c = c, .host = host, .query = conform_query(c)};
    callers[i] = one;
    CHECK(c, !pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), "no thread");
  }
  for (uint32_t i = 0; i < 4; ++i)
    pthread_join(callers[i].thread, NULL);
  for (uint32_t i = 1; i < 4; ++i)
    CHECK(c, callers[i].table == callers[0].table,
          "calls from several threads give several tables (ABI-021)");
}

#define NONE CONFORM_NEEDS_NO_DEVICE

static const conform_case rows[] = {
    CORE_CASE("handshake.version", "ABI-020", NONE, run_version),
    CORE_CASE("handshake.newer_host", "ABI-003", NONE, run_newer_host),
    CORE_CASE("handshake.highest", "ABI-022 ABI-021 ABI-001", NONE, run_highest),
    CORE_CASE("handshake.same_table", "ABI-021", NONE, run_same_table),
    CORE_CASE("handshake.other_major", "ABI-009 ABI-008", NONE, run_other_major),
    CORE_CASE("handshake.no_common_minor", "ABI-009 ABI-008", NONE, run_no_common_minor),
    CORE_CASE("handshake.short_host", "ABI-001", NONE, run_short_host),
    CORE_CASE("handshake.large_host", "ABI-001", NONE, run_large_host),
    CORE_CASE("handshake.unknown_flags", "ABI-006", NONE, run_unknown_flags),
    CORE_CASE("handshake.short_error", "ABI-001 ABI-002", NONE, run_short_error),
    CORE_CASE("handshake.light", "ABI-023", NONE, run_light),
    CORE_CASE("handshake.threads", "ABI-021", NONE, run_threads),
};
CONFORM_TABLE(conform_cases_handshake, rows);
