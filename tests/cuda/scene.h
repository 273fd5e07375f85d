/*
 * scene.h - a device with the kernels of the test driver, and launches put together a binding at a
 * time.
 */
#ifndef VYRE_TESTS_CUDA_SCENE_H
#define VYRE_TESTS_CUDA_SCENE_H

#include "support.h"

#include <string.h>

/* From set_up() to tear_down(). */
extern vyre_backend_device *device;
extern vyre_backend_module *module;
extern bool is_lost; /* set by a test that kills the device: the dead context keeps what is in it */

int set_up(void **state);
int tear_down(void **state);

/* The module again, with these flags. */
void load(uint64_t flags);
vyre_backend_kernel *find(const char *name);

typedef struct launch {
  vyre_dispatch_desc desc;
  vyre_binding bindings[100];
} launch;

/* One group of 32 items, without bindings; binding k gets the id k. */
void begin(launch *l, vyre_backend_kernel *kernel);
vyre_binding *add(launch *l, vyre_access access, uint64_t words);
void add_host(launch *l, vyre_access access, const void *data, uint64_t words);
void add_buffer(launch *l, vyre_access access, vyre_backend_buffer *buffer, uint64_t words);
vyre_backend_pending *start(const launch *l);
/* It is refused with this code and these words, and leaves nothing. */
void refuse(const launch *l, vyre_status code, const char *text);

/* `err` is the record for the call. */
#define FAILS(call, code_, text)                                                                   \
  do {                                                                                             \
    vyre_error err = VYRE_ERROR_INIT;                                                              \
    const vyre_status status_ = (call);                                                            \
    if (status_ != (code_) || err.code != (code_) || !strstr(err.message, (text)))                 \
      fail_msg("%s: %d, wanted %d with \"%s\": %s", #call, (int)status_, (int)(code_), (text),     \
               err.message);                                                                       \
  } while (0)

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
