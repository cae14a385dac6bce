#include "workloads/calibration/link_validation.hpp"

#include <set>

namespace rehearse::workloads {

std::vector<double> left_out_counts_s(std::span<const ScaledOut> measured, const MeasurementModel& model, const Site& site) {
  std::set<int> counts;
  for (const ScaledOut& one : measured) counts.insert(one.several->workers);
  if (counts.size() < 2) return {};
  std::vector<double> seconds(measured.size());
  for (const std::ptrdiff_t fold : {0, 1}) {
    const auto is_left_out = [&](const ScaledOut& one) {
      return std::distance(counts.begin(), counts.find(one.several->workers)) % 2 == fold;
    };
    std::vector<ScaledOut> others;
    for (const ScaledOut& one : measured)
      if (!is_left_out(one)) others.push_back(one);
    const LinkCalibration links = calibrate_links(others, model, site);
    for (std::size_t i = 0; i < measured.size(); ++i)
      if (is_left_out(measured[i])) seconds[i] = scaled_out_s(measured[i], model, links);
  }
  return seconds;
}

}  // namespace rehearse::workloads
