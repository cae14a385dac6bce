# The standard headers that nearly every source includes, and {fmt}, are compiled once: a cold build takes a fifth less time.
# Sources still include what they use.
#
# Rooms where no run spends its time (reading scenarios, starting runs, reports, exports, the command line) are built with -O1: a
# third less to compile, and `bench/compare` sees no difference. Headers are compiled for each of the two, as GCC wants them
# compiled as what includes them. At -O1 GCC 12 sees copies beyond the ends of vectors that are none. Under the sanitizers, where
# optimising is most of the compiler's time, these rooms are not optimised: half as long to compile.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/common_headers.cpp CONTENT "")  # written only where it is not there
foreach(headers common_headers common_headers_quickly)
  add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/common_headers.cpp)
  target_link_libraries(${headers} PRIVATE rehearse_options fmt::fmt)
  target_precompile_headers(${headers} PRIVATE <fmt/format.h> <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map>
    <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector>)
endforeach()
set(quickly "$<$<CONFIG:Release>:-O1;-Wno-array-bounds;-Wno-stringop-overread>" "$<$<BOOL:${REHEARSE_SANITIZE}>:-O0;${sanitize_by_calls}>")
target_compile_options(common_headers_quickly PRIVATE ${quickly})

function(rehearse_compile_quickly target)
  target_compile_options(${target} PRIVATE ${quickly})
  target_precompile_headers(${target} REUSE_FROM common_headers_quickly)
endfunction()

# rehearse_rooms_quickly(TARGET folder...): only these folders of a library. Call it after the library's sources and what it links are
# named, before rehearse_unity.
function(rehearse_rooms_quickly target)
  get_target_property(sources ${target} SOURCES)
  list(JOIN ARGN "|" rooms)
  set(quick ${sources})
  list(FILTER quick INCLUDE REGEX "^(${rooms})/")
  list(FILTER sources EXCLUDE REGEX "^(${rooms})/")
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  add_library(${target}_quickly OBJECT ${quick})
  target_link_libraries(${target}_quickly PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  rehearse_compile_quickly(${target}_quickly)
  rehearse_unity(${target}_quickly SIZE 24)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_quickly>)
endfunction()
