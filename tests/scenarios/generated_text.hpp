// Parts of the schema and of the documentation that follow from the program's tables: compared, or, with REHEARSE_UPDATE set,
// written again.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/io/shown.hpp"

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The file's text from the end of `begin` to the next `end` is `wanted`, or becomes it.
inline void compare_or_update(const std::string& file, std::string_view begin, std::string_view end, const std::string& wanted) {
  const std::string path = REHEARSE_SOURCE_DIR "/" + file;
  std::string text = text_of_file(path);
  INFO(file << ", behind " << begin << ": REHEARSE_UPDATE=1 writes it again");
  const std::size_t mark = text.find(begin);
  REQUIRE(mark != text.npos);
  const std::size_t from = mark + begin.size(), to = text.find(end, from);
  REQUIRE(to != text.npos);
  if (std::getenv("REHEARSE_UPDATE") != nullptr && text.substr(from, to - from) != wanted) {
    text.replace(from, to - from, wanted);
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  CHECK(text.substr(from, to - from) == wanted);
}

/// Without the marks of Markdown: "[text](target)" is "text".
inline std::string plain(std::string_view markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    if (markdown.substr(i, 2) == "](")
      i = markdown.find(')', i);
    else if (std::string_view("[`*").find(markdown[i]) == std::string_view::npos)
      text += markdown[i];
  }
  return text;
}

/// As the schema is laid out: `{"a": 1, "b": ["c", "d"]}`.
inline std::string on_one_line(const nlohmann::ordered_json& value) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) add(nlohmann::ordered_json(key).dump() + ": " + on_one_line(member));
    return "{" + text + "}";
  }
  if (!value.is_array()) return value.dump();
  for (const nlohmann::ordered_json& member : value) add(on_one_line(member));
  return "[" + text + "]";
}

/// Adds the type and the limits of a number to its schema.
inline void add_number(nlohmann::ordered_json& schema, const rehearse::sim::NumberRange& range, bool whole) {
  schema["type"] = whole ? "integer" : "number";
  const auto bound = [&](const char* key, double value) {
    if (!std::isfinite(value)) return;
    if (value == std::trunc(value) && std::abs(value) < rehearse::sim::kIntegerLimit)
      schema[key] = static_cast<std::int64_t>(value);
    else
      schema[key] = value;
  };
  bound(range.low_excluded ? "exclusiveMinimum" : "minimum", range.low);
  bound("maximum", whole ? std::min(range.high, rehearse::sim::kIntegerLimit - 1) : range.high);
}

/// A limit in words: "2^33", "1e6", "0.9".
inline std::string limit(double value) {
  if (value == 0x1p33) return "2^33";
  const double decade = std::round(std::log10(value));
  return value >= 1e5 && value == std::pow(10, decade) ? fmt::format("1e{:.0f}", decade) : fmt::format("{}", value);
}

/// "0 to 2^33", "(0, 1]", "whole number ≥ 1", "number > 0".
inline std::string values_of(const rehearse::sim::NumberRange& range, bool whole) {
  const std::string what = whole ? "whole number" : "number";
  if (!std::isfinite(range.low)) return what;
  if (!std::isfinite(range.high)) return fmt::format("{} {} {}", what, range.low_excluded ? ">" : "≥", limit(range.low));
  if (range.low_excluded) return fmt::format("({}, {}]", limit(range.low), limit(range.high));
  return fmt::format("{} to {}", limit(range.low), limit(range.high));
}
