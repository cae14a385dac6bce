// What a policy is called where people read it. Files have its own name.
#pragma once

#include <string>

namespace rehearse::report {

/// Yardsticks, which measure others and never win, are marked in every table and picture.
inline std::string shown_name(const std::string& policy, bool is_yardstick) {
  return policy + (is_yardstick ? " (yardstick)" : "");
}

}  // namespace rehearse::report
