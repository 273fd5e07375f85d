/*
 * codes.c - the CUDA driver's result codes, from the list in codes.def; see codes.h.
 */
#include "plugins/cuda/codes.h"

#include "plugins/cuda/library.h"
#include "plugins/gpu/codes.h"

#include <stdio.h>

static const vyre__gpu_code_row rows[] = {
#define VYRE_CUDA_CODE(number, name, status, lasts)                                                \
  {number, "CUDA_ERROR_" #name, VYRE_ERROR_##status, lasts},
#include "plugins/cuda/codes.def"
#undef VYRE_CUDA_CODE
};

static const vyre__gpu_code_row *find(int32_t code)
{
  return vyre__gpu_code_find(rows, sizeof rows / sizeof rows[0], code);
}

vyre_status vyre__cuda_code_status(int32_t code)
{
  return vyre__gpu_code_status(find(code), code);
}

bool vyre__cuda_code_is_sticky(int32_t code)
{
  const vyre__gpu_code_row *row = find(code);
  return row && row->sticky;
}

bool vyre__cuda_code_is_not_ready(int32_t code)
{
  return code == VYRE__CU_NOT_READY;
}

bool vyre__cuda_code_is_no_device(int32_t code)
{
  return code == VYRE__CU_NO_DEVICE;
}

bool vyre__cuda_code_is_not_found(int32_t code)
{
  return code == VYRE__CU_NOT_FOUND;
}

bool vyre__cuda_code_is_wrong_device(int32_t code)
{
  return code == VYRE__CU_NO_BINARY_FOR_GPU;
}

const char *vyre__cuda_code_name(int32_t code, char *out, uint64_t size)
{
  const vyre__gpu_code_row *row = find(code);
  const char *name = row ? row->name : NULL;
  /* A newer driver has codes that the list does not; it names them. */
  if (!name && vyre__cuda.cuGetErrorName && vyre__cuda.cuGetErrorName((CUresult)code, &name) != 0)
    name = NULL;
  snprintf(out, size, "%s (%d)", name ? name : code ? "a CUDA error" : "CUDA_SUCCESS", (int)code);
  return out;
}
