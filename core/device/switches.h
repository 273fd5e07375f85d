/*
 * switches.h - environment variables that make a vendor's runtime serialise its launches.
 *
 * Under them a launch that stays would keep everybody else waiting, or never return to its own
 * caller.  The vendor reads them when its library starts, which is when devices are listed, so that
 * is when they are looked at here.
 */
#ifndef VYRE_CORE_DEVICE_SWITCHES_H
#define VYRE_CORE_DEVICE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The first switch that is on and concerns the plugin of this name; NULL if there is none.  `text`
 * gets the sentence for a reader: variable, value, consequence.  The result is the variable's name
 * and lives for ever.
 */
const char *vyre__serialising_switch(const char *backend, char *text, size_t size);

#endif
