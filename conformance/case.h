/*
 * case.h - what the author of a case sees: how to check, fail and say why, and what is at hand.
 *
 * A case is one function that runs in a process of its own.  It loads the plugin, uses it, and
 * returns: pass.  The first check that fails ends the process, with a text that names the rule's
 * subject, what was expected and what came; so a case needs no cleanup on failure.  What a case
 * leaves in use when it returns is looked at where its rules say so.
 *
 *     static void run_empty(conform *c)
 *     {
 *       const vyre_backend *b = conform_load(c);
 *       CHECK(c, b->name, "the table has no name");
 *     }
 *
 * Cases stand in tables, one a file of cases/, listed in suite.c.
 */
#ifndef VYRE_CONFORMANCE_CASE_H
#define VYRE_CONFORMANCE_CASE_H

#include "vyre_backend.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct conform conform;

/* Profiles, in the order of their listing. */
typedef uint32_t conform_profile;
#define CONFORM_CORE 0u
#define CONFORM_RESIDENT 1u
#define CONFORM_GRIDSYNC_NATIVE 2u
#define CONFORM_GRIDSYNC_EMULATED 3u
#define CONFORM_PERSISTENT 4u
#define CONFORM_TIMING 5u
#define CONFORM_SEQUENCES 6u
#define CONFORM_PROFILES 7u

/* What a case needs beyond the capability bits: the verdict is "not supported" without. */
#define CONFORM_NEEDS_NATIVE (1u << 0)     /* grid_sync NATIVE */
#define CONFORM_NEEDS_EMULATED (1u << 1)   /* grid_sync EMULATED */
#define CONFORM_NEEDS_TWO (1u << 2)        /* a second device */
#define CONFORM_NEEDS_IMPORT (1u << 3)     /* VYRE_CAP_IMPORT_EXPORT */
#define CONFORM_NEEDS_KERNELS (1u << 4)    /* kernels: vyre-c, or --kernels */
#define CONFORM_NEEDS_VYRE_C (1u << 5)     /* a compiler at hand */
#define CONFORM_NEEDS_NO_DEVICE (1u << 6)  /* runs also where there is no device */
#define CONFORM_NEEDS_MAY_UNLOAD (1u << 7) /* the plugin says that it may be unloaded */

typedef struct conform_case {
  const char *name;  /* "bindings.zero_size": area and what, unique, [a-z0-9_.] */
  const char *rules; /* "DISP-005 DISP-006": what it checks, separated by blanks */
  conform_profile profile;
  uint64_t capabilities; /* VYRE_CAP_… that the device must promise */
  uint32_t needs;        /* CONFORM_NEEDS_… */
  uint32_t timeout_s;    /* 0: the suite's default */
  void (*run)(conform *c);
} conform_case;

typedef struct conform_table {
  const conform_case *cases;
  uint32_t count;
} conform_table;

#define CONFORM_TABLE(name, rows)                                                                  \
  extern const conform_table name;                                                                 \
  const conform_table name = {rows, sizeof(rows) / sizeof(rows)[0]}

/* ---- verdicts ---- */

/* Ends the case and the process. */
_Noreturn __attribute__((format(printf, 4, 5))) void
conform_fail(conform *c, const char *file, int line, const char *format, ...);

/* A case that finds out while it runs that it cannot apply; the capability must be absent. */
_Noreturn __attribute__((format(printf, 2, 3))) void conform_not_supported(conform *c,
                                                                           const char *format, ...);

#define CHECK(c, condition, ...)                                                                   \
  do {                                                                                             \
    if (!(condition))                                                                              \
      conform_fail((c), __FILE__, __LINE__, __VA_ARGS__);                                          \
  } while (0)

