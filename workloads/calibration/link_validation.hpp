// How far links that are fitted to some numbers of workers are off at others.
#pragma once

#include <span>
#include <vector>

#include "workloads/calibration/link_calibration.hpp"

namespace rehearse::workloads {

/// Seconds of each measured step by links fitted to the rows of other numbers of workers: of the numbers in order, every second
/// one is left out, then the others. Empty: all rows are of one number of workers, which says nothing of another.
std::vector<double> left_out_counts_s(std::span<const ScaledOut> measured, const MeasurementModel& model, const Site& site);

}  // namespace rehearse::workloads
