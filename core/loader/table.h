/* table.h - is a plugin's table sound?  Looks at it and at device infos, calls nothing. */
#ifndef VYRE_CORE_LOADER_TABLE_H
#define VYRE_CORE_LOADER_TABLE_H

#include "vyre.h"
#include "vyre_backend.h"

/* Longest plugin name, so that "NAME:INDEX" fits a selector. */
#define VYRE__MAX_PLUGIN_NAME 40u

/* ABI_MISMATCH that names the rule; UNSUPPORTED for a sanitizer that this process lacks. */
vyre_status vyre__table_check(const vyre_backend *table, const vyre_host *host, vyre_error *err);

/* Makes zero what the plugin did not fill and what the version that its table speaks does not know.
 */
void vyre__device_info_limit(const vyre_backend *table, vyre_backend_device_info *info);

/* ABI_MISMATCH if a device promises what the table or the info itself does not hold. */
vyre_status vyre__device_info_check(const vyre_backend *table, const vyre_backend_device_info *info,
                                    vyre_error *err);

/* Is one of the plugin's formats `format`? */
bool vyre__table_takes_format(const vyre_backend *table, const char *format);

#endif
