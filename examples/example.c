/*
 * example.c - the examples' common half.
 */
#include "example.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void example_init(example *x, const char *name)
{
  memset(x, 0, sizeof *x);
  x->name = name;
  x->outputs = (vyre_outputs)VYRE_OUTPUTS_INIT;
  x->result = (vyre_dispatch_result)VYRE_DISPATCH_RESULT_INIT;
}

void example_complain(const example *x, const char *format, ...)
{
  va_list arguments;

  fprintf(stderr, "%s: ", x->name);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

static bool complain_vyre(const example *x, const vyre_error *err)
{
  example_complain(x, "%s", err->message);
  if (err->fix[0] != '\0') {
    fprintf(stderr, "  %s\n", err->fix);
  }
  return false;
}

/* ---- the command line ---- */

bool example_number(const example *x, const char *what, const char *text, uint64_t least,
                    uint64_t most, uint64_t *out_number)
{
  char *end = NULL;
  unsigned long long number;

  errno = 0;
  number = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < least ||
      number > most) {
    example_complain(x, "%s '%s': give a number from %" PRIu64 " to %" PRIu64, what, text, least,
                     most);
    return false;
  }
  *out_number = number;
  return true;
}

static bool parse_route(example *x, const char *text)
{
  for (vyre_route route = VYRE_ROUTE_AUTO; route <= VYRE_ROUTE_HOST; route++) {
    if (strcmp(vyre_route_name(route), text) == 0) {
      x->route = route;
      return true;
    }
  }
  example_complain(x, "--route '%s': give auto, native, resident or host", text);
  return false;
}

static bool parse_converge(example *x, const char *text)
{
  static const char *const names[] = {"exact", "declared", "off"};

  for (vyre_converge how = VYRE_CONVERGE_EXACT; how <= VYRE_CONVERGE_OFF; how++) {
    if (strcmp(names[how], text) == 0) {
      x->converge = how;
      x->converge_given = true;
      return true;
    }
  }
  example_complain(x, "--converge '%s': give exact, declared or off", text);
  return false;
}

bool example_option(example *x, int option, const char *argument)
{
  uint64_t number = 0;

  switch (option) {
  case 'd':
    x->selector = argument;
    return true;
  case EXAMPLE_OPTION_ROUTE:
    return parse_route(x, argument);
  case EXAMPLE_OPTION_CONVERGE:
    return parse_converge(x, argument);
  case EXAMPLE_OPTION_ITERATIONS:
    if (!example_number(x, "--iterations", argument, 1, UINT32_MAX, &number)) {
      return false;
    }
    x->iterations = (uint32_t)number;
    return true;
  case EXAMPLE_OPTION_PROGRAM:
    x->bundle_path = argument;
    return true;
  case EXAMPLE_OPTION_SAVE:
    x->save_folder = argument;
    return true;
  case EXAMPLE_OPTION_CHECK:
    x->check = true;
    return true;
  case EXAMPLE_OPTION_JSON:
    x->json = true;
    return true;
  default: /* getopt has said what is wrong */
    fprintf(stderr, "  See %s --help.\n", x->name);
    return false;
  }
}

/* ---- files ---- */

char *example_read_file(const example *x, const char *path, size_t *out_size)
{
  FILE *file = fopen(path, "rb");
  char *text = NULL, *grown;
  size_t size = 0, capacity = 0, n;

  if (file == NULL) {
    example_complain(x, "%s: %s", path, strerror(errno));
    return NULL;
  }
  do {
    if (capacity - size < 2) {
      capacity = capacity == 0 ? 65536 : capacity * 2;
      grown = realloc(text, capacity);
      if (grown == NULL) {
        example_complain(x, "%s: no memory for %zu bytes", path, capacity);
        goto failed;
      }
      text = grown;
    }
    n = fread(text + size, 1, capacity - size - 1, file);
    size += n;
  } while (n > 0);
  if (ferror(file)) {
    example_complain(x, "%s: %s", path, strerror(errno));
    goto failed;
  }
  fclose(file);
  text[size] = '\0';
  *out_size = size;
  return text;

failed:
  fclose(file);
  free(text);
  return NULL;
}

static bool save(const example *x, const char *name, const char *suffix, const void *data,
                 uint64_t size)
{
  char path[4096];
  FILE *file;
  bool good;

  if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", x->save_folder, name, suffix) >=
      sizeof path) {
    example_complain(x, "--save: the name of the folder is too long");
    return false;
  }
  file = fopen(path, "wb");
  if (file == NULL) {
    example_complain(x, "%s: %s", path, strerror(errno));
    return false;
  }
  good = size == 0 || fwrite(data, 1, size, file) == size;
  good = fclose(file) == 0 && good;
  if (!good) {
    example_complain(x, "%s: %s", path, strerror(errno));
  }
  return good;
}

