/*
 * process_help.h - a ring in a file that several processes map, each at an address of its own.
 */
#ifndef VYRE_TESTS_PROCESS_HELP_H
#define VYRE_TESTS_PROCESS_HELP_H

#include "tests/ring/ring_help.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void lay_out(void *memory, uint64_t size, uint32_t capacity, uint32_t unfinished)
{
  vyre__ring_setup setup = {.options = VYRE_RING_OPTIONS_INIT, .first_position = (1ull << 32) - 3};
  vyre_ring *ring = NULL;
  setup.options.capacity = capacity;
  setup.options.completion = unfinished ? VYRE_COMPLETION_BY_TICKET : VYRE_COMPLETION_NONE;
  setup.options.max_unfinished = unfinished;
  assert_int_equal(vyre__ring_init(memory, size, &setup, NULL, &ring, NULL), VYRE_OK);
  vyre_ring_destroy(ring);
}

/* A child returns by _exit: 0 if all it expected held. */
static inline void child_ends(void)
{
  _exit(*expect_failures() ? 1 : 0);
}

static inline void child_is_well(pid_t child)
{
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

typedef struct shared_file {
  int file;
  uint64_t size;
  void *memory;
} shared_file;

static inline void open_shared(shared_file *f, uint32_t capacity, uint32_t unfinished)
{
  vyre_ring_options options = VYRE_RING_OPTIONS_INIT;
  options.capacity = capacity;
  options.completion = VYRE_COMPLETION_BY_TICKET;
  assert_int_equal(vyre_ring_region_size(&options, &f->size, NULL), VYRE_OK);
  f->file = memfd_create("ring", MFD_CLOEXEC);
  assert_true(f->file >= 0);
  assert_int_equal(ftruncate(f->file, (off_t)f->size), 0);
  f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  assert_true(f->memory != MAP_FAILED);
  lay_out(f->memory, f->size, capacity, unfinished);
}

static inline void close_shared(shared_file *f)
{
  munmap(f->memory, f->size);
  close(f->file);
}

/* A handle over another mapping of the same file, as another program would have it. */
static inline vyre_ring *attach_elsewhere(const shared_file *f)
{
  vyre_ring *ring = NULL;
  void *memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
  EXPECT(memory != MAP_FAILED && memory != f->memory);
  EXPECT(vyre_ring_attach(memory, f->size, &ring, NULL) == VYRE_OK);
  if (!ring)
    child_ends();
  return ring;
}

#endif
