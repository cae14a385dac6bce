#include "deploy/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::traces {

namespace {

std::string quoted(std::string_view text, Language language) {
  switch (language) {
    case Language::python:
      return python_string(text);
    case Language::shell:
      return shell_word(text);
    case Language::yaml:
      return yaml_string(text);
    case Language::dockerfile:
      return dockerfile_string(text);
    case Language::markdown:
      break;
  }
  sim::fail_check("a text in a language without strings");
}

/// What stands before `end` on its line.
std::string_view line_until(std::string_view text, std::size_t end) {
  const std::size_t begin = text.rfind('\n', end);
  return begin == std::string_view::npos ? text.substr(0, end) : text.substr(begin + 1, end - begin - 1);
}

}  // namespace

void Slots::token(std::string name, std::string value) {
  sim::check(is_plain_token(value), "a token that needs quotes");
  values_[std::move(name)] = {Kind::token, std::move(value)};
}

void Slots::number(std::string name, double value) {
  sim::check(std::isfinite(value), "a number that no language writes");
  const bool whole = std::floor(value) == value && std::abs(value) < 1e15;  // shells know no 1e+06
  token(std::move(name), whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value));
}

std::string filled(std::string_view text, Language language, const Slots& slots) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find("{{", at), close = open == text.npos ? open : text.find("}}", open);
    out += text.substr(at, open - at);
    if (open == text.npos) break;
    sim::check(close != text.npos, "a slot that does not end");
    const auto found = slots.values_.find(std::string(text.substr(open + 2, close - open - 2)));
    sim::check(found != slots.values_.end(), "a slot without a value");
    const auto& [kind, value] = found->second;
    if (kind == Slots::Kind::text) {
      sim::check(line_until(text, open).find('#') == std::string_view::npos, "a text in a comment");
      out += quoted(value, language);
    } else {
      out += value;
    }
    at = close + 2;
  }
  return out;
}

namespace {

constexpr std::uint32_t kReplacement = 0xfffd;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// The code point that begins a text, and removes it; U+FFFD and one byte where there is none.
std::uint32_t take_code_point(std::string_view& text) {
  constexpr std::uint8_t kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};  // of a code point of so many bytes
  const std::size_t length = sim::utf8_length(text);
  std::uint32_t point = length == 0 ? kReplacement : static_cast<std::uint8_t>(text[0]) & kLeadBits[length];
  for (std::size_t i = 1; i < length; ++i) point = point << 6 | (static_cast<std::uint8_t>(text[i]) & 0x3f);
  text.remove_prefix(std::max<std::size_t>(1, length));
  return point;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | point >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | point >> 18);
    tail(12), tail(6), tail(0);
  }
}

bool is_printable_ascii(std::uint32_t point) { return point >= 0x20 && point < 0x7f; }

/// In double quotes, with the escapes that Python and YAML have in common.
std::string escaped(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::uint32_t point = take_code_point(text);
    if (point == '"' || point == '\\')
      (out += '\\') += static_cast<char>(point);
    else if (is_printable_ascii(point))
      out += static_cast<char>(point);
    else
      out += point < 0x10000 ? fmt::format("\\u{:04x}", point) : fmt::format("\\U{:08x}", point);
  }
  return out + '"';
}

}  // namespace

std::string python_string(std::string_view text) { return escaped(text); }
std::string yaml_string(std::string_view text) { return escaped(text); }

std::string shell_word(std::string_view text) {
  if (is_plain_token(text) || text.empty()) return fmt::format("'{}'", text);
  std::string bytes;
  while (!text.empty()) {
    const std::uint32_t point = take_code_point(text);
    append_utf8(bytes, point == 0 ? kReplacement : point);
  }
  std::string out = "$'";
  for (const char c : bytes) {
    if (c == '\'' || c == '\\')
      (out += '\\') += c;
    else if (is_printable_ascii(static_cast<std::uint8_t>(c)))
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(c));
  }
  return out + '\'';
}

std::string dockerfile_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::uint32_t point = take_code_point(text);
    if (point == '"' || point == '\\' || point == '$') out += '\\';
    append_utf8(out, point < 0x20 || (point >= 0x7f && point < 0xa0) ? kReplacement : point);
  }
  return out + '"';
}

std::string path_component(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string out(text.substr(0, kLongest));
  for (char& c : out)
    if (!is_letter_or_digit(c) && c != '_' && c != '.') c = '-';
  if (out.empty() || out[0] == '.' || out[0] == '-') out.insert(0, "x");
  return out;
}

std::string dns_label(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out;
  for (const char c : text) {
    if (out.size() == kLongest) break;
    if (is_letter_or_digit(c))
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out = "job-" + out;  // a Service, unlike a Job, begins with a letter
  return out == "job-" ? "job" : out;
}

std::string identifier(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (!is_letter_or_digit(c)) c = '_';
  if (out.empty() || out[0] == '_' || (out[0] >= '0' && out[0] <= '9')) out.insert(0, "x");
  return out;
}

bool is_plain_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter_or_digit(c) || std::string_view("._:=/+-").find(c) != std::string_view::npos;
  });
}

}  // namespace rehearse::traces
