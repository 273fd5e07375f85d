# Other people's queues for `vyre bench ring`.
enable_language(CXX)
find_package(PkgConfig REQUIRED)
set(cure "Debian: apt-get install g++ libck-dev libdpdk-dev libboost-dev; scripts/bench-ring does it.")
foreach(module ck libdpdk)
  pkg_check_modules(peer_${module} QUIET ${module})
  if(NOT peer_${module}_FOUND)
    message(FATAL_ERROR "VYRE_BENCH_PEERS is on, but pkg-config does not find ${module}. ${cure}")
  endif()
endforeach()
find_path(VYRE_BOOST_INCLUDE boost/lockfree/queue.hpp)
if(NOT VYRE_BOOST_INCLUDE)
  message(FATAL_ERROR "VYRE_BENCH_PEERS is on, but boost/lockfree is not found. ${cure}")
endif()

add_library(vyre_bench_peers MODULE peers.c ck.c rte.c boost.cc)
vyre__common(vyre_bench_peers)
target_include_directories(vyre_bench_peers SYSTEM PRIVATE
  ${peer_ck_INCLUDE_DIRS} ${peer_libdpdk_INCLUDE_DIRS} "${VYRE_BOOST_INCLUDE}")
# Each is compiled as its own package says; of DPDK only the ring is linked.
set_source_files_properties(ck.c PROPERTIES
  COMPILE_OPTIONS "${peer_ck_CFLAGS_OTHER}"
  COMPILE_DEFINITIONS "BENCH_CK_VERSION=\"ck ${peer_ck_VERSION}\"")
set_source_files_properties(rte.c PROPERTIES COMPILE_OPTIONS "${peer_libdpdk_CFLAGS_OTHER}")
target_link_directories(vyre_bench_peers PRIVATE ${peer_libdpdk_LIBRARY_DIRS})
target_link_libraries(vyre_bench_peers PRIVATE rte_ring)
set_target_properties(vyre_bench_peers PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${VYRE_LIB_DIR}/vyre-bench")
