/* report_files.c - results as JSON and as JUnit XML; see reports.h. */
#include "conformance/plain.h"
#include "conformance/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "vyre_build.h"

/* ---- JSON ---- */

/* Texts come from the plugin: bytes that are no UTF-8 are written as \xNN. */
static json_t *text(const char *value)
{
  json_t *string = json_string(value);
  char *plain = string ? NULL : conform_make_plain(value);
  if (plain)
    string = json_string(plain);
  free(plain);
  return string ? string : json_string("");
}

static void set(json_t *object, const char *key, json_t *value)
{
  json_object_set_new(object, key, value);
}

static json_t *identity(const conform_results *results)
{
  const conform_probe *probe = &results->probe;
  const vyre_backend_device_info *device = &probe->device;
  json_t *object = json_object();
  struct utsname host;
  char hash[65], stamp[32], abi[32];
  const time_t now = time(NULL);
  struct tm parts;
  gmtime_r(&now, &parts);
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &parts);
  snprintf(abi, sizeof abi, "%u.%u", VYRE_ABI_MAJOR, probe->abi_minor);
  set(object, "suite_version", text(VYRE_BUILD_VERSION));
  conform_hash_suite(hash);
  set(object, "suite_sha256", text(hash));
  set(object, "time", text(stamp));
  set(object, "seed", json_integer((json_int_t)results->seed));
  if (results->plugin_sha256[0])
    set(object, "plugin_sha256", text(results->plugin_sha256));
  set(object, "plugin", text(probe->name));
  set(object, "plugin_version", text(probe->version));
  set(object, "vendor", text(probe->vendor));
  set(object, "build_id", text(probe->build_id));
  set(object, "abi", text(abi));
  set(object, "device", text(device->name));
  set(object, "device_id", text(device->id));
  set(object, "arch", text(device->arch));
  set(object, "driver", text(device->driver));
  if (!uname(&host)) {
    set(object, "host_system", text(host.sysname));
    set(object, "host_release", text(host.release));
    set(object, "host_machine", text(host.machine));
  }
  return object;
}

static json_t *cases(const conform_results *results)
{
  json_t *list = json_array();
  for (uint32_t i = 0; i < results->count; ++i) {
    const conform_result *result = &results->rows[i];
    json_t *object = json_object();
    set(object, "case", text(result->row->name));
    set(object, "rules", text(result->row->rules));
    set(object, "profile", text(conform_profile_name(result->row->profile)));
    set(object, "verdict", text(conform_verdict_name(result->verdict)));
    set(object, "seconds", json_real((double)result->wall_ns * 1e-9));
    set(object, "cpu_seconds", json_real((double)result->cpu_ns * 1e-9));
    if (result->text[0] && result->verdict != CONFORM_PASS)
      set(object, "text", text(result->text));
    json_array_append_new(list, object);
  }
  return list;
}

json_t *conform_json(const conform_results *results, const conform_exceptions *exceptions)
{
  json_t *root = json_object(), *sums = json_object(), *calls = json_object(),
         *excepted = json_array();
  for (conform_verdict v = 0; v < 5; ++v)
    set(sums, conform_verdict_name(v), json_integer(results->of[v]));
  for (uint32_t s = 0; *conform_slot_name(s); ++s)
    set(calls, conform_slot_name(s), json_integer(results->calls[s]));
  for (uint32_t i = 0; i < exceptions->count; ++i) {
    json_t *object = json_object();
    set(object, "case", text(exceptions->rows[i].name));
    set(object, "reason", text(exceptions->rows[i].reason));
    set(object, "expires", text(exceptions->rows[i].expires));
    json_array_append_new(excepted, object);
  }
  set(root, "identity", identity(results));
  set(root, "sums", sums);
  set(root, "cases", cases(results));
  set(root, "calls", calls);
  set(root, "exceptions", excepted);
  return root;
}

/* ---- files that are whole or not there ---- */

static bool complain(const char *path)
{
  fprintf(stderr, "vyre-conform: error: %s: %s\n", path, strerror(errno));
  return false;
}

typedef struct output {
  const char *path;
  char *target;    /* the file itself, where `path` is a link to it; NULL: it is written in place */
  char *temporary; /* beside it, or NULL */
  FILE *file;
} output;

