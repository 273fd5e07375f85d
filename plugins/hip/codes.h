/*
 * codes.h - the result codes of HIP: what they are called, and what they mean to a caller.
 */
#ifndef VYRE_HIP_CODES_H
#define VYRE_HIP_CODES_H

#include "plugins/hip/hip_api.h"
#include "vyre_status.h"

#include <stdbool.h>

/* Those that the plugin looks at by number. */
#define VYRE__HIP_INVALID_VALUE 1
#define VYRE__HIP_NOT_INITIALIZED 3
#define VYRE__HIP_NO_DEVICE 100
#define VYRE__HIP_INVALID_DEVICE 101
#define VYRE__HIP_NO_BINARY_FOR_GPU 209
#define VYRE__HIP_NOT_FOUND 500
#define VYRE__HIP_NOT_READY 600

vyre_status vyre__hip_code_status(int32_t code);
bool vyre__hip_code_is_sticky(int32_t code);
bool vyre__hip_code_is_not_ready(int32_t code);
bool vyre__hip_code_is_no_device(int32_t code);
bool vyre__hip_code_is_not_found(int32_t code);
bool vyre__hip_code_is_wrong_device(int32_t code);
/* "hipErrorIllegalAddress (700)" into `out`, which is returned. */
const char *vyre__hip_code_name(int32_t code, char *out, uint64_t size);

#endif
