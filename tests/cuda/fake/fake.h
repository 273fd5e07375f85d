/*
 * fake.h - the inside of the test driver: one lock, one table of objects, one record of calls.
 */
#ifndef VYRE_TESTS_FAKE_H
#define VYRE_TESTS_FAKE_H

#include "fake_control.h"
#include "plugins/cuda/cuda_api.h"

#include <pthread.h>

typedef uint64_t vyre_u64;
typedef uint32_t vyre_u32;
#include "plugins/gpu/launch_layout.h"

#define EXPORT __attribute__((visibility("default")))
#define FAKE_DEVICES 8u
#define FAKE_ATTRIBUTES 160u

/* Prototypes of what we export, and a number for each. */
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters)                             \
  EXPORT CUresult symbol parameters;
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
typedef enum fake_id {
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters) FAKE_##field,
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
  FAKE_IDS
} fake_id;

/* -------- objects: kept until reset(), so that a stale handle is known as such -------- */

typedef enum fake_kind {
  FAKE_CONTEXT,
  FAKE_MEMORY,
  FAKE_HOST,
  FAKE_POOL,
  FAKE_STREAM,
  FAKE_EVENT,
  FAKE_MODULE,
  FAKE_GRAPH,
  FAKE_EXEC,
  FAKE_FUNCTION, /* lives as long as its module, not counted */
  FAKE_NODE,     /* as long as its graph, likewise */
  FAKE_KINDS
} fake_kind;

typedef struct fake_context fake_context;

typedef struct fake_object {
  fake_kind kind;
  bool dead;
  uint64_t number; /* from 1, of all kinds */
  fake_context *context;
  struct fake_object *next;
} fake_object;

struct fake_context {
  fake_object object;
  uint32_t device, retained;
  CUresult broken; /* sticky code, 0 while it works */
};

typedef struct fake_memory {
  fake_object object;
  unsigned char *bytes; /* what kernels and copies touch */
  CUdeviceptr address;  /* what the caller sees */
  uint64_t size;
  bool leaving; /* an ordered free is on its way */
} fake_memory;  /* FAKE_MEMORY and FAKE_HOST */

typedef struct fake_event {
  fake_object object;
  unsigned flags;
  uint64_t recorded, done; /* generations */
  uint64_t time_ns;
  uint64_t asked_ns, last_ns; /* when somebody began to ask for it, without a pause; last asked */
} fake_event;

typedef struct fake_op fake_op;

typedef struct fake_stream {
  fake_object object;
  pthread_t worker;
  fake_op *first, **last;
  uint64_t put, finished, allowed; /* numbers of operations, from 1 */
  bool ending, resident;           /* resident: its operation is a resident kernel */
} fake_stream;

typedef struct fake_function fake_function;
typedef struct fake_run {
  fake_function *function;
  fake_context *context;
  uint32_t groups[3], workgroup[3], workgroup_memory;
  uint64_t addresses[32];
  vyre__gpu_launch launch;
  bool cooperative;
  uint64_t graph;   /* the number of the exec that it is of, 0 for none */
  const bool *sent; /* whether that has come to the device, NULL for none */
  CUresult ends;    /* what it ends with */
  uint64_t record;
} fake_run;

typedef CUresult (*fake_kernel)(fake_run *run);

struct fake_function {
  fake_object object;
  char name[128];
  uint32_t parameters; /* addresses before the launch structure */
  bool loaded;
  int dynamic_limit;
  fake_kernel kernel; /* NULL: records only */
  bool resident;
  fake_function *next;
};

typedef enum fake_op_kind {
  OP_COPY,
  OP_FILL,
  OP_RECORD,
  OP_WAIT,
  OP_RUN,
  OP_FREE,
  OP_UPLOAD
} fake_op_kind;

struct fake_op {
  fake_op *next;
  fake_op_kind kind;
  uint64_t number;
  CUdeviceptr to, from; /* of the device, or of the host if host_… is set */
  void *host_to;
  const void *host_from;
  uint64_t size;
  unsigned char value;
  fake_event *event;
  uint64_t generation;
  fake_memory *memory;
  fake_run *run;
  bool *sent; /* of an upload */
};

