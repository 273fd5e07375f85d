/* suite.c - all cases, and which of them apply; see suite.h. */
#include "conformance/suite.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* The tables of cases/, in the order in which they run. */
#define TABLES(X)                                                                                  \
  X(handshake)                                                                                     \
  X(table)                                                                                         \
  X(device)                                                                                        \
  X(module)                                                                                        \
  X(compile)                                                                                       \
  X(bindings)                                                                                      \
  X(dispatch)                                                                                      \
  X(handles)                                                                                       \
  X(memory)                                                                                        \
  X(threads)                                                                                       \
  X(process)                                                                                       \
  X(language)                                                                                      \
  X(atomics)                                                                                       \
  X(random)                                                                                        \
  X(buffer)                                                                                        \
  X(resident)                                                                                      \
  X(coherent)                                                                                      \
  X(persistent)                                                                                    \
  X(engine)                                                                                        \
  X(cooperative)                                                                                   \
  X(gridsync)                                                                                      \
  X(drawn)                                                                                         \
  X(passes)                                                                                        \
  X(timing)                                                                                        \
  X(interop)                                                                                       \
  X(sequence)                                                                                      \
  X(replay)                                                                                        \
  X(beside)

#define X(name) extern const conform_table conform_cases_##name;
TABLES(X)
#undef X

static const conform_table *const tables[] = {
#define X(name) &conform_cases_##name,
    TABLES(X)
#undef X
};

const char *const conform_rules[] = {
#define RULE(name) name,
#include "conformance/rules.def"
#undef RULE
    NULL};

const conform_case *conform_case_at(uint32_t index)
{
  for (size_t t = 0; t < sizeof tables / sizeof tables[0]; ++t) {
    if (index < tables[t]->count)
      return &tables[t]->cases[index];
    index -= tables[t]->count;
  }
  return NULL;
}

const conform_case *conform_case_find(const char *name)
{
  const conform_case *row = NULL;
  for (uint32_t i = 0; (row = conform_case_at(i)); ++i)
    if (!strcmp(row->name, name))
      return row;
  return NULL;
}

const char *conform_profile_name(conform_profile profile)
{
  static const char *const names[CONFORM_PROFILES] = {
      "core",       "resident", "gridsync-native", "gridsync-emulated",
      "persistent", "timing",   "sequences"};
  return profile < CONFORM_PROFILES ? names[profile] : "unknown";
}

const char *conform_verdict_name(conform_verdict verdict)
{
  static const char *const names[] = {"pass", "fail", "not-supported", "skipped", "expected-fail"};
  return verdict < sizeof names / sizeof names[0] ? names[verdict] : "unknown";
}

bool conform_is_wanted(const conform_options *options, const conform_case *row)
{
  bool named = !options->filter_count;
  if (options->profile && strcmp(options->profile, conform_profile_name(row->profile)) != 0)
    return false;
  for (uint32_t i = 0; i < options->filter_count && !named; ++i)
    named = fnmatch(options->filters[i], row->name, 0) == 0;
  return named;
}

bool conform_check_filters(const conform_options *options)
{
  for (uint32_t i = 0; i < options->filter_count; ++i) {
    const conform_case *row = NULL;
    uint32_t index = 0;
    while ((row = conform_case_at(index)) && fnmatch(options->filters[i], row->name, 0) != 0)
      index += 1;
    if (!row) {
      fprintf(stderr, "vyre-conform: error: --filter '%s' fits no case; --list tells their names\n",
              options->filters[i]);
      return false;
    }
  }
  return true;
}

static const char *missing_bit(uint64_t bits)
{
  static const struct {
    uint64_t bit;
    const char *name;
  } names[] = {
      {VYRE_CAP_BUFFERS, "VYRE_CAP_BUFFERS"},
      {VYRE_CAP_IMPORT_EXPORT, "VYRE_CAP_IMPORT_EXPORT"},
      {VYRE_CAP_COHERENT, "VYRE_CAP_COHERENT"},
      {VYRE_CAP_PERSISTENT, "VYRE_CAP_PERSISTENT"},
      {VYRE_CAP_NOTIFY_HOST, "VYRE_CAP_NOTIFY_HOST"},
      {VYRE_CAP_COMPILER, "VYRE_CAP_COMPILER"},
      {VYRE_CAP_SUBGROUPS, "VYRE_CAP_SUBGROUPS"},
      {VYRE_CAP_ALLOC_WHILE_RESIDENT, "VYRE_CAP_ALLOC_WHILE_RESIDENT"},
      {VYRE_CAP_TIMESTAMPS, "VYRE_CAP_TIMESTAMPS"},
      {VYRE_CAP_INTEROP, "VYRE_CAP_INTEROP"},
      {VYRE_CAP_SEQUENCES, "VYRE_CAP_SEQUENCES"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (bits & names[i].bit)
      return names[i].name;
  return bits ? "a capability" : NULL;
}

const char *conform_missing(const conform_options *options, const conform_probe *probe,
                            const conform_case *row)
{
  const vyre_backend_device_info *device = &probe->device;
  const char *bit = missing_bit(row->capabilities & ~device->capabilities);
  const bool compiles = probe->takes_vyre_c && (device->capabilities & VYRE_CAP_COMPILER);
  if (bit)
    return bit;
  if ((row->needs & CONFORM_NEEDS_NATIVE) && device->grid_sync != VYRE_GRID_SYNC_NATIVE)
    return "grid_sync NATIVE";
  if ((row->needs & CONFORM_NEEDS_EMULATED) && device->grid_sync != VYRE_GRID_SYNC_EMULATED)
    return "grid_sync EMULATED";
  if ((row->needs & CONFORM_NEEDS_TWO) && probe->device_count < 2)
    return "a second device";
  if ((row->needs & CONFORM_NEEDS_IMPORT) && !(device->capabilities & VYRE_CAP_IMPORT_EXPORT))
    return "VYRE_CAP_IMPORT_EXPORT";
  if ((row->needs & CONFORM_NEEDS_VYRE_C) && !compiles)
    return "VYRE_CAP_COMPILER";
  if ((row->needs & CONFORM_NEEDS_KERNELS) && !compiles && !options->kernels)
    return "VYRE_CAP_COMPILER, and --kernels is not given";
  if ((row->needs & CONFORM_NEEDS_MAY_UNLOAD) && !(probe->flags & VYRE_BACKEND_MAY_UNLOAD))
    return "VYRE_BACKEND_MAY_UNLOAD";
  return NULL;
}

/* ---- --list ---- */

static void print_needs(const conform_case *row)
{
  const char *bit = missing_bit(row->capabilities);
  if (bit)
    printf(" %s", bit);
  if (row->needs & CONFORM_NEEDS_NATIVE)
    printf(" grid_sync=NATIVE");
  if (row->needs & CONFORM_NEEDS_EMULATED)
    printf(" grid_sync=EMULATED");
  if (row->needs & CONFORM_NEEDS_TWO)
    printf(" two-devices");
  if (row->needs & CONFORM_NEEDS_IMPORT)
    printf(" VYRE_CAP_IMPORT_EXPORT");
  if (row->needs & CONFORM_NEEDS_VYRE_C)
    printf(" compiler");
  if (row->needs & CONFORM_NEEDS_KERNELS)
    printf(" kernels");
}

void conform_print_list(const conform_options *options)
{
  const conform_case *row = NULL;
  for (uint32_t i = 0; (row = conform_case_at(i)); ++i) {
    if (!conform_is_wanted(options, row))
      continue;
    printf("%-36s %-18s %-28s", row->name, conform_profile_name(row->profile), row->rules);
    print_needs(row);
    printf("\n");
  }
}
