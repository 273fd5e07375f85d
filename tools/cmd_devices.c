/*
 * cmd_devices.c - `vyre devices`: what this machine has, and why the rest is not there.
 */
#include "tools/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: vyre devices [--verbose] [--json]\n"
    "\n"
    "Lists every device of every plugin that loaded, with what it can do.\n"
    "\n"
    "  -v, --verbose  also every plugin and folder that was looked at: how far it came,\n"
    "                 the reason it was rejected, and what to do about it\n"
    "      --json     one JSON object: version, devices; with --verbose also candidates\n"
    "  -h, --help     this text\n"
    "\n"
    "The first column is a selector for --device and VYRE_DEVICE.\n"
    "\n"
    "Exit status: 0 there are devices, 1 there is none, 2 an error.\n";

typedef struct name_of {
  uint64_t value;
  const char *name;
} name_of;

static const name_of classes[] = {{VYRE_DEVICE_CPU, "cpu"},
                                  {VYRE_DEVICE_GPU, "gpu"},
                                  {VYRE_DEVICE_INTEGRATED_GPU, "integrated-gpu"},
                                  {VYRE_DEVICE_OTHER, "other"},
                                  {0, NULL}};

static const name_of capabilities[] = {
    {VYRE_CAP_BUFFERS, "buffers"},         {VYRE_CAP_IMPORT_EXPORT, "import-export"},
    {VYRE_CAP_COHERENT, "coherent"},       {VYRE_CAP_PERSISTENT, "persistent"},
    {VYRE_CAP_NOTIFY_HOST, "notify-host"}, {VYRE_CAP_COMPILER, "compiler"},
    {VYRE_CAP_SUBGROUPS, "subgroups"},     {VYRE_CAP_ALLOC_WHILE_RESIDENT, "alloc-while-resident"},
    {VYRE_CAP_TIMESTAMPS, "timestamps"},   {VYRE_CAP_INTEROP, "interop"},
    {VYRE_CAP_SEQUENCES, "sequences"},     {0, NULL}};

static const name_of progresses[] = {{VYRE_PROGRESS_NONE, "none"},
                                     {VYRE_PROGRESS_OCCUPANCY, "occupancy"},
                                     {VYRE_PROGRESS_CONCURRENT, "concurrent"},
                                     {0, NULL}};

static const name_of grid_syncs[] = {{VYRE_GRID_SYNC_NONE, "none"},
                                     {VYRE_GRID_SYNC_EMULATED, "emulated"},
                                     {VYRE_GRID_SYNC_NATIVE, "native"},
                                     {0, NULL}};

static const name_of stages[] = {{VYRE_CANDIDATE_LOADED, "loaded"},
                                 {VYRE_CANDIDATE_FOLDER, "folder"},
                                 {VYRE_CANDIDATE_FILE, "file"},
                                 {VYRE_CANDIDATE_ELF, "elf"},
                                 {VYRE_CANDIDATE_OPEN, "open"},
                                 {VYRE_CANDIDATE_HANDSHAKE, "handshake"},
                                 {VYRE_CANDIDATE_SHADOWED, "shadowed"},
                                 {VYRE_CANDIDATE_DEVICES, "devices"},
                                 {0, NULL}};

static const char *find_name(const name_of *names, uint64_t value)
{
  for (; names->name != NULL; names++) {
    if (names->value == value) {
      return names->name;
    }
  }
  return "unknown";
}

