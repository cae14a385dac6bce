// The estimator on measured networks (optional data): each is predicted by the sweep of its device, corrected by the other
// measured networks, beside a regression on FLOPs of the same others.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "policies/harness/estimator.hpp"
#include "scenarios/read/catalogue.hpp"
#include "tests/policies/harness/convnet_logs.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "workloads/generate/sweep.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// Empty without the data.
std::string data(const char* file) {
  const char* root = std::getenv("REHEARSE_DATA");
  const std::string path = root == nullptr ? "" : std::string(root) + "/" + file;
  if (root != nullptr && std::filesystem::exists(path)) return path;
  WARN("skipped: REHEARSE_DATA has no " << file);
  return {};
}

Estimator swept(const std::string& device_name, workloads::SweepKind kind) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  const sim::Device device = *catalogue.find_device(device_name);
  const std::vector<double> no_limit{1};
  std::vector<ProfiledStep> steps;
  const workloads::SweepSettings settings{.kind = kind, .networks = 160};
  const auto networks = sweep_networks(settings);
  for (const workloads::SweepRow& row : sweep_rows(networks, std::span(&device, 1), no_limit, settings))
    steps.push_back({.features = networks[static_cast<std::size_t>(row.network)].features,
                     .network = row.network,
                     .batch = row.batch,
                     .step_s = row.step_s});
  return Estimator::fit(steps, device.peak_fp32_flops);
}

struct Mean {
  double structure = 0, uncorrected = 0, flops_only = 0;
  int rows = 0;
};

bool is_recurrent(const ProfiledStep& step) { return step.features.recurrent_layers > 0; }

/// Leave one network out. Only networks of its kind correct the sweep of that kind; without any it stays as it is.
Mean left_out(const std::string& what, const std::string& device, const std::vector<ProfiledStep>& measured) {
  const Estimator sweeps[] = {swept(device, workloads::SweepKind::cnn), swept(device, workloads::SweepKind::rnn)};
  std::map<int, int> networks;
  for (const ProfiledStep& step : measured) ++networks[step.network];
  Mean mean{.rows = static_cast<int>(measured.size())};
  const std::span<const int> two = flops_only_terms();
  for (const auto& [network, count] : networks) {
    std::vector<ProfiledStep> others, held;
    for (const ProfiledStep& step : measured) (step.network == network ? held : others).push_back(step);
    const Estimator& sweep = sweeps[is_recurrent(held.front())];
    std::vector<ProfiledStep> alike;
    for (const ProfiledStep& step : others)
      if (is_recurrent(step) == is_recurrent(held.front())) alike.push_back(step);
    const Estimator estimator = alike.empty() ? sweep : sweep.calibrated_to(alike);
    const TermRegression flops = TermRegression::fit_terms(step_time_samples(others), {two.begin(), two.end()});
    for (const ProfiledStep& step : held) {
      const auto error = [&](double predicted) { return std::abs(predicted / step.step_s - 1) / mean.rows; };
      mean.structure += error(estimator.predict(step.features, step.batch).step_s.expected);
      mean.uncorrected += error(sweep.predict(step.features, step.batch).step_s.expected);
      mean.flops_only += error(flops.expected(curve_terms(step.features, step.batch)));
    }
  }
  fmt::print("{:<20}{:<12}{:>3} networks{:>5} rows: {:.1f} % (sweep alone {:.1f} %), FLOPs alone {:.1f} %\n", what, device,
             networks.size(), mean.rows, 100 * mean.structure, 100 * mean.uncorrected, 100 * mean.flops_only);
  return mean;
}

std::map<std::string, std::vector<ProfiledStep>> by_device(const std::vector<workloads::Measurement>& rows) {
  std::map<std::string, std::vector<ProfiledStep>> steps;
  std::map<std::string, int> numbers;
  for (const workloads::Measurement& m : rows) {
    if (m.workers != 1) continue;
    const workloads::Network network =
        m.structure ? workloads::network_of(*m.structure) : workloads::zoo_entry(m.model).build(workloads::dataset(m.dataset));
    const int number = numbers.emplace(m.model, static_cast<int>(numbers.size())).first->second;
    steps[m.device].push_back(
        {.features = structure_features(network), .network = number, .batch = m.batch_per_worker, .step_s = m.step_s});
  }
  return steps;
}

}  // namespace

TEST_CASE("TensorFlow's benchmarks of 2017", "[data]") {
  const std::string path = data("tf_benchmarks/tf_benchmarks_2017_05.csv");
  if (path.empty()) return;
  for (const auto& [device, steps] : by_device(traces::read_tf_benchmarks(path).rows)) {
    if (steps.size() < 5) continue;
    const Mean mean = left_out("tf_benchmarks", device, steps);
    CHECK(mean.structure < 0.7 * mean.flops_only);
  }
}

TEST_CASE("Gavel's table", "[data]") {
  const std::string path = data("gavel/simulation_throughputs.json");
  if (path.empty()) return;
  for (const auto& [device, steps] : by_device(traces::read_gavel(path).rows)) {
    const Mean mean = left_out("gavel", device, steps);
    CHECK(mean.rows == 14);  // two CNNs and one RNN say little of each other: docs/guide/harness.md has what is printed
  }
}

TEST_CASE("convnet-benchmarks: three networks in Caffe", "[data]") {
  if (data("convnet_benchmarks/caffe/output_alexnet.log").empty()) return;
  std::vector<ProfiledStep> steps;
  for (const tests::ConvnetLog& log : tests::convnet_logs())
    steps.push_back({.features = structure_features(log.network),
                     .network = static_cast<int>(steps.size()),
                     .batch = log.batch,
                     .step_s = tests::forward_backward_s(data((std::string("convnet_benchmarks/caffe/") + log.file).c_str()))});
  const Mean mean = left_out("convnet_benchmarks", "titan-x-maxwell", steps);
  CHECK(mean.rows == 3);  // one batch each: docs/evidence/validation.md has what is printed
}
