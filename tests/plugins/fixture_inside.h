/*
 * fixture_inside.h - what the parts of the fixture plugin share.
 *
 *     fixture.c          the handshake and the table, for each fault
 *     fixture_values.c   controls, counters, errors, memory
 *     fixture_devices.c  devices and their buffers
 *     fixture_modules.c  the format "fixture"
 *     fixture_kernels.c  what its kernels do
 *     fixture_launch.c   launches and their outputs
 *     fixture_passes.c   tiers 3 and 5
 */
#ifndef VYRE_TESTS_PLUGINS_FIXTURE_INSIDE_H
#define VYRE_TESTS_PLUGINS_FIXTURE_INSIDE_H

#include "vyre_backend.h"

#include <pthread.h>
#include <stdbool.h>

#include "fixture.h"

enum {
#define FAULT(name, description) FAULT_##name,
#include "fixture_faults.def"
#undef FAULT
  FAULT_COUNT
};

/* Of this shared object: a FAULT_… value. */
extern const int fixture__fault;

#ifdef FIXTURE_FAULT
/* A constant, so that tables can be initialised with it. */
#define IS(fault) (FIXTURE_FAULT == FAULT_##fault)
#else
#define IS(fault) (fixture__fault == FAULT_##fault)
#endif

/* ---- fixture_values.c ---- */

/* In the order of the list in fixture.h; the live ones are last and survive a reset. */
#define FIXTURE_VALUES(X)                                                                          \
  X(devices)                                                                                       \
  X(devices_error)                                                                                 \
  X(open_error)                                                                                    \
  X(open_error_at)                                                                                 \
  X(alloc_error)                                                                                   \
  X(alloc_fail_at)                                                                                 \
  X(copy_error)                                                                                    \
  X(copy_fail_at)                                                                                  \
  X(load_error)                                                                                    \
  X(dispatch_error)                                                                                \
  X(dispatch_fail_at)                                                                              \
  X(wait_error)                                                                                    \
  X(read_error)                                                                                    \
  X(fail_at)                                                                                       \
  X(lose_at)                                                                                       \
  X(drop_output)                                                                                   \
  X(swap_outputs)                                                                                  \
  X(extra_output)                                                                                  \
  X(long_output)                                                                                   \
  X(hold)                                                                                          \
  X(silent)                                                                                        \
  X(grid_sync)                                                                                     \
  X(cooperative_groups)                                                                            \
  X(cooperative_items)                                                                             \
  X(groups_error)                                                                                  \
  X(residency)                                                                                     \
  X(passes_error)                                                                                  \
  X(say_passes)                                                                                    \
  X(barrier_ns)                                                                                    \
  X(timestamps)                                                                                    \
  X(watch)                                                                                         \
  X(queries)                                                                                       \
  X(asks)                                                                                          \
  X(opens)                                                                                         \
  X(dispatches)                                                                                    \
  X(waits)                                                                                         \
  X(reads)                                                                                         \
  X(read_bytes)                                                                                    \
  X(loads)                                                                                         \
  X(allocs)                                                                                        \
  X(uploads)                                                                                       \
  X(upload_bytes)                                                                                  \
  X(downloads)                                                                                     \
  X(download_bytes)                                                                                \
  X(copies)                                                                                        \
  X(copy_bytes)                                                                                    \
  X(fills)                                                                                         \
  X(fill_bytes)                                                                                    \
  X(host_bindings_bytes)                                                                           \
  X(watched)                                                                                       \
  X(launch_steps)                                                                                  \
  X(cooperative_calls)                                                                             \
  X(passes_calls)                                                                                  \
  X(clock)                                                                                         \
  X(devices_live)                                                                                  \
  X(modules_live)                                                                                  \
  X(buffers_live)                                                                                  \
  X(pendings_live)                                                                                 \
  X(bytes_live)

typedef enum fixture__value {
#define FIXTURE_VALUE(name) VALUE_##name,
  FIXTURE_VALUES(FIXTURE_VALUE)
#undef FIXTURE_VALUE
      VALUE_COUNT
} fixture__value;

