/*
 * module.h - loaded kernel code and its entries.
 */
#ifndef VYRE_CPU_MODULE_H
#define VYRE_CPU_MODULE_H

#include "vyre_backend.h"
#include "vyre_kernel.h"

struct vyre_backend_kernel {
  struct vyre_backend_kernel *next;
  const vyre_native_entry *entry;
  char name[]; /* as it was asked for */
};

#endif