/* The call must succeed; on failure the plugin's text is in the verdict. */
#define CHECK_OK(c, call)                                                                          \
  do {                                                                                             \
    vyre_error check_err = VYRE_ERROR_INIT;                                                        \
    vyre_error *err = &check_err;                                                                  \
    conform_expect_ok((c), (call), err, #call, __FILE__, __LINE__);                                \
  } while (0)

/*
 * The call must fail with one of these codes (-1: no second one), with a text (ABI-009).  Inside
 * `call`, `err` is the record to pass.
 */
#define CHECK_FAILS(c, call, code, other)                                                          \
  do {                                                                                             \
    vyre_error check_err = VYRE_ERROR_INIT;                                                        \
    vyre_error *err = &check_err;                                                                  \
    conform_expect_error((c), (call), err, (code), (other), #call, __FILE__, __LINE__);            \
  } while (0)

void conform_expect_ok(conform *c, vyre_status status, const vyre_error *err, const char *call,
                       const char *file, int line);
void conform_expect_error(conform *c, vyre_status status, const vyre_error *err, vyre_status code,
                          vyre_status other, const char *call, const char *file, int line);

/* ---- what the run is about ---- */

const char *conform_plugin_path(const conform *c);
uint32_t conform_device_index(const conform *c);

/* Numbers from the run's seed and the case's name: the same in every run with that seed. */
uint64_t conform_random(conform *c);
/* 0 … n - 1; n at least 1. */
uint64_t conform_random_below(conform *c, uint64_t n);
/* Random bytes. */
void conform_random_fill(conform *c, void *bytes, uint64_t size);

/* ---- the plugin: plugin.c ---- */

/* Loads it with a host of our own (host.h) and shakes hands; again: another reference. */
const vyre_backend *conform_load(conform *c);
/* Unloads it if it says that it may be; every reference counts. */
void conform_unload(conform *c);

/* The raw entry, for malformed handshakes; loads the file. */
vyre_backend_query_fn conform_query(conform *c);

/* The device under test: loads the plugin if need be; opened once, closed by conform_close(). */
vyre_backend_device *conform_open(conform *c);
void conform_close(conform *c);
const vyre_backend_device_info *conform_info(conform *c);

/* What the host has given and not got back: blocks, and bytes in them. */
uint64_t conform_live_blocks(const conform *c);

/* ---- kernels and launches: launch.c ---- */

/*
 * A module of the suite: conformance/kernels/NAME.c, behind the plugin's prelude, or the object
 * NAME of --kernels.  Loaded once; unloaded by conform_close().
 */
vyre_backend_module *conform_module(conform *c, const char *name);
vyre_backend_kernel *conform_kernel(conform *c, const char *module, const char *entry);

/* The text of a kernel file, without a prelude. */
const char *conform_kernel_text(const char *name, uint64_t *out_size);

/* A text behind the plugin's prelude (KRN-001), ending in NUL; the caller frees it. */
char *conform_compose(conform *c, const char *name, const char *text, uint64_t size,
                      uint64_t *out_size);

#define CONFORM_MAX_ARGUMENTS 64u

/* One launch: filled in by conform_launch_…(), run by conform_run(). */
typedef struct conform_launch {
  vyre_dispatch_desc desc;
  vyre_binding bindings[CONFORM_MAX_ARGUMENTS];
  void *results[CONFORM_MAX_ARGUMENTS]; /* where each writable HOST binding's result goes */
  vyre_backend_times times;
} conform_launch;

/* One group of one item, no bindings. */
void conform_launch_init(conform_launch *launch, vyre_backend_kernel *kernel);
/* `groups` x `items` in dimension 0. */
void conform_launch_grid(conform_launch *launch, uint32_t groups, uint32_t items);
/*
 * The next binding: host bytes (`data` may be NULL), a buffer's, workgroup memory.  `result` (may
 * be NULL) gets the bytes back.  The id is the number of the binding.
 */
void conform_launch_host(conform_launch *launch, vyre_access access, const void *data,
                         uint64_t count, uint32_t element_size, void *result);
void conform_launch_buffer(conform_launch *launch, vyre_access access, vyre_backend_buffer *buffer,
                           uint64_t count, uint32_t element_size);
void conform_launch_local(conform_launch *launch, uint64_t count, uint32_t element_size);

/*
 * Dispatches, waits, reads, releases.  Results come in memory between canaries, poisoned before,
 * and are copied to their places after the checks: tags, sizes, canaries, inputs unchanged.
 */
void conform_run(conform *c, conform_launch *launch);

#endif
