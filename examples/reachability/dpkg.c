/*
 * dpkg.c - reads dpkg's status file: which packages are installed, and their fields.
 */
#include "dpkg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- fields ---- */

/* The fields of one paragraph that matter here, "" if they are not there. */
typedef struct paragraph {
  char *name, *status, *architecture, *multi_arch, *version, *depends, *pre_depends, *provides;
} paragraph;

static char nothing[] = "";

static char **field_of(paragraph *p, const char *name, size_t length)
{
  const struct {
    const char *name;
    char **value;
  } fields[] = {{"Package", &p->name},
                {"Status", &p->status},
                {"Architecture", &p->architecture},
                {"Multi-Arch", &p->multi_arch},
                {"Version", &p->version},
                {"Depends", &p->depends},
                {"Pre-Depends", &p->pre_depends},
                {"Provides", &p->provides}};

  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
    if (strlen(fields[i].name) == length && strncasecmp(fields[i].name, name, length) == 0) {
      return fields[i].value;
    }
  }
  return NULL;
}

/* Cuts off blanks at both ends, in place. */
static char *trim(char *text)
{
  size_t n;

  text += strspn(text, " \t\r\n");
  n = strlen(text);
  while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL) {
    text[--n] = '\0';
  }
  return text;
}

/* The end of the field that begins at `text`: its next line that is no continuation. */
static char *field_end(char *text)
{
  char *end = strchr(text, '\n');

  while (end != NULL && (end[1] == ' ' || end[1] == '\t')) {
    end = strchr(end + 1, '\n');
  }
  return end != NULL ? end : text + strlen(text);
}

/*
 * Reads one paragraph at `*text` and moves on behind it; false at the end of the file.  Values end
 * where their last line did.
 */
static bool read_paragraph(char **text, paragraph *p)
{
  char *line = *text + strspn(*text, "\r\n");

  *p = (paragraph){nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing};
  if (*line == '\0') {
    return false;
  }
  while (*line != '\0' && *line != '\n' && *line != '\r') {
    char *end = field_end(line), *next = *end == '\0' ? end : end + 1;
    char *colon = memchr(line, ':', (size_t)(end - line));
    char **value = colon == NULL ? NULL : field_of(p, line, (size_t)(colon - line));
    if (value != NULL) {
      *end = '\0';
      *value = trim(colon + 1);
    }
    line = next;
  }
  *text = line;
  return true;
}

/* ---- packages ---- */

/* "want flag state": is the package there, if perhaps not configured yet? */
static bool is_installed(const char *status)
{
  const char *state = strrchr(status, ' ');

  return state != NULL && strcmp(state + 1, "not-installed") != 0 &&
         strcmp(state + 1, "config-files") != 0;
}

static bool add_package(dpkg *d, uint32_t *capacity, const paragraph *p)
{
  dpkg_package *row;

  if (d->count == *capacity) {
    const uint32_t larger = *capacity == 0 ? 1024 : *capacity * 2;
    row = realloc(d->packages, (size_t)larger * sizeof *row);
    if (row == NULL) {
      return false;
    }
    d->packages = row;
    *capacity = larger;
  }
  row = &d->packages[d->count++];
  row->name = p->name;
  row->architecture = p->architecture;
  row->version = p->version;
  row->depends = p->depends;
  row->pre_depends = p->pre_depends;
  row->provides = p->provides;
  row->foreign = strcasecmp(p->multi_arch, "foreign") == 0;
  row->allowed = strcasecmp(p->multi_arch, "allowed") == 0;
  return true;
}

static bool is_all(const char *architecture)
{
  return architecture[0] == '\0' || strcmp(architecture, "all") == 0;
}

/* Which architecture is this machine's?  That of dpkg itself, which every machine has. */
static void settle_architectures(dpkg *d)
{
  d->native = NULL;
  for (uint32_t i = 0; i < d->count; i++) {
    const dpkg_package *p = &d->packages[i];
    if (!is_all(p->architecture) && (d->native == NULL || strcmp(p->name, "dpkg") == 0)) {
      d->native = p->architecture;
    }
  }
  if (d->native == NULL) {
    d->native = "all";
  }
  for (uint32_t i = 0; i < d->count; i++) {
    if (is_all(d->packages[i].architecture)) {
      d->packages[i].architecture = d->native;
    }
  }
}

bool dpkg_parse(dpkg *d, char *text)
{
  uint32_t capacity = 0;
  paragraph p;

  memset(d, 0, sizeof *d);
  d->text = text;
  while (read_paragraph(&text, &p)) {
    if (p.name[0] != '\0' && is_installed(p.status) && !add_package(d, &capacity, &p)) {
      dpkg_free(d);
      return false;
    }
  }
  settle_architectures(d);
  return true;
}

void dpkg_free(dpkg *d)
{
  free(d->packages);
  free(d->text);
  memset(d, 0, sizeof *d);
}

/* ---- names ---- */

uint32_t dpkg_find(const dpkg *d, const char *name)
{
  const char *colon = strchr(name, ':');
  const size_t length = colon == NULL ? strlen(name) : (size_t)(colon - name);
  const char *architecture = colon == NULL ? d->native : colon + 1;

  for (uint32_t i = 0; i < d->count; i++) {
    const dpkg_package *p = &d->packages[i];
    if (strlen(p->name) == length && memcmp(p->name, name, length) == 0 &&
        strcmp(p->architecture, architecture) == 0) {
      return i;
    }
  }
  return d->count;
}

void dpkg_full_name(const dpkg *d, uint32_t package, char *out_name, size_t size)
{
  const dpkg_package *p = &d->packages[package];

  if (strcmp(p->architecture, d->native) == 0) {
    snprintf(out_name, size, "%s", p->name);
  } else {
    snprintf(out_name, size, "%s:%s", p->name, p->architecture);
  }
}
