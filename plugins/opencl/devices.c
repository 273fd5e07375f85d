/*
 * devices.c - every device of every platform: what it is called, and whether kernels of vyre can
 * run on it.
 *
 * The list is found once and kept in memory of the plugin's own: the loader of OpenCL keeps its
 * list of platforms for as long as the process lives, and no block of the host may be left when the
 * last device is closed (ABI-014).
 */
#include "code.h"
#include "device.h"
#include "library.h"
#include "plugins/common/handshake.h"
#include "plugins/common/host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PLATFORMS 32u
#define TEXT_BYTES 16384u

static vyre__opencl_facts rows[VYRE__OPENCL_MAX_DEVICES];
static uint32_t row_count;
static bool found;
static pid_t finder; /* the process that found them */
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

/* One line without blanks at its ends; other characters than printable ones become blanks. */
static void tidy(char *text)
{
  size_t to = 0;
  for (const char *from = text; *from; ++from) {
    const char c = (unsigned char)*from < ' ' ? ' ' : *from;
    if (c != ' ' || (to && text[to - 1] != ' '))
      text[to++] = c;
  }
  while (to && text[to - 1] == ' ')
    --to;
  text[to] = '\0';
}

void vyre__opencl_device_text(cl_device_id device, cl_uint what, char *out_text, size_t size)
{
  char text[TEXT_BYTES];
  text[0] = '\0';
  if (vyre__opencl_calls()->clGetDeviceInfo(device, what, sizeof(text) - 1, text, NULL) !=
      CL_SUCCESS)
    text[0] = '\0';
  text[sizeof(text) - 1] = '\0';
  tidy(text);
  snprintf(out_text, size, "%s", text);
}

/* A number of 32 or 64 bits; 0 if the device does not say. */
static uint64_t number(cl_device_id device, cl_uint what, size_t width)
{
  uint64_t wide = 0;
  uint32_t narrow = 0;
  void *place = width == sizeof(narrow) ? (void *)&narrow : &wide;
  if (vyre__opencl_calls()->clGetDeviceInfo(device, what, width, place, NULL) != CL_SUCCESS)
    return 0;
  return width == sizeof(narrow) ? narrow : wide;
}

static bool has_word(const char *list, const char *word)
{
  const size_t length = strlen(word);
  for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
      return true;
  return false;
}

/* -------- what kernels need -------- */

/* OpenCL C 3.0 with all orders, at the scope of the device. */
static bool has_c11_atomics(cl_device_id device)
{
  static const char *const wanted[] = {"__opencl_c_atomic_order_acq_rel",
                                       "__opencl_c_atomic_order_seq_cst",
                                       "__opencl_c_atomic_scope_device"};
  cl_name_version features[64];
  size_t size = 0, count = 0;
  if (vyre__opencl_calls()->clGetDeviceInfo(device, CL_DEVICE_OPENCL_C_FEATURES, sizeof(features),
                                            features, &size) != CL_SUCCESS)
    return false;
  for (size_t i = 0; i < size / sizeof(features[0]); ++i)
    for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); ++k)
      count += strncmp(features[i].name, wanted[k], sizeof(features[i].name)) == 0;
  return count == sizeof(wanted) / sizeof(wanted[0]);
}

/* A way to see whether a compiler's C11 atomics are at fault. */
static bool wants_1_2(void)
{
  const char *given = vyre__plugin_environment("VYRE_OPENCL_STD");
  return given && strcmp(given, "1.2") == 0;
}

bool vyre__opencl_version(const char *text, unsigned long *out_major, unsigned long *out_minor)
{
  static const char begin[] = "OpenCL ";
  char *end = NULL;
  if (strncmp(text, begin, sizeof(begin) - 1) != 0)
    return false;
  *out_major = strtoul(text + sizeof(begin) - 1, &end, 10);
  if (*end != '.')
    return false;
  *out_minor = strtoul(end + 1, NULL, 10);
  return true;
}

static bool is_version(const char *version, unsigned long major, unsigned long minor)
{
  unsigned long have_major = 0, have_minor = 0;
  return vyre__opencl_version(version, &have_major, &have_minor) &&
         (have_major > major || (have_major == major && have_minor >= minor));
}

/*
 * The language promises 64-bit atomics and floats that are bit-equal everywhere (LANG-002, -004).
 * A device that cannot keep that is listed, and says why it is not opened.
 */
