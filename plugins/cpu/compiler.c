/*
 * compiler.c - the search for a C compiler; see compiler.h.
 */
#include "compiler.h"

#include "plugins/common/host.h"

#include <pthread.h>

/* The only state of the plugin beside the host: fixed in size, filled once for each load. */
static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static bool searched;
static vyre__plugin_program the_compiler;

static void search(vyre__plugin_program *compiler)
{
#if defined(VYRE_CPU_SANITIZER_CC)
  /* Kernels need the same sanitizer runtime as the plugin, so the same compiler. */
  static const char *const names[] = {VYRE_CPU_SANITIZER_CC};
#else
  static const char *const names[] = {"cc", "gcc", "clang"};
#endif
  const char *wanted = vyre__plugin_environment("VYRE_CC");
  vyre__plugin_program_note(compiler, "no C compiler; tried");
  if (wanted) {
    if (!vyre__plugin_program_try(compiler, wanted))
      vyre__plugin_program_note(compiler, " set VYRE_CC to a C compiler, or unset it");
    return;
  }
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (vyre__plugin_program_try(compiler, names[i]))
      return;
  vyre__plugin_program_note(compiler,
                            " install one (Debian: apt-get install gcc libc6-dev) or set VYRE_CC");
}

const vyre__plugin_program *vyre__cpu_compiler_find(void)
{
  pthread_mutex_lock(&search_lock);
  if (!searched) {
    search(&the_compiler);
    if (the_compiler.found)
      the_compiler.reason[0] = '\0';
    searched = true;
  }
  pthread_mutex_unlock(&search_lock);
  return &the_compiler;
}
