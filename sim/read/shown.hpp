// How the user's own text is quoted back in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rehearse::sim {

/// Length in bytes of the well-formed UTF-8 sequence at the start of `text` (The Unicode Standard, table 3-7), 0 if there is
/// none.
std::size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

/// One line fit for a terminal: control characters and bytes that are not UTF-8 become \xNN; cut to `limit` characters and "...".
std::string printable(std::string_view text, std::size_t limit = 40);

/// printable(), in double quotes.
std::string shown(std::string_view text, std::size_t limit = 40);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

}  // namespace rehearse::sim
