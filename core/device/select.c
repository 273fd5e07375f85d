/* select.c - reading selectors, matching devices, ordering them by policy, telling why. */
#include "core/device/select.h"

#include "core/base/error.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */

#define MAX_SELECTOR 4096u

static const char grammar[] =
    "write terms separated by ',': any, gpu, integrated, a plugin (cpu), a plugin and an index "
    "(cuda:0), a PCI address, a UUID or a device id; '!' in front of a term excludes";

static bool is_blank(char c)
{
  return c == ' ' || c == '\t';
}

/* Blanks off both ends. */
static void trim(const char **text, uint32_t *length)
{
  while (*length && is_blank(**text)) {
    *text += 1;
    *length -= 1;
  }
  while (*length && is_blank((*text)[*length - 1]))
    *length -= 1;
}

static vyre_status read_term(const char *text, uint32_t length, vyre__term *term, vyre_error *err)
{
  uint32_t i;
  trim(&text, &length);
  term->excludes = length && text[0] == '!';
  if (term->excludes) {
    text += 1;
    length -= 1;
    trim(&text, &length);
  }
  if (!length)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, grammar, "the device selector has %s",
                     term->excludes ? "a '!' without a term" : "an empty term");
  for (i = 0; i < length; i++)
    if (is_blank(text[i]) || text[i] == '!' || !isprint((unsigned char)text[i]))
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, grammar,
                       "the device selector's term '%.*s' has a character that no term has",
                       (int)length, text);
  if (text[0] == ':' || text[length - 1] == ':')
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, grammar,
                     "the device selector's term '%.*s' has a ':' with nothing %s it", (int)length,
                     text, text[0] == ':' ? "before" : "after");
  term->text = text;
  term->length = length;
  term->names_plugin = false;
  return VYRE_OK;
}

/* A selector that only excludes asks for any other device. */
static void complete(vyre__selection *selection)
{
  static const vyre__term any = {"any", 3, false, false};
  uint32_t i;
  for (i = 0; i < selection->term_count; i++)
    if (!selection->terms[i].excludes)
      return;
  selection->terms[selection->term_count++] = any;
}

static vyre_status read_selector(vyre__selection *selection, vyre_error *err)
{
  const char *text = selection->selector, *end = NULL;
  if (strnlen(text, MAX_SELECTOR + 1) > MAX_SELECTOR)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, grammar,
                     "the device selector is longer than %u bytes", MAX_SELECTOR);
  do {
    vyre_status status;
    end = strchr(text, ',');
    if (selection->term_count == VYRE__MAX_TERMS)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, grammar,
                       "the device selector has more than %u terms", VYRE__MAX_TERMS);
    status = read_term(text, (uint32_t)(end ? (size_t)(end - text) : strlen(text)),
                       &selection->terms[selection->term_count], err);
    if (status)
      return status;
    selection->term_count += 1;
    if (end)
      text = end + 1;
  } while (end);
  complete(selection);
  return VYRE_OK;
}

vyre_status vyre__selection_read(vyre__selection *selection, const vyre_allocator *allocator,
                                 const char *selector, vyre_policy policy, vyre_error *err)
{
  memset(selection, 0, sizeof *selection);
  selection->allocator = *allocator;
  selection->selector = selector;
  selection->policy = policy;
  return read_selector(selection, err);
}

/* ---- matching ---- */

static bool equals(const vyre__term *term, const char *text)
{
  return text[0] && strlen(text) == term->length && !memcmp(term->text, text, term->length);
}

/* In either case, with `skip` bytes of the term left out. */
static bool equals_folded(const vyre__term *term, uint32_t skip, const char *text)
{
  return text[0] && term->length > skip && strlen(text) == term->length - skip &&
         !strncasecmp(term->text + skip, text, term->length - skip);
}

bool vyre__term_names(const vyre__term *term, const char *name)
{
  const uint32_t length = (uint32_t)strlen(name);
  uint32_t i;
  if (term->length < length || memcmp(term->text, name, length) != 0)
    return false;
  if (term->length == length)
    return true;
  for (i = length + 1; i < term->length; i++)
    if (!isdigit((unsigned char)term->text[i]))
      return false;
  return term->text[length] == ':' && term->length > length + 1;
}

static bool matches(const vyre__term *term, const vyre_device_info *info)
{
  static const char domain[] = "0000:", uuid_prefix[] = "gpu-";
  const uint32_t uuid_skip = (uint32_t)sizeof uuid_prefix - 1;
  bool is_integrated = info->device_class == VYRE_DEVICE_INTEGRATED_GPU;
  if (equals(term, "any"))
    return true;
  if (equals(term, "gpu"))
    return is_integrated || info->device_class == VYRE_DEVICE_GPU;
  if (equals(term, "integrated"))
    return is_integrated;
  if (equals(term, info->backend) || equals(term, info->selector))
    return true;
  if (term->names_plugin)
    return false;
  if (equals_folded(term, 0, info->pci) || equals_folded(term, 0, info->uuid) ||
      equals_folded(term, 0, info->id))
    return true;
  if (!strncmp(info->pci, domain, sizeof domain - 1) &&
      equals_folded(term, 0, info->pci + sizeof domain - 1))
    return true;
  return term->length > uuid_skip && !strncasecmp(term->text, uuid_prefix, uuid_skip) &&
         equals_folded(term, uuid_skip, info->uuid);
}

