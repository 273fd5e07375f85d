/*
 * select.h - which device a selector and a policy choose, and why.
 *
 * The grammar is that of vyre_device_request: terms separated by ',', blanks around them ignored,
 * '!' in front of a term that excludes.  A term is
 *
 *     any              every device
 *     gpu              a discrete or integrated GPU
 *     integrated       an integrated GPU
 *     NAME             every device of a plugin
 *     NAME:INDEX       one device of a plugin
 *     a PCI address    "0000:c1:00.0"; domain 0 may be left out
 *     a UUID           with or without "GPU-" in front
 *     a device id      vyre_device_info.id
 *
 * The name of a loaded plugin, with an index or without, matches devices of that plugin alone.
 * Letters of addresses, UUIDs and ids match in either case.  Excluding terms count wherever they
 * stand, and also for a fall back; a selector of excluding terms alone means "any" but those.
 */
#ifndef VYRE_CORE_DEVICE_SELECT_H
#define VYRE_CORE_DEVICE_SELECT_H

#include "vyre.h"

#include "core/base/text.h"
#include "core/device/devices.h"

#define VYRE__MAX_TERMS 32u

typedef struct vyre__term {
  const char *text; /* within the selector */
  uint32_t length;
  bool excludes;
  bool names_plugin; /* NAME or NAME:INDEX of a loaded plugin: it matches no id of others */
} vyre__term;

/* What the selector says of one device. */
typedef struct vyre__verdict {
  const vyre__term *excluded_by; /* or NULL */
  const vyre__term *matched_by;  /* the first that does, or NULL */
  char *failure;                 /* why it could not be opened, or NULL */
} vyre__verdict;

typedef struct vyre__selection {
  vyre_allocator allocator;
  const vyre__devices *devices;
  const char *selector; /* borrowed */
  vyre_policy policy;
  vyre__term terms[VYRE__MAX_TERMS + 1]; /* and the "any" of one that only excludes */
  uint32_t term_count;
  vyre__verdict *verdicts; /* one for each device */
  uint32_t *order;         /* devices to try, best first */
  uint32_t order_count;
  uint32_t asked_count; /* the first so many of `order` match the selector */
} vyre__selection;

/* Reads the terms: INVALID_ARGUMENT for a selector that cannot be read. */
vyre_status vyre__selection_read(vyre__selection *selection, const vyre_allocator *allocator,
                                 const char *selector, vyre_policy policy, vyre_error *err);

/* True for NAME and NAME:INDEX, where `name` is that name. */
bool vyre__term_names(const vyre__term *term, const char *name);

/* True if the term, whatever it is for, matches one of the devices. */
bool vyre__term_finds(const vyre__term *term, const vyre__devices *devices);

/*
 * Puts the devices, which outlive the selection, in order; each `names_plugin` is set before.  Free
 * it in any case but an error.
 */
vyre_status vyre__selection_judge(vyre__selection *selection, const vyre__devices *devices,
                                  vyre_error *err);
void vyre__selection_free(vyre__selection *selection);

/* Remembers why a device could not be opened. */
void vyre__selection_failed(vyre__selection *selection, uint32_t device, const char *message);

#define VYRE__NO_DEVICE UINT32_MAX

/* One line for each device, without a line end after the last. */
void vyre__selection_describe(const vyre__selection *selection, uint32_t chosen, vyre__text *text);

#endif
