/*
 * run_report.c - what `vyre run` tells: the plan, how it ran, times, files.  As text and as JSON.
 */
#include "tools/run_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *converged_text(vyre_converged converged)
{
  return converged == VYRE_CONVERGED_YES  ? "yes"
         : converged == VYRE_CONVERGED_NO ? "no"
                                          : "not tested";
}

static const char *form_text(vyre_form form)
{
  return form == VYRE_FORM_FUSED      ? "fused"
         : form == VYRE_FORM_EMULATED ? "emulated"
         : form == VYRE_FORM_REPLAYS  ? "replays"
                                      : "launches";
}

/* Bytes of input `i`, and whether they are zeros that nobody gave. */
static uint64_t input_bytes(const run_job *j, uint32_t i, bool *out_zeros)
{
  uint64_t size = j->inputs[i].size;

  *out_zeros = j->inputs[i].data == NULL;
  if (*out_zeros) {
    (void)run_static_size(&j->m, vyre_program_input_name(j->program, i), &size);
  }
  return size;
}

/* ---- text ---- */

static void print_time(const char *name, uint64_t nanoseconds)
{
  if (nanoseconds == VYRE_TIME_ABSENT) {
    printf("  %-9s not measured\n", name);
  } else {
    printf("  %-9s %.3f ms\n", name, (double)nanoseconds * 1e-6);
  }
}

/* The lines of a text, each behind the name of the row. */
static void print_lines(const char *name, const char *text)
{
  while (*text != '\0') {
    const size_t length = strcspn(text, "\n");
    printf("%-9s %.*s\n", name, (int)length, text);
    text += length + (text[length] != '\0');
    name = "";
  }
}

static void print_result(const run_job *j)
{
  const vyre_dispatch_result *result = &j->result;

  printf("route     %s\n", vyre_route_name(result->route));
  printf("form      %s\n", form_text(result->form));
  print_lines("reason", result->reason);
  printf("launches  %" PRIu64 "\n", result->launches);
  printf("passes    %" PRIu32 " (converged: %s)\n", result->passes,
         converged_text(result->converged));
  printf("time\n");
  print_time("wall", result->wall_ns);
  print_time("device", result->device_ns);
  print_time("span", result->device_span_ns);
  print_time("enqueue", result->enqueue_ns);
  print_time("wait", result->wait_ns);
}

void run_print_text(const run_job *j, run_request *r)
{
  char device[256];
  bool fell_back = false, zeros;
  const char *choice = vyre_device_choice(j->device, &fell_back);
  uint32_t i;

  printf("program   %s\n", j->m.name);
  printf("device    %s\n", cli_device_text(j->device, device, sizeof device));
  print_lines("chosen", choice);
  if (j->kept != NULL) {
    printf("kept      %s\n", j->kept);
  }
  for (i = 0; i < j->input_count; i++) {
    const uint64_t size = input_bytes(j, i, &zeros);
    if (zeros) {
      printf("input     %s, not given: %" PRIu64 " bytes of zeros\n",
             vyre_program_input_name(j->program, i), size);
    }
  }
  if (j->plan != NULL) {
    print_lines("plan", j->plan);
  }
  if (!j->ran) {
    return;
  }
  print_result(j);
  for (i = 0; i < j->outputs.count; i++) {
    const char *name = vyre_program_output_name(j->program, i);
    const named_file *row = run_find_file(&r->out, name);
    printf("%-9s %s, %" PRIu64 " bytes%s%s\n", "output", name, j->outputs.slots[i].size,
           row != NULL ? " -> " : ", not written", row != NULL ? row->path : "");
  }
}

/* ---- JSON ---- */

static json_t *json_text(const char *text)
{
  json_t *value = text != NULL ? json_string(text) : NULL;

  return value != NULL ? value : json_null();
}

/* Appends {name, bytes, file} to `list`; true if that went well. */
static bool add_buffer(json_t *list, const char *name, uint64_t bytes, const named_file *row)
{
  return json_array_append_new(list, json_pack("{s:s, s:I, s:o}", "name", name, "bytes",
                                               (json_int_t)bytes, "file",
                                               json_text(row != NULL ? row->path : NULL))) == 0;
}

