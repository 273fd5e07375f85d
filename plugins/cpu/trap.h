/*
 * trap.h - checked arithmetic of debug builds: how kernel code tells the plugin of an offence.
 *
 * The compiler's checks for over-wide shifts, signed overflow and division by zero call functions
 * of fixed names.  VYRE__CPU_TRAP_TEXT, in front of the kernel, defines them: they call through the
 * one pointer of the module, which the plugin sets when it has opened it.
 */
#ifndef VYRE_CPU_TRAP_H
#define VYRE_CPU_TRAP_H

/* Ends the launch that this thread runs.  Does not return. */
typedef void (*vyre__cpu_trap_fn)(const char *what, const char *file, unsigned line);
_Noreturn void vyre__cpu_trap(const char *what, const char *file, unsigned line);

#define VYRE__CPU_TRAP_SYMBOL "vyre_native_trap"

#define VYRE__CPU_TRAP_TEXT                                                                        \
  "extern void (*vyre_native_trap)(const char *, const char *, unsigned);\n"                       \
  "__attribute__((visibility(\"default\")))\n"                                                     \
  "void (*vyre_native_trap)(const char *, const char *, unsigned);\n"                              \
  "struct vyre__place { const char *file; unsigned line, column; };\n"                             \
  "#define VYRE__TRAP(name, what) \\\n"                                                            \
  "  void __ubsan_handle_##name##_abort(const struct vyre__place *place); \\\n"                    \
  "  void __ubsan_handle_##name##_abort(const struct vyre__place *place) \\\n"                     \
  "  { vyre_native_trap(what, place->file, place->line); __builtin_trap(); }\n"                    \
  "VYRE__TRAP(shift_out_of_bounds, \"a shift by the width of the value or more\")\n"               \
  "VYRE__TRAP(add_overflow, \"signed overflow of +\")\n"                                           \
  "VYRE__TRAP(sub_overflow, \"signed overflow of -\")\n"                                           \
  "VYRE__TRAP(mul_overflow, \"signed overflow of *\")\n"                                           \
  "VYRE__TRAP(negate_overflow, \"signed overflow of unary -\")\n"                                  \
  "VYRE__TRAP(divrem_overflow, \"a division by zero, or one that overflows\")\n"

#endif
