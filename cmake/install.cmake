# What `cmake --install` leaves: the program; its libraries and headers with a CMake package, so that others embed the simulator
# (docs/guide/embedding.md); scenarios to start from. `cpack` makes two Debian packages of it, the program's and the libraries'.
include(CMakePackageConfigHelpers)

set(libraries sim workloads policies traces deploy report scenarios experiments)
set(targets rehearse_options rehearse_onnx rehearse_partitioners rehearse_pagmo)
foreach(library IN LISTS libraries)
  list(APPEND targets rehearse_${library})
  set_target_properties(rehearse_${library} PROPERTIES EXPORT_NAME ${library})
  install(DIRECTORY ${library} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rehearse COMPONENT development
    FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(TARGETS rehearse COMPONENT program)
install(TARGETS ${targets} EXPORT rehearse COMPONENT development)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rehearse)
install(EXPORT rehearse NAMESPACE rehearse:: DESTINATION ${package} FILE rehearse-targets.cmake COMPONENT development)
configure_package_config_file(cmake/rehearse-config.cmake.in ${PROJECT_BINARY_DIR}/rehearse-config.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rehearse-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rehearse-config.cmake ${PROJECT_BINARY_DIR}/rehearse-config-version.cmake
  DESTINATION ${package} COMPONENT development)
install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/scenarios COMPONENT program
  FILES_MATCHING PATTERN "*.json" PATTERN "*.csv" PATTERN "studies" EXCLUDE PATTERN "regression" EXCLUDE)
install(DIRECTORY python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/rehearse/python COMPONENT program FILES_MATCHING PATTERN "*.py")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rehearse)
set(CPACK_PACKAGE_CONTACT "Rehearse <rehearse@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Discrete-event simulator of CPU/GPU training clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME rehearse)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "replays training jobs on modelled clusters under resource policies")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librehearse-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "libraries, headers and CMake package of Rehearse")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libsimgrid-dev, libfmt-dev, libeigen3-dev, nlohmann-json3-dev, zlib1g-dev, liblzma-dev, libmd-dev, libyaml-dev, libmetis-dev, libscotch-dev, coinor-libclp-dev, libpagmo-dev, libboost-serialization-dev, libtbb-dev, libsqlite3-dev, libsqlitecpp-dev, libonnx-dev, libprotobuf-dev")
include(CPack)
