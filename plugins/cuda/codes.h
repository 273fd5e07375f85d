/*
 * codes.h - the CUDA driver's result codes: what they are called, and what they mean to a caller.
 */
#ifndef VYRE_CUDA_CODES_H
#define VYRE_CUDA_CODES_H

#include "plugins/cuda/cuda_api.h"
#include "vyre_status.h"

#include <stdbool.h>

/* Those that the plugin looks at by number. */
#define VYRE__CU_INVALID_VALUE 1
#define VYRE__CU_STUB_LIBRARY 34
#define VYRE__CU_NO_DEVICE 100
#define VYRE__CU_INVALID_DEVICE 101
#define VYRE__CU_NO_BINARY_FOR_GPU 209
#define VYRE__CU_NOT_FOUND 500
#define VYRE__CU_NOT_READY 600

vyre_status vyre__cuda_code_status(int32_t code);
bool vyre__cuda_code_is_sticky(int32_t code);
bool vyre__cuda_code_is_not_ready(int32_t code);
bool vyre__cuda_code_is_no_device(int32_t code);
bool vyre__cuda_code_is_not_found(int32_t code);
bool vyre__cuda_code_is_wrong_device(int32_t code);
/* "CUDA_ERROR_ILLEGAL_ADDRESS (700)" into `out`, which is returned. */
const char *vyre__cuda_code_name(int32_t code, char *out, uint64_t size);

#endif
