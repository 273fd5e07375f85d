/*
 * apt.h - what apt-cache says that a package needs.
 */
#ifndef REACHABILITY_APT_H
#define REACHABILITY_APT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct apt_names {
  char *text; /* what apt-cache printed; the names lie in it */
  char **names;
  size_t count; /* sorted as bytes, each once */
} apt_names;

typedef enum apt_answer {
  APT_ANSWERED,
  APT_ABSENT, /* there is no apt-cache here */
  APT_FAILED, /* it ran and failed, or could not be run; it has said why */
} apt_answer;

/*
 * Asks apt-cache for the installed packages that `package` needs, itself included, by the status
 * file `status` and nothing else: not by the lists of packages that could be installed.
 * `architectures`: the machine's own, then others, separated by ','.
 */
apt_answer apt_ask(const char *package, const char *status, const char *native,
                   const char *architectures, apt_names *out_names);
void apt_free(apt_names *names);

#endif
