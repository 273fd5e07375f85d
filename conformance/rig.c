/* rig.c - the core's engine on the plugin under test; see rig.h. */
#include "conformance/rig.h"

#include <stdlib.h>

static const char handlers_source[] =
    "VYRE_HANDLER(sum)\n"
    "(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,\n"
    " vyre_u64 constants_size, vyre_job *job)\n"
    "{\n"
    "  vyre_u32 sum = job->correlation * 2654435761u + (vyre_u32)constants_size;\n"
    "  (void)c;\n"
    "  for (vyre_u32 i = 0u; i < size; ++i) sum = sum * 31u + data[i];\n"
    "  return sum ^ constants[0];\n"
    "}\n"
    "VYRE_HANDLER(gate)\n"
    "(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,\n"
    " vyre_u64 constants_size, vyre_job *job)\n"
    "{\n"
    "  vyre_u32 misses = 0u;\n"
    "  (void)size; (void)constants; (void)constants_size;\n"
    "  while (vyre_atomic_load_u32(data, VYRE_ACQUIRE, VYRE_SCOPE_SYSTEM) == 0u)\n"
    "    vyre_backoff(c, misses++);\n"
    "  return job->correlation + 1u;\n"
    "}\n"
    "VYRE_HANDLER(find)\n"
    "(vyre_ctx *c, VYRE_IN(vyre_u8) data, vyre_u32 size, VYRE_IN(vyre_u8) constants,\n"
    " vyre_u64 constants_size, vyre_job *job)\n"
    "{\n"
    "  (void)constants_size;\n"
    "  for (vyre_u32 i = 0u; i < size; ++i)\n"
    "    if (data[i] == constants[0]) vyre_emit(c, job, i, job->correlation);\n"
    "  return vyre_emitted(job);\n"
    "}\n";

vyre_engine_options rig_options(uint32_t capacity)
{
  vyre_engine_options options = VYRE_ENGINE_OPTIONS_INIT;
  options.mode = VYRE_ENGINE_FORCE;
  options.capacity = capacity;
  options.input_size = RIG_INPUT;
  return options;
}

void rig_start(conform *c, rig *r, const vyre_engine_options *options)
{
  static const unsigned char constant = RIG_CONSTANT;
  static const char *const names[RULES] = {"sum", "gate", "find"};
  vyre_handler_decl decls[RULES];
  vyre_rule_set rules[RULES];
  vyre_engine_handlers set = VYRE_ENGINE_HANDLERS_INIT;
  vyre_code code = VYRE_CODE_INIT;
  uint64_t size = 0;
  for (uint32_t i = 0; i < RULES; ++i) {
    decls[i] = (vyre_handler_decl)VYRE_HANDLER_DECL_INIT;
    decls[i].name = names[i];
    decls[i].flags = i == RULE_FIND ? VYRE_HANDLER_RECORDS : 0;
    rules[i] = (vyre_rule_set)VYRE_RULE_SET_INIT;
    rules[i].handler = i;
    rules[i].constants = &constant;
    rules[i].constants_size = 1;
  }
  code.format = "vyre-c";
  code.data = handlers_source;
  code.size = sizeof handlers_source - 1;
  code.name = "handlers";
  set.name = "handlers";
  set.handlers = decls;
  set.handler_count = set.rule_set_count = RULES;
  set.rule_sets = rules;
  set.code = &code;
  set.code_count = 1;
  CHECK_OK(c, vyre_engine_start(r->t.device, &set, options, &r->engine, err));
  r->input = vyre_engine_input(r->engine, &size);
  CHECK(c, !options->input_size || (r->input && size == options->input_size),
        "the engine has no input region");
}

void rig_begin(conform *c, rig *r, const vyre_engine_options *options)
{
  through_open(c, &r->t);
  rig_start(c, r, options);
  for (uint32_t i = 0; i < RIG_INPUT; ++i)
    r->input[i] = (unsigned char)conform_random(c);
}

