// How a failed row says that it failed by a bug of the program, not by its policy.
#pragma once

#include <string_view>

namespace rehearse::scenarios {

inline constexpr std::string_view kOurBug = "a bug of rehearse, please report it: ";

inline bool names_our_bug(std::string_view reason) { return reason.find(kOurBug) != std::string_view::npos; }

}  // namespace rehearse::scenarios