int64_t fixture__get(fixture__value which);
/* Adds and returns the sum. */
int64_t fixture__add(fixture__value which, int64_t change);
/* Counts a control down from n: true once, when it comes to 0. */
bool fixture__turn(fixture__value which);

#define VALUE(name) fixture__get(VALUE_##name)
#define ADD(name, change) ((void)fixture__add(VALUE_##name, (int64_t)(change)))
#define TURN(name) fixture__turn(VALUE_##name)

/* Waits while `hold` is set: false if the time ran out. */
bool fixture__wait_for_hold(uint64_t timeout_ns);

/* Fills `err` (may be NULL), unless `silent` is set, and returns the code. */
__attribute__((format(printf, 3, 4))) vyre_status fixture__fail(vyre_error *err, int64_t code,
                                                                const char *format, ...);

/* Inline, so that a reader of one file, man or machine, sees that it is no success. */
static inline vyre_status fixture__no_memory(vyre_error *err)
{
  (void)fixture__fail(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, "the fixture has no memory");
  return VYRE_ERROR_OUT_OF_HOST_MEMORY;
}

/* The host's memory, zeroed. */
void *fixture__allocate(uint64_t size);
void fixture__deallocate(void *memory);

static inline uint64_t fixture__least(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* ---- fixture.c ---- */

/* The host of the newest handshake. */
const vyre_host *fixture__host(void);

/* The newest version that this fixture speaks. */
uint32_t fixture__minor(void);

/* ---- fixture_devices.c ---- */

struct vyre_backend_device {
  uint32_t index;
  uint32_t lost;        /* atomic */
  pthread_mutex_t lock; /* launches and copies run one after the other (DISP-020) */
};

struct vyre_backend_buffer {
  uint64_t size;
  unsigned char *bytes;
};

vyre_status fixture__device_count(uint32_t *out_count, vyre_error *err);
vyre_status fixture__device_info(uint32_t index, vyre_backend_device_info *out_info,
                                 vyre_error *err);
vyre_status fixture__device_open(uint32_t index, const vyre_backend_device_options *options,
                                 vyre_backend_device **out_device, vyre_error *err);
void fixture__device_close(vyre_backend_device *device);
vyre_status fixture__check_lost(const vyre_backend_device *device, vyre_error *err);

vyre_status fixture__buffer_alloc(vyre_backend_device *device, uint64_t size,
                                  vyre_backend_buffer **out_buffer, vyre_error *err);
void fixture__buffer_free(vyre_backend_device *device, vyre_backend_buffer *buffer);
vyre_status fixture__buffer_upload(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                   uint64_t offset, const void *data, uint64_t size,
                                   vyre_error *err);
vyre_status fixture__buffer_download(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                     uint64_t offset, void *out_data, uint64_t size,
                                     vyre_error *err);
vyre_status fixture__buffer_fill(vyre_backend_device *device, vyre_backend_buffer *buffer,
                                 uint64_t offset, uint64_t size, uint32_t byte, vyre_error *err);
vyre_status fixture__buffer_copy(vyre_backend_device *device, vyre_backend_buffer *destination,
                                 uint64_t destination_offset, vyre_backend_buffer *source,
                                 uint64_t source_offset, uint64_t size, vyre_error *err);

/* ---- fixture_modules.c ---- */

#define MAX_ENTRIES 32
#define MAX_STEPS 8          /* of a fused entry */
#define MAX_STEP_BINDINGS 16 /* of each of them */
#define MAX_LINE 256

enum {
  KERNEL_nothing,
  KERNEL_copy,
  KERNEL_add,
  KERNEL_increment,
  KERNEL_push,
  KERNEL_facts,
  KERNEL_fail,
  KERNEL_saturate,
  KERNEL_declared,
  KERNEL_flip,
  KERNEL_or,
  KERNEL_or_shift,
  KERNEL_set,
  KERNEL_add_low,
  KERNEL_add_high,
  KERNEL_vyre_settle,
  KERNEL_fused,
  KERNEL_COUNT
};

/* One VYRE_RUN of a fused entry. */
typedef struct fixture__step {
  const vyre_backend_kernel *kernel;
  uint32_t count;
  uint32_t bindings[MAX_STEP_BINDINGS]; /* places among those of the launch */
} fixture__step;

struct vyre_backend_kernel {
  char name[MAX_LINE];
  int what;
  uint32_t argument; /* saturate(5) */
  uint32_t step_count;
  fixture__step steps[MAX_STEPS];
};

struct vyre_backend_module {
  uint32_t count;
  vyre_backend_kernel entries[MAX_ENTRIES];
};

vyre_status fixture__module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                                 vyre_backend_module **out_module, vyre_error *err);
void fixture__module_unload(vyre_backend_device *device, vyre_backend_module *module);
vyre_status fixture__kernel_find(vyre_backend_module *module, const char *name,
                                 vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                                 vyre_error *err);

