/*
 * on_fixture.h - a device of a fixture plugin (tests/plugins) and programs on it.
 */
#ifndef VYRE_TESTS_DISPATCH_ON_FIXTURE_H
#define VYRE_TESTS_DISPATCH_ON_FIXTURE_H

#include "tests/plugins/fixture.h"
#include "tests/program/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct on_fixture {
  fixture plugin;
  vyre_context *context;
  vyre_device *device;
} on_fixture;

/* The condition always holds; it tells so to a static analyser. */
static inline void on_fixture_set(const on_fixture *on, const char *name, int64_t value)
{
  if (on->plugin.set)
    on->plugin.set(name, value);
}

/* A control that is set before the context is made: devices are asked then. */
typedef struct on_fixture_setting {
  const char *name;
  int64_t value;
} on_fixture_setting;

/*
 * `fault` is a row of fixture_faults.def, "" for the correct plugin.  `allocator` is the context's,
 * NULL for the C library's; settings end with one without a name, or are NULL.
 */
static inline void on_fixture_open_with(on_fixture *on, const char *fault, const char *selector,
                                        const vyre_allocator *allocator,
                                        const on_fixture_setting *settings)
{
  char path[512];
  const char *files[] = {path};
  vyre_context_options options = VYRE_CONTEXT_OPTIONS_INIT;
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  memset(on, 0, sizeof *on);
  snprintf(path, sizeof path, "%s/libvyre_fixture%s%s.so", VYRE_TEST_PLUGIN_DIR, *fault ? "_" : "",
           fault);
  on->plugin = fixture_attach(path);
  if (!on->plugin.set)
    fail_msg("%s cannot be opened", path);
  on_fixture_set(on, "reset", 0);
  for (; settings && settings->name; ++settings)
    on_fixture_set(on, settings->name, settings->value);
  options.flags = VYRE_CONTEXT_IGNORE_ENVIRONMENT | VYRE_CONTEXT_NO_DEFAULT_PATHS;
  options.allocator = allocator;
  options.plugin_files = files;
  options.plugin_file_count = 1;
  request.selector = selector;
  if (vyre_context_create(&options, &on->context, &err) ||
      vyre_device_open(on->context, &request, &on->device, &err))
    fail_msg("%s: %s", path, err.message);
}

static inline void on_fixture_open(on_fixture *on, const char *fault, const char *selector)
{
  on_fixture_open_with(on, fault, selector, NULL, NULL);
}

/* Closes, and asserts that the plugin holds nothing any more. */
static inline void on_fixture_close(on_fixture *on)
{
  static const char *const live[] = {"devices_live", "modules_live", "buffers_live",
                                     "pendings_live", "bytes_live"};
  vyre_device_close(on->device);
  vyre_context_destroy(on->context);
  for (size_t i = 0; i < sizeof live / sizeof live[0]; ++i)
    assert_int_equal(on->plugin.get(live[i]), 0);
  fixture_detach(&on->plugin);
}

/* Creates it, or fails the test with the reason. */
static inline vyre_program *on_fixture_program(on_fixture *on, sample *s)
{
  vyre_program *program = NULL;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_program_create(on->device, &s->desc, &program, &err))
    fail_msg("%s", err.message);
  return program;
}

/* in (READ_ONLY, `count` words) -> out (output, `count` words), kernel "copy". */
static inline vyre_program *on_fixture_copy(on_fixture *on, uint64_t count)
{
  static sample s;
  sample_init(&s);
  s.buffers[0].element_count = s.buffers[1].element_count = count;
  return on_fixture_program(on, &s);
}

/* both (READ_WRITE, from input), kernel "increment". */
static inline vyre_program *on_fixture_increment(on_fixture *on)
{
  static sample s;
  sample_empty(&s);
  sample_buffer(&s, "both", VYRE_READ_WRITE, 4, VYRE_COUNT_FROM_INPUT);
  sample_segment(&s, "increment");
  sample_bind(&s, 0, "both", VYRE_READ_WRITE);
  sample_code(&s, "fixture", "increment");
  return on_fixture_program(on, &s);
}

#endif