static bool save_all(const example *x, const vyre_program *program, const example_kernel *kernel,
                     const vyre_bytes *inputs)
{
  if (mkdir(x->save_folder, 0777) != 0 && errno != EEXIST) {
    example_complain(x, "%s: %s", x->save_folder, strerror(errno));
    return false;
  }
  for (uint32_t i = 0; i < vyre_program_input_count(program); i++) {
    if (!save(x, vyre_program_input_name(program, i), "in", inputs[i].data, inputs[i].size)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < x->outputs.count; i++) {
    if (!save(x, vyre_program_output_name(program, i), "out", x->outputs.slots[i].data,
              x->outputs.slots[i].size)) {
      return false;
    }
  }
  return kernel->push_size == 0 || save(x, "push", "in", kernel->push, kernel->push_size);
}

/* ---- running ---- */

uint64_t example_now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool example_open(example *x)
{
  vyre_device_request request = VYRE_DEVICE_REQUEST_INIT;
  vyre_error err = VYRE_ERROR_INIT;

  request.selector = x->selector;
  x->info.struct_size = sizeof x->info;
  if (vyre_context_create(NULL, &x->context, &err) != VYRE_OK ||
      vyre_device_open(x->context, &request, &x->device, &err) != VYRE_OK ||
      vyre_device_get_info(x->device, &x->info, &err) != VYRE_OK) {
    return complain_vyre(x, &err);
  }
  return true;
}

/*
 * How many items share out a segment's work.  The kernels of the examples take any number: enough
 * to fill the device and to even out parts that have less to do.
 */
static uint32_t suitable_groups(const vyre_device_info *info)
{
  const uint32_t units = info->compute_units != 0 ? info->compute_units : 1;
  const uint32_t each = info->device_class == VYRE_DEVICE_CPU ? 4 : 32;

  return units < 1u << 20 ? units * each : 1u << 20;
}

bool example_run(example *x, const vyre_program_desc *desc, const example_kernel *kernel,
                 const vyre_bytes *inputs, uint32_t input_count)
{
  vyre_program_desc mine = *desc;
  vyre_code source = VYRE_CODE_INIT;
  vyre_dispatch_options options = VYRE_DISPATCH_OPTIONS_INIT;
  vyre_program *program = NULL;
  vyre_bundle *bundle = NULL;
  char *image = NULL;
  size_t image_size = 0;
  vyre_error err = VYRE_ERROR_INIT;
  bool good = false;

  source.format = "vyre-c";
  source.data = kernel->text;
  source.size = kernel->size;
  source.name = kernel->file;
  mine.code = &source;
  mine.code_count = 1;
  mine.push_size = kernel->push_size;
  if (mine.groups[0] == 0 && mine.elements[0] == 0) {
    mine.groups[0] = suitable_groups(&x->info);
    mine.groups[1] = mine.groups[2] = 1;
  }
  if (x->converge_given) {
    mine.converge = x->converge;
  }
  if (x->iterations != 0) {
    mine.iterations = x->iterations;
  }
  options.route = x->route;
  options.push = kernel->push;
  options.push_size = kernel->push_size;

  if (x->bundle_path != NULL) {
    image = example_read_file(x, x->bundle_path, &image_size);
    if (image == NULL) {
      goto done;
    }
    if (vyre_bundle_open(image, image_size, &bundle, &err) != VYRE_OK) {
      complain_vyre(x, &err);
      goto done;
    }
    mine.code = vyre_bundle_code(bundle, &mine.code_count);
  }
  if (vyre_program_create(x->device, &mine, &program, &err) != VYRE_OK ||
      vyre_dispatch(program, &options, inputs, input_count, &x->outputs, &x->result, &err) !=
          VYRE_OK) {
    complain_vyre(x, &err);
    goto done;
  }
  good = x->save_folder == NULL || save_all(x, program, kernel, inputs);

done:
  vyre_program_destroy(program);
  vyre_bundle_destroy(bundle);
  free(image);
  return good;
}

const void *example_output(const example *x, uint32_t position, uint64_t size)
{
  if (position >= x->outputs.count || x->outputs.slots[position].size != size) {
    example_complain(x, "output %" PRIu32 " does not have %" PRIu64 " bytes", position, size);
    return NULL;
  }
  /* One of no bytes may have no place. */
  return size == 0 ? "" : x->outputs.slots[position].data;
}

void example_close(example *x)
{
  vyre_outputs_reset(&x->outputs);
  vyre_device_close(x->device);
  vyre_context_destroy(x->context);
}

/* ---- reporting ---- */

void example_json_text(const char *text)
{
  putchar('"');
  for (; *text != '\0'; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '"' || byte == '\\') {
      printf("\\%c", byte);
    } else if (byte < 0x20) {
      printf("\\u%04x", byte);
    } else {
      putchar(byte);
    }
  }
  putchar('"');
}

void example_report(const example *x)
{
  static const char *const converged[] = {"not tested", "yes", "no"};
  static const char *const told[] = {"convergence not tested", "converged", "not converged"};
  const vyre_dispatch_result *r = &x->result;
  const uint32_t how = r->converged <= VYRE_CONVERGED_NO ? r->converged : 0;

  if (!x->json) {
    fprintf(stderr, "%s: %s, route %s: passes %" PRIu32 ", %s, launches %" PRIu64 ", %.3f ms\n",
            x->name, x->info.selector, vyre_route_name(r->route), r->passes, told[how], r->launches,
            (double)r->wall_ns / 1e6);
    return;
  }
  printf("\"device\": ");
  example_json_text(x->info.selector);
  printf(", \"route\": \"%s\", \"passes\": %" PRIu32
         ", \"converged\": \"%s\", \"launches\": %" PRIu64 ", \"wall_ns\": %" PRIu64,
         vyre_route_name(r->route), r->passes, converged[how], r->launches, r->wall_ns);
}
