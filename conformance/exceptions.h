/*
 * exceptions.h - cases that a vendor knows to fail: a JSON file
 *
 *     [{"case": "bindings.zero_size", "reason": "…", "abi": "0.3", "expires": "2027-06-30"}, …]
 *
 * Names are exact.  An entry for another ABI version, one that has expired, one whose case passes,
 * and one that matches no case are failures of their own.
 */
#ifndef VYRE_CONFORMANCE_EXCEPTIONS_H
#define VYRE_CONFORMANCE_EXCEPTIONS_H

#include "conformance/suite.h"

#define CONFORM_MAX_EXCEPTIONS 256u

typedef struct conform_exception {
  char name[64];
  char reason[256];
  char expires[16];
  bool used;
} conform_exception;

typedef struct conform_exceptions {
  conform_exception rows[CONFORM_MAX_EXCEPTIONS];
  uint32_t count;
} conform_exceptions;

/* `path` may be NULL: none.  False: told on stderr. */
bool conform_read_exceptions(const char *path, conform_exceptions *out_exceptions);

/*
 * Turns a failure that is excepted into CONFORM_EXPECTED, and a pass that is excepted into a
 * failure.
 */
void conform_apply_exception(conform_exceptions *exceptions, conform_result *result);

/*
 * After a run: the number of entries that are wrong by themselves, expired or of no case; each is
 * told on stderr.  `whole_suite`: every case could have been met.
 */
uint32_t conform_wrong_exceptions(const conform_exceptions *exceptions, bool whole_suite);

#endif
