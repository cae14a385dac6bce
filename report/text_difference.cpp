#include "report/text_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// A number begins here, and not within a word, such as the 2 of "p3.2xlarge" or the 18 of "resnet18".
bool begins_number(std::string_view text, std::size_t at) {
  const bool sign = text[at] == '-' && at + 1 < text.size() && is_digit(text[at + 1]);
  return (sign || is_digit(text[at])) && (at == 0 || (!is_of_word(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != '-'));
}

/// The number that begins here; false where it is a part of a word.
bool take_number(std::string_view text, std::size_t& at, double& value) {
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  const auto after = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || (after < text.size() && is_of_word(text[after]))) return false;
  at = after;
  return true;
}

}  // namespace

std::string TextDifference::words() const {
  if (same) return "the same";
  std::string text;
  if (other > 0)
    text = fmt::format("{} of {} numbers differ, by at most {}", sim::grouped(other), sim::grouped(numbers),
                       sim::percent_words(largest_relative));
  if (!same_words) text += fmt::format("{}other text", text.empty() ? "" : "; then ");
  if (text.empty()) return "the same numbers, written differently";
  return fmt::format("{} (first in line {})", text, first_line);
}

TextDifference text_difference(std::string_view a, std::string_view b) {
  TextDifference found;
  found.same = a == b;
  if (found.same) return found;
  std::int64_t line = 1;
  const auto note_line = [&] {
    if (found.first_line == 0) found.first_line = line;
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    double x = 0, y = 0;
    std::size_t after_a = i, after_b = j;
    if (begins_number(a, i) && begins_number(b, j) && take_number(a, after_a, x) && take_number(b, after_b, y)) {
      ++found.numbers;
      if (x != y) {
        ++found.other;
        note_line();
        found.largest_relative = std::max(found.largest_relative, std::abs(x - y) / std::max(std::abs(x), std::abs(y)));
      }
      i = after_a;
      j = after_b;
      continue;
    }
    if (a[i] != b[j]) break;
    line += a[i] == '\n' ? 1 : 0;
    ++i;
    ++j;
  }
  found.same_words = i == a.size() && j == b.size();
  if (!found.same_words) note_line();
  return found;
}

}  // namespace rehearse::report
