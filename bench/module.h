/*
 * module.h - modules with other people's code, which a benchmark opens if they are there.
 */
#ifndef VYRE_BENCH_MODULE_H
#define VYRE_BENCH_MODULE_H

#include "bench/bench.h"

/* What a module offers: its file, its one symbol, what builds it. */
typedef struct bench_module_kind {
  const char *file;   /* below lib/vyre-bench/ beside this program */
  const char *symbol; /* a function without arguments, which returns a `const void *` */
  const char *cure;
} bench_module_kind;

/*
 * Opens `path`; NULL: the file beside this program, and then it is no error if there is none.
 * `*out_table` is what the symbol returned, NULL if there is no module.
 */
vyre_status bench_module_open(const bench_module_kind *kind, const char *path, void **out_module,
                              const void **out_table, vyre_error *err);
void bench_module_close(void *module);

/* A module that is not what its version should be. */
vyre_status bench_module_refuse(const bench_module_kind *kind, const char *path, const char *why,
                                vyre_error *err);

#endif
