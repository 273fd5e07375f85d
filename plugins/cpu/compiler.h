/*
 * compiler.h - the system's C compiler: which one, and running it.
 */
#ifndef VYRE_CPU_COMPILER_H
#define VYRE_CPU_COMPILER_H

#include "vyre_backend.h"

#include <stdbool.h>

#include <limits.h>

/* Where programs are looked for when the host has no PATH. */
#define VYRE__CPU_SAFE_PATH "/usr/local/bin:/usr/bin:/bin"

typedef struct vyre__cpu_compiler {
  bool found;
  char path[PATH_MAX];
  char version[128]; /* its first line about itself */
  /* What changes when the compiler does: size and time of its file. */
  uint64_t file_size, file_time_ns, file_inode;
  char reason[VYRE_DEVICE_REASON_SIZE]; /* why there is none, with what was tried */
} vyre__cpu_compiler;

/*
 * Looks for VYRE_CC, or for cc, gcc and clang in PATH; the first one that runs.  Searched once
 * while the plugin is loaded: capabilities do not change (CAP-002).
 */
const vyre__cpu_compiler *vyre__cpu_compiler_find(void);

/* One run of a program, everything that it says in one text. */
typedef struct vyre__cpu_run {
  bool started, timed_out;
  int exit_code; /* -1 if it was killed or could not be waited for */
  int signal;
  int error_number; /* of the start */
  char *log;        /* the caller's memory, ends in NUL */
  uint64_t log_size;
} vyre__cpu_run;

/* Runs arguments[0] and waits; past `timeout_ns` it and its children are killed. */
void vyre__cpu_run_program(char *const *arguments, uint64_t timeout_ns, vyre__cpu_run *run);

#endif
