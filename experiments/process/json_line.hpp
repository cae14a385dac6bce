// Writes one line of JSON, as it goes.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

/// In objects key(), a literal, goes before each value. Commas come by themselves.
class JsonLine {
 public:
  JsonLine& open(char bracket) {
    separate();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  JsonLine& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  JsonLine& key(std::string_view name) {
    separate();
    text_ += '"';
    text_ += name;
    text_ += "\":";
    first_ = true;
    return *this;
  }
  JsonLine& text(std::string_view value) {
    separate();
    text_ += sim::json_string(value);
    return *this;
  }
  /// The shortest form that reads back; null when it is not finite.
  JsonLine& number(double value) {
    separate();
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(text_), "{}", value);
    else
      text_ += "null";
    return *this;
  }
  JsonLine& flag(bool value) {
    separate();
    text_ += value ? "true" : "false";
    return *this;
  }

  /// Members that are left out when there is nothing to say.
  JsonLine& maybe_number(std::string_view name, double value, double none = NAN) {
    return std::isfinite(value) && value != none ? key(name).number(value) : *this;
  }
  JsonLine& maybe_text(std::string_view name, std::string_view value) { return value.empty() ? *this : key(name).text(value); }

  const std::string& line() const { return text_; }

 private:
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

}  // namespace rehearse::scenarios
