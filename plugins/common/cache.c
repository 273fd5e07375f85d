/*
 * cache.c - compiled kernels on disk; see cache.h.
 *
 * An entry is code that will run, so only files of this user (or root) that nobody else can write
 * are looked at, and their checksum must match.  Writing goes to a file of its own and renames it:
 * readers see the old entry or the new one, never a part.
 */
#include "plugins/common/cache.h"

#include "plugins/common/host.h"
#include "plugins/common/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ENTRY_BYTES (256u << 20)

#define TEXT "txt" /* what the names of texts end in */

/* In front of the bytes of a sealed entry. */
typedef struct seal {
  char magic[8];
  unsigned char key[VYRE__HASH_SIZE];
  unsigned char hash[VYRE__HASH_SIZE]; /* of magic, key and the bytes */
} seal;

static const char seal_magic[8] = "VYRESEAL";

/* The folder, without making it; false if the cache is off. */
static bool folder(char *out_path, size_t size)
{
  const char *given = secure_getenv("VYRE_CACHE_DIR");
  const char *xdg = vyre__plugin_environment("XDG_CACHE_HOME");
  const char *home = vyre__plugin_environment("HOME");
  struct stat about;
  int length = 0;
  if (given)
    length = *given && strcmp(given, "off") != 0 ? snprintf(out_path, size, "%s", given) : 0;
  else if (xdg && *xdg == '/')
    length = snprintf(out_path, size, "%s/vyre", xdg);
  else if (home && *home == '/' && stat(home, &about) == 0) /* one that is not there is not made */
    length = snprintf(out_path, size, "%s/.cache/vyre", home);
  return length > 0 && (size_t)length < size;
}

/* Makes the folder and those above it. */
static void make_folder(char *path)
{
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
}

/* The file for a key in the folder; `kind` ends its name. */
static bool entry_path(const unsigned char *key, const char *kind, char *out_path, size_t size)
{
  char name[2 * VYRE__HASH_SIZE + 1];
  if (!folder(out_path, size))
    return false;
  for (unsigned i = 0; i < VYRE__HASH_SIZE; ++i)
    snprintf(name + (size_t)2 * i, 3, "%02x", key[i]);
  size_t used = strlen(out_path);
  return snprintf(out_path + used, size - used, "/%s.%s", name, kind) < (int)(size - used);
}

