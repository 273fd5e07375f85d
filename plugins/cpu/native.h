/*
 * native.h - opening the shared object of a container.
 */
#ifndef VYRE_CPU_NATIVE_H
#define VYRE_CPU_NATIVE_H

#include "vyre_backend.h"

/* An open shared object; the file stays open with it (native.c says why). */
typedef struct vyre__cpu_native {
  void *handle;
  int file; /* -1 if it was opened from the disk */
} vyre__cpu_native;

/* Opens a container that vyre__cpu_container_check() has passed. */
vyre_status vyre__cpu_native_open(const void *data, uint64_t size, const char *name,
                                  vyre__cpu_native *out_native, vyre_error *err);
void vyre__cpu_native_close(vyre__cpu_native *native);

#endif
