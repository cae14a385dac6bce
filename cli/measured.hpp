// What validate and calibrate share: measurements with the sites that they were made at.
#pragma once

#include <optional>
#include <span>

#include "cli/commands.hpp"
#include "scenarios/read/catalogue.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "traces/measurements/native.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/calibration/stack_fit.hpp"

namespace rehearse::cli {

struct Measured {
  traces::MeasurementList list;
  std::vector<workloads::Site> sites;  ///< one a row
  workloads::MeasurementModel model;
  scenarios::Catalogue catalogue;
};

/// Reads the file (each row known to the catalogue), and tells what was left out; rows may be of `own` by its name. Throws
/// sim::InputError.
Measured load_measured(const MeasuredArguments& arguments, std::optional<traces::OwnNetwork> own = {});

/// The sites on the stacks that ValidateArguments::stack asks for. Tells which, and of how many rows; of "none", how many could
/// be. Throws sim::InputError for an option that is no stack.
std::vector<workloads::Site> sites_on_stacks(const Measured& measured, const std::string& option);

/// The stack of most rows' sources, which a device is fitted with; empty where none names one. Rows of others are taken out, and
/// told.
std::string keep_one_stack(const std::string& device, std::span<const sim::Stack> stacks,
                           std::vector<workloads::Measurement>& rows, std::vector<workloads::Site>& sites);

/// In the place of a stack's name: the one that each row's source names.
inline constexpr const char* kNamedStacks = "named";

/// What a device is called to run that was measured with software that nobody named.
inline constexpr const char* kMeasuredStack = "measured";

/// Rows whose time is about a thousand times the prediction, or a thousandth of it: milliseconds in a column of seconds, or the
/// other way round. Each is warned of.
std::vector<std::size_t> slipped_units(const Measured& measured);

/// The devices of the rows of one worker, fitted to them (workloads::calibrate), in the catalogue's order.
std::vector<sim::Device> calibrated_devices(const Measured& measured);

}  // namespace rehearse::cli
