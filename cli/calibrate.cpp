#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/commands.hpp"
#include "cli/convergence.hpp"
#include "cli/measured.hpp"
#include "scenarios/places.hpp"
#include "sim/base/errors.hpp"
#include "traces/measurements/convergence_csv.hpp"
#include "workloads/fidelity/calibration.hpp"
#include "workloads/fidelity/error_summary.hpp"
#include "workloads/fidelity/validation.hpp"

namespace rehearse::cli {
namespace {

using workloads::Measurement;

/// Errors of one way of predicting the device's rows.
std::string errors(const std::vector<Measurement>& rows, const std::vector<workloads::Predicted>& predicted) {
  std::vector<workloads::Compared> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::isfinite(predicted[i].model_s)) pairs.push_back({predicted[i].model_s, rows[i].step_s});
  const auto s = workloads::summarise(pairs);
  return fmt::format("median {:.1f} %, 90th percentile {:.1f} %, bias {:+.1f} %", 100 * s.median, 100 * s.p90, 100 * s.bias);
}

void print(const workloads::Calibration& c) {
  fmt::print("  {:<28}{:>12}{:>12}  {}\n", "parameter", "before", "fitted", "uncertainty");
  for (const workloads::FittedParameter& p : c.parameters)
    fmt::print("  {:<28}{:>12.4g}{:>12.4g}  {}\n", p.name, p.before, p.value,
               p.determined ? fmt::format("{:.0f} %", 100 * p.relative_sd) : "not determined by these rows: kept");
  for (const sim::ModelCorrection& m : c.corrections)
    fmt::print("  {:<26} time x {:.2f}, launches x {:.2f}\n", m.model + (m.dataset.empty() ? "" : "/" + m.dataset), m.time_factor,
               m.launch_factor);
  for (const std::string& warning : c.warnings) fmt::print("  badly determined: {}\n", warning);
}

/// Of one device.
struct DeviceRows {
  std::vector<Measurement> rows;
  std::vector<workloads::Place> places;
};

sim::Device calibrated(const std::string& name, const DeviceRows& given, const Measured& measured) {
  const std::vector<Measurement>& rows = given.rows;
  const workloads::Calibration c = calibrate(rows, given.places, measured.model);
  sim::Device device = workloads::calibrated(*measured.catalogue.find_device(name), c);
  device.source += fmt::format(". Efficiency calibrated on {} rows", rows.size());
  fmt::print("\n{}: {} rows of one worker\n", device.name, rows.size());
  print(c);
  const std::vector<workloads::Place>& before = given.places;
  std::vector<workloads::Place> after = before;
  for (workloads::Place& p : after) p.device = workloads::calibrated(p.device, c);
  fmt::print("  before:          {}\n", errors(rows, predict(rows, before, measured.model, std::nullopt)));
  fmt::print("  fitted:          {}\n", errors(rows, predict(rows, after, measured.model, std::nullopt)));
  if (folds(rows, workloads::HoldOut::batches).size() == 2)
    fmt::print("  held-out rows:   {}\n", errors(rows, predict(rows, before, measured.model, workloads::HoldOut::batches)));
  return device;
}

}  // namespace

int calibrate_command(const CalibrateArguments& arguments) {
  if (traces::is_convergence(arguments.measured.path)) return calibrate_convergence(arguments);
  const Measured measured = load_measured(arguments.measured);
  const std::vector<std::size_t> slipped = slipped_units(measured);
  if (!slipped.empty()) fmt::print("{} rows with slipped units are left out of the fit\n", slipped.size());
  std::map<std::string, DeviceRows> by_device;
  std::size_t several = 0;
  for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
    const Measurement& m = measured.list.rows[i];
    if (m.workers > 1) ++several;
    if (m.workers > 1 || std::binary_search(slipped.begin(), slipped.end(), i)) continue;
    by_device[m.device].rows.push_back(m);
    by_device[m.device].places.push_back(measured.places[i]);
  }
  if (several > 0) fmt::print("{} rows of several workers say nothing about a device alone: left out of the fit\n", several);
  if (by_device.empty())
    throw sim::InputError(
        {.file = arguments.measured.path, .expected = "rows of one worker", .found = "none that can be fitted"});
  std::vector<sim::Device> devices;
  for (const auto& [name, rows] : by_device) devices.push_back(calibrated(name, rows, measured));
  write_text(arguments.out, scenarios::catalogue_json(devices));
  fmt::print("\n{}: {} devices; use it with --catalogue {}\n", arguments.out, devices.size(), arguments.out);
  return kOk;
}

}  // namespace rehearse::cli
