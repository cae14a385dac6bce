// Which release of the program this is: it stands in all that the program leaves behind.
#pragma once

#include <string_view>

namespace rehearse::sim {

/// "MAJOR.MINOR.PATCH", of CMakeLists.txt.
std::string_view program_version();

/// Of files of before the version stood in them.
inline constexpr std::string_view kFirstVersion = "0.1.0";

}  // namespace rehearse::sim
