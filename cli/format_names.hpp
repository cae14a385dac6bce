// Formats that a command line names, from a table of them.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::cli {

template <class Format>
std::vector<std::string> names_of(std::span<const Format> formats) {
  std::vector<std::string> names;
  for (const Format& format : formats) names.emplace_back(format.name);
  return names;
}

template <class Format>
const Format& named(std::span<const Format> formats, const std::string& name) {
  const auto format = std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.name == name; });
  sim::check(format != formats.end(), "a format that the command line should have refused");
  return *format;
}

}  // namespace rehearse::cli
