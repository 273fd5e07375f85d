/*
 * candidates.h - the record of every plugin file and folder that was looked at.
 */
#ifndef VYRE_CORE_LOADER_CANDIDATES_H
#define VYRE_CORE_LOADER_CANDIDATES_H

#include "vyre.h"

#include "core/base/alloc.h"

typedef struct vyre__candidates {
  vyre_allocator allocator;
  vyre_candidate *rows; /* the texts of a row are one allocation, which starts at `path` */
  uint32_t count;
  uint32_t capacity;
} vyre__candidates;

void vyre__candidates_init(vyre__candidates *list, const vyre_allocator *allocator);
void vyre__candidates_free(vyre__candidates *list);

/* Appends a copy of `row`; NULL texts become "". */
vyre_status vyre__candidates_add(vyre__candidates *list, const vyre_candidate *row,
                                 vyre_error *err);

/* "elf", "handshake", …: a word for messages. */
const char *vyre__candidate_stage_word(vyre_candidate_stage stage);

#endif
