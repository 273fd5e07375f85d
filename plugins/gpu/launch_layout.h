/*
 * launch_layout.h - what a kernel of a GPU plugin is launched with.  Read by the body (C11) and put
 * in front of the preludes (C++ of a run-time compiler), so it has no include and uses the fixed
 * types of the kernel language; launch.h checks it against <stdint.h>.
 *
 * The entry of n bindings has n + 1 parameters.  Its name is that of the segment, or the segment's
 * behind the prefix `vyre_entry_`, which is looked for first and which the preludes write:
 *
 *     void NAME(vyre_u64 a0, …, vyre_u64 an-1, vyre__gpu_launch launch)
 *
 * a_k is the device address of binding k; for workgroup memory, its byte offset in the dynamic
 * workgroup memory of the launch (a multiple of 16).  A binding of size 0 has a valid address that
 * is never dereferenced.  Whoever brings machine code of his own (ptx, cubin, hsaco) keeps to this.
 */
#ifndef VYRE_GPU_LAUNCH_LAYOUT_H
#define VYRE_GPU_LAUNCH_LAYOUT_H

#define VYRE__GPU_LAUNCH_ABI 1u
#define VYRE__GPU_IDS 96u /* binding ids, 0 … 95 */
#define VYRE__GPU_PUSH_BYTES 256u

typedef struct vyre__gpu_launch {
  vyre_u64 counts[VYRE__GPU_IDS]; /* elements, by binding id */
  vyre_u64 fault;     /* address of a vyre__gpu_fault, 0 unless the module is a debug one */
  vyre_u32 groups[3]; /* of the launch */
  vyre_u32 reserved;
  vyre_u64 push[VYRE__GPU_PUSH_BYTES / 8u];
} vyre__gpu_launch;

/* The first offence of a launch in debug code (KRN-008).  Zeroed before the launch. */
typedef struct vyre__gpu_fault {
  vyre_u32 taken; /* 1 once somebody's offence stands here */
  vyre_u32 line;
  vyre_u64 index;
  vyre_u64 count;
  vyre_u32 kind; /* VYRE__GPU_FAULT_… */
  vyre_u32 reserved;
  char what[64]; /* the buffer's name, cut */
  char file[64]; /* the end of its path */
} vyre__gpu_fault;

#define VYRE__GPU_FAULT_INDEX 1u /* an index outside a buffer */
#define VYRE__GPU_FAULT_SHIFT 2u /* an over-wide shift */

/* What is compiled behind every text: it closes what a prelude of ours leaves open. */
#define VYRE__GPU_TEXT_END "\n#ifdef VYRE_PRELUDE_GPU\n}\n#endif\n"

#endif
