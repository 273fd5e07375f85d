/* fixture_values.c - the fixture's controls and counters, its errors and its memory. */
#include "fixture_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const value_names[VALUE_COUNT] = {
#define FIXTURE_VALUE(name) #name,
    FIXTURE_VALUES(FIXTURE_VALUE)
#undef FIXTURE_VALUE
};

static int64_t values[VALUE_COUNT];
static pthread_once_t values_once = PTHREAD_ONCE_INIT;

/* Guards `hold`: who changes it wakes who waits for it. */
static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hold_changed = PTHREAD_COND_INITIALIZER;

static int64_t default_of(fixture__value which)
{
  switch (which) {
  case VALUE_devices:
    return IS(no_device) ? 0 : FIXTURE_DEVICES;
  case VALUE_devices_error:
    return IS(devices_fail)     ? VYRE_ERROR_INTERNAL
           : IS(vendor_missing) ? VYRE_ERROR_VENDOR_LIBRARY
                                : 0;
  case VALUE_open_error:
    return IS(open_fails) || IS(error_without_text) || IS(terminal_codes) ? VYRE_ERROR_NO_DEVICE
           : IS(unknown_code)                                             ? 9999
                                                                          : VYRE_OK;
  case VALUE_open_error_at:
    return -1;
  case VALUE_alloc_error:
    return IS(alloc_fails) ? VYRE_ERROR_OUT_OF_DEVICE_MEMORY : 0;
  case VALUE_lose_at:
    return IS(lost) ? 2 : 0;
  case VALUE_silent:
    return IS(error_without_text) || IS(refusing_silently);
  case VALUE_grid_sync:
    return IS(native_no_groups) || IS(promises_later) ? VYRE_GRID_SYNC_NATIVE
           : IS(emulated_no_passes) || IS(emulated_no_buffers)
               ? VYRE_GRID_SYNC_EMULATED
               : (IS(unknown_grid_sync) ? VYRE_GRID_SYNC_NATIVE + 1 : VYRE_GRID_SYNC_NONE);
  case VALUE_cooperative_groups:
    return 8;
  case VALUE_timestamps:
    return IS(clockless) || IS(promises_later);
  case VALUE_clock:
    return 1000; /* no launch starts at 0 */
  default:
    return 0;
  }
}

static void set_defaults(void)
{
  int i;
  for (i = 0; i < VALUE_COUNT; i++)
    __atomic_store_n(&values[i], default_of((fixture__value)i), __ATOMIC_SEQ_CST);
}

/* Sequentially consistent: tests compare counters of several threads. */
int64_t fixture__get(fixture__value which)
{
  pthread_once(&values_once, set_defaults);
  return __atomic_load_n(&values[which], __ATOMIC_SEQ_CST);
}

int64_t fixture__add(fixture__value which, int64_t change)
{
  pthread_once(&values_once, set_defaults);
  return __atomic_add_fetch(&values[which], change, __ATOMIC_SEQ_CST);
}

bool fixture__turn(fixture__value which)
{
  int64_t at = fixture__get(which);
  while (at > 0)
    if (__atomic_compare_exchange_n(&values[which], &at, at - 1, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return at == 1;
  return false;
}

static int find_value(const char *name)
{
  int i;
  for (i = 0; i < VALUE_COUNT; i++)
    if (!strcmp(value_names[i], name))
      return i;
  return -1;
}

__attribute__((visibility("default"))) void fixture_set(const char *name, int64_t to);
void fixture_set(const char *name, int64_t to)
{
  int index = find_value(name), i;
  pthread_once(&values_once, set_defaults);
  pthread_mutex_lock(&hold_lock);
  if (!strcmp(name, "reset"))
    for (i = 0; i < VALUE_devices_live; i++)
      __atomic_store_n(&values[i], default_of((fixture__value)i), __ATOMIC_SEQ_CST);
  else if (index >= 0)
    __atomic_store_n(&values[index], to, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&hold_changed);
  pthread_mutex_unlock(&hold_lock);
}

__attribute__((visibility("default"))) int64_t fixture_get(const char *name);
int64_t fixture_get(const char *name)
{
  int index = find_value(name);
  return index < 0 ? -1 : fixture__get((fixture__value)index);
}

bool fixture__wait_for_hold(uint64_t timeout_ns)
{
  struct timespec until;
  bool ended;
  int result = 0;
  clock_gettime(CLOCK_MONOTONIC, &until);
  if (timeout_ns > 1000000000ull * 3600)
    timeout_ns = 1000000000ull * 3600;
  until.tv_sec += (time_t)(timeout_ns / 1000000000u);
  until.tv_nsec += (long)(timeout_ns % 1000000000u);
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec += 1;
  }
  pthread_mutex_lock(&hold_lock);
  while (VALUE(hold) && !result && timeout_ns)
    result = pthread_cond_clockwait(&hold_changed, &hold_lock, CLOCK_MONOTONIC, &until);
  ended = !VALUE(hold);
  pthread_mutex_unlock(&hold_lock);
  return ended;
}

/* ---- errors and memory ---- */

vyre_status fixture__fail(vyre_error *err, int64_t code, const char *format, ...)
{
  va_list arguments;
  if (!err || err->struct_size < sizeof *err || VALUE(silent))
    return (vyre_status)code;
  err->code = (vyre_status)code;
  va_start(arguments, format);
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  snprintf(err->fix, sizeof err->fix, "this is the fixture: change the test");
  snprintf(err->where, sizeof err->where, "fixture.c");
  if (IS(terminal_codes)) {
    memcpy(err->message, "\033[31m\a\xc2\x9b", 8);
    memcpy(err->fix, "\177\033", 2);
    memcpy(err->where, "\n\033", 2);
  }
  return (vyre_status)code;
}

void *fixture__allocate(uint64_t size)
{
  const vyre_host *host = fixture__host();
  void *memory = host->allocate(host->self, size, 64);
  if (memory)
    memset(memory, 0, (size_t)size);
  return memory;
}

void fixture__deallocate(void *memory)
{
  const vyre_host *host = fixture__host();
  host->deallocate(host->self, memory);
}
