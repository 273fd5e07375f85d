/* bindings.c - what a kernel sees of its bindings, and what comes back of them. */
#include "conformance/run.h"

#include <string.h>

#define MOST 2049u

/* Sizes around powers of two and around the workgroup. */
static const uint32_t counts[] = {1, 2, 63, 64, 65, 255, 256, 257, 1025, 2048, 2049};

static void run_add(conform *c)
{
  static uint32_t a[MOST], b[MOST], out[MOST];
  conform_launch launch;
  conform_random_fill(c, a, sizeof a);
  conform_random_fill(c, b, sizeof b);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    const uint32_t n = counts[i];
    conform_launch_init(&launch, conform_kernel(c, "basic", "add"));
    conform_launch_grid(&launch, (n + 63) / 64, 64);
    conform_launch_host(&launch, VYRE_READ_ONLY, a, n, 4, NULL);
    conform_launch_host(&launch, VYRE_READ_ONLY, b, n, 4, NULL);
    conform_launch_host(&launch, VYRE_WRITE_ONLY, NULL, n, 4, out);
    conform_run(c, &launch);
    for (uint32_t k = 0; k < n; ++k)
      CHECK(c, out[k] == a[k] + b[k], "element %u of %u is %u, expected is %u", k, n, out[k],
            a[k] + b[k]);
  }
}

/* DISP-002, DISP-003: zeros without data; what is not written keeps its bytes. */
static void run_start(conform *c)
{
  static unsigned char bytes[300], copy[700], out[700];
  conform_launch launch;
  conform_random_fill(c, bytes, sizeof bytes);
  conform_random_fill(c, copy, sizeof copy);
  for (int given = 0; given < 2; ++given) {
    conform_launch_init(&launch, conform_kernel(c, "basic", "bump"));
    conform_launch_grid(&launch, 3, 128);
    conform_launch_host(&launch, VYRE_READ_ONLY, bytes, sizeof bytes, 1, NULL);
    conform_launch_host(&launch, VYRE_READ_WRITE, given ? copy : NULL, sizeof copy, 1, out);
    conform_run(c, &launch);
    for (size_t k = 0; k < sizeof out; ++k) {
      const unsigned char want = k < sizeof bytes ? (unsigned char)(bytes[k] + 1u)
                                 : given          ? copy[k]
                                                  : 0;
      CHECK(c, out[k] == want, "byte %zu is %u, expected is %u (%s)", k, out[k], want,
            given ? "DISP-003" : "DISP-002");
    }
  }
}

static const conform_case rows[] = {
    {"bindings.add", "DISP-001 READ-001 READ-002 DISP-030", CONFORM_CORE, 0, CONFORM_NEEDS_KERNELS,
     0, run_add},
    {"bindings.start", "DISP-002 DISP-003", CONFORM_CORE, 0, CONFORM_NEEDS_KERNELS, 0, run_start},
};
CONFORM_TABLE(conform_cases_bindings, rows);
