/*
 * vyre_status.h - status codes and the error record.
 *
 * The part that `vyre.h` (applications) and `vyre_backend.h` (plugins) share.  Include one of those
 * two; this file comes with both.  It needs nothing but fixed-width integers.
 *
 * Codes are stable: a code is never renumbered or reused, new ones are appended.
 */
#ifndef VYRE_STATUS_H
#define VYRE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every fallible function returns one of the codes below.  VYRE_OK is zero. */
typedef int32_t vyre_status;

/*
 * What a caller may do about a code.  The class follows from the code alone:
 *   NONE          not an error;
 *   SAME_CALL     the same call may succeed later (queue full, empty, timeout);
 *   SAME_DEVICE   the same device may serve it once something was freed (out of memory);
 *   OTHER_ROUTE   another route of the same program may serve it (residency exceeded);
 *   NEW_DEVICE    the device needs vyre_device_recover() or a new open (device lost);
 *   NEVER         the same call fails again until its cause is mended.
 */
typedef uint32_t vyre_retry;
#define VYRE_RETRY_NONE 0u
#define VYRE_RETRY_SAME_CALL 1u
#define VYRE_RETRY_SAME_DEVICE 2u
#define VYRE_RETRY_OTHER_ROUTE 3u
#define VYRE_RETRY_NEW_DEVICE 4u
#define VYRE_RETRY_NEVER 5u

/*
 * The one list of codes: X(number, NAME, retry class, text, fix).
 * vyre_status_name(), vyre_status_text(), vyre_status_fix() and vyre_status_retry() answer from it.
 */
#define VYRE_STATUS_MAP(X)                                                                         \
  X(0, OK, NONE, "success", "nothing to do")                                                       \
  X(1, ERROR_INVALID_ARGUMENT, NEVER, "an argument is not valid",                                  \
    "read the message: it names the argument and the values that are accepted")                    \
  X(2, ERROR_INVALID_PROGRAM, NEVER, "the program description is not valid",                       \
    "read the message: it names the buffer or segment and what must change")                       \
  X(3, ERROR_UNSUPPORTED, NEVER, "the device or plugin does not support this",                     \
    "look at the device's capabilities (`vyre devices`) and choose another device or mode")        \
  X(4, ERROR_OUT_OF_HOST_MEMORY, SAME_DEVICE, "host memory could not be allocated",                \
    "free memory or ask for less, then try again")                                                 \
  X(5, ERROR_OUT_OF_DEVICE_MEMORY, SAME_DEVICE, "device memory could not be allocated",            \
    "free buffers on this device or ask for less, then try again")                                 \
  X(6, ERROR_COMPILE_FAILED, NEVER, "a kernel did not compile",                                    \
    "correct the source: the message holds the compiler's log with the file's own lines")          \
  X(7, ERROR_MODULE_FORMAT, NEVER, "no kernel code in a format that this device takes",            \
    "give one of the formats that the message lists, or rebuild the bundle for this device")       \
  X(8, ERROR_RESIDENCY_EXCEEDED, OTHER_ROUTE, "more groups than can be resident at once",          \
    "ask for at most the limit in the message, or let the program take another route")             \
  X(9, ERROR_DISPATCH_FAILED, NEVER, "a dispatch failed on the device",                            \
    "read the message; run the same program on the cpu device to compare")                         \
  X(10, ERROR_TIMEOUT, SAME_CALL, "the time limit ran out",                                        \
    "wait again: the work is still valid and still running")                                       \
  X(11, ERROR_QUEUE_FULL, SAME_CALL, "the queue is full",                                          \
    "reap completions or claim items, then try again")                                             \
  X(12, ERROR_EMPTY, SAME_CALL, "nothing is there yet", "try again later")                         \
  X(13, ERROR_CLOSED, NEVER, "the queue or engine is closed",                                      \
    "create a new one: a closed one takes no more work")                                           \
  X(14, ERROR_OVERFLOW, NEVER, "an output bank had no room for all records of an item",            \
    "drop that item's records and submit it again with more room")                                 \
  X(15, ERROR_DEVICE_LOST, NEW_DEVICE, "the device is lost",                                       \
    "call vyre_device_recover() or open the device again; unfinished work must be given again")    \
  X(16, ERROR_FORKED, NEVER, "this object belongs to the parent process",                          \
    "create a new context after fork()")                                                           \
  X(17, ERROR_ABI_MISMATCH, NEVER, "plugin and host speak no common ABI version",                  \
    "install a plugin built for the version in the message")                                       \
  X(18, ERROR_NOT_A_PLUGIN, NEVER, "the file is not a vyre plugin",                                \
    "give a shared object that exports vyre_backend_query")                                        \
  X(19, ERROR_NOT_FOUND, NEVER, "no such file, device or name",                                    \
    "check the name; `vyre devices --verbose` lists what was looked at")                           \
  X(20, ERROR_VENDOR_LIBRARY, NEVER, "the vendor's library is missing or unusable",                \
    "install the vendor's driver, or name its library in the variable that the message gives")     \
  X(21, ERROR_NO_DEVICE, NEVER, "the plugin sees no device",                                       \
    "check that the hardware is present and that this user may open it")                           \
  X(22, ERROR_REFUSED, NEVER, "the plugin refused to load", "read the plugin's own text")          \
  X(23, ERROR_IO, NEVER, "a file could not be read or written",                                    \
    "check the path, its permissions and the free space")                                          \
  X(24, ERROR_INTERNAL, NEVER, "an internal rule of vyre was broken",                              \
    "please report it with the message")

#define VYRE__STATUS_ENUM(number, name, retry, text, fix) VYRE_##name = number,
enum { VYRE_STATUS_MAP(VYRE__STATUS_ENUM) VYRE_STATUS_COUNT };
#undef VYRE__STATUS_ENUM

#define VYRE_ERROR_MESSAGE_SIZE 2048
#define VYRE_ERROR_FIX_SIZE 512
#define VYRE_ERROR_WHERE_SIZE 64

/*
 * vyre_error - what went wrong, and what to do about it.
 *
 * Owned by the caller, plain data, nothing to free.  Every function that takes a `vyre_error *`
 * accepts NULL.  On success the record is left as it was.  Texts end in NUL and are cut, never
 * overrun; a long compiler log keeps its beginning.
 *
 * Initialise with VYRE_ERROR_INIT (or zero it and set struct_size).  A writer writes only fields
 * that lie within struct_size.
 */
typedef struct vyre_error {
  uint32_t struct_size;                  /* sizeof(vyre_error) of whoever owns the record */
  vyre_status code;                      /* equal to the returned status */
  int64_t vendor_code;                   /* the vendor's or the system's own code, 0 if none */
  char where[VYRE_ERROR_WHERE_SIZE];     /* "file:line" of the source that found it, or "" */
  char message[VYRE_ERROR_MESSAGE_SIZE]; /* what happened, with names and values */
  char fix[VYRE_ERROR_FIX_SIZE];         /* what to do about it */
} vyre_error;

/* C and C++: `vyre_error err = VYRE_ERROR_INIT;` */
#define VYRE_ERROR_INIT                                                                            \
  {                                                                                                \
    (uint32_t)sizeof(vyre_error), VYRE_OK, 0, "", "", ""                                           \
  }

/* Levels of the log hook, most severe first. */
typedef uint32_t vyre_log_level;
#define VYRE_LOG_ERROR 0u
#define VYRE_LOG_WARNING 1u
#define VYRE_LOG_INFO 2u
#define VYRE_LOG_DEBUG 3u

#ifdef __cplusplus
}
#endif
#endif /* VYRE_STATUS_H */
