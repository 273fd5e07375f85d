/*
 * fake_nvrtc.c - an NVRTC for tests.  It finds the entries that the core writes behind the author's
 * text (`VYRE_ENTRY(name, (VYRE_PARAM_…` at the start of a line) or lines `fake-entry NAME COUNT`,
 * and makes PTX that has their names and parameters and no instruction; as cubin, behind an ELF
 * header of 64 bytes.  `#error TEXT` at the start of a line is a complaint, with `#line` obeyed.
 */
#include "fake_control.h"
#include "plugins/cuda/cuda_api.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t vyre_u64;
typedef uint32_t vyre_u32;
#include "plugins/gpu/launch_layout.h"

#define EXPORT __attribute__((visibility("default")))

#define VYRE_NVRTC_ENTRY(name, parameters) EXPORT nvrtcResult name parameters;
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY

typedef enum fake_id {
#define VYRE_NVRTC_ENTRY(name, parameters) FAKE_##name,
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY
  FAKE_IDS
} fake_id;

static const char *const names[FAKE_IDS + 1] = {
#define VYRE_NVRTC_ENTRY(name, parameters) #name,
#include "plugins/cuda/nvrtc_entry_points.def"
#undef VYRE_NVRTC_ENTRY
};

struct _nvrtcProgram {
  char *source, *name, *ptx, log[512];
  unsigned arch;
  bool real; /* sm_XY: there is a cubin */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t counts[FAKE_IDS], all_calls, programs;
static int plan_id = -1;
static uint64_t plan_left;
static nvrtcResult plan_code;
static bool plan_struck;
static char last_options[1024];
static uint32_t arch_limit = 121;

static const int archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

static nvrtcResult begin(fake_id id)
{
  nvrtcResult code = 0;
  pthread_mutex_lock(&lock);
  counts[id]++;
  all_calls++;
  if (plan_left && (plan_id == FAKE_IDS || plan_id == (int)id) && !--plan_left) {
    plan_struck = true;
    code = plan_code;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

#define BEGIN(id)                                                                                  \
  do {                                                                                             \
    const nvrtcResult begun = begin(id);                                                           \
    if (begun)                                                                                     \
      return begun;                                                                                \
  } while (0)

nvrtcResult nvrtcVersion(int *major, int *minor)
{
  BEGIN(FAKE_nvrtcVersion);
  *major = 13;
  *minor = 0;
  return 0;
}

static int arch_count(void)
{
  int count = 0;
  for (size_t i = 0; i < sizeof archs / sizeof archs[0]; ++i)
    count += (uint32_t)archs[i] <= arch_limit;
  return count;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count)
{
  BEGIN(FAKE_nvrtcGetNumSupportedArchs);
  *count = arch_count();
  return 0;
}

nvrtcResult nvrtcGetSupportedArchs(int *out)
{
  BEGIN(FAKE_nvrtcGetSupportedArchs);
  memcpy(out, archs, (size_t)arch_count() * sizeof archs[0]);
  return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int headers,
                               const char *const *texts, const char *const *includes)
{
  BEGIN(FAKE_nvrtcCreateProgram);
  if (headers || texts || includes)
    return 3;
  nvrtcProgram program = calloc(1, sizeof *program);
  if (!program)
    return 1;
  program->source = strdup(source);
  program->name = strdup(name ? name : "default_program");
  *out = program;
  pthread_mutex_lock(&lock);
  programs++;
  pthread_mutex_unlock(&lock);
  return 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
  const nvrtcResult begun = begin(FAKE_nvrtcDestroyProgram);
  free((*program)->source);
  free((*program)->name);
  free((*program)->ptx);
  free(*program);
  *program = NULL;
  pthread_mutex_lock(&lock);
  programs--;
  pthread_mutex_unlock(&lock);
  return begun;
}

/* -------- compiling -------- */

/* The end of the parameter list that opens at `at`, and how many VYRE_PARAM_ words it has. */
static uint32_t count_words(const char *at)
{
  uint32_t count = 0;
  int level = 0;
  for (; *at; ++at) {
    level += *at == '(';
    level -= *at == ')';
    count += !strncmp(at, "VYRE_PARAM_", 11);
    if (*at == ')' && !level)
      break;
  }
  return count;
}

static void write_entry(FILE *out, const char *name, int length, uint32_t count)
{
  fprintf(out, ".visible .entry %.*s(\n", length, name);
  for (uint32_t i = 0; i < count; ++i)
    fprintf(out, "  .param .u64 a%u,\n", i);
  fprintf(out, "  .param .align 8 .b8 launch[%zu]\n)\n{\n  ret;\n}\n", sizeof(vyre__gpu_launch));
}

/* One line of the source; false with the log written for a complaint. */
static bool read_line(nvrtcProgram program, FILE *out, const char *line, char *file,
                      unsigned *number)
{
  static const char *const openings[] = {"VYRE_ENTRY(", "VYRE_ENTRY_CHANGED(", "VYRE_ENTRY_SETTLE(",
                                         "VYRE_FUSED("};
  if (!strncmp(line, "#error ", 7)) {
    snprintf(program->log, sizeof program->log, "%s(%u): error: #error directive: %.*s\n", file,
             *number, (int)strcspn(line + 7, "\n"), line + 7);
    return false;
  }
  if (!strncmp(line, "#line ", 6)) {
    char *end = NULL;
    *number = (unsigned)strtoul(line + 6, &end, 10) - 1;
    if (!strncmp(end, " \"", 2))
      snprintf(file, 128, "%.*s", (int)strcspn(end + 2, "\"\n"), end + 2);
  }
  if (!strncmp(line, "fake-entry ", 11)) {
    const size_t length = strcspn(line + 11, " \n");
    write_entry(out, line + 11, (int)length, (uint32_t)strtoul(line + 11 + length, NULL, 10));
  }
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; ++i) {
    const size_t length = strlen(openings[i]);
    if (!strncmp(line, openings[i], length))
      write_entry(out, line + length, (int)strcspn(line + length, ","),
                  count_words(strchr(line + length, '(')));
  }
  return true;
}

static nvrtcResult compile(nvrtcProgram program)
{
  char *text = NULL, file[128];
  size_t size = 0;
  unsigned number = 1;
  FILE *out = open_memstream(&text, &size);
  bool good = true;
  if (!out)
    return 1;
  snprintf(file, sizeof file, "%s", program->name);
  fprintf(out, "//\n.version 9.0\n.target sm_%u\n.address_size 64\n", program->arch);
  for (const char *line = program->source; good && *line; ++number) {
    good = read_line(program, out, line, file, &number);
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  fclose(out);
  program->ptx = text;
  return good ? 0 : 6;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
  BEGIN(FAKE_nvrtcCompileProgram);
  bool known = false;
  pthread_mutex_lock(&lock);
  last_options[0] = '\0';
  for (int i = 0; i < count; ++i) {
    strncat(last_options, options[i], sizeof last_options - strlen(last_options) - 2);
    strcat(last_options, " ");
  }
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < count; ++i) {
    static const char option[] = "--gpu-architecture=";
    const char *arch = options[i] + sizeof option - 1;
    if (strncmp(options[i], option, sizeof option - 1) != 0)
      continue;
    program->real = !strncmp(arch, "sm_", 3);
    program->arch = (unsigned)strtoul(arch + strcspn(arch, "_") + 1, NULL, 10);
  }
  for (int i = 0; i < arch_count(); ++i)
    known |= (unsigned)archs[i] == program->arch;
  if (!known) {
    snprintf(program->log, sizeof program->log,
             "nvrtc: error: invalid value for --gpu-architecture (-arch)\n");
    return 5;
  }
  return compile(program);
}

/* -------- results -------- */

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
  BEGIN(FAKE_nvrtcGetPTXSize);
  *size = program->ptx ? strlen(program->ptx) + 1 : 0;
  return 0;
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx)
{
  BEGIN(FAKE_nvrtcGetPTX);
  if (!program->ptx)
    return 4;
  memcpy(ptx, program->ptx, strlen(program->ptx) + 1);
  return 0;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
  BEGIN(FAKE_nvrtcGetCUBINSize);
  *size = program->ptx && program->real ? sizeof(Elf64_Ehdr) + strlen(program->ptx) + 1 : 0;
  return 0;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin)
{
  BEGIN(FAKE_nvrtcGetCUBIN);
  if (!program->ptx || !program->real)
    return 4;
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_EXEC,
      .e_machine = EM_CUDA,
      .e_version = EV_CURRENT,
      .e_flags = program->arch,
      .e_ehsize = sizeof header};
  memcpy(cubin, &header, sizeof header);
  memcpy(cubin + sizeof header, program->ptx, strlen(program->ptx) + 1);
  return 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
  BEGIN(FAKE_nvrtcGetProgramLogSize);
  *size = strlen(program->log) + 1;
  return 0;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
  BEGIN(FAKE_nvrtcGetProgramLog);
  memcpy(log, program->log, strlen(program->log) + 1);
  return 0;
}

