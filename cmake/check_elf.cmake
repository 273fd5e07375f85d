# check_elf - run as a script with READELF, FILE and SYMBOLS: FILE needs libc, libm and libpthread at
# most, and exports only names that match SYMBOLS.

execute_process(COMMAND "${READELF}" -d -W "${FILE}"
  OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${dynamic}")
foreach(entry IN LISTS needed)
  string(REGEX REPLACE ".*: (.*)$" "\\1" library "${entry}")
  string(REGEX REPLACE "^\\[(.*)\\]$" "\\1" library "${library}")
  if(NOT library MATCHES "^(lib(c|m|pthread)\\.so\\.[0-9]+|ld-linux.*)$")
    message(SEND_ERROR "${FILE} needs ${library}; only libc, libm and libpthread are allowed.")
  endif()
endforeach()

execute_process(COMMAND "${READELF}" --dyn-syms -W "${FILE}"
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
# Num: Value Size Type Bind Vis Ndx Name; the names of versions are absolute.
string(REGEX MATCHALL "[^\n]+ (GLOBAL|WEAK|UNIQUE) +DEFAULT +[0-9]+ [^\n]+" defined "${symbols}")
set(count 0)
foreach(line IN LISTS defined)
  string(REGEX REPLACE "^.* +[0-9]+ ([^ @]+).*$" "\\1" symbol "${line}")
  math(EXPR count "${count} + 1")
  if(NOT symbol MATCHES "${SYMBOLS}")
    message(SEND_ERROR "${FILE} exports ${symbol}, which is not for others to see.")
  endif()
endforeach()
if(count EQUAL 0)
  message(SEND_ERROR "${FILE} exports nothing.")
endif()
message(STATUS "${count} exported symbols")
