/*
 * codes.c - result codes of HIP, from the list in codes.def; see codes.h.
 */
#include "plugins/hip/codes.h"

#include "plugins/hip/library.h"

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
#define VYRE_HIP_CODE(number, name, status, lasts)                                                 \
  {number, "hipError" #name, VYRE_ERROR_##status, lasts},
#include "plugins/hip/codes.def"
#undef VYRE_HIP_CODE
};

static const code_row *find(int32_t code)
{
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (rows[i].number == code)
      return &rows[i];
  return NULL;
}

vyre_status vyre__hip_code_status(int32_t code)
{
  const code_row *row = find(code);
  if (!code)
    return VYRE_OK;
  return row ? row->status : VYRE_ERROR_DISPATCH_FAILED;
}

bool vyre__hip_code_is_sticky(int32_t code)
{
  const code_row *row = find(code);
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
  const code_row *row = find(code);
  const char *name = row ? row->name : NULL;
  /* A newer runtime has codes that the list does not; it names them. */
  if (!name && vyre__hip.hipDrvGetErrorName &&
      vyre__hip.hipDrvGetErrorName((hipError_t)code, &name) != 0)
    name = NULL;
  snprintf(out, size, "%s (%d)", name ? name : code ? "a HIP error" : "hipSuccess", (int)code);
  return out;
}
