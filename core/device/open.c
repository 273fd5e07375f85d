/* open.c - vyre_device_open(): reads the request, tries devices in order, says what came of each.
 */
#include "core/device/open.h"

#include "core/base/structs.h"
#include "core/base/text.h"
#include "core/device/ask.h"
#include "core/device/context.h"
#include "core/device/select.h"
#include "core/loader/search.h"

#include <string.h>

#define REQUEST_SIZE_0_1 VYRE__SIZE_TO(vyre_device_request, selector)

vyre_status vyre__backend_open(const vyre_backend *backend, uint32_t index,
                               const vyre_native_handle *queue, vyre_backend_device **out_handle,
                               vyre_error *err)
{
  vyre_backend_device_options options = {.struct_size = (uint32_t)sizeof options};
  vyre_error said = VYRE_ERROR_INIT;
  vyre_backend_device *handle = NULL;
  vyre_status status;
  options.queue.struct_size = (uint32_t)sizeof options.queue;
  if (queue) {
    options.queue.type = queue->type;
    options.queue.handle = queue->handle;
  }
  status = backend->device_open(index, &options, &handle, &said);
  if (status)
    return vyre__plugin_error(err, backend, "device_open", status, &said);
  if (!handle)
    return VYRE_FAIL(err, VYRE_ERROR_INTERNAL,
                     "update the plugin, or report this to whoever made it",
                     "%s: device_open succeeded and gave no device", backend->name);
  *out_handle = handle;
  return VYRE_OK;
}

/* ---- the request ---- */

static vyre_status read_request(const vyre_context *context, const vyre_device_request *from,
                                vyre_device_request *request, bool *out_from_environment,
                                vyre_error *err)
{
  static const vyre_device_request defaults = VYRE_DEVICE_REQUEST_INIT;
  const char *variable = NULL;
  *request = defaults;
  *out_from_environment = false;
  if (from && !vyre__struct_read(request, sizeof *request, from, REQUEST_SIZE_0_1))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_DEVICE_REQUEST_INIT",
                     "request.struct_size is %u, at least %u are needed", from->struct_size,
                     REQUEST_SIZE_0_1);
  if (request->policy > VYRE_POLICY_ALLOW_FALLBACK)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use one of VYRE_POLICY_…",
                     "request.policy %u is unknown", request->policy);
  if (request->queue.handle &&
      request->queue.struct_size < VYRE__SIZE_TO(vyre_native_handle, handle))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set its struct_size to its sizeof",
                     "request.queue.struct_size is %u", request->queue.struct_size);
  if (request->selector)
    return VYRE_OK;
  if (!(context->flags & VYRE_CONTEXT_IGNORE_ENVIRONMENT))
    variable = vyre__environment("VYRE_DEVICE");
  *out_from_environment = variable && variable[0];
  request->selector = *out_from_environment ? variable : "any";
  return VYRE_OK;
}

/* ---- telling why ---- */

/* By this choice; another thread may have asked the plugin since. */
static bool was_looked_at(const vyre__selection *selection, const vyre__member *member)
{
  uint32_t i;
  if (!vyre__is_asked(member))
    return false;
  for (i = 0; i < selection->devices->count; i++)
    if (selection->devices->rows[i].backend == member->plugin.backend)
      return true;
  return !member->devices.count;
}

/*
 * Plugins that gave no device, one line each.  Folders that are not there are only worth a line
 * when nothing was found.
 */
static void describe_candidates(const vyre_context *context, const vyre__selection *selection,
                                bool found, vyre__text *text)
{
  uint32_t i;
  for (i = 0; i < context->candidates.count; i++) {
    vyre_candidate row;
    const vyre__member *member = vyre__candidate_now(context, i, &row);
    bool is_unseen = member && !was_looked_at(selection, member);
    if (!is_unseen &&
        (row.stage == VYRE_CANDIDATE_SHADOWED || !row.message[0] ||
         (found && row.stage == VYRE_CANDIDATE_FOLDER && row.status == VYRE_ERROR_NOT_FOUND)))
      continue;
    if (text->size)
      vyre__text_add(text, "\n", 1);
    if (is_unseen)
      vyre__text_format(text, "%s: not looked at, '%s' needs none of its devices", row.name,
                        selection->selector);
    else
      vyre__text_format(text, "%s: %s%s", row.path,
                        row.stage == VYRE_CANDIDATE_LOADED ? "" : "not used, ", row.message);
  }
}

