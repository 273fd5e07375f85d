/*
 * mock_device.h - a consumer of a ring that may do what a device may do, and nothing else.
 *
 * It knows the ring by vyre_ring_layout.h alone.  On the shared region it uses aligned loads and
 * stores of 4 and 8 bytes, with acquire and release; it reads, modifies and writes only words of
 * its own memory.  mock_device.c has the accessors in one place, so that this can be seen.
 */
#ifndef VYRE_TESTS_MOCK_DEVICE_H
#define VYRE_TESTS_MOCK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mock_device mock_device;

/* NULL, with a reason, if the region is no ring for a device. */
mock_device *mock_device_attach(void *region, uint64_t bytes, const char **out_reason);
void mock_device_detach(mock_device *device);

/*
 * One worker: serves until the host asks it to leave and nothing is there any more.  Returns how
 * many items it has run; `seed` decides in what parts it takes cells.
 */
uint64_t mock_device_work(mock_device *device, uint64_t seed);

/* One look of a worker at the ring: how many items it ran, 0 if it got none. */
uint32_t mock_device_step(mock_device *device, uint64_t *seed);

/* What the device makes of an item: the host's check computes the same. */
uint32_t mock_device_value(const uint32_t item[4]);
uint32_t mock_device_status(const uint32_t item[4]);

#endif
