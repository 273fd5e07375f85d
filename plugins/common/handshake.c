/*
 * handshake.c - the checks of a first call; see handshake.h.
 */
#include "plugins/common/handshake.h"

#include "plugins/common/error.h"

static const vyre_host *the_host; /* atomic */

const vyre_host *vyre__plugin_host(void)
{
  /* Acquire: pairs with the release in vyre__plugin_handshake(). */
  return __atomic_load_n(&the_host, __ATOMIC_ACQUIRE);
}

vyre_status vyre__plugin_handshake(const vyre_host *host, const vyre_backend **out_backend,
                                   const char *name, uint32_t oldest, uint32_t *out_minor,
                                   vyre_error *err)
{
  vyre_status status = PLUGIN_CHECK_SIZE(err, host, vyre_host, VYRE_HOST_SIZE_0_1);
  uint32_t minor;
  if (status != VYRE_OK)
    return status;
  if (!out_backend || !host->allocate || !host->deallocate)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give a place for the table, and a host with allocate and deallocate",
                       "out_backend, host->allocate or host->deallocate is NULL");
  if (host->flags)
    return PLUGIN_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set the host's flags to 0",
                       "unknown host flags 0x%llx", (unsigned long long)host->flags);
  minor = host->abi_minor_max < VYRE_ABI_MINOR ? host->abi_minor_max : VYRE_ABI_MINOR;
  if (host->abi_major != VYRE_ABI_MAJOR || minor < host->abi_minor_min || minor < oldest)
    return PLUGIN_FAIL(err, VYRE_ERROR_ABI_MISMATCH, NULL,
                       "the %s plugin speaks ABI %u.%u to %u.%u, the host %u.%u to %u.%u", name,
                       VYRE_ABI_MAJOR, oldest, VYRE_ABI_MAJOR, VYRE_ABI_MINOR, host->abi_major,
                       host->abi_minor_min, host->abi_major, host->abi_minor_max);
  /* Release: pairs with the acquire in vyre__plugin_host(). */
  __atomic_store_n(&the_host, host, __ATOMIC_RELEASE);
  *out_minor = minor;
  return VYRE_OK;
}
