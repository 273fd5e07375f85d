/*
 * job.h - one case in a child process: started, watched, ended by force if need be, judged.
 */
#ifndef VYRE_CONFORMANCE_JOB_H
#define VYRE_CONFORMANCE_JOB_H

#include "conformance/suite.h"

/* Names that are no case. */
#define CONFORM_JOB_PROBE "@probe"   /* what the plugin says of itself */
#define CONFORM_JOB_HEALTH "@health" /* can the device still be opened? */

/*
 * Runs these cases, up to options->jobs at a time, in order of `rows` as far as they start; fills
 * in their verdicts.  After a crash or a timeout the device's health is looked at; if it is gone
 * what has not run yet fails with that reason.  `progress` (may be NULL) is called in the parent
 * for each result.  False if processes cannot be made at all; the reason is on stderr.
 */
bool conform_run_jobs(const conform_options *options, const char *self, conform_result **rows,
                      uint32_t count, uint32_t *calls, void (*progress)(conform_result *));

/* Runs the probe; false: `out_text` says why the plugin could not be asked. */
bool conform_run_probe(const conform_options *options, const char *self, conform_probe *out_probe,
                       char *out_text, size_t size);

/* The child's side: maps the report, runs the case of options->case_name, returns the exit status.
 */
int conform_run_child(const conform_options *options);

#endif
