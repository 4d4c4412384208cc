# make install: header, both libraries, the command, sinter.pc and a relocatable CMake package that
# defines sinter::sinter (shared) and sinter::static.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SINTER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)
configure_package_config_file(cmake/sinterConfig.cmake.in ${CMAKE_BINARY_DIR}/sinterConfig.cmake
    INSTALL_DESTINATION ${SINTER_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sinterConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
# sinter.pc finds its prefix from its own place, so that the installed tree can be moved.
file(RELATIVE_PATH PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/sinter.pc.in ${CMAKE_BINARY_DIR}/sinter.pc @ONLY)

install(TARGETS sinter_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${STATIC_LIB} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/sinter.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/sinter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/sinterConfig.cmake ${CMAKE_BINARY_DIR}/sinterConfigVersion.cmake
    DESTINATION ${SINTER_CMAKE_DIR})
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET sinter)
    install(TARGETS sinter RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
