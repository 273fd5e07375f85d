/*
 * run_job.c - one run of a program on files: manifest, device, inputs, dispatch, outputs.
 */
#include "tools/run_job.h"

#include "tools/keep_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

named_file *run_find_file(named_files *files, const char *name)
{
  uint32_t i;

  for (i = 0; i < files->count; i++) {
    if (strlen(name) == files->rows[i].name_length &&
        memcmp(name, files->rows[i].name, files->rows[i].name_length) == 0) {
      files->rows[i].used = true;
      return &files->rows[i];
    }
  }
  return NULL;
}

typedef const char *(*name_fn)(const vyre_program *program, uint32_t position);

/* Every row has to name a buffer of the program. */
static vyre_status check_used(const named_files *files, const vyre_program *program, name_fn name,
                              uint32_t count, vyre_error *err)
{
  char known[512] = "none";
  uint32_t i, at;

  for (i = 0; i < files->count; i++) {
    if (!files->rows[i].used) {
      for (at = 0; at < count; at++) {
        const size_t used = at == 0 ? 0 : strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", at != 0 ? ", " : "", name(program, at));
      }
      return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give a name of the list",
                      "%s %.*s: the program has no such buffer there; it has: %s", files->option,
                      (int)files->rows[i].name_length, files->rows[i].name, known);
    }
  }
  return VYRE_OK;
}

bool run_static_size(const manifest *m, const char *name, uint64_t *out_size)
{
  uint32_t i;

  for (i = 0; i < m->program.buffer_count; i++) {
    const vyre_buffer_decl *buffer = &m->program.buffers[i];
    if (strcmp(buffer->name, name) == 0 && buffer->element_count != VYRE_COUNT_FROM_INPUT) {
      *out_size = buffer->element_count * buffer->element_size; /* the program was created */
      return true;
    }
  }
  return false;
}

static vyre_status read_push(run_job *j, run_request *r, vyre_error *err)
{
  size_t size = 0;
  vyre_status status = cli_read_file(r->push, &j->push, &size, err);

  if (status == VYRE_OK && size > UINT32_MAX) {
    return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give the manifest's number of bytes",
                    "%s: too large for push constants", r->push);
  }
  r->options.push = j->push;
  r->options.push_size = (uint32_t)size;
  return status;
}

/* An input that is left out is a buffer of zeros, if the manifest says how large. */
static vyre_status read_inputs(run_job *j, run_request *r, vyre_error *err)
{
  const uint32_t count = vyre_program_input_count(j->program);
  vyre_status status = VYRE_OK;
  const named_file *row;
  uint64_t known = 0;
  uint32_t i;

  for (i = 0; i < count; i++) {
    const char *name = vyre_program_input_name(j->program, i);
    char *data = NULL;
    size_t size = 0;
    row = run_find_file(&r->in, name);
    if (row == NULL && !run_static_size(&j->m, name, &known)) {
      return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0,
                      "add --in NAME=FILE for it; only an input whose \"count\" is a number may be "
                      "left out",
                      "input '%s' is not given", name);
    }
    if (row != NULL) {
      status = cli_read_file(row->path, &data, &size, err);
    }
    if (status != VYRE_OK) {
      return status;
    }
    j->inputs[j->input_count].data = data;
    j->inputs[j->input_count++].size = size;
  }
  status = check_used(&r->in, j->program, vyre_program_input_name, count, err);
  return status == VYRE_OK && r->push != NULL ? read_push(j, r, err) : status;
}

static vyre_status check_outputs(run_job *j, run_request *r, vyre_error *err)
{
  const uint32_t count = vyre_program_output_count(j->program);
  uint32_t i;

  for (i = 0; i < count; i++) {
    (void)run_find_file(&r->out, vyre_program_output_name(j->program, i));
  }
  return check_used(&r->out, j->program, vyre_program_output_name, count, err);
}

/* All temporary files first; the renames only once each of them is whole. */
static vyre_status write_outputs(run_job *j, run_request *r, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  const named_file *row;
  uint32_t i;

  for (i = 0; i < j->outputs.count; i++) {
    row = run_find_file(&r->out, vyre_program_output_name(j->program, i));
    if (row != NULL) {
      status = cli_output_begin(&j->files[j->file_count++], row->path, j->outputs.slots[i].data,
                                (size_t)j->outputs.slots[i].size, err);
    }
    if (status != VYRE_OK) {
      return status;
    }
  }
  return cli_outputs_commit(j->files, j->file_count, err);
}

/* The manifest with what the command line changes; passes decide what is compiled. */
static vyre_status open_manifest(run_job *j, const run_request *r, vyre_error *err)
{
  vyre_status status = manifest_open(r->manifest, &j->m, err);

  if (status != VYRE_OK) {
    return status;
  }
  if (!j->m.is_program) {
    return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give a manifest with \"segments\"",
                    "%s describes handlers of an engine, not a program", r->manifest);
  }
  if (r->iterations != 0) {
    j->m.program.iterations = r->iterations;
  }
  if (r->no_converge) {
    if (j->m.source.data == NULL && j->m.program.converge == VYRE_CONVERGE_DECLARED) {
      return cli_fail(
          err, VYRE_ERROR_INVALID_ARGUMENT, 0,
          "leave --no-converge out, or give the manifest whose \"kernel\" is a source",
          "--no-converge: the kernels of %s were compiled to say themselves what changes",
          j->m.name);
    }
    j->m.program.converge = VYRE_CONVERGE_OFF;
  }
  return r->keep != NULL ? keep_source(&j->m, r->keep, &j->kept, err) : VYRE_OK;
}

static vyre_status open_program(run_job *j, const run_request *r, vyre_error *err)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_status status = vyre_context_create(NULL, &j->context, err);

  request.selector = r->device;
  if (status == VYRE_OK) {
    status = vyre_device_open(j->context, &request, &j->device, err);
  }
  if (status == VYRE_OK) {
    status = vyre_program_create(j->device, &j->m.program, &j->program, err);
  }
  return status;
}

vyre_status run_job_do(run_job *j, run_request *r, vyre_error *err)
{
  const vyre_dispatch_result empty = VYRE_DISPATCH_RESULT_INIT;
  vyre_status status = open_manifest(j, r, err);

  if (status == VYRE_OK) {
    status = open_program(j, r, err);
  }
  if (status == VYRE_OK) {
    status = check_outputs(j, r, err);
  }
  if (status == VYRE_OK) {
    status = read_inputs(j, r, err);
  }
  if (status == VYRE_OK && r->explain) {
    status = vyre_dispatch_explain(j->program, &r->options, j->inputs, j->input_count, NULL,
                                   &j->plan, err);
  }
  if (status != VYRE_OK || (r->explain && r->out.count == 0)) {
    return status;
  }
  j->result = empty;
  status = vyre_dispatch(j->program, &r->options, j->inputs, j->input_count, &j->outputs,
                         &j->result, err);
  j->ran = status == VYRE_OK;
  return j->ran ? write_outputs(j, r, err) : status;
}

void run_job_free(run_job *j)
{
  uint32_t i;

  for (i = 0; i < j->file_count; i++) {
    cli_output_end(&j->files[i]);
  }
  vyre_outputs_reset(&j->outputs);
  for (i = 0; i < j->input_count; i++) {
    free((void *)(uintptr_t)j->inputs[i].data);
  }
  free(j->push);
  free(j->kept);
  free(j->plan);
  vyre_program_destroy(j->program);
  vyre_device_close(j->device);
  vyre_context_destroy(j->context);
  manifest_close(&j->m);
}
