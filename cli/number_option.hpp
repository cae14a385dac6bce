// A check of an option that is a number.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace rehearse::cli {

/// A finite number in [low, high]; CLI11's own Range takes "nan".
inline CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = end != text.c_str() && *end == 0 && value >= low && value <= high;
    return good ? std::string() : fmt::format("expected a number from {} to {}, found {}", low, high, text);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", low, high)};
}

}  // namespace rehearse::cli
