# VyreTargets - the functions that the CMakeLists.txt files of the tree are written in.

# vyre__absolute(OUT_VAR FILE...) - absolute paths of the files; objects of a target stay as they are.
function(vyre__absolute out_var)
  set(paths)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "^\\$<TARGET_OBJECTS:")
      list(APPEND paths "${file}")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND paths "${file}")
  endforeach()
  set(${out_var} "${paths}" PARENT_SCOPE)
endfunction()

# vyre_core_sources(FILE...) - adds sources to libvyre in all its forms.
function(vyre_core_sources)
  vyre__absolute(paths ${ARGN})
  target_sources(vyre_objects PRIVATE ${paths})
  target_sources(vyre_test PRIVATE ${paths})
endfunction()

# vyre__common(TARGET) - include paths and order of build that every target of ours has.  Internal
# headers are included by their path from the root of the source: "core/base/alloc.h".
function(vyre__common target)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}" "${VYRE_GENERATED_DIR}")
  add_dependencies(${target} vyre_generated)
endfunction()

# vyre__seal(TARGET MAP) - links a shared object that exports what MAP says, leaves nothing
# undefined, and is read-only after relocation.
function(vyre__seal target map)
  target_link_options(${target} PRIVATE
    "LINKER:--version-script=${map}" "LINKER:-z,relro" "LINKER:-z,now")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
  if(NOT VYRE_SANITIZE) # clang leaves the sanitizer's symbols to the program
    target_link_options(${target} PRIVATE "LINKER:--no-undefined")
  endif()
endfunction()

# vyre__check_elf(TARGET SYMBOLS) - a test that the shared object needs nothing but libc, libm and
# libpthread and exports nothing that does not match the regular expression SYMBOLS.
function(vyre__check_elf target symbols)
  if(NOT VYRE_BUILD_TESTS OR VYRE_SANITIZE)
    return()
  endif()
  find_program(VYRE_READELF NAMES "${CMAKE_READELF}" readelf REQUIRED)
  add_test(NAME elf_${target}
    COMMAND "${CMAKE_COMMAND}" "-DREADELF=${VYRE_READELF}" "-DFILE=$<TARGET_FILE:${target}>"
      "-DSYMBOLS=${symbols}" -P "${PROJECT_SOURCE_DIR}/cmake/check_elf.cmake")
  set_tests_properties(elf_${target} PROPERTIES TIMEOUT 30)
endfunction()

# vyre_plugin(NAME SOURCES FILE... [LINK LIB...] [DEFINES DEF...]) - a backend, installed:
# target vyre_plugin_NAME, file lib/vyre/libvyre_NAME.so.  What it uses of plugins/common goes in.
function(vyre_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINES")
  set(target vyre_plugin_${name})
  vyre__absolute(paths ${arg_SOURCES})
  add_library(${target} MODULE ${paths})
  vyre__common(${target})
  vyre__seal(${target} "${PROJECT_SOURCE_DIR}/plugins/plugin.map")
  target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} vyre_plugin_common)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME vyre_${name} PREFIX lib LIBRARY_OUTPUT_DIRECTORY "${VYRE_LIB_DIR}/vyre")
  add_dependencies(runtime ${target})
  vyre__check_elf(${target} "^vyre_backend_query$")
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/vyre")
endfunction()

# vyre_test_plugin(NAME SOURCES FILE... [DEFINES DEF...] [OPTIONS FLAG...] [LINK_OPTIONS FLAG...]
#                  [LINK LIB...] [NO_MAP]) - a plugin for tests, where no search path looks:
# target vyre_test_plugin_NAME, file lib/vyre-test/libvyre_NAME.so.  NO_MAP leaves its symbols as
# the compiler made them.
function(vyre_test_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MAP" "" "SOURCES;DEFINES;OPTIONS;LINK_OPTIONS;LINK")
  set(target vyre_test_plugin_${name})
  vyre__absolute(paths ${arg_SOURCES})
  add_library(${target} MODULE ${paths})
  vyre__common(${target})
  if(NOT arg_NO_MAP)
    vyre__seal(${target} "${PROJECT_SOURCE_DIR}/plugins/plugin.map")
  endif()
  target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  target_link_options(${target} PRIVATE ${arg_LINK_OPTIONS})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME vyre_${name} PREFIX lib LIBRARY_OUTPUT_DIRECTORY "${VYRE_LIB_DIR}/vyre-test")
  add_dependencies(vyre_test_plugins ${target})
endfunction()

