// How the user's own text is quoted back in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/base/printable.hpp"

namespace rehearse::sim {

bool is_utf8(std::string_view text);

/// printable(), in double quotes.
std::string shown(std::string_view text, std::size_t limit = 40);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

}  // namespace rehearse::sim
