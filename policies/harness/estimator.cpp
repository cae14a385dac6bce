#include "policies/harness/estimator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/money/costs.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::policies {

namespace {

// How far a real device's software is from the simulated one, as deviations of logarithms: a factor of two and a half; launches
// against work a factor of two.
constexpr double kFactorSpread = 1, kPartsSpread = 0.35;
constexpr double kPasses = 3;  // forward, and both gradients

using Eigen::Index;

TermSamples samples_of(std::span<const ProfiledStep> steps, double ProfiledStep::*value) {
  const auto rows = static_cast<Index>(steps.size());
  TermSamples samples{Eigen::MatrixXd(rows, static_cast<Index>(curve_term_names().size())), Eigen::VectorXd(rows), {}};
  for (Index i = 0; i < rows; ++i) {
    const ProfiledStep& step = steps[static_cast<std::size_t>(i)];
    samples.terms.row(i) = curve_terms(step.features, step.batch);
    samples.values[i] = step.*value;
    samples.group.push_back(step.network);
  }
  return samples;
}

bool measured(std::span<const ProfiledStep> steps, double ProfiledStep::*value) {
  return std::ranges::all_of(steps, [&](const ProfiledStep& s) { return s.*value > 0; });
}

Interval scaled(const Interval& one, double factor, double offset = 0) {
  return {one.expected * factor + offset, one.low * factor + offset, one.high * factor + offset};
}

/// Seconds of a step, in the part that does not grow with the batch and the part that does.
struct StepParts {
  double fixed_s = 0, growing_s = 0;
};

StepParts parts(const TermRegression& time, const workloads::StructureFeatures& features, double batch) {
  const double fixed_s = time.expected(curve_terms(features, 0));
  return {fixed_s, time.expected(curve_terms(features, batch)) - fixed_s};
}

std::vector<int> terms_of(const TermRegression& fit) { return {fit.chosen().begin(), fit.chosen().end()}; }

using workloads::StructureFeatures;

struct Term {
  std::string_view name;
  double (*value)(const StructureFeatures&, double batch);
};

// Terms that grow with the batch are work and memory traffic; those that do not are launches, updates and weights read again at
// every step of a sequence; those with its root lie between, as devices that a small batch does not fill.
constexpr std::array kTerms{
    Term{"1", [](const StructureFeatures&, double) { return 1.0; }},
    Term{"b flops", [](const StructureFeatures& f, double b) { return b * f.flops(); }},
    Term{"conv layers", [](const StructureFeatures& f, double) { return double(f.conv_layers); }},
    Term{"dense layers", [](const StructureFeatures& f, double) { return double(f.dense_layers); }},
    Term{"other layers", [](const StructureFeatures& f, double) { return double(f.other_layers); }},
    Term{"recurrent steps", [](const StructureFeatures& f, double) { return f.recurrent_steps; }},
    Term{"parameters", [](const StructureFeatures& f, double) { return f.parameters; }},
    Term{"recurrent reads", [](const StructureFeatures& f, double) { return f.recurrent_reads; }},
    Term{"b 1x1 flops", [](const StructureFeatures& f, double b) { return b * f.pointwise_flops; }},
    Term{"b 3x3 flops", [](const StructureFeatures& f, double b) { return b * f.square3_flops; }},
    Term{"b wide flops", [](const StructureFeatures& f, double b) { return b * f.wide_flops; }},
    Term{"b padded flops", [](const StructureFeatures& f, double b) { return b * f.padded_flops; }},
    Term{"b dense flops", [](const StructureFeatures& f, double b) { return b * f.dense_flops; }},
    Term{"b recurrent flops", [](const StructureFeatures& f, double b) { return b * f.recurrent_flops; }},
    Term{"b conv elements", [](const StructureFeatures& f, double b) { return b * f.conv_elements; }},
    Term{"b elements", [](const StructureFeatures& f, double b) { return b * f.elements; }},
    Term{"b input elements", [](const StructureFeatures& f, double b) { return b * f.input_elements; }},
    Term{"b recurrent steps", [](const StructureFeatures& f, double b) { return b * f.recurrent_steps; }},
    Term{"root(b) sum root(flops)", [](const StructureFeatures& f, double b) { return std::sqrt(b) * f.root_flops; }},
    Term{"root(b parameters flops)",
         [](const StructureFeatures& f, double b) { return std::sqrt(b * f.parameters * f.flops()); }},
    Term{"root(b elements)", [](const StructureFeatures& f, double b) { return std::sqrt(b * f.elements); }},
};

constexpr std::array kFlopsOnly{0, 1};

ErrorSpread spread_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  return {quantile_of_ascending(errors, 0.5), quantile_of_ascending(errors, 0.9),
          std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size())};
}