bool vyre__term_finds(const vyre__term *term, const vyre__devices *devices)
{
  uint32_t i;
  for (i = 0; i < devices->count; i++)
    if (matches(term, &devices->rows[i].info))
      return true;
  return false;
}

/* The first term of one kind that matches, or NULL. */
static const vyre__term *first_match(const vyre__selection *selection, bool excludes,
                                     const vyre_device_info *info)
{
  uint32_t i;
  for (i = 0; i < selection->term_count; i++)
    if (selection->terms[i].excludes == excludes && matches(&selection->terms[i], info))
      return &selection->terms[i];
  return NULL;
}

static void judge(vyre__selection *selection)
{
  uint32_t i;
  for (i = 0; i < selection->devices->count; i++) {
    const vyre_device_info *info = &selection->devices->rows[i].info;
    selection->verdicts[i].excluded_by = first_match(selection, true, info);
    selection->verdicts[i].matched_by = first_match(selection, false, info);
  }
}

/* ---- ordering ---- */

static bool may_fall_back_to(const vyre__selection *selection, const vyre_device_info *info)
{
  switch (selection->policy) {
  case VYRE_POLICY_PREFER:
    return info->device_class != VYRE_DEVICE_CPU;
  case VYRE_POLICY_ALLOW_FALLBACK:
    return true;
  default:
    return false;
  }
}

/*
 * Those that were asked for, by the first term that matches and then as listed (best first); then
 * those that the policy allows.
 */
static void put_in_order(vyre__selection *selection)
{
  const vyre__devices *devices = selection->devices;
  uint32_t term, i;
  for (term = 0; term < selection->term_count; term++)
    for (i = 0; i < devices->count; i++)
      if (!selection->verdicts[i].excluded_by &&
          selection->verdicts[i].matched_by == &selection->terms[term])
        selection->order[selection->order_count++] = i;
  selection->asked_count = selection->order_count;
  for (i = 0; i < devices->count; i++)
    if (!selection->verdicts[i].excluded_by && !selection->verdicts[i].matched_by &&
        may_fall_back_to(selection, &devices->rows[i].info))
      selection->order[selection->order_count++] = i;
}

vyre_status vyre__selection_judge(vyre__selection *selection, const vyre__devices *devices,
                                  vyre_error *err)
{
  selection->devices = devices;
  selection->verdicts =
      vyre__allocate_zeroed(&selection->allocator, devices->count, sizeof *selection->verdicts);
  selection->order =
      vyre__allocate_zeroed(&selection->allocator, devices->count, sizeof *selection->order);
  if (!selection->verdicts || !selection->order) {
    vyre__selection_free(selection);
    return VYRE_FAIL_MEMORY(err, "choosing a device");
  }
  judge(selection);
  put_in_order(selection);
  return VYRE_OK;
}

void vyre__selection_free(vyre__selection *selection)
{
  uint32_t i;
  for (i = 0; selection->verdicts && i < selection->devices->count; i++)
    vyre__deallocate(&selection->allocator, selection->verdicts[i].failure);
  vyre__deallocate(&selection->allocator, selection->verdicts);
  vyre__deallocate(&selection->allocator, selection->order);
  selection->verdicts = NULL;
  selection->order = NULL;
}

/* ---- telling ---- */

void vyre__selection_failed(vyre__selection *selection, uint32_t device, const char *message)
{
  /* Without memory the line says less. */
  selection->verdicts[device].failure = vyre__copy_text(&selection->allocator, message);
}

static void describe_one(const vyre__selection *selection, uint32_t device, bool is_chosen,
                         vyre__text *text)
{
  const vyre__verdict *verdict = &selection->verdicts[device];
  const vyre_device_info *info = &selection->devices->rows[device].info;
  const vyre__term *by = verdict->excluded_by ? verdict->excluded_by : verdict->matched_by;
  vyre__text_format(text, "%s: ", info->selector);
  if (verdict->failure)
    vyre__text_format(text, "could not be opened: %s", verdict->failure);
  else if (verdict->excluded_by)
    vyre__text_format(text, "excluded by '!%.*s'", (int)by->length, by->text);
  else if (is_chosen && by)
    vyre__text_format(text, "chosen, matches '%.*s'", (int)by->length, by->text);
  else if (is_chosen)
    vyre__text_format(text, "chosen, the policy allows to fall back from '%s'",
                      selection->selector);
  else if (by)
    vyre__text_format(text, "matches '%.*s', but another comes first", (int)by->length, by->text);
  else if (may_fall_back_to(selection, info))
    vyre__text_format(text, "does not match '%s', and another comes first", selection->selector);
  else if (selection->policy == VYRE_POLICY_PREFER)
    vyre__text_format(text, "does not match '%s', and a CPU is not fallen back to",
                      selection->selector);
  else
    vyre__text_format(text, "does not match '%s'", selection->selector);
}

void vyre__selection_describe(const vyre__selection *selection, uint32_t chosen, vyre__text *text)
{
  uint32_t i;
  for (i = 0; i < selection->devices->count; i++) {
    if (i)
      vyre__text_add(text, "\n", 1);
    describe_one(selection, i, i == chosen, text);
  }
}
