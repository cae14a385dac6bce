// What docs/evidence/measurements.md says of energy and parameter servers, on the optional data.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "scenarios/read/measured_sites.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "workloads/calibration/energy.hpp"
#include "workloads/calibration/validation.hpp"

using namespace rehearse;
using workloads::Measurement;

namespace {

/// Empty without the data.
std::string data(const char* file) {
  const char* root = std::getenv("REHEARSE_DATA");
  const std::string path = root == nullptr ? "" : std::string(root) + "/" + file;
  if (root != nullptr && std::filesystem::exists(path)) return path;
  WARN("skipped: REHEARSE_DATA has no " << file);
  return {};
}

std::vector<workloads::Predicted> held_out(const std::vector<Measurement>& rows, workloads::HoldOut by) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  std::vector<workloads::Site> sites;
  for (const Measurement& m : rows) sites.push_back(site_of(m, catalogue));
  return predict(rows, sites, workloads::MeasurementModel(rows), by);
}

}  // namespace

TEST_CASE("energy an epoch on Zeus's P100", "[data]") {
  const std::string path = data("zeus/summary_power_p100.csv");
  if (path.empty()) return;
  const std::vector<Measurement> rows = traces::read_zeus(path).rows;
  for (const workloads::HoldOut by : {workloads::HoldOut::batches, workloads::HoldOut::limits}) {
    const auto predicted = held_out(rows, by);
    std::map<std::string, std::vector<workloads::Compared>> by_model;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto energy = workloads::sample_energy(rows[i], predicted[i]);
      by_model[subject(rows[i])].push_back({energy.predicted_j, energy.measured_j});
    }
    REQUIRE(by_model.size() == 3);
    for (const auto& [model, pairs] : by_model) {
      INFO(model);
      CHECK(workloads::summarise(pairs).median < 0.10);
      if (by == workloads::HoldOut::limits) CHECK(workloads::summarise(pairs).p90 < 0.10);
    }
    for (const workloads::SettingOrder& order : workloads::setting_orders(rows, predicted))
      if (by == workloads::HoldOut::limits) CHECK(order.regret < 0.05);
  }
}

TEST_CASE("TrimTuner's curves over workers", "[data]") {
  const std::string path = data("trimtuner/cnn.csv");
  if (path.empty()) return;
  const std::vector<Measurement> rows = traces::read_trimtuner(path).rows;
  const auto predicted = held_out(rows, workloads::HoldOut::batches);
  std::vector<workloads::Compared> steps;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::isfinite(predicted[i].scaled_s)) steps.push_back({predicted[i].scaled_s, rows[i].step_s});
  CHECK(steps.size() == 1380);  // all but t2.2xlarge's single workers
  CHECK(workloads::summarise(steps).median < 0.08);
  const auto knees = workloads::knees(rows, predicted);
  REQUIRE(knees.size() == 240);
  const auto near = std::count_if(knees.begin(), knees.end(), [](const workloads::Knee& k) { return k.counts_off <= 1; });
  CHECK(near >= 216);  // nine in ten
}