void rig_end(conform *c, rig *r)
{
  CHECK_OK(c, vyre_engine_stop(r->engine, RIG_PATIENCE, err));
  vyre_engine_destroy(r->engine);
  through_close(&r->t);
}

static uint32_t sum_of(const unsigned char *data, uint32_t size, uint32_t correlation)
{
  uint32_t sum = correlation * 2654435761u + 1;
  for (uint32_t i = 0; i < size; ++i)
    sum = sum * 31 + data[i];
  return sum ^ RIG_CONSTANT;
}

vyre_work_item rig_item(uint32_t n)
{
  const vyre_work_item item = {(n * 97) % (RIG_INPUT - 64), n % 41, RULE_SUM, n};
  return item;
}

void rig_count(conform *c, counts *all, uint32_t n)
{
  all->times = calloc(n, 1);
  all->tickets = calloc(n, sizeof *all->tickets);
  all->n = n;
  all->seen = 0;
  CHECK(c, all->times && all->tickets, "out of memory");
}

static void count_one(conform *c, const rig *r, counts *all, const vyre_completion *done)
{
  const vyre_work_item item = rig_item(done->correlation);
  CHECK(c, done->status == VYRE_OK, "item %u ended with %d", done->correlation, (int)done->status);
  CHECK(c, done->correlation < all->n, "a completion of item %u, there are %u", done->correlation,
        all->n);
  CHECK(c, !all->times[done->correlation], "item %u came twice", done->correlation);
  CHECK(c, !all->tickets[done->correlation] || all->tickets[done->correlation] == done->ticket,
        "item %u came with the ticket of another", done->correlation);
  CHECK(c, done->result == sum_of(r->input + item.input_offset, item.input_len, item.correlation),
        "item %u has the result 0x%x, expected is 0x%x (COH-001)", done->correlation, done->result,
        sum_of(r->input + item.input_offset, item.input_len, item.correlation));
  all->times[done->correlation] = 1;
  all->seen += 1;
}

void rig_reap(conform *c, const rig *r, counts *all, uint64_t timeout)
{
  vyre_completion done[64];
  uint32_t n = 0;
  const vyre_status status = vyre_engine_reap(r->engine, done, 64, timeout, &n);
  CHECK(c, status == VYRE_OK || (!timeout && status == VYRE_ERROR_EMPTY),
        "after %u of %u items reap ended with %d", all->seen, all->n, (int)status);
  for (uint32_t i = 0; status == VYRE_OK && i < n; ++i)
    count_one(c, r, all, &done[i]);
}

void rig_count_end(conform *c, counts *all)
{
  CHECK(c, all->seen == all->n, "%u of %u items came back", all->seen, all->n);
  free(all->times);
  free(all->tickets);
}

void rig_send(conform *c, rig *r, uint32_t n, uint32_t batch)
{
  vyre_work_item items[64];
  counts all;
  rig_count(c, &all, n);
  for (uint32_t sent = 0; sent < n;) {
    const uint32_t most = batch < n - sent ? batch : n - sent;
    uint64_t tickets[64];
    uint32_t taken = 1;
    for (uint32_t i = 0; i < most; ++i)
      items[i] = rig_item(sent + i);
    const vyre_status status =
        batch == 1 ? vyre_engine_submit(r->engine, items, tickets)
                   : vyre_engine_submit_many(r->engine, items, most, tickets, &taken);
    if (status == VYRE_ERROR_QUEUE_FULL) {
      rig_reap(c, r, &all, RIG_PATIENCE);
      continue;
    }
    CHECK(c, status == VYRE_OK, "submit ended with %d after %u items", (int)status, sent);
    for (uint32_t i = 0; i < taken; ++i)
      all.tickets[sent + i] = tickets[i];
    sent += taken;
  }
  while (all.seen < n)
    rig_reap(c, r, &all, RIG_PATIENCE);
  vyre_completion none;
  uint32_t more = 0;
  CHECK(c, vyre_engine_reap(r->engine, &none, 1, 0, &more) == VYRE_ERROR_EMPTY,
        "a completion more than items");
  rig_count_end(c, &all);
}
