/*
 * application.c - the smallest application: knows vyre.h and nothing else of the project.
 */
#include <vyre.h>

#include <stdio.h>

int main(void)
{
  printf("vyre %s: %s\n", vyre_version(), vyre_status_text(VYRE_OK));
  return 0;
}
