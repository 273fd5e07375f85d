/*
 * run_job.h - the parts of `vyre run`: the command line (cmd_run.c), the run (run_job.c), what is
 * told about it (run_report.c).
 */
#ifndef VYRE_TOOLS_RUN_JOB_H
#define VYRE_TOOLS_RUN_JOB_H

#include "tools/cli.h"
#include "tools/manifest.h"

#define RUN_MAX_FILES VYRE_MAX_BUFFERS

/* NAME=FILE of the command line. */
typedef struct named_file {
  const char *name;
  size_t name_length;
  const char *path;
  bool used;
} named_file;

typedef struct named_files {
  const char *option; /* "--in" */
  named_file rows[RUN_MAX_FILES];
  uint32_t count;
} named_files;

typedef struct run_request {
  const char *manifest;
  const char *device;
  const char *push;
  const char *keep; /* --keep-temps: the folder, or NULL */
  named_files in, out;
  vyre_dispatch_options options;
  uint32_t iterations; /* 0: the manifest's */
  bool no_converge;
  bool explain;
  bool json;
} run_request;

/* A run, and everything to free after it. */
typedef struct run_job {
  manifest m;
  vyre_context *context;
  vyre_device *device;
  vyre_program *program;
  char *push;
  vyre_bytes inputs[RUN_MAX_FILES]; /* data NULL: left out, zeros */
  uint32_t input_count;
  char *kept; /* the file of --keep-temps, or NULL */
  char *plan; /* the text of --explain, or NULL */
  bool ran;   /* false: --explain alone */
  vyre_outputs outputs;
  cli_output files[RUN_MAX_FILES];
  uint32_t file_count;
  vyre_dispatch_result result;
} run_job;

/* The row of that name, from then on used; NULL if there is none. */
named_file *run_find_file(named_files *files, const char *name);

/* Runs, or explains; both are freed by run_job_free() whatever came of it. */
vyre_status run_job_do(run_job *j, run_request *r, vyre_error *err);
void run_job_free(run_job *j);

/* Bytes of the buffer called `name`, if it has a size of its own. */
bool run_static_size(const manifest *m, const char *name, uint64_t *out_size);

/* On stdout; false if that failed, and then it is told. */
void run_print_text(const run_job *j, run_request *r);
bool run_print_json(const run_job *j, run_request *r);

#endif
