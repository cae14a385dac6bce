// A text as a field of a CSV file (RFC 4180): in double quotes where it must be.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::sim {

/// `out` is a std::string or a buffer that grows like one.
template <class Text>
void append_csv_text(Text& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    out.append(text.data(), text.data() + text.size());
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

inline std::string csv_text(std::string_view text) {
  std::string out;
  append_csv_text(out, text);
  return out;
}

}  // namespace rehearse::sim
