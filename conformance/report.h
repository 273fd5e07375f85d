/*
 * report.h - what a child process tells its parent: one record in memory that both have mapped.
 *
 * A plugin may close every file descriptor, write without end, exit or crash: the mapping stays.
 */
#ifndef VYRE_CONFORMANCE_REPORT_H
#define VYRE_CONFORMANCE_REPORT_H

#include "conformance/case.h"

#define CONFORM_TEXT_SIZE 3072u
#define CONFORM_FORMATS_SIZE 512u
#define CONFORM_SLOTS 32u /* of the table, see coverage.h */

/* How far a case came. */
typedef uint32_t conform_state;
#define CONFORM_STATE_NONE 0u          /* the process has not begun it */
#define CONFORM_STATE_RUNNING 1u       /* begun, and not heard of since */
#define CONFORM_STATE_RETURNED 2u      /* returned: pass, if the process ends well too */
#define CONFORM_STATE_FAILED 3u        /* a check failed: `text` says which */
#define CONFORM_STATE_NOT_SUPPORTED 4u /* it cannot apply: `text` says why */

/* What the probe found out. */
typedef struct conform_probe {
  conform_state state; /* RETURNED: the rest is filled in */
  vyre_status status;  /* why it is none of our plugins, or has no device; VYRE_OK otherwise */
  uint32_t device_count;
  uint32_t abi_minor;
  uint32_t header_version;
  uint32_t sanitizer;
  uint64_t flags;
  bool takes_vyre_c;
  char name[64], version[64], vendor[128], build_id[128];
  char formats[CONFORM_FORMATS_SIZE]; /* "native:x86-64-v3, vyre-c" */
  vyre_backend_device_info device;    /* the one under test */
} conform_probe;

typedef struct conform_report {
  conform_state state;
  char text[CONFORM_TEXT_SIZE];
  uint32_t calls[CONFORM_SLOTS]; /* of each slot of the table */
  uint32_t last_slot;            /* the number of the one called last and 1, or 0 */
  conform_probe probe;
} conform_report;

#endif