/* -------- fake_state.c -------- */

typedef struct fake_state {
  pthread_mutex_t lock;
  pthread_cond_t moved; /* anything has changed */
  bool initialised;
  int version;
  CUresult init;
  uint32_t devices;
  int attributes[FAKE_DEVICES][FAKE_ATTRIBUTES];
  fake_context *contexts[FAKE_DEVICES];
  fake_object *objects;
  uint64_t object_count;
  bool held, deferred;
  uint32_t occupancy, resident;
  CUresult next_kernel;
} fake_state;

extern fake_state fake;

#define NEEDS_INIT 1u
#define NEEDS_CONTEXT 2u
#define WAITS 4u /* for the whole device: never while a resident kernel runs */

/*
 * Records the call and takes the lock.  A code other than 0: the call is over, the lock is not
 * held.  Otherwise every way out is fake_end().
 */
__attribute__((format(printf, 3, 4))) CUresult fake_begin(fake_id id, unsigned needs,
                                                          const char *format, ...);
CUresult fake_end(CUresult code);
#define BEGIN(...)                                                                                 \
  do {                                                                                             \
    const CUresult begun = fake_begin(__VA_ARGS__);                                                \
    if (begun)                                                                                     \
      return begun;                                                                                \
  } while (0)
/* The same for a call that ends an object: an injected failure ends it as well. */
#define BEGIN_DROP(handle, ...)                                                                    \
  do {                                                                                             \
    const CUresult begun = fake_begin(__VA_ARGS__);                                                \
    if (begun) {                                                                                   \
      fake_excuse((const void *)(handle));                                                         \
      return begun;                                                                                \
    }                                                                                              \
  } while (0)

/* With the lock held. */
__attribute__((format(printf, 1, 2))) void fake_fault(const char *format, ...);
void *fake_make(fake_kind kind, uint64_t size);
/* The live object, of the context that is current; NULL and a fault otherwise. */
void *fake_take(const void *handle, fake_kind kind);
void fake_kill(fake_object *object);
void fake_excuse(const void *handle); /* without the lock */
fake_context *fake_current(void);
uint64_t fake_record(const fake_launch_record *record);
void fake_record_finished(uint64_t i);
bool fake_kills(CUresult code);
void fake_break(fake_context *context, CUresult code);

/* -------- fake_device.c -------- */
fake_context *fake_top(void);
uint32_t fake_depth(void);

/* -------- fake_memory.c, with the lock held -------- */

/* The host's view of a device range, NULL if it lies in no live allocation. */
unsigned char *fake_view(fake_context *context, CUdeviceptr address, uint64_t size);
/* Whether a host range lies in pinned memory. */
bool fake_pinned(const void *host, uint64_t size);
void fake_memory_free(fake_memory *memory);
void fake_memory_drop_all(fake_context *context);

/* -------- fake_code.c, with the lock held -------- */

/* Fills `run` in from what a launch is called with, or says why that is none. */
CUresult fake_run_fill(fake_run *run, CUfunction handle, const unsigned groups[3],
                       const unsigned workgroup[3], unsigned shared, void **parameters);
/* Records a copy of it and puts it on the stream. */
void fake_run_push(const fake_run *model, fake_stream *stream);

/* -------- fake_stream.c -------- */

/* With the lock held: puts a copy of `model` on the stream. */
void fake_push(fake_stream *stream, const fake_op *model);
/* With the lock held: waits for what was put last, unless told to defer; ends the call. */
CUresult fake_settle(const fake_stream *stream);
/* Both. */
CUresult fake_put(CUstream handle, const fake_op *model);
/* Waits until all streams of the context are idle. */
void fake_drain(fake_context *context);
void fake_stream_end(fake_stream *stream);

/* -------- fake_kernels.c -------- */
fake_kernel fake_kernel_find(const char *name, bool *out_resident);

#endif
