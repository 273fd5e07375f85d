/*
 * program.h - a created program: the checked description in a compact form of its own, and the
 * loaded code.
 *
 * A program is immutable once it is created.  Pending dispatches hold references to it.
 */
#ifndef VYRE_CORE_PROGRAM_PROGRAM_H
#define VYRE_CORE_PROGRAM_PROGRAM_H

#include "core/device/device.h"
#include "core/program/rows.h"

typedef struct vyre__buffer_plan {
  const char *name;
  vyre_access access;
  uint32_t flags; /* VYRE_BUFFER_OUTPUT also where WRITE_ONLY implies it */
  uint32_t element_size;
  bool bound;             /* by some segment */
  bool written;           /* by some segment */
  uint32_t writers;       /* segments that write it */
  uint64_t element_count; /* or VYRE_COUNT_FROM_INPUT */
  uint64_t range_offset;  /* with VYRE_BUFFER_RANGE */
  uint64_t range_size;
} vyre__buffer_plan;

typedef struct vyre__binding_plan {
  uint32_t buffer; /* index in the program */
  vyre_access access;
  uint32_t flags; /* VYRE_BINDING_… */
} vyre__binding_plan;

typedef struct vyre__segment_plan {
  const char *name;
  vyre_backend_kernel *kernel;
  const vyre__binding_plan *bindings;
  uint32_t binding_count;
  uint32_t groups[3];
  uint64_t elements[3];
} vyre__segment_plan;

/* What a dispatch leaves behind for the next one (core/dispatch/). */
typedef struct vyre__stage vyre__stage;
typedef struct vyre__live vyre__live;
typedef struct vyre__recorded vyre__recorded;

/* Two, for programs that are dispatched on two sets of buffers by turns. */
#define VYRE__KEPT 2u

/* Steps that were launched one by one: vyre__kept_digest(), and how many launches it were. */
typedef struct vyre__single {
  uint64_t digest, launches;
} vyre__single;

/* Guarded by the lock of the device's binders; the last used is first. */
typedef struct vyre__keep {
  vyre__recorded *recorded[VYRE__KEPT];
  vyre__single single[VYRE__KEPT];
} vyre__keep;

/* How long dispatches of a shape took (core/dispatch/learn.h): on route native, on resident. */
#define VYRE__LEARNED 4u

typedef struct vyre__learned {
  uint64_t shape;      /* 0: none */
  uint64_t pass_ns[2]; /* a pass, of the fastest */
  uint32_t samples[2]; /* dispatches that were measured */
  uint32_t passes;     /* of the last dispatch */
} vyre__learned;

struct vyre_program {
  vyre_device *device; /* retained */
  uint64_t generation;
  uint32_t references; /* atomic: the caller's and one for each pending dispatch */
  uint32_t buffer_count;
  uint32_t segment_count;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t push_size;
  uint32_t iterations;
  uint32_t workgroup[3];
  vyre_converge converge;
  uint32_t groups[3];
  uint64_t elements[3];
  vyre_backend_module *module;
  vyre_backend_kernel *fused;  /* NULL: the code has none */
  vyre_backend_kernel *settle; /* likewise */
  uint32_t fused_groups;       /* most groups of a fused launch; 0: none can be, see below */
  char native_reason[160];     /* why no fused launch can be, or "" */
  uint64_t workgroup_bytes;    /* of all WORKGROUP buffers that are bound */
  vyre__stage *idle_stage;     /* atomic; taken by a dispatch, put back at its end; or NULL */
  vyre__live *idle_live;       /* likewise */
  vyre__keep keep;             /* recorded launches */
  pthread_mutex_t learning;
  vyre__learned learned[VYRE__LEARNED]; /* guarded by it; the latest shape is first */
  uint32_t unrecordable;                /* atomic; the plugin cannot record its passes */
  const char *name;                     /* never NULL */
  vyre__buffer_plan *buffers;
  vyre__segment_plan *segments;
  vyre__binding_plan *bindings;             /* of all segments, one after the other */
  char *texts;                              /* what all the names point to */
  uint32_t fused_count;                     /* buffers that are bound: */
  uint32_t fused_buffers[VYRE_MAX_BUFFERS]; /* their indexes, in declaration order */
  uint32_t inputs[VYRE_MAX_BUFFERS];        /* buffer index by input position */
  uint32_t outputs[VYRE_MAX_BUFFERS];       /* buffer index by output position */
  vyre__deferred freeing;
};

/* Ids of the bindings that vyre adds to the program's own buffers. */
static inline uint32_t vyre__shadow_id(const vyre_program *program)
{
  return program->buffer_count;
}

static inline uint32_t vyre__control_id(const vyre_program *program)
{
  return program->buffer_count + 1;
}

void vyre__program_retain(vyre_program *program);
void vyre__program_release(vyre_program *program);

/*
 * Checks everything that is known without a dispatch.  `limits` may be NULL: then nothing that
 * depends on a device is checked.  INVALID_PROGRAM names the buffer or segment and the cure;
 * INVALID_ARGUMENT for a structure that cannot be read.
 */
vyre_status vyre__program_validate(const vyre_program_desc *desc, const vyre_device_info *limits,
                                   vyre_error *err);

/* The workgroup that a description means: {64, 1, 1} if it gives none, 1 for a missing dimension.
 */
void vyre__program_workgroup(const vyre_program_desc *desc, uint32_t out_workgroup[3]);

/* Index of the buffer of that name, UINT32_MAX if there is none. */
uint32_t vyre__program_find(const vyre_program_desc *desc, const char *name);

/* True if some segment writes the buffer. */
bool vyre__program_writes(const vyre_program_desc *desc, uint32_t buffer);

/* True for a name that may stand in a kernel: a C identifier that is no keyword and not vyre's. */
bool vyre__is_identifier(const char *name);

/*
 * True if two segments are one and the same function with the same bindings; they share an entry.
 */
bool vyre__segments_equal(const vyre_segment_decl *a, const vyre_segment_decl *b);

#endif
