// Numbers as people read them, in one place: on the terminal, in messages and notes. Files keep all digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rehearse::sim {

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

}  // namespace rehearse::sim