struct Errors {
  std::vector<double> time, flops_only, energy, memory;
  int covered = 0;
};

void judge(const Estimator& estimator, const TermRegression& flops_only, const ProfiledStep& step, Errors& errors) {
  const StepEstimate estimate = estimator.predict(step.features, step.batch);
  const auto error = [](double predicted, double measured) { return std::abs(predicted / measured - 1); };
  errors.time.push_back(error(estimate.step_s.expected, step.step_s));
  errors.flops_only.push_back(error(flops_only.expected(curve_terms(step.features, step.batch)), step.step_s));
  if (estimator.energy() != nullptr) errors.energy.push_back(error(estimate.energy_j.expected, step.energy_j));
  if (estimator.memory() != nullptr) errors.memory.push_back(error(estimate.memory_bytes.expected, step.memory_bytes));
  if (step.step_s >= estimate.step_s.low && step.step_s <= estimate.step_s.high) ++errors.covered;
}

}  // namespace

TermSamples step_time_samples(std::span<const ProfiledStep> steps) { return samples_of(steps, &ProfiledStep::step_s); }

TrainingEstimate whole_training(const StepEstimate& step, double steps, double start_s) {
  return {.time_s = scaled(step.step_s, steps, start_s), .energy_j = scaled(step.energy_j, steps)};
}

Estimator Estimator::fit(std::span<const ProfiledStep> steps, double peak_flops, const TermOptions& options) {
  sim::check(!steps.empty() && measured(steps, &ProfiledStep::step_s), "an estimator without times");
  Estimator result;
  result.peak_flops_ = peak_flops;
  result.time_ = TermRegression::fit(samples_of(steps, &ProfiledStep::step_s), options);
  result.has_energy_ = measured(steps, &ProfiledStep::energy_j);
  if (result.has_energy_) result.energy_ = TermRegression::fit(samples_of(steps, &ProfiledStep::energy_j), options);
  result.has_memory_ = measured(steps, &ProfiledStep::memory_bytes);
  if (result.has_memory_) result.memory_ = TermRegression::fit(samples_of(steps, &ProfiledStep::memory_bytes), options);
  return result;
}

Estimator Estimator::fit_like(const Estimator& other, std::span<const ProfiledStep> steps) {
  Estimator result = other;
  result.time_ = TermRegression::fit_terms(samples_of(steps, &ProfiledStep::step_s), terms_of(other.time_));
  if (other.has_energy_)
    result.energy_ = TermRegression::fit_terms(samples_of(steps, &ProfiledStep::energy_j), terms_of(other.energy_));
  return result;
}

Estimator Estimator::calibrated_to(std::span<const ProfiledStep> measured) const {
  std::vector<StepParts> predicted;
  for (const ProfiledStep& step : measured) predicted.push_back(parts(time_, step.features, step.batch));
  // Logarithms of a factor on both parts, and of one on the fixed part against the growing one.
  const auto factors = [](const Eigen::VectorXd& theta) {
    return std::pair{std::exp(theta[0] + theta[1]), std::exp(theta[0] - theta[1])};
  };
  const workloads::FitResult fitted = workloads::fit({
      .residuals =
          [&](const Eigen::VectorXd& theta) {
            const auto [fixed, growing] = factors(theta);
            Eigen::VectorXd found(static_cast<Index>(measured.size()));
            for (std::size_t i = 0; i < measured.size(); ++i)
              found[static_cast<Index>(i)] =
                  std::log((fixed * predicted[i].fixed_s + growing * predicted[i].growing_s) / measured[i].step_s);
            return found;
          },
      .prior_sd = Eigen::Vector2d(kFactorSpread, kPartsSpread),
      .low = Eigen::Vector2d(-3, -3),
      .high = Eigen::Vector2d(3, 3),
      .loss = workloads::RobustLoss::huber,
  });
  Estimator result = *this;
  std::tie(result.fixed_factor_, result.growing_factor_) = factors(fitted.theta);
  return result;
}

StepEstimate Estimator::predict(const workloads::StructureFeatures& features, double batch) const {
  const Eigen::VectorXd terms = curve_terms(features, batch);
  StepEstimate estimate{.step_s = time_.predict(terms)};
  const StepParts seconds = parts(time_, features, batch);
  const double corrected_s = fixed_factor_ * seconds.fixed_s + growing_factor_ * seconds.growing_s;
  estimate.step_s = scaled(estimate.step_s, corrected_s / estimate.step_s.expected);
  if (has_energy_) estimate.energy_j = energy_.predict(terms);
  if (has_memory_) estimate.memory_bytes = memory_.predict(terms);
  const double work = kPasses * batch * features.flops() / peak_flops_;
  const Interval& s = estimate.step_s;
  estimate.utilization = {std::min(1.0, work / s.expected), std::min(1.0, work / s.high), std::min(1.0, work / s.low)};
  return estimate;
}

