/*
 * fake_state.c - calls, faults, objects and plans of failure; see fake.h and fake_control.h.
 */
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 16384u
#define FAULTS 64u
#define LAUNCHES 4096u
#define TEXT 160u

fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static bool ready;
static uint64_t call_counts[FAKE_IDS], call_count, line_count, fault_count, launch_count;
static char lines[LINES][TEXT], faults[FAULTS][TEXT];
static fake_launch_record launches[LAUNCHES];
static uint64_t live[FAKE_KINDS];

static int plan_id = -1; /* FAKE_IDS: any */
static uint64_t plan_left;
static CUresult plan_code;
static bool plan_struck;

static const char *const names[FAKE_IDS + 1] = {
#define VYRE_CUDA_ENTRY(field, symbol, other, need, since, parameters) [FAKE_##field] = #field,
#include "plugins/cuda/entry_points.def"
#undef VYRE_CUDA_ENTRY
};

static const char *const kinds[FAKE_KINDS] = {"context", "memory",   "host",   "pool",
                                              "stream",  "event",    "module", "graph",
                                              "exec",    "function", "node"};

/* -------- the machine -------- */

static void set_devices(void)
{
  static const struct {
    uint32_t attribute;
    int value;
  } defaults[] = {{VYRE__CU_DEVICE_MAX_THREADS_PER_BLOCK, 1024},
                  {VYRE__CU_DEVICE_MAX_BLOCK_DIM_X, 1024},
                  {VYRE__CU_DEVICE_MAX_BLOCK_DIM_Y, 1024},
                  {VYRE__CU_DEVICE_MAX_BLOCK_DIM_Z, 64},
                  {VYRE__CU_DEVICE_MAX_GRID_DIM_X, INT32_MAX},
                  {VYRE__CU_DEVICE_MAX_GRID_DIM_Y, 65535},
                  {VYRE__CU_DEVICE_MAX_GRID_DIM_Z, 65535},
                  {VYRE__CU_DEVICE_MAX_SHARED, 49152},
                  {VYRE__CU_DEVICE_WARP_SIZE, 32},
                  {VYRE__CU_DEVICE_MULTIPROCESSORS, 132},
                  {VYRE__CU_DEVICE_CAN_MAP_HOST, 1},
                  {VYRE__CU_DEVICE_CONCURRENT_KERNELS, 1},
                  {VYRE__CU_DEVICE_UNIFIED_ADDRESSING, 1},
                  {VYRE__CU_DEVICE_MAJOR, 9},
                  {VYRE__CU_DEVICE_PREEMPTION, 1},
                  {VYRE__CU_DEVICE_COOPERATIVE, 1},
                  {VYRE__CU_DEVICE_MAX_SHARED_OPTIN, 232448},
                  {VYRE__CU_DEVICE_MEMORY_POOLS, 1}};
  memset(fake.attributes, 0, sizeof fake.attributes);
  for (uint32_t device = 0; device < FAKE_DEVICES; ++device)
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; ++i)
      fake.attributes[device][defaults[i].attribute] = defaults[i].value;
}

static int environment(const char *name, int otherwise)
{
  const char *value = getenv(name);
  return value && *value ? (int)strtol(value, NULL, 10) : otherwise;
}

static int id_of(const char *name)
{
  if (!name || !strcmp(name, "*"))
    return FAKE_IDS;
  for (int i = 0; i < FAKE_IDS; ++i)
    if (!strcmp(names[i], name))
      return i;
  return -1;
}

static void make_plan(const char *name, uint64_t nth, CUresult code)
{
  plan_id = nth ? id_of(name) : -1;
  plan_left = nth;
  plan_code = code;
  plan_struck = false;
}

static void get_ready(void)
{
  if (ready)
    return;
  ready = true;
  set_devices();
  fake.version = environment("VYRE_FAKE_CUDA_VERSION", 13000);
  fake.init = environment("VYRE_FAKE_CUDA_INIT", 0);
  fake.devices = (uint32_t)environment("VYRE_FAKE_CUDA_DEVICES", 2);
  if (fake.devices > FAKE_DEVICES)
    fake.devices = FAKE_DEVICES;
  const char *plan = getenv("VYRE_FAKE_CUDA_FAIL");
  const char *first = plan ? strchr(plan, ':') : NULL,
             *second = first ? strchr(first + 1, ':') : NULL;
  char name[64];
  if (second) {
    snprintf(name, sizeof name, "%.*s", (int)(first - plan), plan);
    make_plan(name, strtoul(first + 1, NULL, 10), (CUresult)strtol(second + 1, NULL, 10));
  }
}

/* -------- calls -------- */

void fake_fault(const char *format, ...)
{
  if (fault_count < FAULTS) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(faults[fault_count], TEXT, format, arguments);
    va_end(arguments);
  }
  fault_count++;
}

