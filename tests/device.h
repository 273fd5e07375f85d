/*
 * device.h - the device that tests of a device's behaviour use: VYRE_TEST_DEVICE, a selector, or
 * the cpu plugin's.  scripts/gpu-check runs them on a card.
 */
#ifndef VYRE_TESTS_DEVICE_H
#define VYRE_TESTS_DEVICE_H

#include <stdlib.h>

static inline const char *test_device(void)
{
  const char *given = getenv("VYRE_TEST_DEVICE");
  return given && given[0] ? given : "cpu";
}

#endif
