# VyreFlags - how every file of the project is compiled.  Directory-wide on purpose: nothing of it
# leaks to those who link to vyre::vyre.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wvla
  "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>")
if(VYRE_WERROR)
  add_compile_options(-Werror)
endif()

set(vyre_asan_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
set(vyre_tsan_flags -fsanitize=thread)
# Traces need lines of source and nothing else of what -g keeps, which takes long to write.
if(VYRE_SANITIZE)
  add_compile_options(${vyre_${VYRE_SANITIZE}_flags} -fno-omit-frame-pointer -g1)
  add_link_options(${vyre_${VYRE_SANITIZE}_flags})
endif()

# For every test that ctest runs.
set(VYRE_TEST_ENVIRONMENT
  "ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1"
  "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1"
  "VYRE_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache"
  # Only the tests of the opencl plugin look at the machine's OpenCL: a runtime brings a compiler and
  # threads into the process, which the others and the sanitizers have no use for.
  "VYRE_OPENCL_LIBRARY=${PROJECT_BINARY_DIR}/lib/vyre-test/opencl/none/libOpenCL.so.1")
