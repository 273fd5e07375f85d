/*
 * steer.h - how a test steers and watches the steer plugin: the cpu plugin, but its calls can be
 * made to fail or to hold, its device can be lost, and it counts the calls that came while a
 * persistent launch was there, as if they waited for it.
 *
 *     steer plugin = steer_attach();
 *     plugin.set("lost", 1);
 *
 * set():
 *     lost     1: waits and calls say DEVICE_LOST; launches that run go on underneath
 *     fail_at  the n-th counted call from now fails with INTERNAL; 0: none
 *     hold     buffer_alloc does not return while this is not 0
 *     reset    all of these and the counters as at the start
 * get() also:
 *     calls       counted calls: open, load, find, dispatch, read, alloc, upload, coherent
 *     guarded     calls that would wait for a persistent launch
 *     violations  how many of those came while one was there
 *     resident    persistent launches whose end nobody has seen
 *     holding     buffer_allocs that are held now
 *     buffers     buffers that are not freed, coherent memory too
 */
#ifndef VYRE_TESTS_ENGINE_STEER_H
#define VYRE_TESTS_ENGINE_STEER_H

#include "tests/plugins/fixture.h"

#define STEER_FILE VYRE_TEST_PLUGIN_DIR "/libvyre_steer.so"

typedef fixture steer; /* the same two functions */

#define steer_detach fixture_detach

static inline steer steer_attach(void)
{
  return fixture_attach(STEER_FILE);
}

#endif
