/* rules.c - the table of rule sets that the device looks items up in, with their constants. */
#include "core/base/checked.h"
#include "core/program/rows.h"

#include "core/engine/engine.h"

#include <string.h>

#define CONSTANTS_ALIGN 16u

static const vyre_rule_set *rule_at(const vyre_engine_handlers *handlers, uint32_t i)
{
  return vyre__row(handlers->rule_sets, i);
}

vyre_status vyre__engine_check_rules(const vyre_engine_handlers *handlers, vyre_error *err)
{
  if (!vyre__rows_fit(handlers->rule_sets, handlers->rule_set_count,
                      VYRE__SIZE_TO(vyre_rule_set, constants_size)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start every row from VYRE_RULE_SET_INIT",
                     "a rule set row's struct_size is wrong, or the rows are NULL");
  for (uint32_t i = 0; i < handlers->rule_set_count; ++i) {
    const vyre_rule_set *rule = rule_at(handlers, i);
    if (rule->handler >= handlers->handler_count)
      return VYRE_FAIL(
          err, VYRE_ERROR_INVALID_ARGUMENT, "give the index of a handler in the handler table",
          "rule set %u names handler %u of %u", i, rule->handler, handlers->handler_count);
    if (!rule->constants && rule->constants_size)
      return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give the constants, or size 0",
                       "rule set %u has constants NULL with a size", i);
  }
  return VYRE_OK;
}

/* Offsets of all constants, and the size of the whole table. */
static bool measure(const vyre_engine_handlers *handlers, uint64_t *out_size)
{
  uint64_t size = (uint64_t)handlers->rule_set_count * sizeof(vyre_engine_rule);
  for (uint32_t i = 0; i < handlers->rule_set_count; ++i)
    if (!vyre__checked_add(size, rule_at(handlers, i)->constants_size, &size) ||
        !vyre__checked_align(size, CONSTANTS_ALIGN, &size))
      return false;
  *out_size = size ? size : CONSTANTS_ALIGN; /* never empty: entries point into it */
  return true;
}

static void fill(const vyre_engine_handlers *handlers, uint8_t *table)
{
  uint64_t offset = (uint64_t)handlers->rule_set_count * sizeof(vyre_engine_rule);
  for (uint32_t i = 0; i < handlers->rule_set_count; ++i) {
    const vyre_rule_set *rule = rule_at(handlers, i);
    const vyre_engine_rule row = {
        .handler = rule->handler, .offset = offset, .size = rule->constants_size};
    memcpy(table + (uint64_t)i * sizeof row, &row, sizeof row);
    if (rule->constants_size)
      memcpy(table + offset, rule->constants, rule->constants_size);
    offset += (rule->constants_size + CONSTANTS_ALIGN - 1) & ~(uint64_t)(CONSTANTS_ALIGN - 1);
  }
}

vyre_status vyre__engine_build_rules(vyre_engine *engine, const vyre_engine_handlers *handlers,
                                     vyre_error *err)
{
  vyre__region *rules = &engine->rules;
  vyre_status status;
  uint8_t *table;
  if (!measure(handlers, &rules->size))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "give constants that fit the memory",
                     "the rule sets' constants are larger than the address space");
  table = vyre__allocate_zeroed(&engine->allocator, rules->size, 1);
  if (!table)
    return VYRE_FAIL_MEMORY(err, "the rule sets' constants");
  fill(handlers, table);
  engine->rule_sets = handlers->rule_set_count;
  rules->host = table;
  rules->owned = true;
  if (!(engine->device->info.capabilities & VYRE_CAP_BUFFERS))
    return VYRE_OK; /* travels with each launch */
  status = vyre__engine_make_buffer(engine, rules, table, rules->size, err);
  vyre__deallocate(&engine->allocator, table);
  rules->host = NULL;
  return status;
}
