// How two texts of results differ: in which numbers, by how much, and from which line on in anything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rehearse::report {

struct TextDifference {
  bool same = true;             ///< byte for byte
  bool same_words = true;       ///< but for numbers
  std::int64_t numbers = 0;     ///< compared
  std::int64_t other = 0;       ///< of these, how many have another value
  double largest_relative = 0;  ///< |a - b| / max(|a|, |b|) of these
  std::int64_t first_line = 0;  ///< of the first difference of either kind, from 1; 0: none

  /// One line: "the same", "3 of 120 numbers differ, by at most 0.21 % (first in line 7)", "other text from line 2 on".
  std::string words() const;
};

/// Numbers are compared where both texts have one in the same place; numbers that are written differently and read back equal do
/// not differ. The first other difference ends the comparison.
TextDifference text_difference(std::string_view a, std::string_view b);

}  // namespace rehearse::report
