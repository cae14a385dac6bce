# The standard headers that nearly every source includes, and {fmt}, are compiled once: a cold build takes a fifth less time.
# Sources still include what they use.
#
# Rooms where no run spends its time (reading scenarios, starting runs, reports, exports, the command line) are built with -O1: a
# third less to compile, and `bench/compare` sees no difference. Headers are compiled for each of the two, as GCC wants them
# compiled as what includes them. At -O1 GCC 12 sees copies beyond the ends of vectors that are none.
file(WRITE ${PROJECT_BINARY_DIR}/common_headers.cpp "")
foreach(headers common_headers common_headers_quickly)
  add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/common_headers.cpp)
  target_link_libraries(${headers} PRIVATE rehearse_options fmt::fmt)
  target_precompile_headers(${headers} PRIVATE <fmt/format.h> <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map>
    <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector>)
endforeach()
set(quickly "$<$<CONFIG:Release>:-O1;-Wno-array-bounds;-Wno-stringop-overread>")
target_compile_options(common_headers_quickly PRIVATE ${quickly})

function(rehearse_compile_quickly target)
  target_compile_options(${target} PRIVATE ${quickly})
  target_precompile_headers(${target} REUSE_FROM common_headers_quickly)
endfunction()
