/* devices.h - lists of devices: of one plugin, as it tells them, or of several, best first. */
#ifndef VYRE_CORE_DEVICE_DEVICES_H
#define VYRE_CORE_DEVICE_DEVICES_H

#include "vyre.h"
#include "vyre_backend.h"

#include "core/base/alloc.h"

typedef struct vyre__listed_device {
  const vyre_backend *backend;
  uint32_t backend_index;
  vyre_device_info info;
  const char *serialised_by; /* the variable that turned persistent launches off, or NULL */
} vyre__listed_device;

typedef struct vyre__devices {
  vyre_allocator allocator;
  vyre__listed_device *rows;
  uint32_t count;
  uint32_t capacity;
} vyre__devices;

void vyre__devices_init(vyre__devices *list, const vyre_allocator *allocator);
void vyre__devices_free(vyre__devices *list);

/*
 * Appends the devices of a plugin; on an error the list is as it was.  OUT_OF_HOST_MEMORY of the
 * list itself is told apart by `*out_is_ours`.
 */
vyre_status vyre__devices_add(vyre__devices *list, const vyre_backend *backend, uint32_t *out_count,
                              bool *out_is_ours, vyre_error *err);

/*
 * After a device was opened: a plugin may have found out, by trying, that persistent launches do
 * not work there.  Takes that over into `info`, what was listed, and nothing else.
 */
void vyre__device_look_again(const vyre__listed_device *listed, vyre_device_info *info);

/* Appends copies of all of another list; false without memory. */
bool vyre__devices_append(vyre__devices *list, const vyre__devices *more);

/* Discrete GPUs, integrated GPUs, others, CPUs; otherwise the order in which they were added. */
void vyre__devices_sort(vyre__devices *list);

#endif
