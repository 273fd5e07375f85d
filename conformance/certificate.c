/*
 * certificate.c - the certificate of a run, and its check.
 *
 * It is the JSON of the run with a sum of itself: {"certificate": {…}, "sha256": "…"}, the sum
 * taken over the compact form of the inner object with sorted keys.  It shows accidental change and
 * a different plugin; it proves no author (docs/conformance.md says how to sign it).
 */
#include "conformance/plain.h"
#include "conformance/reports.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool conform_hash_file(const char *path, char out_hex[65])
{
  return SHA256File(path, out_hex) != NULL;
}

void conform_hash_bytes(const void *bytes, size_t size, char out_hex[65])
{
  SHA256Data(bytes, size, out_hex);
}

void conform_hash_suite(char out_hex[65])
{
  const conform_case *row = NULL;
  SHA2_CTX context;
  SHA256Init(&context);
  for (uint32_t i = 0; (row = conform_case_at(i)); ++i) {
    const char *profile = conform_profile_name(row->profile);
    SHA256Update(&context, (const uint8_t *)row->name, strlen(row->name) + 1);
    SHA256Update(&context, (const uint8_t *)row->rules, strlen(row->rules) + 1);
    SHA256Update(&context, (const uint8_t *)profile, strlen(profile) + 1);
  }
  SHA256End(&context, out_hex);
}

/* Of the inner object; false without memory. */
static bool hash_object(json_t *object, char out_hex[65])
{
  char *compact = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
  if (!compact)
    return false;
  conform_hash_bytes(compact, strlen(compact), out_hex);
  free(compact);
  return true;
}

bool conform_write_certificate(const conform_options *options, const conform_results *results,
                               const conform_exceptions *exceptions)
{
  char hash[65];
  json_t *root = NULL, *inner = NULL;
  bool good = false;
  if (results->of[CONFORM_FAIL] || results->of[CONFORM_SKIPPED] || !results->of[CONFORM_PASS]) {
    fprintf(stderr,
            "vyre-conform: error: no certificate: %u cases failed and %u were skipped; all cases "
            "must run\n",
            results->of[CONFORM_FAIL], results->of[CONFORM_SKIPPED]);
    return false;
  }
  root = json_object();
  inner = conform_json(results, exceptions);
  if (root && inner && hash_object(inner, hash)) {
    json_object_set_new(root, "sha256", json_string(hash));
    json_object_set(root, "certificate", inner);
    good = conform_write_json(options->certificate, root);
  }
  json_decref(inner);
  json_decref(root);
  return good;
}

static const char *inner_text(json_t *inner, const char *key)
{
  const char *value = json_string_value(json_object_get(json_object_get(inner, "identity"), key));
  return value ? value : "";
}

static int refuse(const char *path, const char *why)
{
  fprintf(stderr, "vyre-conform: %s: %s\n", path, why);
  return CONFORM_EXIT_FAILED;
}

static long long sum_of(json_t *inner, const char *verdict)
{
  return (long long)json_integer_value(json_object_get(json_object_get(inner, "sums"), verdict));
}

/* The texts are the file's own, whoever made it. */
static void print_verified(const char *path, json_t *inner, bool same_suite, bool with_plugin)
{
  const char *const parts[] = {path,
                               ": ",
                               inner_text(inner, "plugin"),
                               " ",
                               inner_text(inner, "plugin_version"),
                               " on ",
                               inner_text(inner, "device"),
                               ", ABI ",
                               inner_text(inner, "abi"),
                               ", ",
                               inner_text(inner, "time"),
                               "; suite ",
                               inner_text(inner, "suite_version"),
                               same_suite ? "" : " (another list of cases than this one)",
                               NULL};
  for (uint32_t i = 0; parts[i]; ++i)
    conform_print_plain(stdout, parts[i], " ");
  printf("\n%lld cases passed, %lld were expected to fail, %lld were not supported\n",
         sum_of(inner, "pass"), sum_of(inner, "expected-fail"), sum_of(inner, "not-supported"));
  if (with_plugin)
    printf("the plugin is the one that was checked\n");
}

int conform_verify(const char *path, const char *plugin)
{
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *inner = NULL;
  const char *sum = NULL;
  char hash[65] = "", own[65];
  int status = CONFORM_EXIT_PASSED;
  if (!root) {
    fprintf(stderr, "vyre-conform: error: %s:%d: %s\n", path, error.line, error.text);
    return CONFORM_EXIT_USAGE;
  }
  inner = json_object_get(root, "certificate");
  sum = json_string_value(json_object_get(root, "sha256"));
  conform_hash_suite(own);
  if (!inner || !sum || !hash_object(inner, hash))
    status = refuse(path, "it is not a certificate of vyre-conform");
  else if (strcmp(sum, hash) != 0)
    status = refuse(path, "its sum is not that of its content: it was changed");
  else if (json_integer_value(json_object_get(json_object_get(inner, "sums"), "fail")) ||
           !json_integer_value(json_object_get(json_object_get(inner, "sums"), "pass")))
    status = refuse(path, "it says that cases failed, or that none passed");
  else if (plugin && !conform_hash_file(plugin, hash))
    status = refuse(plugin, "it cannot be read");
  else if (plugin && strcmp(hash, inner_text(inner, "plugin_sha256")) != 0)
    status = refuse(plugin, "it is another plugin than the certificate's");
  if (status == CONFORM_EXIT_PASSED)
    print_verified(path, inner, !strcmp(own, inner_text(inner, "suite_sha256")), plugin != NULL);
  json_decref(root);
  return status;
}
