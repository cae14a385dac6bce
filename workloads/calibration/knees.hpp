// Curves of throughput against workers with parameter servers: where they bend.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/calibration/validation.hpp"

namespace rehearse::workloads {

/// One measured curve: everything equal but the workers.
struct Knee {
  std::string device, instance, subject;
  sim::SyncKind sync{};
  /// Where the growth from the fewest workers on, were it linear, would reach the highest throughput measured.
  double measured_workers = 0;
  /// By how many of the tested worker counts the predicted knee is off, the nearest count standing for each; of several
  /// predictions (from different halves of the curve) the worst.
  int counts_off = 0;
};

/// Of every curve of at least three worker counts with predicted knees, in a fixed order.
std::vector<Knee> knees(std::span<const Measurement> measurements, std::span<const Predicted> predicted);

}  // namespace rehearse::workloads
