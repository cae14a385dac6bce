// Texts for people: numbers as they read them, what a mistaken name was meant to be, and what is fit for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rehearse::sim {

// Numbers as people read them, in one place: on the terminal, in messages and notes. Files keep all digits.

/// "133", "4,970", "-12,000".
std::string grouped(std::int64_t number);

/// A number with so many digits that count, never fewer than all before the point: "133", "0.0643", "2.5", "12,346". From 10,000
/// on in groups of three; an exponent only below 0.0001 and from 1e15 on. "-" when it is not finite.
std::string figure(double number, int digits = 3);

/// "1 job", "4,970 jobs", "2.5 jobs"; `many` where it is not `one` and an s.
std::string counted(double number, std::string_view one, std::string_view many = {});

/// A fraction: "64 %", "6.4 %", "0.31 %"; "99.7 %", as only all of them are "100 %". "-" when it is not finite.
std::string percent_words(double fraction);

/// "0.4 s", "45 s", "3.5 min", "1.2 h", "4.1 d". "-" when it is not finite.
std::string time_words(double seconds);

/// "12.40 $", "0.0312 $", "1,204 $". "-" when it is not finite.
std::string money_words(double usd);

// Text of the user's: what a mistaken name was meant to be, and what is fit for a terminal.

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