static json_t *inputs_json(const run_job *j, run_request *r)
{
  json_t *list = json_array();
  bool zeros;
  uint32_t i;

  for (i = 0; list != NULL && i < j->input_count; i++) {
    const char *name = vyre_program_input_name(j->program, i);
    const uint64_t size = input_bytes(j, i, &zeros);
    if (!add_buffer(list, name, size, run_find_file(&r->in, name))) {
      json_decref(list);
      list = NULL;
    }
  }
  return list;
}

static json_t *outputs_json(const run_job *j, run_request *r)
{
  json_t *list = json_array();
  uint32_t i;

  for (i = 0; list != NULL && i < j->outputs.count; i++) {
    const char *name = vyre_program_output_name(j->program, i);
    if (!add_buffer(list, name, j->outputs.slots[i].size, run_find_file(&r->out, name))) {
      json_decref(list);
      list = NULL;
    }
  }
  return list;
}

/* The lines of the plan, indents kept. */
static json_t *plan_json(const char *text)
{
  json_t *list = json_array();

  while (list != NULL && *text != '\0') {
    const size_t length = strcspn(text, "\n");
    if (json_array_append_new(list, json_stringn_nocheck(text, length)) != 0) {
      json_decref(list);
      return NULL;
    }
    text += length + (text[length] != '\0');
  }
  return list;
}

/* The route that the plan's last line names: "takes native; if it is refused resident".  NULL:
 * none. */
static json_t *plan_route(const char *text)
{
  static const char takes[] = "\ntakes ";
  const char *found = NULL, *at = text != NULL ? text : "";
  char word[16];
  vyre_route route;

  while ((at = strstr(at, takes)) != NULL) {
    at += sizeof takes - 1;
    found = at;
  }
  snprintf(word, sizeof word, "%.*s", found != NULL ? (int)strcspn(found, ",; \n") : 0,
           found != NULL ? found : "");
  for (route = VYRE_ROUTE_NATIVE; route <= VYRE_ROUTE_HOST; route++) {
    if (strcmp(word, vyre_route_name(route)) == 0) {
      return json_string(word);
    }
  }
  /* The plugin's own form of it. */
  return strcmp(word, "emulated") == 0 ? json_string(vyre_route_name(VYRE_ROUTE_RESIDENT))
                                       : json_null();
}

/* Sets it, and takes the reference; `*failed` if there is no memory. */
static void set(json_t *root, const char *key, json_t *value, bool *failed)
{
  if (root == NULL || value == NULL) {
    json_decref(value);
    *failed = true;
  } else {
    *failed |= json_object_set_new(root, key, value) != 0;
  }
}

static void set_result(json_t *root, const vyre_dispatch_result *result, bool *failed)
{
  set(root, "form", json_text(form_text(result->form)), failed);
  set(root, "reason", json_text(result->reason), failed);
  set(root, "launches", json_integer((json_int_t)result->launches), failed);
  set(root, "passes", json_integer((json_int_t)result->passes), failed);
  set(root, "converged", json_text(converged_text(result->converged)), failed);
  set(root, "seconds",
      json_pack("{s:o, s:o, s:o, s:o, s:o}", "wall", cli_json_seconds(result->wall_ns), "device",
                cli_json_seconds(result->device_ns), "device_span",
                cli_json_seconds(result->device_span_ns), "enqueue",
                cli_json_seconds(result->enqueue_ns), "wait", cli_json_seconds(result->wait_ns)),
      failed);
}

bool run_print_json(const run_job *j, run_request *r)
{
  bool fell_back = false, failed = false;
  const char *choice = vyre_device_choice(j->device, &fell_back);
  json_t *root = json_object();
  vyre_device_info info;

  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  (void)vyre_device_get_info(j->device, &info, NULL);
  set(root, "program", json_text(j->m.name), &failed);
  set(root, "device",
      json_pack("{s:s, s:o, s:o, s:b}", "selector", info.selector, "name", json_text(info.name),
                "choice", json_text(choice), "fell_back", (int)fell_back),
      &failed);
  set(root, "kept", json_text(j->kept), &failed);
  set(root, "inputs", inputs_json(j, r), &failed);
  if (j->plan != NULL) {
    set(root, "plan", plan_json(j->plan), &failed);
  }
  set(root, "ran", json_boolean(j->ran), &failed);
  set(root, "route", j->ran ? json_text(vyre_route_name(j->result.route)) : plan_route(j->plan),
      &failed);
  if (j->ran) {
    set_result(root, &j->result, &failed);
    set(root, "outputs", outputs_json(j, r), &failed);
  }
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  return cli_print_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}
