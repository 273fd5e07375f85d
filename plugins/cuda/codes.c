/*
 * codes.c - the CUDA driver's result codes, from the list in codes.def; see codes.h.
 */
#include "plugins/cuda/codes.h"

#include "plugins/cuda/library.h"

#include <stddef.h>
#include <stdio.h>

typedef struct code_row {
  int32_t number;
  const char *name;
  vyre_status status;
  bool sticky;
} code_row;

#define STICKY true
#define PASSES false
static const code_row rows[] = {
#define VYRE_CUDA_CODE(number, name, status, lasts)                                                \
  {number, "CUDA_ERROR_" #name, VYRE_ERROR_##status, lasts},
#include "plugins/cuda/codes.def"
#undef VYRE_CUDA_CODE
};

static const code_row *find(int32_t code)
{
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (rows[i].number == code)
      return &rows[i];
  return NULL;
}

vyre_status vyre__cuda_code_status(int32_t code)
{
  const code_row *row = find(code);
  if (!code)
    return VYRE_OK;
  return row ? row->status : VYRE_ERROR_DISPATCH_FAILED;
}

bool vyre__cuda_code_is_sticky(int32_t code)
{
  const code_row *row = find(code);
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
  const code_row *row = find(code);
  const char *name = row ? row->name : NULL;
  /* A newer driver has codes that the list does not; it names them. */
  if (!name && vyre__cuda.cuGetErrorName && vyre__cuda.cuGetErrorName((CUresult)code, &name) != 0)
    name = NULL;
  snprintf(out, size, "%s (%d)", name ? name : code ? "a CUDA error" : "CUDA_SUCCESS", (int)code);
  return out;
}
