// What a policy is called where people read it. Files have its own name.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/text.hpp"

namespace rehearse::report {

/// Yardsticks, which measure others and never win, are marked in every table and picture.
inline constexpr std::string_view kYardstickMark = " (yardstick)";

inline std::string shown_name(const std::string& policy, bool is_yardstick) {
  return policy + std::string(is_yardstick ? kYardstickMark : "");
}

/// As a sentence has it.
inline std::string name_for_text(std::string_view policy) { return sim::printable(policy, sim::kWholeText); }

}  // namespace rehearse::report
