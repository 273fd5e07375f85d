# VyreOptions - what a user of the build may choose, and the packages that the choices need.

set(VYRE_SANITIZE "" CACHE STRING "Build with sanitizers: empty, asan (with UBSan and LSan) or tsan")
set_property(CACHE VYRE_SANITIZE PROPERTY STRINGS "" asan tsan)
if(NOT VYRE_SANITIZE MATCHES "^(|asan|tsan)$")
  message(FATAL_ERROR "VYRE_SANITIZE is '${VYRE_SANITIZE}'. Use asan, tsan, or leave it empty.")
endif()

option(VYRE_HOOKS "Compile the test hooks into libvyre itself" OFF)
option(VYRE_WERROR "Treat warnings as errors" "${PROJECT_IS_TOP_LEVEL}")

option(VYRE_PORTABLE
  "Link jansson and libmd into the programs, for machines that do not have them" OFF)

option(VYRE_BARE_TESTS
  "Build the target device_tests with a header of our own in the place of cmocka's" OFF)

find_package(Threads REQUIRED)
find_package(PkgConfig)

# vyre__optional_part(OPTION MODULE TARGET HELP CURE) - an option that is on by default if the
# pkg-config module is there, and an error with its cure if somebody asks for it in vain.
macro(vyre__optional_part option module target help cure)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL ${module})
  endif()
  if(NOT DEFINED ${option})
    if(${target}_FOUND AND PROJECT_IS_TOP_LEVEL)
      set(${option} ON CACHE BOOL "${help}")
    else()
      # Not cached: the part comes by itself once the package is installed.
      set(${option} OFF)
      message(STATUS "${option} is off: ${cure}")
    endif()
  elseif(${option} AND NOT ${target}_FOUND)
    message(FATAL_ERROR "${option} is on, but pkg-config does not find ${module}. ${cure}")
  endif()
endmacro()

if(VYRE_BARE_TESTS)
  set(VYRE_BUILD_TESTS ON)
  add_library(vyre_bare_cmocka INTERFACE)
  target_include_directories(vyre_bare_cmocka INTERFACE "${PROJECT_SOURCE_DIR}/tests/bare")
  add_library(PkgConfig::VYRE_CMOCKA ALIAS vyre_bare_cmocka)
else()
  vyre__optional_part(VYRE_BUILD_TESTS cmocka VYRE_CMOCKA "Build the tests"
    "Install cmocka (Debian: apt-get install pkg-config libcmocka-dev) to build the tests.")
endif()
set(vyre__suffixes "${CMAKE_FIND_LIBRARY_SUFFIXES}")
if(VYRE_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
vyre__optional_part(VYRE_BUILD_TOOLS jansson VYRE_JANSSON "Build the command vyre"
  "Install jansson (Debian: apt-get install pkg-config libjansson-dev) to build the tools.")
vyre__optional_part(VYRE_BUILD_CONFORMANCE libmd VYRE_LIBMD "Build the command vyre-conform"
  "Install libmd (Debian: apt-get install pkg-config libmd-dev) to build the conformance suite.")
set(CMAKE_FIND_LIBRARY_SUFFIXES "${vyre__suffixes}")
if(VYRE_BUILD_CONFORMANCE AND NOT VYRE_JANSSON_FOUND)
  message(FATAL_ERROR "VYRE_BUILD_CONFORMANCE needs jansson too. Install libjansson-dev.")
endif()
