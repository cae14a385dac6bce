#include "cli/measured.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "cli/say.hpp"
#include "scenarios/read/places.hpp"
#include "sim/base/errors.hpp"
#include "traces/measurements/native.hpp"
#include "workloads/calibration/calibration.hpp"

namespace rehearse::cli {

Measured load_measured(const MeasuredArguments& arguments) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  traces::MeasurementList list = traces::read_native_measurements(
      arguments.path, {.devices = catalogue.device_names(), .instances = catalogue.instance_names()});
  say("{}", to_string(list));
  std::vector<workloads::Place> places;
  for (const workloads::Measurement& m : list.rows) places.push_back(place_of(m, catalogue));
  workloads::MeasurementModel model(list.rows);
  return {std::move(list), std::move(places), std::move(model), std::move(catalogue)};
}

std::vector<std::size_t> slipped_units(const Measured& measured) {
  constexpr double kOrders = 2.5;  // of ten: nearer to three than to two
  std::vector<std::size_t> slipped;
  for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
    const workloads::Measurement& m = measured.list.rows[i];
    const double ratio = m.step_s / measured.model.step_s(m, measured.places[i]);
    if (std::abs(std::log10(ratio)) < kOrders) continue;
    slipped.push_back(i);
    say(stderr, "warning: {}:{}: step_s is {:.3g} times the prediction: {}?\n", measured.list.file, m.line, ratio,
        ratio > 1 ? "milliseconds in a column of seconds" : "a time in thousands of seconds");
  }
  return slipped;
}

std::vector<sim::Device> calibrated_devices(const Measured& measured) {
  std::vector<sim::Device> devices;
  for (const sim::Device& device : measured.catalogue.devices()) {
    std::vector<workloads::Measurement> rows;
    std::vector<workloads::Place> places;
    for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
      if (measured.list.rows[i].device != device.name || measured.list.rows[i].workers != 1) continue;
      rows.push_back(measured.list.rows[i]);
      places.push_back(measured.places[i]);
    }
    if (!rows.empty()) devices.push_back(calibrated(device, calibrate(rows, places, measured.model)));
  }
  return devices;
}

}  // namespace rehearse::cli