ProfiledStep profiled_step(const workloads::SweepNetwork& network, const workloads::SweepRow& row) {
  return {.features = network.features,
          .network = row.network,
          .batch = row.batch,
          .step_s = row.step_s,
          .energy_j = row.energy_j,
          .memory_bytes = row.memory_bytes};
}

std::span<const std::string_view> curve_term_names() {
  static const auto names = [] {
    std::array<std::string_view, kTerms.size()> all;
    for (std::size_t i = 0; i < kTerms.size(); ++i) all[i] = kTerms[i].name;
    return all;
  }();
  return names;
}

Eigen::VectorXd curve_terms(const StructureFeatures& features, double batch) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(kTerms.size()));
  for (std::size_t i = 0; i < kTerms.size(); ++i) values[static_cast<Eigen::Index>(i)] = kTerms[i].value(features, batch);
  return values;
}

std::span<const int> flops_only_terms() { return kFlopsOnly; }

double peak_flops_in(const sim::Device& device, sim::Precision precision) {
  const bool is_tf32 = precision == sim::Precision::tf32 || precision == sim::Precision::tf32_convolutions;
  const double own = sim::is_half(precision) ? device.peak_fp16_flops : is_tf32 ? device.peak_tf32_flops : 0;
  return std::max(own, device.peak_fp32_flops);
}

EstimatorSet::EstimatorSet(const sim::Cluster& cluster, const workloads::SweepSettings& settings)
    : precision_(settings.precision) {
  std::vector<sim::Device> devices;
  for (int pool = 0; pool < static_cast<int>(cluster.pools.size()); ++pool) {
    const sim::Device& device = sim::worker_device(cluster, pool);
    const auto known = std::ranges::find(devices, device.name, &sim::Device::name);
    device_of_pool_.push_back(static_cast<std::size_t>(known - devices.begin()));
    if (known == devices.end())
      devices.push_back(device);
    else  // a CPU has its instance's memory: what it can hold is asked of each pool
      known->memory_bytes = std::max(known->memory_bytes, device.memory_bytes);
  }
  const std::vector<workloads::SweepNetwork> networks = sweep_networks(settings);
  const std::vector<workloads::SweepRow> rows = sweep_rows(networks, devices, kLimitShares, settings);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    std::vector<Limited>& limited = by_device_.emplace_back();
    for (const double share : kLimitShares) {
      const double limit_w = workloads::power_limit_w(devices[d], share);
      std::vector<ProfiledStep> steps;
      for (const workloads::SweepRow& row : rows)
        if (row.device == static_cast<int>(d) && row.power_limit_w == limit_w)
          steps.push_back(profiled_step(networks[static_cast<std::size_t>(row.network)], row));
      if (steps.empty()) break;  // it holds none of the networks
      if (limited.empty())
        limited.push_back({limit_w, Estimator::fit(steps, peak_flops_in(devices[d], precision_))});
      else if (limit_w > 0)
        limited.push_back({limit_w, Estimator::fit_like(limited.front().estimator, steps)});
    }
  }
}

workloads::SweepSettings sweep_for(const workloads::StructureFeatures& features, sim::Precision precision) {
  return {.kind = features.recurrent_layers > 0 ? workloads::SweepKind::rnn : workloads::SweepKind::cnn, .precision = precision};
}

HeldOut held_out(std::span<const ProfiledStep> steps, double peak_flops, int folds) {
  std::map<int, int> fold_of;
  for (const ProfiledStep& step : steps) fold_of.emplace(step.network, 0);
  sim::check(fold_of.size() > 2, "networks to hold out, and two to learn from");
  folds = std::min<int>(folds, static_cast<int>(fold_of.size()));
  int next = 0;
  for (auto& [network, fold] : fold_of) fold = next++ % folds;
  Errors errors;
  for (int f = 0; f < folds; ++f) {
    std::vector<ProfiledStep> rest, held;
    for (const ProfiledStep& step : steps) (fold_of[step.network] == f ? held : rest).push_back(step);
    const Estimator estimator = Estimator::fit(rest, peak_flops);
    const std::span<const int> two = flops_only_terms();
    const TermRegression flops_only = TermRegression::fit_terms(step_time_samples(rest), {two.begin(), two.end()});
    for (const ProfiledStep& step : held) judge(estimator, flops_only, step, errors);
  }
  return {.networks = static_cast<int>(fold_of.size()),
          .rows = static_cast<int>(steps.size()),
          .step_time = spread_of(errors.time),
          .flops_only = spread_of(errors.flops_only),
          .energy = spread_of(errors.energy),
          .memory = spread_of(errors.memory),
          .coverage = errors.covered / static_cast<double>(steps.size())};
}

}  // namespace rehearse::policies
