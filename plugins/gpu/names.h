/*
 * names.h - what drivers call a device, in the forms of vyre__gpu_facts.
 */
#ifndef VYRE_GPU_NAMES_H
#define VYRE_GPU_NAMES_H

#include "plugins/gpu/driver.h"

/* "0000:C1:00.0" as drivers write it, in the kernel's small letters. */
void vyre__gpu_write_pci(char out[VYRE_DEVICE_ID_SIZE], const char *name);
/* 16 bytes as "8-4-4-4-12" hexadecimal digits; "" if all of them are 0. */
void vyre__gpu_write_uuid(char out[VYRE_DEVICE_ID_SIZE], const char bytes[16]);

#endif
