/*
 * compiler.h - the system's C compiler: which one.
 */
#ifndef VYRE_CPU_COMPILER_H
#define VYRE_CPU_COMPILER_H

#include "plugins/common/program.h"

/*
 * Looks for VYRE_CC, or for cc, gcc and clang in PATH; the first one that runs.  Searched once
 * while the plugin is loaded: capabilities do not change (CAP-002).
 */
const vyre__plugin_program *vyre__cpu_compiler_find(void);

#endif
