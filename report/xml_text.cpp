#include "report/xml_text.hpp"

namespace rehearse::report {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;  // XML 1.0 has hardly any control characters
    }
  }
  return out;
}

}  // namespace rehearse::report
