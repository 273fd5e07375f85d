/*
 * grid_help.c - launching fused programs that were written by hand; see grid_help.h.
 */
#include "grid_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vyre_backend_buffer *make(grid *g, uint64_t size)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_backend_buffer *buffer = NULL;
  vyre_status status = g->plugin->backend->buffer_alloc(g->device, size, &buffer, &err);
  assert_ok(status, err);
  return buffer;
}

void grid_open(grid *g, const cpu_plugin *plugin, uint32_t threads, uint64_t count)
{
  char text[16];
  snprintf(text, sizeof(text), "%u", threads);
  setenv("VYRE_CPU_THREADS", text, 1);
  *g = (grid){.plugin = plugin, .device = device_open(plugin), .count = count};
  unsetenv("VYRE_CPU_THREADS");
  const uint64_t size = count * sizeof(uint32_t);
  g->a = make(g, size);
  g->b = make(g, size);
  g->shadow = make(g, 2 * (size + 16));
  g->control = make(g, GRID_WORDS * sizeof(uint32_t));
  const vyre_binding bindings[5] = {
      bind_buffer(0, VYRE_READ_WRITE, g->a, 0, size, count),
      bind_buffer(1, VYRE_READ_WRITE, g->b, 0, size, count),
      bind_local(2, GRID_LOCAL, GRID_LOCAL / 4),
      bind_buffer(3, VYRE_READ_WRITE, g->shadow, 0, 2 * (size + 16), 2 * (size + 16)),
      bind_buffer(4, VYRE_READ_WRITE, g->control, 0, GRID_WORDS * 4, GRID_WORDS)};
  memcpy(g->bindings, bindings, sizeof(bindings));
}

void grid_close(grid *g)
{
  const vyre_backend *b = g->plugin->backend;
  b->buffer_free(g->device, g->a);
  b->buffer_free(g->device, g->b);
  b->buffer_free(g->device, g->shadow);
  b->buffer_free(g->device, g->control);
  b->device_close(g->device);
}

static void upload(grid *g, vyre_backend_buffer *buffer, const void *data, uint64_t size)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = g->plugin->backend->buffer_upload(g->device, buffer, 0, data, size, &err);
  assert_ok(status, err);
}

void grid_put(grid *g, vyre_backend_buffer *buffer, const uint32_t *data)
{
  upload(g, buffer, data, g->count * sizeof(*data));
}

void grid_get(grid *g, vyre_backend_buffer *buffer, uint32_t *out_data)
{
  vyre_error err = VYRE_ERROR_INIT;
  vyre_status status = g->plugin->backend->buffer_download(g->device, buffer, 0, out_data,
                                                           g->count * sizeof(*out_data), &err);
  assert_ok(status, err);
}

void grid_control(grid *g, uint32_t limit, uint32_t tested, const uint32_t *groups, uint32_t steps)
{
  uint32_t words[GRID_WORDS] = {0};
  assert_true(steps <= GRID_STEPS);
  words[VYRE_CONTROL_LIMIT] = limit;
  words[VYRE_CONTROL_TESTED] = tested;
  for (uint32_t i = 0; i < steps; ++i) {
    words[VYRE_CONTROL_GROUPS + 3 * i] = groups[i];
    words[VYRE_CONTROL_GROUPS + 3 * i + 1] = words[VYRE_CONTROL_GROUPS + 3 * i + 2] = 1;
  }
  upload(g, g->control, words, sizeof(words));
}

uint32_t grid_word(grid *g, uint32_t index)
{
  vyre_error err = VYRE_ERROR_INIT;
  uint32_t word = 0;
  vyre_status status =
      g->plugin->backend->buffer_download(g->device, g->control, index * 4, &word, 4, &err);
  assert_ok(status, err);
  return word;
}

vyre_dispatch_desc grid_launch(grid *g, vyre_backend_kernel *kernel, uint32_t groups,
                               uint32_t workgroup)
{
  vyre_dispatch_desc desc = launch_of(kernel, g->bindings, 5, groups, workgroup);
  desc.flags = VYRE_DISPATCH_COOPERATIVE;
  return desc;
}
