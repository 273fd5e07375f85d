/* zoo_modules.c - kernel code; see zoo.h. */
#include "conformance/zoo/zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

vyre_status zoo__compile(const vyre_compile_desc *desc, vyre_blob *out_blob, vyre_error *err)
{
  vyre_status status = zoo__pass_on(err, zoo__real()->compile(desc, out_blob, err));
  if (status == VYRE_OK && ZOO_IS(blob_of_malloc)) {
    const vyre_host *host = zoo__host();
    /* Room in front of it, so that a host that looks there finds bytes and no guard page. */
    char *memory = calloc(1, out_blob->size + 4096);
    memcpy(memory + 2048, out_blob->data, out_blob->size);
    host->deallocate(host->self, out_blob->data);
    out_blob->data = memory + 2048;
  }
  return status;
}

static vyre_status load(vyre_backend_device *device, const vyre_module_desc *desc,
                        vyre_backend_module **out_module, vyre_error *err)
{
  vyre_module_desc changed;
  if (!ZOO_IS(any_format) && !ZOO_IS(module_flags) && !ZOO_IS(module_short))
    return zoo__real()->module_load(device ? device->real : NULL, desc, out_module, err);
  changed = *desc;
  if (ZOO_IS(module_short))
    changed.struct_size = sizeof changed;
  if (ZOO_IS(module_flags))
    changed.flags &= VYRE_MODULE_DEBUG;
  if (ZOO_IS(any_format) && strcmp(desc->format, "native") != 0) {
    static const char nothing[] = "\n";
    changed.format = "vyre-c";
    if (strcmp(desc->format, "vyre-c") != 0) {
      changed.data = nothing;
      changed.size = 1;
    }
  }
  return zoo__real()->module_load(device->real, &changed, out_module, err);
}

vyre_status zoo__module_load(vyre_backend_device *device, const vyre_module_desc *desc,
                             vyre_backend_module **out_module, vyre_error *err)
{
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_LOAD);
  status = zoo__pass_on(err, load(device, desc, out_module, err));
  if (status == VYRE_OK && ZOO_IS(null_module))
    *out_module = NULL;
  return status;
}

void zoo__module_unload(vyre_backend_device *device, vyre_backend_module *module)
{
  zoo__enter(ZOO_AT_UNLOAD);
  if (!ZOO_IS(leak_of_module))
    zoo__real()->module_unload(device ? device->real : NULL, module);
}

vyre_status zoo__kernel_find(vyre_backend_module *module, const char *name,
                             vyre_backend_kernel **out_kernel, vyre_kernel_info *out_info,
                             vyre_error *err)
{
  vyre_status status = VYRE_OK;
  zoo__enter(ZOO_AT_FIND);
  status = zoo__pass_on(err, zoo__real()->kernel_find(module, name, out_kernel, out_info, err));
  if (status == VYRE_OK && ZOO_IS(null_kernel))
    *out_kernel = NULL;
  if (status == VYRE_OK && ZOO_IS(kernel_no_items) && out_info)
    out_info->max_workgroup_items = 0;
  return status;
}

/* ---- the prelude ---- */

/* What breaks on the device's side of the language. */
static const char *words(void)
{
  if (ZOO_IS(torn_add))
    return "#undef vyre_atomic_add_u32\n"
           "#define vyre_atomic_add_u32(p, v, order, scope) vyre__zoo_add((vyre_u32 *)(p), (v))\n"
           "static inline __attribute__((unused)) vyre_u32 vyre__zoo_add(vyre_u32 *p, vyre_u32 v)\n"
           "{\n"
           "  const vyre_u32 old = __atomic_load_n(p, 0);\n"
           "  for (volatile int i = 0; i < 20; ++i) {}\n"
           "  __atomic_store_n(p, old + v, 0);\n"
           "  return old;\n"
           "}\n";
  if (ZOO_IS(shift_unmasked))
    return "#undef vyre_shl_u32\n"
           "#define vyre_shl_u32(v, n) ((n) < 32u ? (vyre_u32)(v) << (n) : 0u)\n";
  if (ZOO_IS(fma_rounded_twice))
    return "#undef vyre_fma_f32\n"
           "#define vyre_fma_f32(a, b, d) vyre__zoo_fma((a), (b), (d))\n"
           "static inline __attribute__((unused)) vyre_f32 vyre__zoo_fma(vyre_f32 a, vyre_f32 b, "
           "vyre_f32 d)\n"
           "{\n  volatile vyre_f32 product = a * b;\n  return product + d;\n}\n";
  if (ZOO_IS(spread_short))
    return "#undef VYRE_SPREAD\n"
           "#define VYRE_SPREAD(c, i, n) \\\n"
           "  for (vyre_u64 i = vyre__share((c), (n), 0u), \\\n"
           "       vyre__end_##i = vyre__share((c), (n) - ((n) > 1000u), 1u); \\\n"
           "       i < vyre__end_##i; ++i)\n";
  if (ZOO_IS(no_barrier))
    return "#undef vyre_barrier\n#define vyre_barrier(c) ((void)(c))\n";
  return NULL;
}

const char *zoo__prelude(const vyre_backend *real, uint64_t *out_size)
{
  static char text[262144];
  const char *more = words();
  if (!more || real->prelude_size + strlen(more) + 2 > sizeof text)
    return real->prelude;
  memcpy(text, real->prelude, real->prelude_size);
  *out_size =
      real->prelude_size +
      (uint64_t)snprintf(text + real->prelude_size, sizeof text - real->prelude_size, "\n%s", more);
  return text;
}
