#include "sim/base/printable.hpp"

#include <fmt/format.h>

namespace rehearse::sim {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&byte](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0, surrogate = lead == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90, beyond = lead == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == limit) return out + "...";
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    // C1 control characters (U+0080 to U+009F) steer terminals as well as C0 ones do.
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (length == 0 || control)
      out += fmt::format("\\x{:02X}", byte);
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 || control ? 1 : length);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    out += printable(text.substr(0, end), kWholeText) + '\n';
  return out + printable(text, kWholeText);
}

}  // namespace rehearse::sim
