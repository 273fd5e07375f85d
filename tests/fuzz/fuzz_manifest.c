/*
 * A manifest's text (tools/manifest.h), and the rules of programs on what it says: a manifest that
 * is read may be refused by the library, it may not hurt it.
 */
#include "core/program/program.h"
#include "tests/fuzz/fuzz.h"
#include "tools/cli.h"
#include "tools/manifest.h"

const char *cli_name = "fuzz"; /* of the program, in messages */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  fuzz_input in = {data, size};
  fuzz_pool pool = {.count = 0};
  manifest m;
  vyre_error err = VYRE_ERROR_INIT;
  size_t length = 0;
  const char *text = fuzz_rest(&in, &pool, &length);
  vyre_status status;
  memset(&m, 0, sizeof m);
  status = manifest_parse("fuzz.json", text, length, &m, &err);
  fuzz_check_error(status, &err);
  if (status == VYRE_OK && m.is_program) {
    vyre_error why = VYRE_ERROR_INIT;
    fuzz_check_error(vyre__program_validate(&m.program, NULL, &why), &why);
  } else if (status == VYRE_OK) {
    for (uint32_t i = 0; i < m.handlers.handler_count; ++i)
      FUZZ_REQUIRE(m.handlers.handlers[i].name && m.handlers.handlers[i].name[0]);
  }
  manifest_close(&m);
  fuzz_free(&pool);
  return 0;
}
