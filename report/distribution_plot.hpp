// Two pictures of how values are distributed: what part of them is at most x, and bars.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse::report {

struct Distribution {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< (value above 0, part of all that is at most it), rising
};

/// SVG; the values' axis is logarithmic, the parts go from 0 to 1.
std::string distribution_svg(std::string_view title, std::string_view x_heading, const std::vector<Distribution>& distributions);

/// SVG; a bar for each (label, value of at least 0).
std::string bars_svg(std::string_view title, std::string_view x_heading, std::string_view y_heading,
                     const std::vector<std::pair<std::string, double>>& bars);

}  // namespace rehearse::report
