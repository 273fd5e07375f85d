/* handshake.c - the first call, and every way in which it can be wrong. */
#include "conformance/run.h"

#include <string.h>

static const vyre_backend *shake(conform *c, uint32_t least, uint32_t most)
{
  vyre_host host = c->host.table;
  const vyre_backend *table = NULL;
  host.abi_minor_min = least;
  host.abi_minor_max = most;
  CHECK_OK(c, conform_query(c)(&host, &table, err));
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

/* The highest common one: a newer host gets the same as this one. */
static void run_newer_host(conform *c)
{
  const vyre_backend *now = shake(c, 1, VYRE_ABI_MINOR), *later = shake(c, 1, VYRE_ABI_MINOR + 9);
  CHECK(c, later->abi_minor >= now->abi_minor && later->abi_minor <= VYRE_ABI_MINOR + 9,
        "a host that offers more gets minor version %u, this one %u", later->abi_minor,
        now->abi_minor);
}

static void run_same_table(conform *c)
{
  const vyre_backend *first = shake(c, 1, VYRE_ABI_MINOR), *second = shake(c, 1, VYRE_ABI_MINOR);
  CHECK(c, first == second, "two calls with one version give two tables (ABI-021)");
}

static void run_other_major(conform *c)
{
  vyre_host host = c->host.table;
  const vyre_backend *table = NULL;
  host.abi_major = VYRE_ABI_MAJOR + 7;
  CHECK_FAILS(c, conform_query(c)(&host, &table, err), VYRE_ERROR_ABI_MISMATCH, -1);
  CHECK(c, !table, "a failed handshake has stored a table (ABI-008)");
}

static void run_no_common_minor(conform *c)
{
  vyre_host host = c->host.table;
  const vyre_backend *table = NULL;
  host.abi_minor_min = host.abi_minor_max = 60000;
  CHECK_FAILS(c, conform_query(c)(&host, &table, err), VYRE_ERROR_ABI_MISMATCH, -1);
  CHECK(c, !table, "a failed handshake has stored a table (ABI-008)");
}

static void run_short_host(conform *c)
{
  vyre_host host = c->host.table;
  const vyre_backend *table = NULL;
  host.struct_size = VYRE_HOST_SIZE_0_1 - 1;
  CHECK_FAILS(c, conform_query(c)(&host, &table, err), VYRE_ERROR_INVALID_ARGUMENT,
              VYRE_ERROR_ABI_MISMATCH);
}

static void run_large_host(conform *c)
{
  struct {
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
  vyre_host host = c->host.table;
  const vyre_backend *table = NULL;
  host.flags = 1ull << 63;
  CHECK_FAILS(c, conform_query(c)(&host, &table, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
}

static const conform_case rows[] = {
    {"handshake.version", "ABI-020", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0, run_version},
    {"handshake.newer_host", "ABI-003", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_newer_host},
    {"handshake.same_table", "ABI-021", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_same_table},
    {"handshake.other_major", "ABI-009 ABI-008", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_other_major},
    {"handshake.no_common_minor", "ABI-009 ABI-008", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_no_common_minor},
    {"handshake.short_host", "ABI-001", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_short_host},
    {"handshake.large_host", "ABI-001", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_large_host},
    {"handshake.unknown_flags", "ABI-006", CONFORM_CORE, 0, CONFORM_NEEDS_NO_DEVICE, 0,
     run_unknown_flags},
};
CONFORM_TABLE(conform_cases_handshake, rows);
