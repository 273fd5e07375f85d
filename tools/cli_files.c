/*
 * cli_files.c - files read whole, and files written whole or not at all.
 */
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

vyre_status cli_fail(vyre_error *err, vyre_status code, int64_t vendor, const char *fix,
                     const char *format, ...)
{
  va_list args;

  va_start(args, format);
  err->code = code;
  err->vendor_code = vendor;
  err->where[0] = '\0';
  vsnprintf(err->message, sizeof err->message, format, args);
  snprintf(err->fix, sizeof err->fix, "%s", fix != NULL ? fix : vyre_status_fix(code));
  va_end(args);
  return code;
}

/* What errno says about `path`. */
static vyre_status fail_io(vyre_error *err, const char *path, const char *what, int code)
{
  return cli_fail(err, code == ENOENT ? VYRE_ERROR_NOT_FOUND : VYRE_ERROR_IO, code,
                  code == ENOENT ? "check the path" : NULL, "%s: %s: %s", path, what,
                  strerror(code));
}

vyre_status cli_read_file(const char *path, char **out_data, size_t *out_size, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  size_t used = 0, capacity = 0;
  char *data = NULL, *grown;
  struct stat info;
  ssize_t got = 1;
  int fd;

  fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 || fstat(fd, &info) != 0) {
    status = fail_io(err, path, "cannot be read", errno);
    goto done;
  }
  if (S_ISREG(info.st_mode) && (uint64_t)info.st_size < SIZE_MAX / 2) {
    capacity = (size_t)info.st_size + 2; /* one to see the end with, one for the NUL */
  }
  capacity = capacity < 4096 ? 4096 : capacity;
  data = malloc(capacity);
  while (data != NULL && got != 0) {
    got = read(fd, data + used, capacity - used - 1);
    if (got < 0 && errno != EINTR) {
      status = fail_io(err, path, "cannot be read", errno);
      goto done;
    }
    used += got > 0 ? (size_t)got : 0;
    if (used == capacity - 1 && got != 0) {
      grown = capacity > SIZE_MAX / 2 ? NULL : realloc(data, capacity * 2);
      if (grown == NULL) {
        free(data);
      }
      data = grown;
      capacity *= 2;
    }
  }
  if (data == NULL) {
    status = cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for %s", path);
    goto done;
  }
  data[used] = '\0';
  *out_data = data;
  *out_size = used;
  data = NULL;
done:
  free(data);
  if (fd >= 0) {
    close(fd);
  }
  return status;
}

static int write_all(int fd, const void *data, size_t size)
{
  const char *at = data;
  ssize_t put;

  while (size != 0) {
    put = write(fd, at, size);
    if (put < 0 && errno != EINTR) {
      return errno;
    }
    at += put > 0 ? put : 0;
    size -= put > 0 ? (size_t)put : 0;
  }
  return 0;
}

/* The temporary file beside the target, whole and with the mode that the target has or would get.
 */
static int write_temporary(cli_output *output, mode_t mode)
{
  int fd = mkostemp(output->temporary, O_CLOEXEC), code;

  if (fd < 0) {
    code = errno;
    free(output->temporary);
    output->temporary = NULL;
    return code;
  }
  code = write_all(fd, output->data, output->size);
  if (code == 0 && fchmod(fd, mode) != 0) {
    code = errno;
  }
  if (close(fd) != 0 && code == 0) {
    code = errno;
  }
  return code;
}

/* FOLDER/NAME of a file that need not be there, the folder with links resolved.  NULL: errno. */
static char *resolve_new(const char *path)
{
  const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
  char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
  char *resolved = folder == NULL ? NULL : realpath(folder, NULL);
  char *target = NULL;

  if (resolved != NULL) {
    target = malloc(strlen(resolved) + strlen(name) + 2);
  }
  if (target != NULL) {
    sprintf(target, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved, name);
  }
  free(folder);
  free(resolved);
  return target;
}

