/* options.c - reading vyre_engine_options. */
#include "core/base/checked.h"
#include "core/base/structs.h"

#include "core/engine/engine.h"

#define DEFAULT_CAPACITY 1024u
#define DEFAULT_IDLE_MS 20u
#define DEFAULT_RESIDENT_MS 10000u
#define MS 1000000ull

/* A bank's place is a 32-bit number that several workers may count past at once. */
#define MAX_BANK_RECORDS (1u << 30)
#define MAX_INPUT_SIZE (1ull << 32)

static vyre_status check_places(const vyre_engine_options *options, vyre_error *err)
{
  if (options->capacity && !vyre__is_power_of_two(options->capacity))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give a power of two from 1 to 2^31, or 0 for 1024",
                     "the engine's capacity is %u", options->capacity);
  if (options->max_unfinished && !vyre__is_power_of_two(options->max_unfinished))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give a power of two that is at least the capacity, or 0 for four times it",
                     "the engine's max_unfinished is %u", options->max_unfinished);
  if (options->max_unfinished &&
      options->max_unfinished < (options->capacity ? options->capacity : DEFAULT_CAPACITY))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give a power of two that is at least the capacity, or 0 for four times it",
                     "the engine's max_unfinished %u is less than its capacity %u",
                     options->max_unfinished,
                     options->capacity ? options->capacity : DEFAULT_CAPACITY);
  if (options->bank_records > MAX_BANK_RECORDS)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give at most 2^30 records; swap the bank more often",
                     "the engine's bank_records is %u", options->bank_records);
  return VYRE_OK;
}

static vyre_status check_input(const vyre_device *device, const vyre_engine_options *options,
                               vyre_error *err)
{
  const uint64_t size = options->input ? options->input->size : options->input_size;
  if (options->input && options->input_size)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "set input or input_size, not both",
                     "the engine has both an input buffer and an input_size");
  if (options->input &&
      (options->input->device != device || options->input->generation != device->generation))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "create the buffer on the engine's device, after its last recovery",
                     "the engine's input buffer is not one of its device");
  if (size > MAX_INPUT_SIZE)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "give at most 4 GiB: items address their bytes with 32 bits",
                     "the engine's input has %llu bytes", (unsigned long long)size);
  return VYRE_OK;
}

vyre_status vyre__engine_read_options(const vyre_device *device, const vyre_engine_options *options,
                                      vyre__engine_plan *out_plan, vyre_error *err)
{
  vyre_engine_options o = VYRE_ENGINE_OPTIONS_INIT;
  vyre__engine_plan plan = {0};
  vyre_status status;
  const uint32_t units = device->info.compute_units ? device->info.compute_units : 1;
  if (options &&
      !vyre__struct_read(&o, sizeof o, options, VYRE__SIZE_TO(vyre_engine_options, flags)))
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "start from VYRE_ENGINE_OPTIONS_INIT",
                     "the engine options' struct_size is %u", vyre__struct_size(options));
  if (o.mode > VYRE_ENGINE_DISABLE)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT,
                     "use VYRE_ENGINE_AUTO, VYRE_ENGINE_FORCE or VYRE_ENGINE_DISABLE",
                     "the engine's mode is %u", o.mode);
  if (o.flags)
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "leave flags 0",
                     "the engine options have unknown flags 0x%x", o.flags);
  if ((status = check_places(&o, err)) != VYRE_OK)
    return status;
  if ((status = check_input(device, &o, err)) != VYRE_OK)
    return status;
  if (device->info.max_groups[0] && o.workers > device->info.max_groups[0])
    return VYRE_FAIL(err, VYRE_ERROR_INVALID_ARGUMENT, "ask for fewer workers, or 0",
                     "%u workers are asked for; %s takes %u groups", o.workers,
                     device->info.selector, device->info.max_groups[0]);
  plan.mode = o.mode;
  plan.capacity = o.capacity ? o.capacity : DEFAULT_CAPACITY;
  plan.max_unfinished = o.max_unfinished; /* 0: the ring's own default */
  plan.workers = o.workers ? o.workers : units;
  plan.bank_records = o.bank_records;
  plan.input = o.input;
  plan.input_size = o.input ? o.input->size : o.input_size;
  plan.max_idle_ns = (o.max_idle_ms ? o.max_idle_ms : DEFAULT_IDLE_MS) * MS;
  plan.max_resident_ns = (o.max_resident_ms ? o.max_resident_ms : DEFAULT_RESIDENT_MS) * MS;
  plan.max_item_ns = o.max_item_ms * MS;
  plan.max_idle_polls = o.max_idle_polls;
  *out_plan = plan;
  return VYRE_OK;
}
