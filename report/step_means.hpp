// A step function of time, thinned out for a figure.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace rehearse::report {

/// Holds from its date until the next sample's.
template <std::size_t quantities>
struct StepSample {
  double time_s = 0;
  std::array<double, quantities> values{};
};

/// The samples themselves while they are at most `most`; else `most` steps of equal length with the means over time. Samples are
/// in order of time; the last one's value holds for no time.
template <std::size_t quantities>
std::vector<StepSample<quantities>> step_means(const std::vector<StepSample<quantities>>& samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  const double first_s = samples.front().time_s, step_s = (samples.back().time_s - first_s) / static_cast<double>(most);
  std::vector<StepSample<quantities>> means(most);
  std::size_t at = 0;
  for (std::size_t m = 0; m < most; ++m) {
    const double begin_s = first_s + static_cast<double>(m) * step_s;
    const double end_s = m + 1 == most ? samples.back().time_s : first_s + static_cast<double>(m + 1) * step_s;
    means[m].time_s = begin_s;
    for (double from_s = begin_s; from_s < end_s;) {
      while (at + 1 < samples.size() && samples[at + 1].time_s <= from_s) ++at;
      const double to_s = at + 1 < samples.size() && samples[at + 1].time_s < end_s ? samples[at + 1].time_s : end_s;
      for (std::size_t q = 0; q < quantities; ++q)
        means[m].values[q] += samples[at].values[q] * (to_s - from_s) / (end_s - begin_s);
      from_s = to_s;
    }
  }
  return means;
}

}  // namespace rehearse::report
