# embed_script - the build step of vyre_embed_text(): BASE, SYMBOL, INPUTS (separated by `|`).

string(REPLACE "|" ";" inputs "${INPUTS}")
set(hex "")
foreach(file IN LISTS inputs)
  file(READ "${file}" bytes HEX)
  string(APPEND hex "${bytes}")
endforeach()
string(LENGTH "${hex}" length)
math(EXPR size "${length} / 2")

# Lines of 16 bytes, as character constants: 0xc3 would not fit a signed char.
string(REPEAT "[0-9a-f]" 32 row)
string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," body "${hex}")

set(guard "VYRE_EMBED_${SYMBOL}_H")
file(CONFIGURE OUTPUT "${BASE}.h" @ONLY CONTENT [[
/* @SYMBOL@ - generated. */
#ifndef @guard@
#define @guard@

#include <stddef.h>

extern const char @SYMBOL@[];
extern const size_t @SYMBOL@_size;

#endif
]])
# Not through CONFIGURE: the text may hold anything.
file(WRITE "${BASE}.c" "/* ${SYMBOL} - generated. */\n#include \"embed/${SYMBOL}.h\"\n\n"
  "const char ${SYMBOL}[] = {\n${body}'\\0'};\nconst size_t ${SYMBOL}_size = ${size};\n")
