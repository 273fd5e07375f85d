/* exceptions.c - cases that a vendor knows to fail; see exceptions.h. */
#include "conformance/exceptions.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool keep(char *to, size_t size, json_t *object, const char *key, const char *path,
                 size_t index)
{
  const char *text = json_string_value(json_object_get(object, key));
  if (text && *text && strlen(text) < size) {
    memcpy(to, text, strlen(text) + 1);
    return true;
  }
  fprintf(stderr,
          "vyre-conform: error: %s: entry %zu has no \"%s\" of at most %zu characters; every entry "
          "needs case, reason, abi and expires\n",
          path, index, key, size - 1);
  return false;
}

static bool is_date(const char *text)
{
  struct tm parts;
  const char *end = strptime(text, "%Y-%m-%d", &parts);
  return end && !*end && strlen(text) == 10;
}

static bool read_entry(json_t *object, const char *path, size_t index, conform_exception *out)
{
  char abi[16], own[16];
  snprintf(own, sizeof own, "%u.%u", VYRE_ABI_MAJOR, VYRE_ABI_MINOR);
  if (!keep(out->name, sizeof out->name, object, "case", path, index) ||
      !keep(out->reason, sizeof out->reason, object, "reason", path, index) ||
      !keep(abi, sizeof abi, object, "abi", path, index) ||
      !keep(out->expires, sizeof out->expires, object, "expires", path, index))
    return false;
  if (!is_date(out->expires)) {
    fprintf(stderr, "vyre-conform: error: %s: entry %zu expires '%s'; give YYYY-MM-DD\n", path,
            index, out->expires);
    return false;
  }
  if (strcmp(abi, own) != 0) {
    fprintf(stderr,
            "vyre-conform: error: %s: the exception of %s is for ABI %s, this suite checks %s\n",
            path, out->name, abi, own);
    return false;
  }
  return true;
}

bool conform_read_exceptions(const char *path, conform_exceptions *out_exceptions)
{
  json_error_t error;
  json_t *list = NULL, *object = NULL;
  size_t index = 0;
  bool good = true;
  memset(out_exceptions, 0, sizeof *out_exceptions);
  if (!path)
    return true;
  list = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!list || !json_is_array(list) || json_array_size(list) > CONFORM_MAX_EXCEPTIONS) {
    fprintf(stderr, "vyre-conform: error: %s:%d: %s\n", path, list ? 1 : error.line,
            list ? "not a list of at most 256 entries" : error.text);
    json_decref(list);
    return false;
  }
  json_array_foreach(list, index, object) good =
      read_entry(object, path, index, &out_exceptions->rows[out_exceptions->count++]) && good;
  json_decref(list);
  return good;
}

static conform_exception *find(conform_exceptions *exceptions, const char *name)
{
  for (uint32_t i = 0; i < exceptions->count; ++i)
    if (!strcmp(exceptions->rows[i].name, name))
      return &exceptions->rows[i];
  return NULL;
}

static bool has_expired(const conform_exception *exception)
{
  char today[16];
  const time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  strftime(today, sizeof today, "%Y-%m-%d", &parts);
  return strcmp(exception->expires, today) < 0;
}

void conform_apply_exception(conform_exceptions *exceptions, conform_result *result)
{
  conform_exception *exception = find(exceptions, result->row->name);
  if (!exception)
    return;
  exception->used = true;
  if (result->verdict == CONFORM_PASS) {
    result->verdict = CONFORM_FAIL;
    snprintf(result->text, sizeof result->text,
             "it passes, but an exception says that it fails: remove the exception");
  } else if (result->verdict == CONFORM_FAIL && !has_expired(exception)) {
    result->verdict = CONFORM_EXPECTED;
  }
}

uint32_t conform_wrong_exceptions(const conform_exceptions *exceptions, bool whole_suite)
{
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < exceptions->count; ++i) {
    const conform_exception *exception = &exceptions->rows[i];
    const bool expired = has_expired(exception);
    if (!expired && (exception->used || (!whole_suite && conform_case_find(exception->name))))
      continue;
    wrong += 1;
    fprintf(stderr, "vyre-conform: error: the exception of %s %s\n", exception->name,
            expired ? "has expired" : "matches no case");
  }
  return wrong;
}