static void write_line(fake_id id, const char *format, va_list arguments)
{
  char *line = lines[line_count++ % LINES];
  const int used = snprintf(line, TEXT, "%s%s", names[id], format[0] ? " " : "");
  if (used > 0 && (size_t)used < TEXT)
    vsnprintf(line + used, TEXT - (size_t)used, format, arguments);
}

/* Codes after which the context answers nothing else. */
bool fake_kills(CUresult code)
{
  return code == 700 || code == 702 || (code >= 709 && code <= 710) || code == 214 ||
         (code >= 714 && code <= 719) || code == 999;
}

void fake_break(fake_context *context, CUresult code)
{
  if (context && !context->broken)
    context->broken = code;
  pthread_cond_broadcast(&fake.moved);
}

fake_context *fake_current(void)
{
  return fake_top();
}

static CUresult check(fake_id id, unsigned needs)
{
  fake_context *context = fake_top();
  if ((needs & (NEEDS_INIT | NEEDS_CONTEXT)) && !fake.initialised) {
    fake_fault("%s before cuInit", names[id]);
    return 3;
  }
  if (needs & NEEDS_CONTEXT) {
    if (!context || context->object.dead) {
      fake_fault("%s without a context current", names[id]);
      return 201;
    }
    if ((needs & WAITS) && fake.resident && !context->broken)
      fake_fault("%s waits for the device while a resident kernel runs", names[id]);
  }
  if (plan_left && (plan_id == FAKE_IDS || plan_id == (int)id) && !--plan_left) {
    plan_struck = true;
    if (fake_kills(plan_code))
      fake_break(context, plan_code);
    return plan_code;
  }
  return needs & NEEDS_CONTEXT ? context->broken : 0;
}

CUresult fake_begin(fake_id id, unsigned needs, const char *format, ...)
{
  pthread_mutex_lock(&fake.lock);
  get_ready();
  call_count++;
  call_counts[id]++;
  va_list arguments;
  va_start(arguments, format);
  write_line(id, format, arguments);
  va_end(arguments);
  const CUresult code = check(id, needs);
  if (code)
    pthread_mutex_unlock(&fake.lock);
  return code;
}

CUresult fake_end(CUresult code)
{
  pthread_mutex_unlock(&fake.lock);
  return code;
}

/* -------- objects -------- */

void *fake_make(fake_kind kind, uint64_t size)
{
  fake_object *object = calloc(1, size);
  if (!object)
    abort();
  object->kind = kind;
  object->number = ++fake.object_count;
  object->context = fake_top();
  object->next = fake.objects;
  fake.objects = object;
  live[kind]++;
  return object;
}

static fake_object *find(const void *handle)
{
  for (fake_object *object = fake.objects; object; object = object->next)
    if (object == handle)
      return object;
  return NULL;
}

void *fake_take(const void *handle, fake_kind kind)
{
  fake_object *object = find(handle);
  if (!handle && kind == FAKE_STREAM)
    fake_fault("the default stream is used: %s", lines[(line_count - 1) % LINES]);
  else if (!object || object->kind != kind)
    fake_fault("not a %s: %s", kinds[kind], lines[(line_count - 1) % LINES]);
  else if (object->dead)
    fake_fault("a %s that was destroyed: %s", kinds[kind], lines[(line_count - 1) % LINES]);
  else if (object->context != fake_top() && kind != FAKE_CONTEXT && kind != FAKE_POOL)
    fake_fault("a %s of another context: %s", kinds[kind], lines[(line_count - 1) % LINES]);
  else
    return object;
  return NULL;
}

void fake_kill(fake_object *object)
{
  if (object->dead)
    return;
  object->dead = true;
  live[object->kind]--;
}

void fake_excuse(const void *handle)
{
  pthread_mutex_lock(&fake.lock);
  fake_object *object = find(handle);
  if (object && !object->dead) {
    if (object->kind == FAKE_MEMORY || object->kind == FAKE_HOST)
      ((fake_memory *)(void *)object)->leaving = true; /* its bytes may be in use: kept */
    fake_kill(object);
  }
  pthread_mutex_unlock(&fake.lock);
}

/* Forgets those that have ended. */
static void sweep(void)
{
  fake_object **link = &fake.objects;
  while (*link) {
    fake_object *object = *link;
    if (!object->dead) {
      link = &object->next;
      continue;
    }
    *link = object->next;
    free(object);
  }
}

/* -------- launches -------- */

uint64_t fake_record(const fake_launch_record *record)
{
  launches[launch_count % LAUNCHES] = *record;
  return launch_count++;
}

void fake_record_finished(uint64_t i)
{
  launches[i % LAUNCHES].finished = true;
}

/* -------- control -------- */

