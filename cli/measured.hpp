// What validate and calibrate share: measurements with the places that they were made at.
#pragma once

#include "cli/commands.hpp"
#include "scenarios/read/catalogue.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::cli {

struct Measured {
  traces::MeasurementList list;
  std::vector<workloads::Place> places;  ///< one a row
  workloads::MeasurementModel model;
  scenarios::Catalogue catalogue;
};

/// Reads the file (each row known to the catalogue), and tells what was left out. Throws sim::InputError.
Measured load_measured(const MeasuredArguments& arguments);

/// Rows whose time is about a thousand times the prediction, or a thousandth of it: milliseconds in a column of seconds, or the
/// other way round. Each is warned of.
std::vector<std::size_t> slipped_units(const Measured& measured);

/// The devices of the rows of one worker, fitted to them (workloads::calibrate), in the catalogue's order.
std::vector<sim::Device> calibrated_devices(const Measured& measured);

}  // namespace rehearse::cli
