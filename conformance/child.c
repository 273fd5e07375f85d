/* child.c - the child's side of a case's process; see job.h. */
#include "conformance/job.h"
#include "conformance/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* clang says it in another way than gcc. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
static int is_a_case;

/* A case ends with what it holds, threads among it; leaks are looked for where rules say so. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
  return is_a_case;
}
#endif

/* Different for each case, and for each seed. */
static uint64_t first_random(uint64_t seed, const char *name)
{
  uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (; *name; ++name)
    hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
  return hash;
}

static void check_health(conform *c)
{
  conform_open(c);
  conform_close(c);
}

int conform_run_child(const conform_options *options)
{
  static const conform_case probe = {CONFORM_JOB_PROBE,   "", CONFORM_CORE, 0, 0, 0,
                                     conform_probe_plugin};
  static const conform_case health = {CONFORM_JOB_HEALTH, "", CONFORM_CORE, 0, 0, 0, check_health};
  static const struct rlimit no_core = {0, 0};
  static conform c;
  const conform_case *row = conform_case_find(options->case_name);
  void *memory = NULL;
  if (!strcmp(options->case_name, probe.name))
    row = &probe;
  else if (!strcmp(options->case_name, health.name))
    row = &health;
  if (!row || options->report_fd < 0)
    return CONFORM_EXIT_USAGE;
  memory = mmap(NULL, sizeof *c.report, PROT_READ | PROT_WRITE, MAP_SHARED, options->report_fd, 0);
  if (memory == MAP_FAILED)
    return CONFORM_EXIT_USAGE;
#if defined(__SANITIZE_ADDRESS__)
  is_a_case = 1;
#endif
  close(options->report_fd);
  setrlimit(RLIMIT_CORE, &no_core);
  /* A case that hangs does not outlive a suite that was interrupted. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  c.self = row;
  c.plugin = options->plugin;
  c.kernels = options->kernels;
  c.device_index = options->device;
  c.seed = options->seed;
  c.random = first_random(options->seed, row->name);
  c.report = memory;
  conform_host_init(&c.host);
  __atomic_store_n(&c.report->state, CONFORM_STATE_RUNNING, __ATOMIC_RELEASE);
  row->run(&c);
  __atomic_store_n(&c.report->state, CONFORM_STATE_RETURNED, __ATOMIC_RELEASE);
  return 0; /* the process ends as any does: what the plugin left for its exit runs */
}
