# prelude - VYRE_GPU_PRELUDE_CUDA and VYRE_GPU_PRELUDE_HIP: the texts of each vendor's prelude, in
# order, for vyre_embed_text().  Included by whoever makes one.
foreach(vendor cuda hip)
  string(TOUPPER "VYRE_GPU_PRELUDE_${vendor}" list)
  set(${list}
    "${CMAKE_CURRENT_LIST_DIR}/types.h"
    "${CMAKE_CURRENT_LIST_DIR}/${vendor}.h"
    "${CMAKE_CURRENT_LIST_DIR}/../launch_layout.h"
    "${CMAKE_CURRENT_LIST_DIR}/words.h"
    "${CMAKE_CURRENT_LIST_DIR}/entry.h"
    "${PROJECT_SOURCE_DIR}/include/vyre_kernel.h"
    "${CMAKE_CURRENT_LIST_DIR}/author.h")
endforeach()
