// Text of the user's: what a mistaken name was meant to be, and what is fit for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rehearse::sim {

// Finding the valid name that a mistaken one was probably meant to be.

/// The candidate with the smallest edit distance (insert, delete, replace, swap neighbours; letter case ignored), or empty when
/// none is near: a distance of at most 1 + a third of the name's length. Ties go to the earlier candidate.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// Text of the user's, fit for a terminal: names can hold escape sequences, which must not steer it.

/// Length in bytes of the well-formed UTF-8 sequence at the start of `text` (The Unicode Standard, table 3-7), 0 if there is
/// none.
std::size_t utf8_length(std::string_view text);

inline constexpr std::size_t kWholeText = static_cast<std::size_t>(-1);

/// One line fit for a terminal: control characters and bytes that are not UTF-8 become \xNN; cut to `limit` characters and "...".
std::string printable(std::string_view text, std::size_t limit = 40);

/// All of a text whose line ends are our own: they stay, each line is printable.
std::string printable_lines(std::string_view text);

}  // namespace rehearse::sim
