/* status.c - names, texts, fixes and retry classes, all from the one list in vyre_status.h. */
#include "vyre.h"

#include <stddef.h>

static const struct {
  const char *name;
  const char *text;
  const char *fix;
  vyre_retry retry;
} statuses[] = {
#define ROW(number, name, retry, text, fix) {"VYRE_" #name, text, fix, VYRE_RETRY_##retry},
    VYRE_STATUS_MAP(ROW)
#undef ROW
};

static bool is_known(vyre_status status)
{
  return status >= 0 && (size_t)status < sizeof statuses / sizeof statuses[0];
}

const char *vyre_status_name(vyre_status status)
{
  return is_known(status) ? statuses[status].name : "VYRE_ERROR_UNKNOWN";
}

const char *vyre_status_text(vyre_status status)
{
  return is_known(status) ? statuses[status].text : "a code that this version does not know";
}

const char *vyre_status_fix(vyre_status status)
{
  return is_known(status) ? statuses[status].fix : "use a vyre that is as new as the plugin";
}

vyre_retry vyre_status_retry(vyre_status status)
{
  return is_known(status) ? statuses[status].retry : VYRE_RETRY_NEVER;
}

#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x

const char *vyre_version(void)
{
  return TEXT_OF(VYRE_VERSION_MAJOR) "." TEXT_OF(VYRE_VERSION_MINOR) "." TEXT_OF(
      VYRE_VERSION_PATCH);
}