vyre_status cli_output_begin(cli_output *output, const char *path, const void *data, size_t size,
                             vyre_error *err)
{
  const mode_t mask = umask(0);
  struct stat info;
  mode_t mode = 0666 & ~mask;
  size_t length;
  int code, folder;

  umask(mask);
  memset(output, 0, sizeof *output);
  output->path = path;
  output->data = data;
  output->size = size;
  if (stat(path, &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return fail_io(err, path, "cannot be written", EISDIR);
    }
    output->target = realpath(path, NULL);
    if (!S_ISREG(info.st_mode)) {
      /* Through the name as given: what /dev/stdout leads to may have no path. */
      free(output->target);
      output->target = strdup(path);
      return output->target != NULL
                 ? VYRE_OK
                 : cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for a path");
    }
    mode = info.st_mode & 07777;
  } else if (lstat(path, &info) == 0) {
    return fail_io(err, path, "is a link that leads to nothing", ENOENT);
  } else {
    output->target = resolve_new(path);
  }
  if (output->target == NULL) {
    return fail_io(err, path, "cannot be written", errno);
  }
  /* A name of its own, for the target's may have no room for more letters. */
  folder = (int)(strrchr(output->target, '/') - output->target);
  length = (size_t)folder + sizeof "/.vyre.XXXXXX";
  output->temporary = malloc(length);
  if (output->temporary == NULL) {
    return cli_fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, 0, NULL, "no memory for a path");
  }
  snprintf(output->temporary, length, "%.*s/.vyre.XXXXXX", folder, output->target);
  code = write_temporary(output, mode);
  return code == 0 ? VYRE_OK : fail_io(err, path, "cannot be written", code);
}

vyre_status cli_output_commit(cli_output *output, vyre_error *err)
{
  int fd, code;

  if (output->temporary != NULL) {
    if (rename(output->temporary, output->target) != 0) {
      return fail_io(err, output->path, "cannot be replaced", errno);
    }
    free(output->temporary);
    output->temporary = NULL;
    return VYRE_OK;
  }
  fd = open(output->target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    return fail_io(err, output->path, "cannot be written", errno);
  }
  code = write_all(fd, output->data, output->size);
  if (close(fd) != 0 && code == 0) {
    code = errno;
  }
  return code == 0 ? VYRE_OK : fail_io(err, output->path, "cannot be written", code);
}

/* Two outputs in one file would leave the last one alone. */
static vyre_status check_targets(const cli_output *outputs, uint32_t count, vyre_error *err)
{
  uint32_t a, b;

  for (a = 1; a < count; a++) {
    for (b = 0; outputs[a].temporary != NULL && b < a; b++) {
      if (outputs[b].temporary != NULL && strcmp(outputs[a].target, outputs[b].target) == 0) {
        return cli_fail(err, VYRE_ERROR_INVALID_ARGUMENT, 0, "give each output a file of its own",
                        "%s: two outputs go to this file", outputs[a].path);
      }
    }
  }
  return VYRE_OK;
}

vyre_status cli_outputs_commit(cli_output *outputs, uint32_t count, vyre_error *err)
{
  vyre_status status = check_targets(outputs, count, err);
  uint32_t pass, i;

  for (pass = 0; pass < 2; pass++) {
    for (i = 0; status == VYRE_OK && i < count; i++) {
      if ((outputs[i].temporary != NULL) == (pass == 1)) {
        status = cli_output_commit(&outputs[i], err);
      }
    }
  }
  return status;
}

void cli_output_end(cli_output *output)
{
  if (output->temporary != NULL) {
    unlink(output->temporary);
  }
  free(output->temporary);
  free(output->target);
  memset(output, 0, sizeof *output);
}

char *cli_beside(const char *base, const char *path)
{
  const char *slash = strrchr(base, '/');
  const size_t folder = slash == NULL || path[0] == '/' ? 0 : (size_t)(slash - base) + 1;
  char *joined = malloc(folder + strlen(path) + 1);

  if (joined != NULL) {
    memcpy(joined, base, folder);
    strcpy(joined + folder, path);
  }
  return joined;
}
