/*
 * served.h - how the target `table` serves a table of its own to the loader: libvyre_served.so is
 * a plugin whose query answers with what served_set() was given last.
 */
#ifndef VYRE_TESTS_FUZZ_SERVED_H
#define VYRE_TESTS_FUZZ_SERVED_H

#include "vyre_backend.h"

typedef struct served {
  vyre_status status;        /* of the query */
  const vyre_backend *table; /* stored whatever the status says; NULL: not stored */
  void (*fill)(vyre_error *err);
} served;

typedef void (*served_set_fn)(const served *what);

#endif
