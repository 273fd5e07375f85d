# VyreAddProgram - kernels compiled ahead of time in a build.  Works in vyre's own build and from an
# installed package.
#
# vyre_add_program(NAME target MANIFEST manifest.json [OUTPUT file.vyreb] [TARGETS target...]
#                  [DEPENDS file...])
#
# makes the target NAME, part of `all`, that runs `vyre compile` whenever the manifest, its kernel or
# the command changes.  OUTPUT is NAME.vyreb in the current binary folder if it is not given, TARGETS
# are those of `vyre compile --target`, cpu if none is given.  The target's property VYRE_BUNDLE is
# the path of the bundle.  DEPENDS: further files that the kernel includes.

function(vyre_add_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;MANIFEST;OUTPUT" "TARGETS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vyre_add_program: unknown arguments '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_NAME OR NOT arg_MANIFEST)
    message(FATAL_ERROR "vyre_add_program: give NAME and MANIFEST")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.vyreb")
  endif()
  if(NOT arg_TARGETS)
    set(arg_TARGETS cpu)
  endif()
  cmake_path(ABSOLUTE_PATH arg_MANIFEST BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  cmake_path(ABSOLUTE_PATH arg_OUTPUT BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)

  # The kernel is named in the manifest; a change of the manifest may name another one.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${arg_MANIFEST}")
  file(READ "${arg_MANIFEST}" manifest)
  string(JSON kernel ERROR_VARIABLE problem GET "${manifest}" kernel)
  if(problem)
    message(FATAL_ERROR "vyre_add_program: ${arg_MANIFEST}: ${problem}")
  endif()
  cmake_path(GET arg_MANIFEST PARENT_PATH folder)
  cmake_path(ABSOLUTE_PATH kernel BASE_DIRECTORY "${folder}" NORMALIZE)

  # In vyre's own build: the command, and the plugins that do the work beside the library.
  if(TARGET vyre)
    set(command "$<TARGET_FILE:vyre>")
    set(tools vyre)
    foreach(target IN LISTS arg_TARGETS)
      if(TARGET vyre_plugin_${target})
        list(APPEND tools vyre_plugin_${target})
      endif()
    endforeach()
    if(TARGET vyre_plugin_cpu)
      list(APPEND tools vyre_plugin_cpu)
    endif()
  else()
    find_program(VYRE_COMMAND vyre HINTS "${VYRE_PROGRAM_DIR}")
    if(NOT VYRE_COMMAND)
      message(FATAL_ERROR "vyre_add_program: the command vyre is not found. Build vyre with "
        "VYRE_BUILD_TOOLS=ON, or set VYRE_COMMAND to its path.")
    endif()
    set(command "${VYRE_COMMAND}")
    set(tools "${VYRE_COMMAND}")
  endif()

  set(options)
  foreach(target IN LISTS arg_TARGETS)
    list(APPEND options --target "${target}")
  endforeach()
  cmake_path(GET arg_OUTPUT PARENT_PATH output_folder)
  file(MAKE_DIRECTORY "${output_folder}")
  add_custom_command(OUTPUT "${arg_OUTPUT}"
    COMMAND "${command}" compile "${arg_MANIFEST}" -o "${arg_OUTPUT}" ${options}
    DEPENDS "${arg_MANIFEST}" "${kernel}" ${arg_DEPENDS} ${tools}
    COMMENT "Compiling the program ${arg_NAME}"
    VERBATIM)
  add_custom_target(${arg_NAME} ALL DEPENDS "${arg_OUTPUT}")
  set_target_properties(${arg_NAME} PROPERTIES VYRE_BUNDLE "${arg_OUTPUT}")
endfunction()
