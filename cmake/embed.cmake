# rehearse_embed(TARGET FUNCTION HEADER [BASE folder] FILES file...) puts files into TARGET, so that an installed program needs no data
# folder. It defines FUNCTION, declared in HEADER as returning std::span<const rehearse::sim::EmbeddedFile>; a file's name
# there is its path from BASE, by default the repository's root. The assembler reads the bytes (.incbin), which costs no compile time.
function(rehearse_embed target function header)
  cmake_parse_arguments(PARSE_ARGV 3 E "" "BASE" "FILES")
  if(NOT E_BASE)
    set(E_BASE "${PROJECT_SOURCE_DIR}")
  endif()
  set(symbols "")
  set(rows "")
  set(paths "")
  list(SORT E_FILES)
  foreach(file IN LISTS E_FILES)
    list(LENGTH paths i)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${E_BASE}" OUTPUT_VARIABLE path)
    list(APPEND paths "${path}")
    set(begin "${target}_embedded_${i}_begin")
    set(end "${target}_embedded_${i}_end")
    string(APPEND symbols
      "asm(R\"(.pushsection .rodata\n.globl ${begin}, ${end}\n.hidden ${begin}, ${end}\n"
      "${begin}: .incbin \"${path}\"\n${end}: .byte 0\n.popsection)\");\n"
      "extern \"C\" const char ${begin}[], ${end}[];\n")
    string(APPEND rows "      {\"${file}\", {${begin}, ${end}}},\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"#include \"@header@\"

@symbols@
std::span<const rehearse::sim::EmbeddedFile> @function@() {
  static const rehearse::sim::EmbeddedFile files[] = {
@rows@  };
  return files;
}
")
  set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${paths}")
  # Its own objects, compiled without ccache, which does not see the bytes that the assembler reads.
  add_library(${target}_embedded OBJECT "${source}")
  target_link_libraries(${target}_embedded PRIVATE rehearse_options)
  set_target_properties(${target}_embedded PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_embedded>)
endfunction()
