/*
 * run.h - the state of one case in its own process; the inside of case.h.
 */
#ifndef VYRE_CONFORMANCE_RUN_H
#define VYRE_CONFORMANCE_RUN_H

#include "conformance/coverage.h"
#include "conformance/host.h"
#include "conformance/report.h"

#define CONFORM_MAX_MODULES 16u

struct conform {
  const conform_case *self;
  const char *plugin;  /* path */
  const char *kernels; /* folder of objects, or NULL */
  uint32_t device_index;
  uint64_t seed;
  uint64_t random; /* state of conform_random() */
  conform_report *report;

  conform_host host;
  void *library;
  uint32_t loads;
  const vyre_backend *real; /* the plugin's own table */
  vyre_backend counted;     /* the same with counting slots: what cases use */
  vyre_backend_device_info info;
  vyre_backend_device *device;
  struct {
    char name[32];
    vyre_backend_module *module;
  } modules[CONFORM_MAX_MODULES];
};

/* Runs one case (NULL: the probe) and returns if it passed. */
void conform_probe_plugin(conform *c);

#endif
