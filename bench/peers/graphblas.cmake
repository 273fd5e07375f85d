# The breadth-first search of SuiteSparse:GraphBLAS for `vyre bench gridsync`.
find_path(VYRE_GRAPHBLAS_INCLUDE GraphBLAS.h PATH_SUFFIXES suitesparse)
find_library(VYRE_GRAPHBLAS_LIBRARY graphblas)
if(NOT VYRE_GRAPHBLAS_INCLUDE OR NOT VYRE_GRAPHBLAS_LIBRARY)
  message(FATAL_ERROR "VYRE_BENCH_GRAPHBLAS is on, but GraphBLAS is not found. "
    "Debian: apt-get install libgraphblas-dev; scripts/bench-gridsync does it.")
endif()

add_library(vyre_bench_graphs MODULE graphblas.c)
vyre__common(vyre_bench_graphs)
target_include_directories(vyre_bench_graphs SYSTEM PRIVATE "${VYRE_GRAPHBLAS_INCLUDE}")
# Its threads sleep in the module's own libraries when it is closed: they stay.
target_link_options(vyre_bench_graphs PRIVATE "LINKER:-z,nodelete")
target_link_libraries(vyre_bench_graphs PRIVATE "${VYRE_GRAPHBLAS_LIBRARY}")
set_target_properties(vyre_bench_graphs PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${VYRE_LIB_DIR}/vyre-bench")