static bool get_device(const vyre_context *context, uint32_t index, vyre_device_info *info)
{
  vyre_error err = VYRE_ERROR_INIT;

  memset(info, 0, sizeof *info);
  info->struct_size = sizeof *info;
  if (vyre_context_device_info(context, index, info, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return false;
  }
  return true;
}

static bool get_candidate(const vyre_context *context, uint32_t index, vyre_candidate *candidate)
{
  vyre_candidate empty = VYRE_CANDIDATE_INIT;
  vyre_error err = VYRE_ERROR_INIT;

  *candidate = empty;
  if (vyre_context_candidate(context, index, candidate, &err) != VYRE_OK) {
    cli_report(NULL, &err);
    return false;
  }
  return true;
}

/* ---- as text ---- */

static const char *bytes_text(uint64_t bytes, char *text, size_t size)
{
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  size_t unit = 0;

  while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
    value /= 1024;
    unit++;
  }
  snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

static void print_row(const char *name, const char *value)
{
  if (value[0] != '\0') {
    printf("  %-14s %s\n", name, value);
  }
}

static void print_capabilities(const vyre_device_info *info)
{
  const name_of *row;

  printf("  %-14s", "can");
  for (row = capabilities; row->name != NULL; row++) {
    if ((info->capabilities & row->value) != 0) {
      printf(" %s", row->name);
    }
  }
  if (info->capabilities == 0) {
    fputs(" dispatch only", stdout);
  }
  putchar('\n');
  if ((info->capabilities & VYRE_CAP_PERSISTENT) == 0) {
    print_row("not persistent", info->persistent_reason);
  }
  if ((info->capabilities & VYRE_CAP_COMPILER) == 0) {
    print_row("no compiler", info->compiler_reason);
  }
}

static void print_grid_sync(const vyre_device_info *info)
{
  printf("  %-14s %s", "grid sync", find_name(grid_syncs, info->grid_sync));
  if (info->grid_sync_reason[0] != '\0') {
    printf(" (%s)", info->grid_sync_reason);
  }
  putchar('\n');
}

static void print_device(const vyre_device_info *info, const cli_colours *colours)
{
  char memory[32], buffer[32], local[32];

  printf("%s%s%s  %s\n", colours->bold, info->selector, colours->plain, info->name);
  printf("  %-14s %s, plugin %s\n", "class", find_name(classes, info->device_class), info->backend);
  print_row("architecture", info->arch);
  print_row("driver", info->driver);
  print_row("id", info->id);
  print_row("pci", info->pci);
  print_row("uuid", info->uuid);
  printf("  %-14s %s", "memory", bytes_text(info->memory_bytes, memory, sizeof memory));
  if (info->max_buffer_bytes != 0) {
    printf(", one buffer up to %s", bytes_text(info->max_buffer_bytes, buffer, sizeof buffer));
  }
  printf("\n  %-14s %" PRIu32 ", progress %s", "compute units", info->compute_units,
         find_name(progresses, info->progress));
  if (info->subgroup_size != 0) {
    printf(", subgroups of %" PRIu32, info->subgroup_size);
  }
  printf("\n  %-14s up to %" PRIu32 " items (%" PRIu32 " x %" PRIu32 " x %" PRIu32
         "), %s of workgroup memory\n",
         "workgroup", info->max_workgroup_items, info->max_workgroup[0], info->max_workgroup[1],
         info->max_workgroup[2], bytes_text(info->max_workgroup_memory, local, sizeof local));
  print_grid_sync(info);
  print_capabilities(info);
}

static void print_candidate(const vyre_candidate *candidate, const cli_colours *colours)
{
  const bool loaded = candidate->stage == VYRE_CANDIDATE_LOADED;

  printf("%s%-9s%s  %s\n", loaded ? colours->green : colours->red,
         find_name(stages, candidate->stage), colours->plain, candidate->path);
  if (loaded) {
    printf("  %s %s, devices: %" PRIu32 "\n", candidate->name, candidate->version,
           candidate->device_count);
  }
  print_row("reason", candidate->message);
  print_row("fix", candidate->fix);
}

static int print_text(const vyre_context *context, bool verbose)
{
  const cli_colours colours = cli_stdout_colours();
  const uint32_t devices = vyre_context_device_count(context);
  vyre_candidate candidate;
  vyre_device_info info;
  uint32_t i;

  for (i = 0; i < devices; i++) {
    if (!get_device(context, i, &info)) {
      return CLI_ERROR;
    }
    print_device(&info, &colours);
  }
  if (verbose) {
    printf("%s%sLooked at:%s\n", devices != 0 ? "\n" : "", colours.bold, colours.plain);
    for (i = 0; i < vyre_context_candidate_count(context); i++) {
      if (!get_candidate(context, i, &candidate)) {
        return CLI_ERROR;
      }
      print_candidate(&candidate, &colours);
    }
  }
  return CLI_OK;
}

/* ---- as JSON ---- */

/* Texts of the system may be any bytes; JSON takes UTF-8 alone. */
static json_t *json_text(const char *text)
{
  json_t *value = json_string(text);

  return value != NULL ? value : json_string("(not UTF-8)");
}

static json_t *json_capabilities(uint64_t bits)
{
  json_t *object = json_object();
  const name_of *row;

  for (row = capabilities; object != NULL && row->name != NULL; row++) {
    if (json_object_set_new(object, row->name, json_boolean((bits & row->value) != 0)) != 0) {
      json_decref(object);
      object = NULL;
    }
  }
  return object;
}

static json_t *json_device(const vyre_device_info *info)
{
  return json_pack(
      "{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:[I,I,I], s:I, s:[I,I,I], "
      "s:I, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:s, s:I, s:o, s:o}",
      "selector", json_text(info->selector), "backend", json_text(info->backend), "name",
      json_text(info->name), "class", find_name(classes, info->device_class), "id",
      json_text(info->id), "pci", json_text(info->pci), "uuid", json_text(info->uuid), "arch",
      json_text(info->arch), "driver", json_text(info->driver), "memory_bytes",
      (json_int_t)info->memory_bytes, "max_buffer_bytes", (json_int_t)info->max_buffer_bytes,
      "max_workgroup_memory", (json_int_t)info->max_workgroup_memory, "max_workgroup",
      (json_int_t)info->max_workgroup[0], (json_int_t)info->max_workgroup[1],
      (json_int_t)info->max_workgroup[2], "max_workgroup_items",
      (json_int_t)info->max_workgroup_items, "max_groups", (json_int_t)info->max_groups[0],
      (json_int_t)info->max_groups[1], (json_int_t)info->max_groups[2], "compute_units",
      (json_int_t)info->compute_units, "subgroup_size", (json_int_t)info->subgroup_size, "progress",
      find_name(progresses, info->progress), "coherent_atomics", (json_int_t)info->coherent_atomics,
      "max_push_bytes", (json_int_t)info->max_push_bytes, "max_bindings",
      (json_int_t)info->max_bindings, "persistent_reason", json_text(info->persistent_reason),
      "compiler_reason", json_text(info->compiler_reason), "grid_sync",
      find_name(grid_syncs, info->grid_sync), "cooperative_items",
      (json_int_t)info->cooperative_items, "grid_sync_reason", json_text(info->grid_sync_reason),
      "capabilities", json_capabilities(info->capabilities));
}

static json_t *json_candidate(const vyre_candidate *candidate)
{
  return json_pack("{s:o, s:s, s:s, s:o, s:o, s:I, s:o, s:o}", "path", json_text(candidate->path),
                   "stage", find_name(stages, candidate->stage), "status",
                   vyre_status_name(candidate->status), "name", json_text(candidate->name),
                   "version", json_text(candidate->version), "device_count",
                   (json_int_t)candidate->device_count, "reason", json_text(candidate->message),
                   "fix", json_text(candidate->fix));
}

static int print_json(const vyre_context *context, bool verbose)
{
  json_t *root = json_pack("{s:s, s:[]}", "version", vyre_version(), "devices");
  json_t *candidates = NULL;
  vyre_candidate candidate;
  vyre_device_info info;
  int status = CLI_ERROR, failed = root == NULL;
  uint32_t i;

  for (i = 0; !failed && i < vyre_context_device_count(context); i++) {
    if (!get_device(context, i, &info)) {
      goto done;
    }
    failed = json_array_append_new(json_object_get(root, "devices"), json_device(&info));
  }
  if (verbose && !failed) {
    candidates = json_array();
    failed = json_object_set_new(root, "candidates", candidates);
  }
  for (i = 0; verbose && !failed && i < vyre_context_candidate_count(context); i++) {
    if (!get_candidate(context, i, &candidate)) {
      goto done;
    }
    failed = json_array_append_new(candidates, json_candidate(&candidate));
  }
  status = cli_print_json(failed ? NULL : json_incref(root), JSON_INDENT(2)) ? CLI_OK : CLI_ERROR;
done:
  json_decref(root);
  return status;
}

static int run(int argc, char **argv)
{
  static const struct option longs[] = {{"verbose", no_argument, NULL, 'v'},
                                        {"json", no_argument, NULL, 'j'},
                                        CLI_HELP_OPTION,
                                        {NULL, 0, NULL, 0}};
  bool verbose = false, json = false;
  vyre_context *context = NULL;
  int option, status;

  while ((option = cli_next_option(&cli_verb_devices, argc, argv, "vh", longs)) !=
         CLI_OPTIONS_END) {
    switch (option) {
    case 'v':
      verbose = true;
      break;
    case 'j':
      json = true;
      break;
    default:
      return option == CLI_OPTIONS_HELP ? CLI_OK : CLI_ERROR;
    }
  }
  if (optind != argc) {
    return cli_usage("unexpected argument '%s'", argv[optind]);
  }
  if (!cli_context(&context)) {
    return CLI_ERROR;
  }
  status = json ? print_json(context, verbose) : print_text(context, verbose);
  if (status == CLI_OK && vyre_context_device_count(context) == 0) {
    cli_note("no device; `vyre devices --verbose` tells what was looked at");
    status = CLI_NONE;
  }
  vyre_context_destroy(context);
  return status;
}

const cli_verb cli_verb_devices = {"devices", "list devices, and plugins that were rejected", help,
                                   run};