/* ---- fixture_kernels.c ---- */

/* A binding as a kernel sees it. */
typedef struct fixture__view {
  vyre_binding binding;
  unsigned char *bytes;
  unsigned char *own; /* freed with the launch, or NULL */
} fixture__view;

/* Words of a program's control buffer, as vyre_kernel.h numbers them. */
enum {
  CONTROL_CHANGED = 0,
  CONTROL_PASSES = 1,
  CONTROL_PASS = 32,
  CONTROL_LIMIT = 33,
  CONTROL_TESTED = 34,
  CONTROL_GROUPS = 128
};

uint32_t fixture__word(const unsigned char *bytes, uint64_t index);
void fixture__put_word(unsigned char *bytes, uint64_t index, uint32_t word);

bool fixture__may_write(const fixture__view *of);

/*
 * Runs one launch over its views, in the device's lock.  Not OK: the launch fails, and `*out_why`
 * says so when it is waited for.
 */
vyre_status fixture__run(const vyre_dispatch_desc *desc, fixture__view *views, uint32_t count,
                         const char **out_why);

/* ---- fixture_launch.c ---- */

#define MAX_BINDINGS 64u

struct vyre_backend_pending {
  vyre_backend_device *device;
  vyre_status result;
  const char *why; /* of a bad result */
  uint64_t started, ended;
  uint32_t count;
  fixture__view views[];
};

/* Checks a launch and makes its views; nothing runs. */
vyre_status fixture__prepare(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                             vyre_backend_pending **out_pending, vyre_error *err);
/* Runs it once more, in the device's lock. */
void fixture__launch(vyre_backend_pending *pending, const vyre_dispatch_desc *desc);
/* Frees what prepare() made. */
void fixture__drop(vyre_backend_pending *pending);

vyre_status fixture__dispatch(vyre_backend_device *device, const vyre_dispatch_desc *desc,
                              vyre_backend_pending **out_pending, vyre_error *err);
vyre_status fixture__pending_wait(vyre_backend_pending *pending, uint64_t timeout_ns,
                                  vyre_error *err);
vyre_status fixture__pending_read(vyre_backend_pending *pending, vyre_slot *slots,
                                  uint32_t slot_count, uint64_t slot_stride,
                                  vyre_backend_times *out_times, vyre_error *err);
void fixture__pending_release(vyre_backend_pending *pending);

/* ---- fixture_passes.c ---- */

vyre_status fixture__cooperative_groups(vyre_backend_device *device, vyre_backend_kernel *kernel,
                                        const uint32_t workgroup[3], uint64_t workgroup_memory,
                                        uint32_t *out_groups, vyre_error *err);
vyre_status fixture__dispatch_passes(vyre_backend_device *device, const vyre_passes_desc *desc,
                                     vyre_backend_pending **out_pending, vyre_error *err);
vyre_status fixture__device_clock(vyre_backend_device *device, uint64_t *out_device_ns,
                                  uint64_t *out_host_ns, vyre_error *err);

#endif
