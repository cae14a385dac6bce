// Slices of GPUs (MIG), in whatever name a cluster has for them.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace rehearse::traces {

/// The part of a GPU that a name with a MIG profile stands for, "a100_1g.5gb", "1g-5gb", "mig-1g.10gb.me", "1c.3g.20gb" (one
/// compute slice of the three): its compute slices of seven, of an A30 (6 GB to a slice) and an RTX PRO of four (NVIDIA, "MIG
/// User Guide"). Nothing for a name without a profile.
inline std::optional<double> mig_fraction(std::string_view of) {
  std::string name(of);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto number_before = [&](std::size_t at) {
    std::size_t begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
    int number = 0;
    std::from_chars(name.data() + begin, name.data() + at, number);
    return std::pair(number, begin);
  };
  for (std::size_t g = name.find('g'); g != name.npos; g = name.find('g', g + 1)) {
    const auto [slices, begin] = number_before(g);
    const std::size_t memory = std::min(name.find_first_not_of("._-", g + 1), name.size());
    double gb = 0;
    const auto [end, error] = std::from_chars(name.data() + memory, name.data() + name.size(), gb);
    if (slices < 1 || error != std::errc{} || !std::string_view(end).starts_with("gb")) continue;
    const bool has_four = name.find("a30") != name.npos || name.find("rtx") != name.npos || gb == 6 * slices;
    const bool is_instance = begin > 1 && std::string_view(name).substr(begin - 2, 2) == "c.";
    const int own = is_instance ? std::max(1, number_before(begin - 2).first) : slices;
    return std::min(1.0, own / (has_four ? 4.0 : 7.0));
  }
  return std::nullopt;
}

}  // namespace rehearse::traces
