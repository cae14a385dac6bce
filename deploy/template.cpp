#include "deploy/template.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/errors.hpp"
#include "deploy/quoting.hpp"

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

}  // namespace rehearse::traces