# vyre_program(NAME SOURCES FILE... [LINK LIB...] [DEFINES DEF...] [INSTALL] [PUBLIC_ONLY])
# - a program in bin/, linked to the shared libvyre.  PUBLIC_ONLY: it sees include/ and nothing
# else of the tree, as somebody else's program would.
function(vyre_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALL;PUBLIC_ONLY" "" "SOURCES;LINK;DEFINES")
  vyre__absolute(paths ${arg_SOURCES})
  add_executable(${name} ${paths})
  if(NOT arg_PUBLIC_ONLY)
    vyre__common(${name})
  endif()
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  target_link_libraries(${name} PRIVATE vyre::vyre ${arg_LINK})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${VYRE_BIN_DIR}" INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  if(arg_INSTALL)
    add_dependencies(runtime ${name})
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endfunction()

# vyre__test_properties(NAME TIMEOUT LABELS SERIAL) - what every ctest entry of ours has.
function(vyre__test_properties name timeout labels serial)
  if(NOT timeout)
    set(timeout 60)
  endif()
  if(VYRE_SANITIZE STREQUAL "asan")
    math(EXPR timeout "${timeout} * 4")
  elseif(VYRE_SANITIZE STREQUAL "tsan")
    math(EXPR timeout "${timeout} * 8")
  endif()
  # Who may take long begins early, so that none runs alone at the end.
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} COST ${timeout} LABELS "${labels}" RUN_SERIAL "${serial}" SKIP_RETURN_CODE 77
    ENVIRONMENT "${VYRE_TEST_ENVIRONMENT}")
endfunction()

# vyre__see_tests(TARGET [DEF...]) - how the sources of tests are compiled.
function(vyre__see_tests target)
  vyre__common(${target})
  target_compile_definitions(${target} PRIVATE
    VYRE_TESTING=1 VYRE_HOOKS=1
    "VYRE_TEST_PLUGIN_DIR=\"${VYRE_LIB_DIR}/vyre-test\""
    "VYRE_TEST_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\""
    "VYRE_TEST_BINARY_DIR=\"${PROJECT_BINARY_DIR}\""
    ${ARGN})
endfunction()

# vyre_test_library(NAME SOURCES FILE... [LINK LIB...] [DEFINES DEF...]) - what several tests share,
# compiled once: NAME is for their LINK.
function(vyre_test_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;DEFINES")
  vyre__absolute(paths ${arg_SOURCES})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${paths})
  vyre__see_tests(${name} ${arg_DEFINES})
  target_link_libraries(${name} PUBLIC ${arg_LINK} vyre_test PkgConfig::VYRE_CMOCKA)
endfunction()

# vyre_test(NAME SOURCES FILE... [LABELS LABEL...] [TIMEOUT SECONDS] [LINK LIB...]
#           [DEFINES DEF...] [ARGS ARG...] [PLUGINS TARGET...] [SERIAL])
# - one cmocka program, test-bin/NAME, linked to the static libvyre with all test hooks
# (VYRE_TESTING=1), and its ctest entry NAME.  ../lib/vyre from there is where the plugins are.
# LABELS threads: it also runs under TSan for every commit.  LABELS full: under ASan it only runs by
# scripts/test --full; release builds run it always.  The limit is for a release build; a sanitizer
# build gets a multiple of it.
function(vyre_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT"
    "SOURCES;LABELS;LINK;DEFINES;ARGS;PLUGINS")
  vyre__absolute(paths ${arg_SOURCES})
  set(target test_${name})
  add_executable(${target} ${paths})
  vyre__see_tests(${target} ${arg_DEFINES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} vyre_test PkgConfig::VYRE_CMOCKA)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")
  add_dependencies(${target} vyre_test_plugins runtime)
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(threads_tests ${target})
  endif()
  foreach(plugin IN LISTS arg_PLUGINS)
    add_dependencies(${target} ${plugin})
  endforeach()
  add_test(NAME ${name} COMMAND ${target} ${arg_ARGS})
  vyre__test_properties(${name} "${arg_TIMEOUT}" "${arg_LABELS}" "${arg_SERIAL}")
endfunction()

# vyre_test_command(NAME COMMAND ARG... [LABELS LABEL...] [TIMEOUT SECONDS] [SERIAL]) - a ctest
# entry that runs a command line; `$<TARGET_FILE:vyre>` names a program of the build.
function(vyre_test_command name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "COMMAND;LABELS")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  vyre__test_properties(${name} "${arg_TIMEOUT}" "${arg_LABELS}" "${arg_SERIAL}")
endfunction()
