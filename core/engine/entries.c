/*
 * entries.c - the text that the core writes around the handlers of a set: the engine's entries
 * (vyre_kernel.h, "Entries").
 */
#include "core/base/error.h"
#include "core/program/code.h"
#include "core/program/program.h"

#include "embed/vyre__engine_text.h"
#include "embed/vyre__engine_wide_text.h"

#include <string.h>

static vyre_status check_handlers(const vyre_engine_handlers *handlers, vyre_error *err)
{
  const char *set = handlers->name && *handlers->name ? handlers->name : "handlers";
  if (!handlers->handler_count)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give one vyre_handler_decl for each VYRE_HANDLER() of the source",
                     "%s: there is no handler", set);
  if (!vyre__rows_fit(handlers->handlers, handlers->handler_count,
                      VYRE__SIZE_TO(vyre_handler_decl, name)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "start every row from VYRE_HANDLER_DECL_INIT",
                     "%s: a handler row's struct_size is wrong, or the rows are NULL", set);
  for (uint32_t i = 0; i < handlers->handler_count; ++i) {
    const vyre_handler_decl *row = vyre__row(handlers->handlers, i);
    if (!vyre__is_identifier(row->name))
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                       "give the name in VYRE_HANDLER(name): a C identifier that does not start "
                       "with vyre_",
                       "%s: handler %u has the name '%.100s'", set, i,
                       row->name ? row->name : "(NULL)");
    if (row->flags & ~VYRE_HANDLER_RECORDS)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "use VYRE_HANDLER_… flags only",
                       "%s: handler %u (%s) has unknown flags 0x%x", set, i, row->name,
                       (unsigned)row->flags);
  }
  return VYRE_OK;
}

/* A switch over the handlers: the kernel language has no function pointers. */
static void write_call(const vyre_engine_handlers *handlers, vyre__text *tail)
{
  vyre__text_format(tail,
                    "VYRE_FUNCTION vyre_u32 vyre__call_handler(vyre_ctx *c, vyre_u32 handler,\n"
                    "  VYRE_GLOBAL const vyre_u8 *data, vyre_u32 size,\n"
                    "  VYRE_GLOBAL const vyre_u8 *constants, vyre_u64 constants_size,\n"
                    "  vyre_job *job)\n{\n  switch (handler) {\n");
  for (uint32_t i = 0; i < handlers->handler_count; ++i) {
    const vyre_handler_decl *row = vyre__row(handlers->handlers, i);
    vyre__text_format(tail,
                      "  case %uu: return vyre_handler_%s(c, data, size, constants, "
                      "constants_size, job);\n",
                      i, row->name);
  }
  vyre__text_format(tail, "  default: return 0u;\n  }\n}\n");
}

static const char entries[] =
    "\nVYRE_ENTRY(vyre_engine_persistent,\n"
    "  (VYRE_PARAM_INOUT(0, engine_ring), VYRE_PARAM_INOUT(1, engine_control),\n"
    "   VYRE_PARAM_INOUT(2, engine_state), VYRE_PARAM_CONST(3, engine_rules),\n"
    "   VYRE_PARAM_INOUT(4, engine_input), VYRE_PARAM_INOUT(5, engine_records)),\n"
    "  (VYRE_ARG(0, engine_ring), VYRE_ARG(1, engine_control), VYRE_ARG(2, engine_state),\n"
    "   VYRE_ARG(3, engine_rules), VYRE_ARG(4, engine_input), VYRE_ARG(5, engine_records)));\n"
    "VYRE_ENTRY(vyre_engine_batch,\n"
    "  (VYRE_PARAM_CONST(0, engine_items), VYRE_PARAM_OUT(1, engine_results),\n"
    "   VYRE_PARAM_INOUT(2, engine_state), VYRE_PARAM_CONST(3, engine_rules),\n"
    "   VYRE_PARAM_CONST(4, engine_input), VYRE_PARAM_INOUT(5, engine_records)),\n"
    "  (VYRE_ARG(0, engine_items), VYRE_ARG(1, engine_results), VYRE_ARG(2, engine_state),\n"
    "   VYRE_ARG(3, engine_rules), VYRE_ARG(4, engine_input), VYRE_ARG(5, engine_records)));\n";

static const char wide_entry[] =
    "\nVYRE_ENTRY(vyre_engine_wide,\n"
    "  (VYRE_PARAM_INOUT(0, engine_ring), VYRE_PARAM_INOUT(1, engine_control),\n"
    "   VYRE_PARAM_INOUT(2, engine_state), VYRE_PARAM_CONST(3, engine_rules),\n"
    "   VYRE_PARAM_INOUT(4, engine_input), VYRE_PARAM_INOUT(5, engine_records),\n"
    "   VYRE_PARAM_LOCAL(6, engine_group)),\n"
    "  (VYRE_ARG(0, engine_ring), VYRE_ARG(1, engine_control), VYRE_ARG(2, engine_state),\n"
    "   VYRE_ARG(3, engine_rules), VYRE_ARG(4, engine_input), VYRE_ARG(5, engine_records),\n"
    "   VYRE_ARG(6, engine_group)));\n";

vyre_status vyre__engine_entries(const vyre_engine_handlers *handlers, bool wide, vyre__text *head,
                                 vyre__text *tail, vyre_error *err)
{
  vyre_status status = check_handlers(handlers, err);
  if (status != VYRE_OK)
    return status;
  vyre__text_format(head,
                    "#define VYRE__OK %du\n"
                    "#define VYRE__ERROR_INVALID_ARGUMENT %du\n"
                    "#define VYRE__ERROR_OVERFLOW %du\n",
                    (int)VYRE_OK, (int)VYRE_ERROR_INVALID_ARGUMENT, (int)VYRE_ERROR_OVERFLOW);
  write_call(handlers, tail);
  vyre__text_add(tail, vyre__engine_text, vyre__engine_text_size);
  vyre__text_add(tail, entries, sizeof entries - 1);
  if (wide) {
    vyre__text_add(tail, vyre__engine_wide_text, vyre__engine_wide_text_size);
    vyre__text_add(tail, wide_entry, sizeof wide_entry - 1);
  }
  if (head->failed || tail->failed)
    return VYRE_FAIL_MEMORY(err, "a handler set's entries");
  return VYRE_OK;
}
