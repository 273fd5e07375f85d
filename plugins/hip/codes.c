/*
 * codes.c - result codes of HIP, from the list in codes.def; see codes.h.
 */
#include "plugins/hip/codes.h"

#include "plugins/gpu/codes.h"
#include "plugins/hip/library.h"

#include <stdio.h>

static const vyre__gpu_code_row rows[] = {
#define VYRE_HIP_CODE(number, name, status, lasts)                                                 \
  {number, "hipError" #name, VYRE_ERROR_##status, lasts},
#include "plugins/hip/codes.def"
#undef VYRE_HIP_CODE
};

static const vyre__gpu_code_row *find(int32_t code)
{
  return vyre__gpu_code_find(rows, sizeof rows / sizeof rows[0], code);
}

vyre_status vyre__hip_code_status(int32_t code)
{
  return vyre__gpu_code_status(find(code), code);
}

bool vyre__hip_code_is_sticky(int32_t code)
{
  const vyre__gpu_code_row *row = find(code);
  return row && row->sticky;
}

bool vyre__hip_code_is_not_ready(int32_t code)
{
  return code == VYRE__HIP_NOT_READY;
}

bool vyre__hip_code_is_no_device(int32_t code)
{
  /* By version of the runtime, and by the call that is asked first. */
  return code == VYRE__HIP_NOT_INITIALIZED || code == VYRE__HIP_NO_DEVICE ||
         code == VYRE__HIP_INVALID_DEVICE;
}

bool vyre__hip_code_is_not_found(int32_t code)
{
  return code == VYRE__HIP_NOT_FOUND;
}

bool vyre__hip_code_is_wrong_device(int32_t code)
{
  return code == VYRE__HIP_NO_BINARY_FOR_GPU;
}

const char *vyre__hip_code_name(int32_t code, char *out, uint64_t size)
{
  const vyre__gpu_code_row *row = find(code);
  const char *name = row ? row->name : NULL;
  /* A newer runtime has codes that the list does not; it names them. */
  if (!name && vyre__hip.hipDrvGetErrorName &&
      vyre__hip.hipDrvGetErrorName((hipError_t)code, &name) != 0)
    name = NULL;
  snprintf(out, size, "%s (%d)", name ? name : code ? "a HIP error" : "hipSuccess", (int)code);
  return out;
}
