/* ask.c - the questions to the loaded plugins of a context, and their answers; see ask.h. */
#include "core/device/ask.h"

void vyre__ask_init(vyre_context *context)
{
  pthread_mutex_init(&context->lock, NULL);
  pthread_cond_init(&context->answered, NULL);
  vyre__devices_init(&context->devices, &context->allocator);
}

void vyre__ask_free(vyre_context *context, bool is_ours)
{
  uint32_t i;
  for (i = 0; i < context->member_count; i++)
    vyre__devices_free(&context->members[i].devices);
  vyre__devices_free(&context->devices);
  if (!is_ours)
    return;
  pthread_cond_destroy(&context->answered);
  pthread_mutex_destroy(&context->lock);
}

/* ---- one asks at a time ---- */

/*
 * A plugin's log line calls hooks in the middle of a question.  One that comes back here would wait
 * for itself.
 */
static vyre_status begin(vyre_context *context, vyre_error *err)
{
  bool is_within;
  pthread_mutex_lock(&context->lock);
  while (context->is_asking && !pthread_equal(context->asker, pthread_self()))
    pthread_cond_wait(&context->answered, &context->lock);
  is_within = context->is_asking;
  context->is_asking = true;
  context->asker = pthread_self();
  pthread_mutex_unlock(&context->lock);
  if (is_within)
    return VYRE_FAIL(err, VYRE_ERROR_UNSUPPORTED, "do not ask for devices from within a log hook",
                     "a plugin is just being asked for its devices by this very thread");
  return VYRE_OK;
}

static void end(vyre_context *context)
{
  pthread_mutex_lock(&context->lock);
  context->is_asking = false;
  pthread_cond_broadcast(&context->answered);
  pthread_mutex_unlock(&context->lock);
}

/* ---- asking ---- */

bool vyre__is_asked(const vyre__member *member)
{
  /* Acquire: pairs with the release of ask_now(): who sees the 1 sees the answer. */
  return __atomic_load_n(&member->asked, __ATOMIC_ACQUIRE) != 0;
}

static vyre_status ask_now(vyre__member *member, vyre_error *err)
{
  static const vyre_error no_reason = VYRE_ERROR_INIT;
  bool is_ours = false;
  uint32_t count = 0;
  vyre_status status;
  member->reason = no_reason;
  member->stage = VYRE_CANDIDATE_LOADED;
  status = vyre__devices_add(&member->devices, member->plugin.backend, &count, &is_ours,
                             &member->reason);
  if (status && is_ours)
    return vyre__error_copy(err, &member->reason);
  if (status)
    member->stage = VYRE_CANDIDATE_DEVICES;
  else if (!count)
    VYRE_FAIL(&member->reason, VYRE_OK,
              "check that the hardware is there, and the vendor's runtime for it (driver, ICD)",
              "it sees no device");
  /* Release: pairs with the acquire of is_asked(). */
  __atomic_store_n(&member->asked, 1, __ATOMIC_RELEASE);
  return VYRE_OK;
}

/* All plugins are installed everywhere: a machine without some vendor's library is ordinary. */
static void tell(const vyre_context *context, const vyre__member *member)
{
  bool is_quiet =
      member->stage == VYRE_CANDIDATE_LOADED || member->reason.code == VYRE_ERROR_VENDOR_LIBRARY;
  if (member->reason.message[0])
    vyre__context_log(context, is_quiet ? VYRE_LOG_INFO : VYRE_LOG_WARNING, "%s: %s: %s",
                      context->candidates.rows[member->candidate].path,
                      vyre__candidate_stage_word(member->stage), member->reason.message);
}

/* Every context is memory of the heap that was not const when it was made. */
static vyre_context *writable(const vyre_context *context)
{
  return (vyre_context *)context;
}

vyre_status vyre__ask(const vyre_context *context, uint32_t member, vyre_error *err)
{
  vyre__member *asked = &writable(context)->members[member];
  vyre_status status;
  bool is_new;
  if (vyre__is_asked(asked))
    return VYRE_OK;
  status = begin(writable(context), err);
  if (status)
    return status;
  is_new = !vyre__is_asked(asked); /* another thread may have come first */
  if (is_new)
    status = ask_now(asked, err);
  end(writable(context));
  if (is_new && !status)
    tell(context, asked);
  return status;
}

/* Those that were asked, in the order in which they were loaded, then sorted. */
static vyre_status collect(const vyre_context *context, vyre__devices *list, vyre_error *err)
{
  uint32_t i;
  for (i = 0; i < context->member_count; i++) {
    const vyre__member *member = &context->members[i];
    if (vyre__is_asked(member) && !vyre__devices_append(list, &member->devices)) {
      vyre__devices_free(list);
      return VYRE_FAIL_MEMORY(err, "the list of devices");
    }
  }
  vyre__devices_sort(list);
  return VYRE_OK;
}

static bool is_complete(const vyre_context *context)
{
  /* Acquire: pairs with the release of complete(): who sees the 1 sees the list. */
  return __atomic_load_n(&context->is_complete, __ATOMIC_ACQUIRE) != 0;
}

/* All were asked: the list that indexes count in. */
static vyre_status complete(vyre_context *context, vyre_error *err)
{
  vyre_status status = begin(context, err);
  if (status)
    return status;
  if (!is_complete(context))
    status = collect(context, &context->devices, err);
  if (!status) /* Release: pairs with the acquire of is_complete(). */
    __atomic_store_n(&context->is_complete, 1, __ATOMIC_RELEASE);
  end(context);
  return status;
}

vyre_status vyre__ask_all(const vyre_context *context, vyre_error *err)
{
  uint32_t i;
  vyre_status status = VYRE_OK;
  if (is_complete(context))
    return VYRE_OK;
  for (i = 0; !status && i < context->member_count; i++)
    status = vyre__ask(context, i, err);
  return status ? status : complete(writable(context), err);
}

/* ---- the answers ---- */

const vyre__devices *vyre__asked_devices(const vyre_context *context, vyre__devices *view,
                                         vyre_error *err)
{
  vyre__devices_init(view, &context->allocator);
  if (is_complete(context))
    return &context->devices;
  return collect(context, view, err) ? NULL : view;
}

const vyre__member *vyre__candidate_now(const vyre_context *context, uint32_t index,
                                        vyre_candidate *out_candidate)
{
  uint32_t i;
  *out_candidate = context->candidates.rows[index];
  for (i = 0; i < context->member_count; i++) {
    const vyre__member *member = &context->members[i];
    if (member->candidate != index)
      continue;
    if (vyre__is_asked(member)) {
      out_candidate->stage = member->stage;
      out_candidate->status = member->reason.code;
      out_candidate->device_count = member->devices.count;
      out_candidate->message = member->reason.message;
      out_candidate->fix = member->reason.fix;
    }
    return member;
  }
  return NULL;
}
