/*
 * program.h - compilers that are programs of their own: looking for one, running it without a
 * shell, a folder for its files.  For plugins whose compiler is one.
 */
#ifndef VYRE_PLUGIN_PROGRAM_H
#define VYRE_PLUGIN_PROGRAM_H

#include "vyre_backend.h"

#include <limits.h>
#include <stdbool.h>

/* Where programs are looked for when the host has no PATH. */
#define VYRE__PLUGIN_SAFE_PATH "/usr/local/bin:/usr/bin:/bin"

typedef struct vyre__plugin_program {
  bool found;
  char path[PATH_MAX];
  char version[128]; /* its first line about itself */
  /* What changes when the program does: size, time and number of its file. */
  uint64_t file_size, file_time_ns, file_inode;
  char reason[VYRE_DEVICE_REASON_SIZE]; /* why there is none, with what was tried */
} vyre__plugin_program;

/*
 * Fills `program` in if this one runs: a name with a slash is a path, another one is looked up in
 * PATH.  Else it stands in `reason`, as do the words of note().
 */
bool vyre__plugin_program_try(vyre__plugin_program *program, const char *name);
__attribute__((format(printf, 2, 3))) void vyre__plugin_program_note(vyre__plugin_program *program,
                                                                     const char *format, ...);

/* One run of a program, everything that it says in one text. */
typedef struct vyre__plugin_run {
  bool started, timed_out;
  int exit_code; /* -1 if it was killed or could not be waited for */
  int signal;
  int error_number; /* of the start */
  char *log;        /* the caller's memory, ends in NUL */
  uint64_t log_size;
} vyre__plugin_run;

/* Runs arguments[0] and waits; past `timeout_ns` it and its children are killed. */
void vyre__plugin_run_program(char *const *arguments, uint64_t timeout_ns, vyre__plugin_run *run);

/* The time that a compiler gets: VYRE_CC_TIMEOUT in seconds, or two minutes. */
uint64_t vyre__plugin_compiler_limit_ns(void);
/* COMPILE_FAILED with what the compiler said of `name`, unless it ended well. */
vyre_status vyre__plugin_compiler_judge(const char *name, const char *path,
                                        const vyre__plugin_run *run, vyre_error *err);

/* A folder of our own with room for names of 15 characters, in TMPDIR or /tmp. */
vyre_status vyre__plugin_temporary_make(char *out_path, size_t size, vyre_error *err);
/* Removes it and the files that may be in it; `names` ends in NULL. */
void vyre__plugin_temporary_remove(const char *path, const char *const *names);

#endif
