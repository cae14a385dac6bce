// Text inside XML.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::report {

/// For an element's content or an attribute in quotes: markup as entities, control characters but the line feed as blanks.
std::string xml_text(std::string_view text);

}  // namespace rehearse::report