/* -------- control -------- */

static int id_of(const char *name)
{
  for (int i = 0; name && i < FAKE_IDS; ++i)
    if (!strcmp(names[i], name))
      return i;
  return FAKE_IDS;
}

static void control_fail(const char *name, uint64_t nth, int32_t code)
{
  pthread_mutex_lock(&lock);
  plan_id = nth ? id_of(name) : -1;
  plan_left = nth;
  plan_code = code;
  plan_struck = false;
  pthread_mutex_unlock(&lock);
}

static void control_reset(void)
{
  control_fail(NULL, 0, 0);
  pthread_mutex_lock(&lock);
  memset(counts, 0, sizeof counts);
  all_calls = 0;
  arch_limit = 121;
  pthread_mutex_unlock(&lock);
}

static uint64_t control_calls(const char *name)
{
  pthread_mutex_lock(&lock);
  const int id = id_of(name);
  const uint64_t answer = id == FAKE_IDS ? all_calls : counts[id];
  pthread_mutex_unlock(&lock);
  return answer;
}

static bool control_failed(void)
{
  pthread_mutex_lock(&lock);
  const bool answer = plan_struck;
  pthread_mutex_unlock(&lock);
  return answer;
}

static uint64_t control_programs(void)
{
  pthread_mutex_lock(&lock);
  const uint64_t answer = programs;
  pthread_mutex_unlock(&lock);
  return answer;
}

static const char *control_options(void)
{
  return last_options;
}

static void control_set_arch_limit(uint32_t limit)
{
  arch_limit = limit;
}

EXPORT extern const fake_nvrtc_control fake_nvrtc_control_symbol;
const fake_nvrtc_control fake_nvrtc_control_symbol = {.reset = control_reset,
                                                      .calls = control_calls,
                                                      .fail = control_fail,
                                                      .failed = control_failed,
                                                      .programs = control_programs,
                                                      .options = control_options,
                                                      .set_arch_limit = control_set_arch_limit};
