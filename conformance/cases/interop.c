/*
 * interop.c - events and the queue of the vendor's own.  The suite knows no vendor: it takes what
 * one handle of the device gives and uses it on another handle of the same device.
 */
#include "conformance/buffers.h"

#include <string.h>

#define N 1025u
#define SLOW_NS 60000000ull

typedef struct pair {
  vyre_backend_device *other; /* a second handle of the device */
  vyre_backend_module *module;
  vyre_backend_buffer *buffer, *window; /* one memory, on the first handle and on the other */
  uint32_t words[N];
} pair;

static void open_pair(conform *c, pair *p, const vyre_native_handle *queue)
{
  vyre_backend_device_options options = {.struct_size = sizeof options};
  vyre_native_memory memory = {.struct_size = sizeof memory};
  uint64_t size = 0;
  const char *text = conform_kernel_text("buffer", &size);
  conform_random_fill(c, p->words, sizeof p->words);
  p->buffer = conform_buffer(c, sizeof p->words, p->words);
  if (queue)
    options.queue = *queue;
  p->other = NULL;
  CHECK_OK(c, c->counted.device_open(c->device_index, &options, &p->other, err));
  p->module = conform_load_text(c, p->other, "buffer", text, 0);
  CHECK_OK(c, c->counted.buffer_export(c->device, p->buffer, &memory, err));
  CHECK_OK(c, c->counted.buffer_import(p->other, &memory, &p->window, err));
}

static void close_pair(conform *c, pair *p)
{
  c->counted.buffer_free(p->other, p->window);
  c->counted.module_unload(p->other, p->module);
  c->counted.device_close(p->other);
  conform_free(c, p->buffer);
}

/* A launch of one handle that takes long, then does a step of the chain. */
static vyre_backend_pending *start_slow(conform *c, const pair *p)
{
  static const uint64_t ns = SLOW_NS;
  conform_launch launch;
  conform_launch_init(&launch, conform_kernel(c, "buffer", "slow"));
  conform_launch_buffer(&launch, VYRE_READ_WRITE, p->buffer, N, 4);
  launch.desc.push = &ns;
  launch.desc.push_size = sizeof ns;
  return conform_start(c, c->device, &launch);
}

/* A launch on the other handle, whose result is another one before that step than after it. */
static void run_other(conform *c, const pair *p)
{
  conform_launch launch;
  conform_launch_init(&launch, conform_find(c, p->module, "stamp"));
  conform_launch_grid(&launch, (N * 4 + 63) / 64, 64);
  conform_launch_buffer(&launch, VYRE_READ_WRITE, p->window, N * 4, 1);
  conform_finish(c, conform_start(c, p->other, &launch), NULL, 0);
}

static void step(pair *p)
{
  for (uint32_t i = 0; i < N; ++i)
    p->words[i] = p->words[i] * 3u + 1u;
}

/* First the step, then the stamps. */
static void expect_both(conform *c, pair *p, const char *what)
{
  unsigned char *bytes = (unsigned char *)p->words;
  step(p);
  for (uint32_t i = 0; i < N * 4; ++i)
    bytes[i] = (unsigned char)(bytes[i] * 3u + i + 1u);
  conform_expect_bytes(c, p->buffer, p->words, sizeof p->words, what);
}

static vyre_native_handle record(conform *c)
{
  struct {
    vyre_native_handle handle;
    unsigned char more[16];
  } event;
  /* First: what it loads are the slots that are called. */
  vyre_backend_device *device = conform_open(c);
  memset(&event, 0, sizeof event);
  memset(event.more, 0xee, sizeof event.more);
  event.handle.struct_size = sizeof event;
  CHECK_OK(c, c->counted.event_record(device, &event.handle, err));
  for (uint32_t i = 0; i < sizeof event.more; ++i)
    CHECK(c, event.more[i] == 0xee, "event_record writes behind its structure (ABI-002)");
  CHECK(c, event.handle.type && event.handle.handle,
        "event_record succeeded and gave type %u and handle 0x%llx (INT-001)", event.handle.type,
        (unsigned long long)event.handle.handle);
  event.handle.struct_size = sizeof event.handle;
  return event.handle;
}

/* ---- cases ---- */

static void record_and_release(conform *c)
{
  const vyre_native_handle event = record(c);
  CHECK_OK(c, c->counted.event_wait(c->device, &event, err));
  CHECK_OK(c, c->counted.event_release(c->device, &event, err));
}

static void run_growth(conform *c)
{
  conform_open(c);
  conform_check_growth(c, record_and_release, 200, "recording and releasing an event (INT-001)");
}

static void run_order(conform *c)
{
  pair p;
  vyre_backend_pending *slow = NULL;
  vyre_native_handle event;
  conform_open(c);
  open_pair(c, &p, NULL);
  slow = start_slow(c, &p);
  event = record(c);
  CHECK_OK(c, c->counted.event_wait(p.other, &event, err));
  CHECK_OK(c, c->counted.event_release(p.other, &event, err));
  CHECK(c, c->counted.pending_wait(slow, 0, NULL) == VYRE_ERROR_TIMEOUT,
        "recording an event, or waiting for it on the device, has waited on the host (INT-001)");
  run_other(c, &p);
  expect_both(c, &p, "a launch that waited for an event of a slow one (INT-002)");
  conform_finish(c, slow, NULL, 0);
  close_pair(c, &p);
}

