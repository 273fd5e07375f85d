# embed - text files as C arrays, made at build time by CMake alone.
#
# vyre_embed_text(OUT_VAR SYMBOL FILE...) sets OUT_VAR to a C file that defines
#
#     const char SYMBOL[];        the files one after the other, and a NUL that is not counted
#     const size_t SYMBOL_size;
#
# and makes the header "embed/SYMBOL.h" that declares them.  OUT_VAR goes to the sources of a target
# of ours (vyre_core_sources, vyre_plugin, vyre_program, vyre_test).
set(VYRE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_script.cmake")

function(vyre_embed_text out_var symbol)
  set(inputs)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND inputs "${file}")
  endforeach()
  set(base "${VYRE_GENERATED_DIR}/embed/${symbol}")
  # A semicolon would end the argument: the script takes the list with another separator.
  string(REPLACE ";" "|" joined "${inputs}")
  add_custom_command(OUTPUT "${base}.c" "${base}.h"
    COMMAND "${CMAKE_COMMAND}" "-DBASE=${base}" "-DSYMBOL=${symbol}" "-DINPUTS=${joined}"
      -P "${VYRE_EMBED_SCRIPT}"
    DEPENDS ${inputs} "${VYRE_EMBED_SCRIPT}"
    COMMENT "Embedding ${symbol}"
    VERBATIM)
  add_custom_target(vyre_embed_${symbol} DEPENDS "${base}.c" "${base}.h")
  add_dependencies(vyre_generated vyre_embed_${symbol})
  set_source_files_properties("${base}.c" PROPERTIES GENERATED TRUE)
  set(${out_var} "${base}.c" PARENT_SCOPE)
endfunction()
