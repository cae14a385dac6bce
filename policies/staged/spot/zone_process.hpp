// A zone's spot capacity as a semi-Markov process of two states: the lengths of runs with and without capacity, each drawn anew.
#pragma once

#include <span>
#include <vector>

#include "policies/staged/spot/spot_bound.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

/// Quantiles of the lengths of runs, in steps: at 0, 1/(n-1), ..., 1 for n of them; ascending.
struct ZoneProcess {
  std::vector<double> up_steps, down_steps;

  /// The quantiles of whole runs: the first and the last, which the series cuts, are left out. Throws sim::InputError when there
  /// is no other run up, or none down.
  static ZoneProcess fit(const std::vector<std::uint8_t>& series);
};

/// What makes one zone's runs longer than the process's.
struct RunFactors {
  double up = 1, down = 1;
};

/// Of the runs that draw_zone draws, without factors: RunHazards of spot_bound.hpp.
RunHazards hazards_of(const ZoneProcess& process);

/// `steps` steps; whether the first run is up is even odds, and it begins with the series.
std::vector<std::uint8_t> draw_zone(const ZoneProcess& process, RunFactors factors, int steps, sim::Random& random);

/// The series themselves and, of each, kDrawnOfEach more of its process with runs longer or shorter by factors of
/// exp(N(0, kSpread)), so that what is learned from them serves zones that are unlike those seen.
std::vector<std::vector<std::uint8_t>> training_episodes(std::span<const std::vector<std::uint8_t>> series, std::uint64_t seed);
inline constexpr int kDrawnOfEach = 12, kDrawnSteps = 4800;
inline constexpr double kSpread = 1.5;

}  // namespace rehearse::policies
