# VyreInstall - headers, the package for find_package(Vyre) and vyre.pc.  Libraries, plugins and
# programs install themselves where they are made.

include(CMakePackageConfigHelpers)

file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.h")
install(FILES ${headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Vyre")
install(EXPORT VyreTargets NAMESPACE vyre:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/VyreConfig.cmake.in "${VYRE_GENERATED_DIR}/VyreConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${VYRE_GENERATED_DIR}/VyreConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${VYRE_GENERATED_DIR}/VyreConfig.cmake" "${VYRE_GENERATED_DIR}/VyreConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/VyreAddProgram.cmake"
  DESTINATION "${package_dir}")

# Relative to the prefix, so that `pkg-config --define-prefix` can move it.
foreach(dir includedir libdir)
  string(TOUPPER "CMAKE_INSTALL_${dir}" variable)
  set(pc_${dir} "${${variable}}")
  if(NOT IS_ABSOLUTE "${pc_${dir}}")
    string(PREPEND pc_${dir} "\${prefix}/")
  endif()
endforeach()
configure_file(cmake/vyre.pc.in "${VYRE_GENERATED_DIR}/vyre.pc" @ONLY)
install(FILES "${VYRE_GENERATED_DIR}/vyre.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