static void forget(output *to)
{
  if (to->temporary)
    unlink(to->temporary);
  free(to->temporary);
  free(to->target);
}

/* Devices, pipes and folders are not replaced by a file. */
static bool is_in_place(const char *path)
{
  struct stat about;
  return !stat(path, &about) && !S_ISREG(about.st_mode);
}

static int open_beside(output *to)
{
  const mode_t mask = umask(077);
  char *temporary = NULL;
  int fd = -1;
  umask(mask);
  to->target = realpath(to->path, NULL);
  if (!to->target && errno == ENOENT)
    to->target = strdup(to->path);
  if (!to->target)
    return -1;
  if (asprintf(&temporary, "%s.XXXXXX", to->target) < 0)
    return -1;
  fd = mkstemp(temporary);
  if (fd < 0) {
    free(temporary);
    return -1;
  }
  to->temporary = temporary;
  if (fchmod(fd, 0666 & ~mask)) { /* mkstemp() gives it to the owner alone */
    close(fd);
    fd = -1;
  }
  return fd;
}

/* False: told. */
static bool begin(const char *path, output *out)
{
  int fd = -1;
  memset(out, 0, sizeof *out);
  out->path = path;
  fd = is_in_place(path) ? open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC) : open_beside(out);
  out->file = fd < 0 ? NULL : fdopen(fd, "w");
  if (out->file)
    return true;
  complain(path);
  if (fd >= 0)
    close(fd);
  forget(out);
  return false;
}

static bool commit(output *to, bool good)
{
  good = !fflush(to->file) && !ferror(to->file) && good;
  good = !fclose(to->file) && good;
  good = good && (!to->temporary || !rename(to->temporary, to->target));
  if (good) {
    free(to->temporary);
    to->temporary = NULL;
  } else {
    complain(to->path);
  }
  forget(to);
  return good;
}

bool conform_write_json(const char *path, json_t *object)
{
  output to;
  bool good = false;
  if (!begin(path, &to))
    return false;
  good =
      !json_dumpf(object, to.file, JSON_INDENT(2) | JSON_SORT_KEYS) && fputc('\n', to.file) != EOF;
  return commit(&to, good);
}

/* ---- JUnit ---- */

/* XML 1.0 has no control characters, not even as references. */
static void escape(FILE *file, const char *value)
{
  for (const unsigned char *c = (const unsigned char *)value; *c; ++c) {
    if (*c == '&')
      fputs("&amp;", file);
    else if (*c == '<')
      fputs("&lt;", file);
    else if (*c == '>')
      fputs("&gt;", file);
    else if (*c == '"')
      fputs("&quot;", file);
    else if ((*c < 0x20 && *c != '\n' && *c != '\t') || *c >= 0x7f)
      fprintf(file, "\\x%02x", *c);
    else
      fputc(*c, file);
  }
}

static void write_case(FILE *file, const conform_result *result)
{
  fprintf(file, "    <testcase classname=\"%s\" name=\"%s\" time=\"%.3f\"",
          conform_profile_name(result->row->profile), result->row->name,
          (double)result->wall_ns * 1e-9);
  if (result->verdict == CONFORM_PASS) {
    fputs("/>\n", file);
    return;
  }
  fputs(">\n      ", file);
  fprintf(file, result->verdict == CONFORM_FAIL ? "<failure message=\"" : "<skipped message=\"");
  fprintf(file, "%s: ", conform_verdict_name(result->verdict));
  escape(file, result->text);
  fputs("\"/>\n    </testcase>\n", file);
}

bool conform_write_junit(const char *path, const conform_results *results)
{
  output to;
  FILE *file = NULL;
  if (!begin(path, &to))
    return false;
  file = to.file;
  fprintf(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
  escape(file, results->probe.name);
  fprintf(file, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\" time=\"%.3f\">\n", results->count,
          results->of[CONFORM_FAIL],
          results->of[CONFORM_SKIPPED] + results->of[CONFORM_NOT_SUPPORTED] +
              results->of[CONFORM_EXPECTED],
          (double)results->wall_ns * 1e-9);
  for (uint32_t i = 0; i < results->count; ++i)
    write_case(file, &results->rows[i]);
  fputs("  </testsuite>\n</testsuites>\n", file);
  return commit(&to, true);
}
