/*
 * watch.h - what the parent of all cases looks after beside each of them: signals that end a run,
 * and processes that a case has left behind.
 */
#ifndef VYRE_CONFORMANCE_WATCH_H
#define VYRE_CONFORMANCE_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * From now on SIGHUP, SIGINT and SIGTERM ask for an end, unless they were ignored before, and what
 * processes of cases leave behind becomes a child of this process.
 */
void conform_watch_begin(void);

/* The signal that asked for an end, or 0. */
int conform_watch_stopped(void);

/* A process of a case begins; it has ended and was waited for. */
void conform_watch_add(pid_t pid);
void conform_watch_remove(pid_t pid);

/* The signal that this process of a case has sent to us, or 0: that ends no run. */
int conform_watch_sent_by(pid_t pid);

/* Ends all children that are no process of a case. */
void conform_watch_end_orphans(void);

/* Ends this process by the signal that asked for it. */
void conform_watch_end_self(void);

#endif
