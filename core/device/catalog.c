/* catalog.c - from the files that the search found to loaded plugins and candidates. */
#include "core/device/context.h"
#include "core/loader/search.h"

#include <errno.h>
#include <string.h>

/* Keeps a candidate and tells the log.  `reason` (may be NULL) gives status, message and fix. */
static vyre_status keep(vyre_context *context, const char *path, vyre_candidate_stage stage,
                        const vyre_backend *backend, const vyre_error *reason, vyre_error *err)
{
  vyre_candidate row = VYRE_CANDIDATE_INIT;
  /* All plugins are installed everywhere: a machine without some vendor's library is an ordinary
     one. */
  bool is_quiet = stage == VYRE_CANDIDATE_LOADED || stage == VYRE_CANDIDATE_SHADOWED ||
                  stage == VYRE_CANDIDATE_FOLDER ||
                  (reason && reason->code == VYRE_ERROR_VENDOR_LIBRARY);
  row.stage = stage;
  row.path = path;
  if (backend) {
    row.name = backend->name;
    row.version = backend->version;
  }
  if (reason) {
    row.status = reason->code;
    row.message = reason->message;
    row.fix = reason->fix;
  }
  vyre__context_log(context, is_quiet ? VYRE_LOG_INFO : VYRE_LOG_WARNING, "%s: %s%s%s", path,
                    vyre__candidate_stage_word(stage), reason ? ": " : "",
                    reason ? reason->message : "");
  return vyre__candidates_add(&context->candidates, &row, err);
}

static vyre_status keep_folder(vyre_context *context, const vyre__found *found, vyre_error *err)
{
  vyre_error reason = VYRE_ERROR_INIT;
  if (found->folder_error == ENOENT)
    VYRE_FAIL_VENDOR(&reason, VYRE_ERROR_NOT_FOUND, found->folder_error,
                     "nothing to do, unless plugins should be there", "no such folder");
  else
    VYRE_FAIL_VENDOR(&reason, VYRE_ERROR_IO, found->folder_error,
                     "check the search path and the folder's permissions",
                     "the folder cannot be read: %s", strerror(found->folder_error));
  return keep(context, found->path, VYRE_CANDIDATE_FOLDER, NULL, &reason, err);
}

/* A rejected file: no error of the context unless somebody named it, or memory ran out. */
static vyre_status keep_rejected(vyre_context *context, const vyre__found *found,
                                 vyre_candidate_stage stage, const vyre_error *reason,
                                 vyre_error *err)
{
  vyre_status status = keep(context, found->path, stage, NULL, reason, err);
  if (status)
    return status;
  if (!found->is_explicit)
    return VYRE_OK;
  vyre__error_copy(err, reason);
  vyre__error_prefix(err, "%s: ", found->path);
  return reason->code;
}

/*
 * The loaded plugin of this name, if any; and the path that it came from, which its candidate
 * holds.
 */
static const char *path_of_loaded(const vyre_context *context, const char *name)
{
  uint32_t i;
  if (!vyre__context_backend(context, name))
    return NULL;
  for (i = 0; i < context->candidates.count; i++) {
    const vyre_candidate *row = &context->candidates.rows[i];
    if (row->stage == VYRE_CANDIDATE_LOADED && !strcmp(row->name, name))
      return row->path;
  }
  return "another file";
}

static vyre_status keep_shadowed(vyre_context *context, const vyre__found *found,
                                 vyre__plugin *plugin, const char *first, vyre_error *err)
{
  vyre_error reason = VYRE_ERROR_INIT;
  vyre_status status;
  VYRE_FAIL(&reason, VYRE_OK, "remove one of the two, or put the wanted one first",
            "a plugin named '%s' was loaded from %s", plugin->backend->name, first);
  status = keep(context, found->path, VYRE_CANDIDATE_SHADOWED, plugin->backend, &reason, err);
  if (!status && found->is_explicit)
    status = VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "name only one of the two files",
                       "two plugin files are named '%s': %s and %s", plugin->backend->name, first,
                       found->path);
  vyre__plugin_discard(plugin);
  return status;
}

static vyre_status keep_loaded(vyre_context *context, const vyre__found *found,
                               const vyre__plugin *plugin, vyre_error *err)
{
  /* From here on the context owns it: it is closed with the context, whatever comes. */
  vyre__member *member = &context->members[context->member_count++];
  member->plugin = *plugin;
  member->candidate = context->candidates.count; /* the row that is about to be added */
  vyre__devices_init(&member->devices, &context->allocator);
  return keep(context, found->path, VYRE_CANDIDATE_LOADED, plugin->backend, NULL, err);
}

static vyre_status try_file(vyre_context *context, const vyre__found *found, vyre_error *err)
{
  vyre_candidate_stage stage = VYRE_CANDIDATE_FILE;
  vyre_error reason = VYRE_ERROR_INIT;
  vyre__plugin plugin = {NULL, NULL};
  const char *first = NULL;
  vyre_status status =
      vyre__plugin_open(found->path, &context->allocator, &vyre__host, &plugin, &stage, &reason);
  /* Before the table is read there is only our own memory to run out of. */
  if (status == VYRE_ERROR_OUT_OF_HOST_MEMORY && stage < VYRE_CANDIDATE_OPEN)
    return vyre__error_copy(err, &reason);
  if (status)
    return keep_rejected(context, found, stage, &reason, err);
  first = path_of_loaded(context, plugin.backend->name);
  if (first)
    return keep_shadowed(context, found, &plugin, first, err);
  return keep_loaded(context, found, &plugin, err);
}

vyre_status vyre__context_fill(vyre_context *context, const vyre_context_options *options,
                               vyre_error *err)
{
  vyre__search search;
  uint32_t i;
  vyre_status status = vyre__search_run(&search, &context->allocator, options, err);
  if (status)
    return status;
  context->members =
      vyre__allocate_zeroed(&context->allocator, search.count, sizeof *context->members);
  if (!context->members)
    status = VYRE_FAIL_MEMORY(err, "the list of plugins");
  for (i = 0; !status && i < search.count; i++)
    status = search.rows[i].folder_error ? keep_folder(context, &search.rows[i], err)
                                         : try_file(context, &search.rows[i], err);
  vyre__search_free(&search);
  if (status)
    return status;
  if (!context->member_count)
    vyre__context_log(context, VYRE_LOG_WARNING,
                      "no plugin was loaded; set VYRE_PLUGIN_PATH to the folder of libvyre_cpu.so");
  return VYRE_OK;
}