static char *describe(const vyre_context *context, const vyre__selection *selection,
                      uint32_t chosen)
{
  vyre__text text;
  vyre__text_init(&text, &context->allocator);
  vyre__selection_describe(selection, chosen, &text);
  describe_candidates(context, selection, chosen != VYRE__NO_DEVICE, &text);
  return vyre__text_take(&text, NULL);
}

static const char *cure(const vyre_context *context, const vyre__selection *selection)
{
  if (!context->member_count)
    return "no plugin is loaded: install vyre's plugins, or set VYRE_PLUGIN_PATH to their folder "
           "(that of libvyre_cpu.so)";
  if (!selection->devices->count)
    return "the loaded plugins see no device: the message says why; install the driver, or add "
           "the cpu plugin to VYRE_PLUGIN_PATH";
  return "name one of the devices in the message, or allow a fall back "
         "(VYRE_POLICY_ALLOW_FALLBACK)";
}

/*
 * No device at all: NOT_FOUND if none matched, else the code of the first that could not be opened.
 */
static vyre_status nothing_opened(const vyre_context *context, const vyre__selection *selection,
                                  bool from_environment, const vyre_error *first, vyre_error *err)
{
  char *lines = describe(context, selection, VYRE__NO_DEVICE);
  vyre_status status = VYRE_FAIL_VENDOR(
      err, first->code ? first->code : VYRE_ERROR_NOT_FOUND, first->vendor_code,
      first->code ? first->fix : cure(context, selection), "no device %s %s'%s'%s%s",
      first->code ? "could be opened for" : "matches", from_environment ? "VYRE_DEVICE=" : "",
      selection->selector, lines && lines[0] ? ":\n" : "", lines ? lines : "");
  vyre__deallocate(&context->allocator, lines);
  return status;
}

/* ---- asking ---- */

/* The loaded plugin that a term names; their count if it names none. */
static uint32_t find_named(const vyre_context *context, const vyre__term *term)
{
  uint32_t i;
  for (i = 0; i < context->member_count; i++)
    if (vyre__term_names(term, context->members[i].plugin.backend->name))
      break;
  return i;
}

/*
 * Asks the plugins whose devices can make a difference.  Of plain names without a fall back those
 * up to the first that is met; anything else, and a selector that nothing meets, takes all.
 */
static vyre_status ask_needed(const vyre_context *context, vyre__selection *selection,
                              vyre_error *err)
{
  bool is_plain = selection->policy == VYRE_POLICY_REQUIRE;
  uint32_t i;
  for (i = 0; i < selection->term_count; i++) {
    vyre__term *term = &selection->terms[i];
    term->names_plugin = find_named(context, term) < context->member_count;
    is_plain = is_plain && !term->excludes;
  }
  for (i = 0; is_plain && i < selection->term_count && selection->terms[i].names_plugin; i++) {
    uint32_t named = find_named(context, &selection->terms[i]);
    vyre_status status = vyre__ask(context, named, err);
    if (status || vyre__term_finds(&selection->terms[i], &context->members[named].devices))
      return status;
  }
  return vyre__ask_all(context, err);
}

/* ---- opening ---- */