static bool read_all(int file, char *data, uint64_t size)
{
  for (uint64_t done = 0; done < size;) {
    ssize_t got = read(file, data + done, size - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    done += (uint64_t)got;
  }
  return true;
}

static bool write_all(int file, const char *data, uint64_t size)
{
  for (uint64_t done = 0; done < size;) {
    ssize_t put = write(file, data + done, size - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    done += (uint64_t)put;
  }
  return true;
}

/* True for a file of this user or root that nobody else can write. */
static bool is_private(const struct stat *about)
{
  return (about->st_uid == geteuid() || about->st_uid == 0) && !(about->st_mode & 022);
}

static void *read_file(const vyre_host *host, const char *path, uint64_t room, bool private_only,
                       uint64_t *out_size)
{
  struct stat about;
  char *data = NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* waits at no pipe */
  if (file < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0 ||
      about.st_size > (off_t)MAX_ENTRY_BYTES || (private_only && !is_private(&about)))
    goto done;
  data = vyre__plugin_allocate(host, room + (uint64_t)about.st_size, 64);
  if (data && !read_all(file, data + room, (uint64_t)about.st_size)) {
    vyre__plugin_deallocate(host, data);
    data = NULL;
  }
  *out_size = room + (uint64_t)about.st_size;

done:
  if (file >= 0)
    close(file);
  return data;
}

void *vyre__plugin_file_read(const vyre_host *host, const char *path, uint64_t room,
                             uint64_t *out_size)
{
  return read_file(host, path, room, false, out_size);
}

void *vyre__plugin_cache_get(const vyre_host *host, const unsigned char *key, const char *kind,
                             uint64_t *out_size)
{
  char path[PATH_MAX];
  if (!entry_path(key, kind, path, sizeof(path)))
    return NULL;
  return read_file(host, path, 0, true, out_size);
}

/* Writes a file of its own and gives it the entry's name. */
static bool put(const unsigned char *key, const char *kind, const void *head, uint64_t head_size,
                const void *data, uint64_t size)
{
  char path[PATH_MAX], temporary[PATH_MAX];
  if (!folder(path, sizeof(path)))
    return true;
  make_folder(path);
  if (snprintf(temporary, sizeof(temporary), "%s/new-XXXXXX", path) >= (int)sizeof(temporary) ||
      !entry_path(key, kind, path, sizeof(path)))
    return false;
  int file = mkostemp(temporary, O_CLOEXEC);
  if (file < 0)
    return false;
  bool stored = write_all(file, head, head_size) && write_all(file, data, size);
  stored = close(file) == 0 && stored && rename(temporary, path) == 0;
  if (!stored)
    unlink(temporary);
  return stored;
}

void vyre__plugin_cache_put(const vyre_host *host, const unsigned char *key, const char *kind,
                            const void *data, uint64_t size)
{
  if (!put(key, kind, NULL, 0, data, size))
    vyre__plugin_log(host, VYRE_LOG_DEBUG, "a compiled kernel could not be cached");
}

static seal make_seal(const unsigned char *key, const void *data, uint64_t size)
{
  vyre__plugin_sha256 hash;
  seal made;
  memcpy(made.magic, seal_magic, sizeof(made.magic));
  memcpy(made.key, key, sizeof(made.key));
  vyre__plugin_sha256_init(&hash);
  vyre__plugin_sha256_add(&hash, made.magic, sizeof(made.magic));
  vyre__plugin_sha256_add(&hash, made.key, sizeof(made.key));
  vyre__plugin_sha256_add(&hash, data, size);
  vyre__plugin_sha256_final(&hash, made.hash);
  return made;
}

void *vyre__plugin_cache_get_sealed(const vyre_host *host, const unsigned char *key,
                                    const char *kind, uint64_t *out_size)
{
  uint64_t size = 0;
  char *data = vyre__plugin_cache_get(host, key, kind, &size);
  if (!data)
    return NULL;
  if (size > sizeof(seal)) {
    const seal wanted = make_seal(key, data + sizeof(seal), size - sizeof(seal));
    if (memcmp(&wanted, data, sizeof(wanted)) == 0) {
      memmove(data, data + sizeof(seal), size - sizeof(seal));
      *out_size = size - sizeof(seal);
      return data;
    }
  }
  vyre__plugin_log(host, VYRE_LOG_DEBUG, "a cached kernel is damaged and is made again");
  vyre__plugin_deallocate(host, data);
  return NULL;
}

void vyre__plugin_cache_put_sealed(const vyre_host *host, const unsigned char *key,
                                   const char *kind, const void *data, uint64_t size)
{
  const seal head = make_seal(key, data, size);
  if (!put(key, kind, &head, sizeof(head), data, size))
    vyre__plugin_log(host, VYRE_LOG_DEBUG, "a compiled kernel could not be cached");
}

bool vyre__plugin_cache_get_text(const unsigned char *key, char *out_text, uint64_t size)
{
  char path[PATH_MAX];
  struct stat about;
  if (!entry_path(key, TEXT, path, sizeof(path)))
    return false;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* waits at no pipe */
  bool got = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
             is_private(&about) && about.st_size > 0 && (uint64_t)about.st_size < size &&
             read_all(file, out_text, (uint64_t)about.st_size);
  if (got)
    out_text[about.st_size] = '\0';
  if (file >= 0)
    close(file);
  return got;
}

void vyre__plugin_cache_put_text(const unsigned char *key, const char *text)
{
  (void)put(key, TEXT, NULL, 0, text, strlen(text));
}
