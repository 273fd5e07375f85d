/*
 * reports.h - what is written of a run: text, JSON, JUnit XML, the certificate.
 */
#ifndef VYRE_CONFORMANCE_REPORTS_H
#define VYRE_CONFORMANCE_REPORTS_H

#include "conformance/coverage.h"
#include "conformance/exceptions.h"
#include "conformance/suite.h"

#include <jansson.h>

/* One result, as it comes; honours options->quiet. */
void conform_text_begin(const conform_options *options, const conform_probe *probe);
void conform_text_result(const conform_result *result);
void conform_text_end(const conform_options *options, const conform_results *results);

/* Everything as one JSON object: the certificate holds the same. */
json_t *conform_json(const conform_results *results, const conform_exceptions *exceptions);

/* A regular file is written whole or not at all, others in place; false: told on stderr. */
bool conform_write_json(const char *path, json_t *object);
bool conform_write_junit(const char *path, const conform_results *results);

/*
 * certificate.c.  write: refuses (false, told) unless all cases ran and none failed.  verify:
 * checks the certificate's own sum, and the plugin's if `plugin` is not NULL; returns the exit
 * status.
 */
bool conform_write_certificate(const conform_options *options, const conform_results *results,
                               const conform_exceptions *exceptions);
int conform_verify(const char *path, const char *plugin);

/* SHA-256 in hexadecimal; false if the file cannot be read. */
bool conform_hash_file(const char *path, char out_hex[65]);
void conform_hash_bytes(const void *bytes, size_t size, char out_hex[65]);
/* Of the list of all cases: names, rules, profiles. */
void conform_hash_suite(char out_hex[65]);

#endif
