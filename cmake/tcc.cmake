# Debian's libtcc.a made fit for a library: one object with only the calls of tcc_api.txt visible,
# its outside calls (memory, files, printing, exit, mprotect) turned into functions of
# src/runtime/tcc_host.c, and its variables gathered in two named sections, which jit_tcc.c resets
# before each compile.
find_path(TCC_INCLUDE_DIR libtcc.h REQUIRED)
find_library(TCC_ARCHIVE libtcc.a REQUIRED)

set(TCC_OBJECT ${CMAKE_BINARY_DIR}/gen/tcc.o)
add_custom_command(OUTPUT ${TCC_OBJECT}
    COMMAND ${CMAKE_LINKER} -r --whole-archive ${TCC_ARCHIVE} --no-whole-archive -o ${TCC_OBJECT}
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${PROJECT_SOURCE_DIR}/cmake/tcc_api.txt
        --redefine-syms=${PROJECT_SOURCE_DIR}/cmake/tcc_symbols.txt
        --rename-section .data=tcc_data --rename-section .bss=tcc_bss ${TCC_OBJECT}
    DEPENDS ${TCC_ARCHIVE} ${PROJECT_SOURCE_DIR}/cmake/tcc_symbols.txt
        ${PROJECT_SOURCE_DIR}/cmake/tcc_api.txt VERBATIM)
set_source_files_properties(${TCC_OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
add_custom_target(tcc_object DEPENDS ${TCC_OBJECT})
