#include <stdio.h>
#include <vyre.h>

int main(void)
{
  const char text[] = "VYRE_SEGMENT(square)(vyre_ctx *c, VYRE_INOUT(vyre_u32) n) {\n"
                      "  vyre_u64 i = vyre_global_id(c, 0);\n"
                      "  if (i < vyre_count(c, n)) vyre_at(c, n, i) *= n[i]; }\n";
  uint32_t numbers[1000] = {[999] = 1234};
  vyre_buffer_decl buffer = {sizeof buffer, VYRE_READ_WRITE, "n", 4, 0, 1000, 0, 0};
  vyre_segment_binding binding = {sizeof binding, VYRE_READ_WRITE, "n", 0, 0};
  vyre_segment_decl segment = {sizeof segment, 1, "square", &binding, {0}, {0}, 0};
  vyre_code code = {sizeof code, 0, "vyre-c", NULL, text, sizeof text - 1, "square"};
  vyre_program_desc desc = {sizeof desc, 1, NULL, &buffer, &segment, 1, 1, &code, .iterations = 1};
  vyre_bytes input = {numbers, sizeof numbers};
  vyre_context *context = NULL;
  vyre_device *device = NULL;
  vyre_program *program = NULL;
  vyre_outputs outputs = VYRE_OUTPUTS_INIT;
  vyre_error err = VYRE_ERROR_INIT;
  if (vyre_context_create(NULL, &context, &err) || vyre_device_open(context, NULL, &device, &err) ||
      vyre_program_create(device, &desc, &program, &err) ||
      vyre_dispatch(program, NULL, &input, 1, &outputs, NULL, &err))
    return fprintf(stderr, "%s\n%s\n", err.message, err.fix), 1;
  printf("1234 squared is %u\n", ((uint32_t *)outputs.slots[0].data)[999]);
  vyre_outputs_reset(&outputs);
  vyre_program_destroy(program);
  vyre_device_close(device);
  vyre_context_destroy(context);
}
