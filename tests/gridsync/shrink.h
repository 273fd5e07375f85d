/* shrink.h - makes a program that fails smaller, as long as it fails. */
#ifndef VYRE_TESTS_GRIDSYNC_SHRINK_H
#define VYRE_TESTS_GRIDSYNC_SHRINK_H

#include "tests/gridsync/draw.h"

typedef bool (*shrink_fails_fn)(void *self, const drawn *d);

/* `d` fails; on return it still does.  Gives up after so many trials. */
void shrink(drawn *d, shrink_fails_fn fails, void *self, uint32_t trials);

#endif
