/* candidates.c - a growing list of vyre_candidate that owns its texts. */
#include "core/loader/candidates.h"

#include "core/base/error.h"

#include <string.h>

void vyre__candidates_init(vyre__candidates *list, const vyre_allocator *allocator)
{
  memset(list, 0, sizeof *list);
  list->allocator = *allocator;
}

void vyre__candidates_free(vyre__candidates *list)
{
  uint32_t i;
  for (i = 0; i < list->count; i++)
    vyre__deallocate(&list->allocator, (char *)list->rows[i].path);
  vyre__deallocate(&list->allocator, list->rows);
  list->rows = NULL;
  list->count = list->capacity = 0;
}

static bool make_room(vyre__candidates *list)
{
  uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
  vyre_candidate *grown = NULL;
  if (list->count < list->capacity)
    return true;
  if (list->capacity > UINT32_MAX / 2)
    return false;
  grown = vyre__allocate_zeroed(&list->allocator, capacity, sizeof *grown);
  if (!grown)
    return false;
  if (list->count)
    memcpy(grown, list->rows, list->count * sizeof *grown);
  vyre__deallocate(&list->allocator, list->rows);
  list->rows = grown;
  list->capacity = capacity;
  return true;
}

vyre_status vyre__candidates_add(vyre__candidates *list, const vyre_candidate *row, vyre_error *err)
{
  const char *texts[5] = {row->path, row->name, row->version, row->message, row->fix};
  const char *copies[5];
  uint64_t sizes[5], total = 0;
  vyre_candidate *to = NULL;
  char *memory = NULL;
  int i;
  for (i = 0; i < 5; i++) {
    sizes[i] = texts[i] ? strlen(texts[i]) + 1 : 1;
    total += sizes[i]; /* lengths of texts in memory: no overflow */
  }
  memory = make_room(list) ? vyre__allocate(&list->allocator, total, 1) : NULL;
  if (!memory)
    return VYRE_FAIL_MEMORY(err, "the list of plugins");
  for (i = 0; i < 5; i++) {
    copies[i] = memory;
    memcpy(memory, texts[i] ? texts[i] : "", (size_t)sizes[i]);
    memory += sizes[i];
  }
  to = &list->rows[list->count++];
  *to = *row;
  to->struct_size = (uint32_t)sizeof *to;
  to->path = copies[0];
  to->name = copies[1];
  to->version = copies[2];
  to->message = copies[3];
  to->fix = copies[4];
  return VYRE_OK;
}

const char *vyre__candidate_stage_word(vyre_candidate_stage stage)
{
  static const char *const words[] = {"loaded", "folder",    "file",     "elf",
                                      "open",   "handshake", "shadowed", "devices"};
  return stage < sizeof words / sizeof words[0] ? words[stage] : "unknown";
}
