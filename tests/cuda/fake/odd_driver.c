/*
 * odd_driver.c - drivers that must be refused: with ODD_CODE 34 a stub, as the toolkit installs one
 * for linking; otherwise a library that lacks all but two of the entry points.
 */
#define EXPORT __attribute__((visibility("default")))

#ifndef ODD_CODE
#define ODD_CODE 0
#endif

EXPORT int cuInit(unsigned int flags);
EXPORT int cuDriverGetVersion(int *version);

int cuInit(unsigned int flags)
{
  (void)flags;
  return ODD_CODE;
}

int cuDriverGetVersion(int *version)
{
  *version = 13000;
  return ODD_CODE;
}