#define LOCKED(type, expression)                                                                   \
  pthread_mutex_lock(&fake.lock);                                                                  \
  get_ready();                                                                                     \
  const type answer = (expression);                                                                \
  pthread_mutex_unlock(&fake.lock);                                                                \
  return answer

static void control_reset(void)
{
  pthread_mutex_lock(&fake.lock);
  ready = true;
  set_devices();
  sweep();
  memset(call_counts, 0, sizeof call_counts);
  call_count = line_count = fault_count = launch_count = 0;
  make_plan(NULL, 0, 0);
  fake.held = fake.deferred = false;
  fake.occupancy = 0;
  fake.next_kernel = 0;
  if (!fake.version)
    fake.version = environment("VYRE_FAKE_CUDA_VERSION", 13000);
  if (!fake.devices)
    fake.devices = (uint32_t)environment("VYRE_FAKE_CUDA_DEVICES", 2);
  pthread_cond_broadcast(&fake.moved);
  pthread_mutex_unlock(&fake.lock);
}

static const char *control_entry_name(uint32_t i)
{
  return i < FAKE_IDS ? names[i] : NULL;
}

static uint64_t control_calls(const char *name)
{
  const int id = id_of(name);
  LOCKED(uint64_t, id == FAKE_IDS ? call_count : id < 0 ? 0 : call_counts[id]);
}

static const char *control_line(uint64_t i)
{
  LOCKED(char *, i < line_count && line_count - i <= LINES ? lines[i % LINES] : NULL);
}

static const fake_launch_record *control_launch(uint64_t i)
{
  LOCKED(fake_launch_record *,
         i < launch_count && launch_count - i <= LAUNCHES ? &launches[i % LAUNCHES] : NULL);
}

static uint64_t control_faults(void)
{
  LOCKED(uint64_t, fault_count);
}

static const char *control_fault(uint64_t i)
{
  LOCKED(char *, i < fault_count && i < FAULTS ? faults[i] : NULL);
}

static uint64_t live_of(const char *kind)
{
  uint64_t sum = 0;
  for (int i = 0; i < FAKE_FUNCTION; ++i)
    if (i != FAKE_CONTEXT && (!kind || !strcmp(kind, kinds[i])))
      sum += live[i];
  for (uint32_t i = 0; i < FAKE_DEVICES; ++i)
    if (fake.contexts[i] && (!kind || !strcmp(kind, "context")))
      sum += fake.contexts[i]->retained;
  return sum;
}

static uint64_t control_live(const char *kind)
{
  LOCKED(uint64_t, live_of(kind));
}

static void control_fail(const char *name, uint64_t nth, int32_t code)
{
  pthread_mutex_lock(&fake.lock);
  get_ready();
  make_plan(name, nth, code);
  pthread_mutex_unlock(&fake.lock);
}

static bool control_failed(void)
{
  LOCKED(bool, plan_struck);
}

static void control_kernel_fails(int32_t code)
{
  pthread_mutex_lock(&fake.lock);
  fake.next_kernel = code;
  pthread_mutex_unlock(&fake.lock);
}

static void control_set_attribute(uint32_t device, uint32_t attribute, int32_t value)
{
  pthread_mutex_lock(&fake.lock);
  get_ready();
  fake.attributes[device][attribute] = value;
  pthread_mutex_unlock(&fake.lock);
}

static void control_hold(bool held)
{
  pthread_mutex_lock(&fake.lock);
  fake.held = held;
  pthread_cond_broadcast(&fake.moved);
  pthread_mutex_unlock(&fake.lock);
}

static void control_set_deferred(bool deferred)
{
  pthread_mutex_lock(&fake.lock);
  fake.deferred = deferred;
  pthread_mutex_unlock(&fake.lock);
}

static void control_set_occupancy(uint32_t groups)
{
  pthread_mutex_lock(&fake.lock);
  fake.occupancy = groups;
  pthread_mutex_unlock(&fake.lock);
}

static uint32_t control_resident(void)
{
  LOCKED(uint32_t, fake.resident);
}

EXPORT extern const fake_cuda_control fake_cuda_control_symbol;

const fake_cuda_control fake_cuda_control_symbol = {.reset = control_reset,
                                                    .entry_name = control_entry_name,
                                                    .calls = control_calls,
                                                    .line = control_line,
                                                    .launch = control_launch,
                                                    .faults = control_faults,
                                                    .fault = control_fault,
                                                    .live = control_live,
                                                    .depth = fake_depth,
                                                    .fail = control_fail,
                                                    .failed = control_failed,
                                                    .kernel_fails = control_kernel_fails,
                                                    .set_attribute = control_set_attribute,
                                                    .hold = control_hold,
                                                    .set_deferred = control_set_deferred,
                                                    .set_occupancy = control_set_occupancy,
                                                    .resident = control_resident};