static vyre_status open_one(vyre_context *context, const vyre__listed_device *listed,
                            const vyre_native_handle *queue, vyre_device **out_device,
                            vyre_error *err)
{
  vyre_status status;
  vyre_device *device = NULL;
  if (queue->handle && !(listed->info.capabilities & VYRE_CAP_INTEROP))
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED,
                     "leave the request's queue empty, or choose a device with VYRE_CAP_INTEROP",
                     "device %s takes no queue of the application", listed->info.selector);
  device = vyre__allocate_zeroed(&context->allocator, 1, sizeof *device);
  if (!device)
    return VYRE_FAIL_MEMORY(err, "a device");
  status = vyre__site_get(context->process, listed->backend, listed->backend_index, &listed->info,
                          &device->site, err);
  if (!status)
    status = vyre__site_quiesce(device->site, NULL, err);
  if (!status) {
    status =
        vyre__backend_open(listed->backend, listed->backend_index, queue, &device->handle, err);
    vyre__site_resume(device->site);
  }
  if (status) {
    vyre__site_release(device->site);
    vyre__deallocate(&context->allocator, device);
    return status;
  }
  device->context = context;
  device->backend = listed->backend;
  device->allocator = context->allocator;
  device->info = listed->info;
  device->serialised_by = listed->serialised_by;
  vyre__device_look_again(listed, &device->info);
  device->backend_index = listed->backend_index;
  device->references = 1;
  vyre__binders_init(&device->binders);
  vyre__context_retain(context);
  *out_device = device;
  return VYRE_OK;
}

/*
 * Tries the devices in order: the first alone with REQUIRE, all with the others.  `first` gets the
 * first failure.
 */
static vyre_device *open_in_order(vyre_context *context, vyre__selection *selection,
                                  const vyre_native_handle *queue, uint32_t *out_place,
                                  vyre_error *first)
{
  vyre_device *device = NULL;
  uint32_t place;
  for (place = 0; place < selection->order_count; place++) {
    uint32_t index = selection->order[place];
    vyre_error failure = VYRE_ERROR_INIT;
    if (!open_one(context, &selection->devices->rows[index], queue, &device, &failure)) {
      *out_place = place;
      return device;
    }
    vyre__context_log(context, VYRE_LOG_WARNING, "device %s could not be opened: %s",
                      selection->devices->rows[index].info.selector, failure.message);
    vyre__selection_failed(selection, index, failure.message);
    if (!first->code)
      *first = failure;
    if (selection->policy == VYRE_POLICY_REQUIRE)
      break;
  }
  return NULL;
}

/* Opens the best device of a selection that is in order. */
static vyre_status open_best(vyre_context *context, vyre__selection *selection,
                             const vyre_native_handle *queue, bool from_environment,
                             vyre_device **out_device, vyre_error *err)
{
  vyre_error first = VYRE_ERROR_INIT;
  uint32_t place = 0;
  vyre_device *device = open_in_order(context, selection, queue, &place, &first);
  if (!device)
    return nothing_opened(context, selection, from_environment, &first, err);
  device->fell_back = place > 0 || selection->asked_count == 0;
  device->choice = describe(context, selection, selection->order[place]);
  if (!device->choice) {
    vyre__device_release(device);
    return VYRE_FAIL_MEMORY(err, "the text of the choice");
  }
  if (device->fell_back)
    vyre__context_log(context, VYRE_LOG_WARNING, "fell back to device %s for '%s'",
                      device->info.selector, selection->selector);
  *out_device = device;
  return VYRE_OK;
}

vyre_status vyre_device_open(vyre_context *context, const vyre_device_request *request,
                             vyre_device **out_device, vyre_error *err)
{
  bool from_environment = false;
  vyre_device_request given;
  vyre__selection selection;
  const vyre__devices *devices = NULL;
  vyre__devices view;
  vyre_status status = vyre__context_check(context, err);
  if (status)
    return status;
  if (!out_device)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give a place for the device",
                     "out_device is NULL");
  status = read_request(context, request, &given, &from_environment, err);
  if (!status)
    status =
        vyre__selection_read(&selection, &context->allocator, given.selector, given.policy, err);
  if (status) {
    if (from_environment)
      vyre__error_prefix(err, "VYRE_DEVICE='%.200s': ", given.selector);
    return status;
  }
  status = ask_needed(context, &selection, err);
  if (status)
    return status;
  devices = vyre__asked_devices(context, &view, err);
  status =
      devices ? vyre__selection_judge(&selection, devices, err) : VYRE_ERROR_OUT_OF_HOST_MEMORY;
  if (!status) {
    status = open_best(context, &selection, &given.queue, from_environment, out_device, err);
    vyre__selection_free(&selection);
  }
  vyre__devices_free(&view);
  return status;
}
