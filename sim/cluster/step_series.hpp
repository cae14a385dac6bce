// A quantity that is constant between dates: a price, the carbon intensity of power.
#pragma once

#include <vector>

namespace rehearse::sim {

class StepSeries {
 public:
  struct Step {
    double time_s = 0;  ///< from then on
    double value = 0;
  };
  /// At least one step; times increase. Before the first the value is the first one's.
  explicit StepSeries(std::vector<Step> steps);
  double at(double time_s) const;
  /// Exact, in units of the value times seconds; within one step it is value x (to_s - from_s). `from_s` <= `to_s`.
  double integral(double from_s, double to_s) const;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::size_t index_at(double time_s) const;
  std::vector<Step> steps_;
  std::vector<double> before_;  // of each step: integral from the first to it
};

}  // namespace rehearse::sim
