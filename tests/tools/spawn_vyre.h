/*
 * spawn_vyre.h - runs the built command and keeps what it printed; small helpers for files.
 */
#ifndef VYRE_TESTS_SPAWN_VYRE_H
#define VYRE_TESTS_SPAWN_VYRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct spawned {
  int exit_status; /* -1: it was ended by a signal */
  char *out, *err; /* ended by a NUL that is not counted */
  size_t out_size, err_size;
} spawned;

/* Where its stdout goes. */
typedef enum spawn_stdout {
  SPAWN_CAPTURE,
  SPAWN_FULL,   /* /dev/full */
  SPAWN_BROKEN, /* a pipe that nobody reads */
  SPAWN_CLOSED
} spawn_stdout;

/*
 * Runs `vyre ARGUMENT...` (ended by NULL) with the environment of the test plus `environment`
 * ("NAME=VALUE", or "-NAME" to take it away; ended by NULL; may be NULL).  Free with
 * spawned_free().
 */
spawned spawn_vyre_with(spawn_stdout where, const char *const *environment,
                        const char *const *arguments);
spawned spawn_vyre(const char *const *arguments);
#define VYRE(...) spawn_vyre((const char *const[]){__VA_ARGS__, NULL})
void spawned_free(spawned *result);

/* Fails the test with both texts if the exit status is another. */
void expect_exit(const spawned *result, int exit_status);
/* Fails unless stderr (or stdout) has the text. */
void expect_err(const spawned *result, const char *text);
void expect_out(const spawned *result, const char *text);

/* A new folder, and its removal with everything in it. */
char *make_folder(void);
void remove_folder(char *folder);
/* FOLDER/NAME, to be freed. */
char *path_in(const char *folder, const char *name);
void write_file(const char *path, const void *bytes, size_t size);
void write_text(const char *path, const char *text);
/* The whole file, or NULL if there is none. */
char *read_whole(const char *path, size_t *out_size);
bool exists(const char *path);

#endif
