/*
 * process.c - the record of a process.
 *
 * It lies in a page that the kernel empties in a child (MADV_WIPEONFORK): `alive` reads 1 in the
 * process that made it and 0 in every child, at the price of one load.  A child that makes a
 * context of its own gets a new page and leaves the old one as it is.  Kernels before 4.14 do not
 * empty the page; there the process's number tells.
 */
#include "core/device/process.h"

#include "core/base/alloc.h"
#include "core/base/error.h"
#include "core/base/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct vyre__process {
  uint32_t alive; /* 1; 0 in a child */
  pid_t pid;      /* 0 where the page is emptied by fork() */
  pthread_mutex_t lock;
  pthread_cond_t left; /* a call of a leaving listener has returned */
  vyre__listener *listeners;
  pthread_mutex_t sites_lock;
  struct vyre__site *sites;
};

#define LOG_SIZE 4096u /* of a line of a plugin's log; more is cut */

/*
 * The newest record.  Stored with release by make_record(), loaded with acquire: who sees the
 * pointer sees the record filled.
 */
static vyre__process *newest;

#ifdef VYRE_TESTING
static bool test_without_wipe;

void vyre__test_process_without_wipe(bool without)
{
  test_without_wipe = without;
  __atomic_store_n(&newest, NULL, __ATOMIC_RELEASE); /* pairs with the load in process_get() */
}
#else
#define test_without_wipe false
#endif

bool vyre__process_is_ours(const vyre__process *process)
{
  /* Written before the record was published and by the kernel within fork(): no order is needed. */
  if (!__atomic_load_n(&process->alive, __ATOMIC_RELAXED))
    return false;
  return process->pid == 0 || process->pid == getpid();
}

static vyre__process *make_record(void)
{
  vyre__process *made =
      mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED)
    return NULL;
  if (test_without_wipe || madvise(made, sizeof *made, MADV_WIPEONFORK) != 0)
    made->pid = getpid();
  pthread_mutex_init(&made->lock, NULL);
  pthread_mutex_init(&made->sites_lock, NULL);
  pthread_cond_init(&made->left, NULL);
  made->alive = 1;
  return made;
}

vyre_status vyre__process_get(vyre__process **out_process, vyre_error *err)
{
  vyre__process *made = NULL;
  /* Acquire: pairs with the release of the exchange below. */
  vyre__process *seen = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
  while (!seen || !vyre__process_is_ours(seen)) {
    if (!made)
      made = make_record();
    if (!made)
      return VYRE_FAIL_VENDOR(err, VYRE_ERROR_OUT_OF_HOST_MEMORY, errno, 0,
                              "no host memory for the record of this process");
    /* Release: pairs with the acquire loads; on failure `seen` is another thread's record. */
    if (__atomic_compare_exchange_n(&newest, &seen, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      seen = made;
      made = NULL;
    }
  }
  if (made)
    munmap(made, sizeof *made);
  *out_process = seen;
  return VYRE_OK;
}

void vyre__process_listen(vyre__process *process, vyre__listener *listener)
{
  listener->calls = 0;
  listener->leaving = false;
  pthread_mutex_lock(&process->lock);
  listener->next = process->listeners;
  process->listeners = listener;
  pthread_mutex_unlock(&process->lock);
}

void vyre__process_unlisten(vyre__process *process, vyre__listener *listener)
{
  vyre__listener **link = NULL;
  pthread_mutex_lock(&process->lock);
  listener->leaving = true;
  while (listener->calls)
    pthread_cond_wait(&process->left, &process->lock);
  for (link = &process->listeners; *link; link = &(*link)->next) {
    if (*link == listener) {
      *link = listener->next;
      break;
    }
  }
  pthread_mutex_unlock(&process->lock);
}

struct vyre__site **vyre__process_lock_sites(vyre__process *process)
{
  pthread_mutex_lock(&process->sites_lock);
  return &process->sites;
}

void vyre__process_unlock_sites(vyre__process *process)
{
  pthread_mutex_unlock(&process->sites_lock);
}

/* ---- the services of vyre_host ---- */

static void *host_allocate(void *self, uint64_t size, uint64_t align)
{
  (void)self;
  if (align == 0 || (align & (align - 1)) || align > 4096)
    return NULL;
  return vyre__allocate(&vyre__default_allocator, size, align);
}

static void host_deallocate(void *self, void *memory)
{
  (void)self;
  vyre__deallocate(&vyre__default_allocator, memory);
}

/*
 * Calls the hooks one by one without the lock.  A listener with a call under way stays linked, so
 * its `next` is good when the lock is taken again.
 */
static void host_log(void *self, vyre_log_level level, const char *text)
{
  /* Acquire: pairs with the release in process_get(). */
  vyre__process *process = __atomic_load_n(&newest, __ATOMIC_ACQUIRE);
  vyre__listener *listener = NULL;
  char line[LOG_SIZE];
  (void)self;
  if (!process || !text || !vyre__process_is_ours(process))
    return;
  snprintf(line, sizeof line, "%s", text);
  vyre__text_printable(line, true);
  pthread_mutex_lock(&process->lock);
  for (listener = process->listeners; listener; listener = listener->next) {
    if (listener->leaving || !listener->log || level > listener->level)
      continue;
    listener->calls += 1;
    pthread_mutex_unlock(&process->lock);
    listener->log(listener->self, level, line);
    pthread_mutex_lock(&process->lock);
    listener->calls -= 1;
    if (listener->leaving && !listener->calls)
      pthread_cond_broadcast(&process->left);
  }
  pthread_mutex_unlock(&process->lock);
}

const vyre_host vyre__host = {
    .struct_size = (uint32_t)sizeof(vyre_host),
    .abi_major = VYRE_ABI_MAJOR,
    .abi_minor_min = 1,
    .abi_minor_max = VYRE_ABI_MINOR,
    .flags = 0,
    .self = NULL,
    .allocate = host_allocate,
    .deallocate = host_deallocate,
    .log = host_log,
};
