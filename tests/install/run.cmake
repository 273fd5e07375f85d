# run - installs BUILD under WORK, builds CONSUMER against it in both ways, and runs what came out.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT
    RESULT_VARIABLE result OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
  message(STATUS "${output}")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed with ${result}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# An old tree must not help: a file that is no longer installed would still be found.
file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")

run("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_C_COMPILER=${COMPILER}" "-DCMAKE_C_FLAGS=${FLAGS}"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DVYRE_WANTED=${VERSION}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
foreach(program application application_static)
  run("${WORK}/build/${program}")
  if(NOT output MATCHES "^vyre ${VERSION}")
    message(FATAL_ERROR "${program} says '${output}', not version ${VERSION}.")
  endif()
endforeach()

# The file vyre.pc names the configured prefix: pkg-config moves it to where it lies.
find_program(pkg_config pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} "${WORK}/prefix/${LIBDIR}/pkgconfig")
run("${pkg_config}" --define-prefix --cflags --libs vyre)
separate_arguments(pc UNIX_COMMAND "${output}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run("${COMPILER}" -std=c11 ${flags} "${CONSUMER}/application.c" -o "${WORK}/application_pc" ${pc}
  "-Wl,-rpath,${WORK}/prefix/${LIBDIR}")
run("${WORK}/application_pc")

if(EXISTS "${WORK}/prefix/${BINDIR}/vyre")
  run("${WORK}/prefix/${BINDIR}/vyre" --version)
  file(WRITE "${WORK}/two" "2222")
  run("${WORK}/prefix/${BINDIR}/vyre" run "${WORK}/build/square.vyreb"
    --in "numbers=${WORK}/two" --out "numbers=${WORK}/four" --device cpu)
  file(READ "${WORK}/four" four HEX)
  if(NOT four STREQUAL "c4c4c4c4") # 0x32 * 0x32, four times
    message(FATAL_ERROR "the bundle made ${four}")
  endif()
endif()

# A vendor who has the installed files and nothing else.
run("${CMAKE_COMMAND}" -S "${WORK}/prefix/${DATADIR}/vyre/plugin-template" -B "${WORK}/template"
  -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${COMPILER}"
  "-DCMAKE_C_FLAGS=${FLAGS} -Wall -Wextra -Wpedantic -Werror"
  "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
run("${CMAKE_COMMAND}" --build "${WORK}/template")
if(EXISTS "${WORK}/prefix/${BINDIR}/vyre")
  set(ENV{VYRE_PLUGIN_PATH} "${WORK}/template")
  run("${WORK}/prefix/${BINDIR}/vyre" devices)
  if(NOT output MATCHES "template:0")
    message(FATAL_ERROR "vyre devices does not list the plugin")
  endif()
endif()
# The template tells sanitizers nothing of its fibers: under them it is only built and listed.
if(NOT FLAGS AND EXISTS "${WORK}/prefix/${BINDIR}/vyre-conform")
  run("${WORK}/prefix/${BINDIR}/vyre-conform" "${WORK}/template/libvyre_template.so"
    --certificate "${WORK}/template/certificate.json" --quiet -j 2)
  run("${WORK}/prefix/${BINDIR}/vyre-conform" verify "${WORK}/template/certificate.json"
    "${WORK}/template/libvyre_template.so")
endif()