/* Copies wait too, and an event that is reached already holds nobody up. */
static void run_copies(conform *c)
{
  static uint32_t back[N];
  pair p;
  vyre_backend_pending *slow = NULL;
  vyre_native_handle event;
  conform_open(c);
  open_pair(c, &p, NULL);
  for (uint32_t turn = 0; turn < 2; ++turn) {
    if (!turn)
      slow = start_slow(c, &p);
    event = record(c);
    CHECK_OK(c, c->counted.event_wait(p.other, &event, err));
    memset(back, 0, sizeof back);
    CHECK_OK(c, c->counted.buffer_download(p.other, p.window, 0, back, sizeof back, err));
    if (!turn)
      step(&p);
    CHECK(c, !memcmp(back, p.words, sizeof back),
          "a download that waited for an event has other bytes (INT-002)");
    CHECK_OK(c, c->counted.event_release(c->device, &event, err));
  }
  conform_finish(c, slow, NULL, 0);
  close_pair(c, &p);
}

/* The caller's own event: recorded again, or refused as a whole. */
static void run_again(conform *c)
{
  vyre_native_handle event = record(c);
  const vyre_native_handle before = event;
  vyre_error said = VYRE_ERROR_INIT;
  const vyre_status status = c->counted.event_record(c->device, &event, &said);
  CHECK(c, status == VYRE_OK || (status == VYRE_ERROR_UNSUPPORTED && said.message[0]),
        "recording an event again gives status %d (INT-001)", (int)status);
  CHECK(c, event.type == before.type && event.handle == before.handle,
        "recording an event has changed the handle (INT-001)");
  CHECK_OK(c, c->counted.event_wait(c->device, &event, err));
  CHECK_OK(c, c->counted.event_release(c->device, &event, err));
  conform_tour(c);
}

static void run_refused(conform *c)
{
  vyre_native_handle event = record(c), wrong = event;
  vyre_backend_device_options options = {.struct_size = sizeof options};
  vyre_backend_device *none = NULL;
  const vyre_status foreign = VYRE_ERROR_INVALID_ARGUMENT;
  wrong.type = 0x7fffffffu;
  CHECK_FAILS(c, c->counted.event_wait(c->device, &wrong, err), foreign, -1);
  CHECK_FAILS(c, c->counted.event_record(c->device, &wrong, err), foreign, -1);
  CHECK_FAILS(c, c->counted.event_release(c->device, &wrong, err), foreign, -1);
  wrong = event;
  wrong.handle = 0;
  CHECK_FAILS(c, c->counted.event_wait(c->device, &wrong, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  wrong = event;
  wrong.struct_size = VYRE_NATIVE_HANDLE_SIZE_0_3 - 1;
  CHECK_FAILS(c, c->counted.event_wait(c->device, &wrong, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, c->counted.event_record(c->device, &wrong, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  CHECK_FAILS(c, c->counted.queue_export(c->device, &wrong, err), VYRE_ERROR_INVALID_ARGUMENT, -1);
  options.queue.struct_size = sizeof options.queue;
  options.queue.type = 0x7fffffffu;
  options.queue.handle = event.handle;
  CHECK_FAILS(c, c->counted.device_open(c->device_index, &options, &none, err), foreign, -1);
  CHECK(c, !none, "a failed device_open has stored a device (ABI-008)");
  CHECK_OK(c, c->counted.event_release(c->device, &event, err));
  conform_tour(c);
}

/* One queue for two handles: in order without an event, and still there when one is closed. */
static void run_queue(conform *c)
{
  pair p;
  vyre_backend_pending *slow = NULL;
  vyre_native_handle queue = {.struct_size = sizeof queue}, same = {.struct_size = sizeof same};
  conform_open(c);
  CHECK_OK(c, c->counted.queue_export(c->device, &queue, err));
  CHECK(c, queue.type && queue.handle,
        "queue_export succeeded and gave type %u and handle 0x%llx (INT-005)", queue.type,
        (unsigned long long)queue.handle);
  open_pair(c, &p, &queue);
  CHECK_OK(c, c->counted.queue_export(p.other, &same, err));
  CHECK(c, same.type == queue.type && same.handle == queue.handle,
        "a device opened on a queue of the caller's has another one (INT-004)");
  slow = start_slow(c, &p);
  run_other(c, &p);
  expect_both(c, &p, "launches of two handles on one queue (INT-004)");
  conform_finish(c, slow, NULL, 0);
  close_pair(c, &p);
  conform_tour(c);
}

#define INTEROP_CASE(name, rules, needs, run)                                                      \
  {                                                                                                \
    name, rules, CONFORM_RESIDENT, VYRE_CAP_BUFFERS | VYRE_CAP_INTEROP, needs, 0, run              \
  }
#define SHARED CONFORM_NEEDS_KERNELS | CONFORM_NEEDS_IMPORT | CONFORM_NEEDS_VYRE_C

static const conform_case rows[] = {
    INTEROP_CASE("interop.growth", "INT-001 ABI-002", 0, run_growth),
    INTEROP_CASE("interop.order", "INT-001 INT-002", SHARED, run_order),
    INTEROP_CASE("interop.copies", "INT-002", SHARED, run_copies),
    INTEROP_CASE("interop.again", "INT-001", CONFORM_NEEDS_KERNELS, run_again),
    INTEROP_CASE("interop.refused", "INT-003 ABI-001 ABI-008 ABI-009", CONFORM_NEEDS_KERNELS,
                 run_refused),
    INTEROP_CASE("interop.queue", "INT-004 INT-005", SHARED, run_queue),
};
CONFORM_TABLE(conform_cases_interop, rows);