static void judge(vyre__opencl_facts *row, const char *version, const char *extensions)
{
  static const char *const needed[] = {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics",
                                       "cl_khr_fp64"};
  const uint64_t single = number(row->device, CL_DEVICE_SINGLE_FP_CONFIG, 8);
  const uint64_t exact = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
  char *reason = row->closed_reason;
  const size_t size = sizeof(row->closed_reason);
  if (!number(row->device, CL_DEVICE_AVAILABLE, 4)) {
    snprintf(reason, size, "the driver says that the device is not available");
  } else if (!is_version(version, 1, 2)) {
    snprintf(reason, size, "it has %.60s, OpenCL 1.2 is needed", version);
  } else if (!number(row->device, CL_DEVICE_COMPILER_AVAILABLE, 4)) {
    snprintf(reason, size, "the driver has no compiler for it");
  } else if (!number(row->device, CL_DEVICE_ENDIAN_LITTLE, 4) ||
             number(row->device, CL_DEVICE_ADDRESS_BITS, 4) != 64) {
    snprintf(reason, size, "it is not a little-endian device with addresses of 64 bits");
  } else if ((single & exact) != exact || !row->correct) {
    snprintf(
        reason, size,
        "its floats are not exact (CL_DEVICE_SINGLE_FP_CONFIG is 0x%llx: denormals, infinities,"
        " rounding to nearest and correctly rounded division are needed)",
        (unsigned long long)single);
  } else if (!row->max_items || !row->local_bytes || row->max_bindings < 16) {
    snprintf(reason, size,
             "the driver tells limits that are too small: groups of %u items, %llu bytes of "
             "workgroup memory, %u bindings",
             row->max_items, (unsigned long long)row->local_bytes, row->max_bindings);
  } else {
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) && !*reason; ++i)
      if (!has_word(extensions, needed[i]))
        snprintf(reason, size, "it lacks the extension %s, which the kernel language needs",
                 needed[i]);
  }
}

/* -------- ids -------- */

/* Lower case letters, digits and dashes, without two dashes in a row. */
static void make_slug(const char *text, char *out_slug, size_t size)
{
  size_t to = 0;
  for (; *text && to + 1 < size; ++text) {
    char c = *text;
    if (c >= 'A' && c <= 'Z')
      c = (char)(c - 'A' + 'a');
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
      c = '-';
    if (c != '-' || (to && out_slug[to - 1] != '-'))
      out_slug[to++] = c;
  }
  while (to && out_slug[to - 1] == '-')
    --to;
  out_slug[to] = '\0';
}

static bool id_is_taken(const char *id, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    if (strcmp(rows[i].id, id) == 0)
      return true;
  return false;
}

/*
 * DEV-001.  Platform and device by their names, as no extension that tells more is everywhere, and
 * two platforms may offer one card; a number tells equal ones apart.
 */
static void make_id(uint32_t index, const char *platform, const char *device)
{
  char first[24], second[36];
  make_slug(platform, first, sizeof(first));
  make_slug(device, second, sizeof(second));
  snprintf(rows[index].id, sizeof(rows[index].id), "%s%s%s", first, *first && *second ? "-" : "",
           *first || *second ? second : "device");
  for (uint32_t n = 2; id_is_taken(rows[index].id, index); ++n)
    snprintf(rows[index].id, sizeof(rows[index].id), "%s-%s-%u", first, second, n);
}

/* -------- the list -------- */

static void look_at(uint32_t index, const char *platform_name)
{
  const vyre__cl_calls *cl = vyre__opencl_calls();
  vyre__opencl_facts *row = &rows[index];
  char name[VYRE_DEVICE_NAME_SIZE], version[VYRE_DEVICE_NAME_SIZE], extensions[TEXT_BYTES];
  size_t items[3] = {1, 1, 1};
  cl_ulong device_ns = 0, host_ns = 0;
  vyre__opencl_device_text(row->device, CL_DEVICE_NAME, name, sizeof(name));
  vyre__opencl_device_text(row->device, CL_DEVICE_VERSION, version, sizeof(version));
  vyre__opencl_device_text(row->device, CL_DEVICE_EXTENSIONS, extensions, sizeof(extensions));
  make_id(index, platform_name, name);
  row->is_cpu = (number(row->device, CL_DEVICE_TYPE, 8) & CL_DEVICE_TYPE_CPU) != 0;
  row->unified = number(row->device, CL_DEVICE_HOST_UNIFIED_MEMORY, 4) != 0;
  row->correct = (number(row->device, CL_DEVICE_SINGLE_FP_CONFIG, 8) &
                  CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  row->c11 = is_version(version, 3, 0) && !wants_1_2() && has_c11_atomics(row->device);
  row->has_timer = cl->clGetDeviceAndHostTimer &&
                   cl->clGetDeviceAndHostTimer(row->device, &device_ns, &host_ns) == CL_SUCCESS &&
                   device_ns;
  row->local_bytes = number(row->device, CL_DEVICE_LOCAL_MEM_SIZE, 8);
  row->max_items = (uint32_t)number(row->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t));
  if (cl->clGetDeviceInfo(row->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(items), items, NULL) !=
      CL_SUCCESS)
    row->max_items = 0; /* no limit is known */
  for (int d = 0; d < 3; ++d)
    row->max_items_by_dimension[d] =
        items[d] < row->max_items ? (uint32_t)items[d] : row->max_items;
  /* Two arguments are the plugin's own. */
  const uint64_t arguments = number(row->device, CL_DEVICE_MAX_PARAMETER_SIZE, sizeof(size_t)) / 8;
  row->max_bindings = arguments >= VYRE__OPENCL_MAX_BINDINGS + 2 ? VYRE__OPENCL_MAX_BINDINGS
                      : arguments > 2                            ? (uint32_t)arguments - 2
                                                                 : 0;
  judge(row, version, extensions);
}

