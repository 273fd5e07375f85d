/*
 * replay.c - a main() that runs a target over files: those that are named, and all files of the
 * folders that are named.  A target that aborts ends the run; so does a folder without a file.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static unsigned replayed;

static bool run_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  struct stat info;
  uint8_t *bytes = NULL;
  bool good = file && !fstat(fileno(file), &info) && info.st_size >= 0;
  if (good) {
    /* Exactly as large as the input, so that a read behind it is seen. */
    bytes = malloc(info.st_size ? (size_t)info.st_size : 1);
    good = bytes && fread(bytes, 1, (size_t)info.st_size, file) == (size_t)info.st_size;
  }
  if (file)
    fclose(file);
  if (good) {
    fprintf(stderr, "replay: %s\n", path);
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)info.st_size);
    replayed += 1;
  } else {
    fprintf(stderr, "replay: %s cannot be read\n", path);
  }
  free(bytes);
  return good;
}

static bool run_folder(const char *path)
{
  struct dirent **entries = NULL;
  int count = scandir(path, &entries, NULL, alphasort);
  bool good = count >= 0;
  for (int i = 0; i < count; ++i) {
    char file[4096];
    if (entries[i]->d_name[0] != '.') {
      int length = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
      good = length > 0 && (size_t)length < sizeof file && run_file(file) && good;
    }
    free(entries[i]);
  }
  free(entries);
  return good;
}

int main(int argc, char **argv)
{
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    struct stat info;
    if (!stat(argv[i], &info) && S_ISDIR(info.st_mode))
      good = run_folder(argv[i]) && good;
    else
      good = run_file(argv[i]) && good;
  }
  printf("replay: %u inputs\n", replayed);
  return good && replayed ? 0 : 1;
}
