/*
 * build_id.c - which build this is, in words; also readable in the binary.
 */
#include "vyre_build.h"

const char vyre__build_id[] = VYRE_BUILD_ID;
