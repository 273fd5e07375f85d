/*
 * thin.c - the cpu plugin with less: a plugin that passes everything on and hides what a poorer
 * device lacks.
 *
 * THIN_NAME is its name, THIN_HIDES the capabilities that it hides; without VYRE_CAP_BUFFERS,
 * VYRE_CAP_COHERENT and VYRE_CAP_SEQUENCES their slots are NULL.
 */
#include "vyre_backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const vyre_backend *below;
static vyre_backend table;

static vyre_status device_info(uint32_t index, vyre_backend_device_info *out_info, vyre_error *err)
{
  const vyre_status status = below->device_info(index, out_info, err);
  if (status != VYRE_OK)
    return status;
  out_info->capabilities &= ~(uint64_t)(THIN_HIDES);
  if ((THIN_HIDES)&VYRE_CAP_PERSISTENT)
    snprintf(out_info->persistent_reason, sizeof out_info->persistent_reason,
             "the %s plugin has nothing that stays", THIN_NAME);
  return VYRE_OK;
}

vyre_status vyre_backend_query(const vyre_host *host, const vyre_backend **out_backend,
                               vyre_error *err)
{
  vyre_backend_query_fn query = NULL;
  vyre_status status;
  void *library = dlopen(THIN_BELOW, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, VYRE_BACKEND_QUERY_SYMBOL) : NULL;
  if (!symbol)
    return VYRE_ERROR_REFUSED;
  memcpy(&query, &symbol, sizeof query);
  status = query(host, &below, err);
  if (status != VYRE_OK)
    return status;
  table = *below;
  table.name = THIN_NAME;
  table.device_info = device_info;
  if ((THIN_HIDES)&VYRE_CAP_BUFFERS) {
    table.buffer_alloc = NULL;
    table.buffer_free = NULL;
    table.buffer_upload = NULL;
    table.buffer_download = NULL;
    table.buffer_fill = NULL;
    table.buffer_copy = NULL;
    table.buffer_import = NULL;
    table.buffer_export = NULL;
  }
  if ((THIN_HIDES)&VYRE_CAP_COHERENT)
    table.coherent_alloc = NULL;
  if ((THIN_HIDES)&VYRE_CAP_SEQUENCES) {
    table.sequence_create = NULL;
    table.sequence_start = NULL;
    table.sequence_release = NULL;
  }
  *out_backend = &table;
  return VYRE_OK;
}