/* One platform's devices.  No device at all is none, not an error. */
static vyre_status add_platform(cl_platform_id platform, vyre_error *err)
{
  const vyre__cl_calls *cl = vyre__opencl_calls();
  cl_device_id devices[VYRE__OPENCL_MAX_DEVICES];
  char name[VYRE_DEVICE_NAME_SIZE] = "";
  cl_uint count = 0;
  if (cl->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL) != CL_SUCCESS)
    name[0] = '\0';
  tidy(name);
  const cl_int code =
      cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, VYRE__OPENCL_MAX_DEVICES, devices, &count);
  if (code == CL_DEVICE_NOT_FOUND)
    return VYRE_OK;
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_NO_DEVICE, code, "clGetDeviceIDs",
                          "the devices of platform \"%s\"", name);
  for (cl_uint i = 0; i < count && i < VYRE__OPENCL_MAX_DEVICES; ++i) {
    if (row_count == VYRE__OPENCL_MAX_DEVICES)
      return VYRE_OK;
    memset(&rows[row_count], 0, sizeof(rows[row_count]));
    rows[row_count].platform = platform;
    rows[row_count].device = devices[i];
    look_at(row_count, name);
    row_count += 1;
  }
  return VYRE_OK;
}

/*
 * Runtimes bring handlers of their own for signals, and a stack for them, with the first look at
 * their devices: those of LLVM for crashes, for one.  The process's are its own, so they are put
 * back (ABI-010, ABI-013).
 */
#define SIGNALS 65

typedef struct signals {
  struct sigaction handler[SIGNALS];
  bool known[SIGNALS];
  stack_t stack;
} signals;

static void keep_signals(signals *kept)
{
  for (int number = 1; number < SIGNALS; ++number)
    kept->known[number] = sigaction(number, NULL, &kept->handler[number]) == 0;
  if (sigaltstack(NULL, &kept->stack) != 0)
    kept->stack.ss_flags = SS_DISABLE;
}

static void put_signals_back(const signals *kept)
{
  stack_t stack;
  for (int number = 1; number < SIGNALS; ++number) {
    struct sigaction now;
    if (kept->known[number] && sigaction(number, NULL, &now) == 0 &&
        now.sa_handler != kept->handler[number].sa_handler)
      sigaction(number, &kept->handler[number], NULL);
  }
  if (sigaltstack(NULL, &stack) == 0 && stack.ss_sp != kept->stack.ss_sp)
    sigaltstack(&kept->stack, NULL);
}

static vyre_status find_all(vyre_error *err)
{
  const vyre__cl_calls *cl = vyre__opencl_calls();
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint count = 0;
  vyre_error trouble = VYRE_ERROR_INIT;
  vyre_status status = VYRE_OK;
  const cl_int code = cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &count);
  row_count = 0;
  /* A loader without a single runtime says so by a code of its own. */
  if (code == CL_PLATFORM_NOT_FOUND_KHR)
    return VYRE_OK;
  if (code != CL_SUCCESS)
    return OPENCL_FAIL_AS(err, VYRE_ERROR_NO_DEVICE, code, "clGetPlatformIDs", "the platforms");
  for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; ++i) {
    if (add_platform(platforms[i], &trouble) == VYRE_OK)
      continue;
    status = trouble.code;
    vyre__plugin_log(vyre__plugin_host(), VYRE_LOG_WARNING, "opencl: passed over: %s",
                     trouble.message);
  }
  /* A runtime that is broken takes nothing away from the others. */
  return status == VYRE_OK || row_count ? VYRE_OK : vyre__plugin_error_copy(err, &trouble);
}

vyre_status vyre__opencl_devices(const vyre__opencl_facts **out_rows, uint32_t *out_count,
                                 vyre_error *err)
{
  const vyre__cl_calls *cl = NULL;
  vyre_status status = vyre__opencl_library(&cl, err);
  if (status != VYRE_OK)
    return status;
  pthread_mutex_lock(&rows_lock);
  if (found && finder != getpid()) {
    status = PLUGIN_FAIL(err, VYRE_ERROR_FORKED,
                         "call exec() in the child, or look for devices only behind fork()",
                         "the parent process has used OpenCL, whose runtimes do not go on in a "
                         "child: their threads are not there");
    pthread_mutex_unlock(&rows_lock);
    return status;
  }
  if (!found) {
    signals kept;
    keep_signals(&kept);
    status = find_all(err);
    put_signals_back(&kept);
  }
  found = status == VYRE_OK && row_count;
  finder = getpid();
  *out_rows = rows;
  *out_count = row_count;
  pthread_mutex_unlock(&rows_lock);
  return status;
}
