#include "workloads/calibration/calibration.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/errors.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

/// What is fitted: an efficiency or (of a CPU) another figure of the device, how far from the data-sheet default devices were
/// found to be (standard deviation of the logarithm: 0.1 to 0.3 over DeepBench's devices, wider where frameworks differ or the
/// sheet only estimates), and its limits.
struct EfficiencyParameter {
  const char* name;
  double sim::Efficiency::*field;
  double prior_sd, low, high;
  double sim::Device::*of_cpu = nullptr;

  double& in(sim::Device& device) const { return of_cpu != nullptr ? device.*of_cpu : device.efficiency.*field; }
  double in(const sim::Device& device) const { return of_cpu != nullptr ? device.*of_cpu : device.efficiency.*field; }
  bool has(const sim::Device& device) const { return of_cpu == nullptr || device.kind == sim::DeviceKind::cpu; }
};
constexpr EfficiencyParameter kEfficiencyParameters[] = {
    {"conv", &sim::Efficiency::conv, 0.25, 0.005, 1},
    {"gemm", &sim::Efficiency::gemm, 0.3, 0.005, 1},
    {"rnn", &sim::Efficiency::rnn, 0.5, 0.005, 1},
    {"fp16", &sim::Efficiency::fp16, 0.5, 0.01, 1},
    {"bandwidth", &sim::Efficiency::bandwidth, 0.3, 0.01, 1},
    {"k_half", &sim::Efficiency::k_half, 0.5, 1, 4096},
    {"launch_s", &sim::Efficiency::launch_s, 1, 1e-7, 1e-2},
    {"repeat_s", &sim::Efficiency::repeat_s, 0.5, 1e-7, 1e-2},
    {"host_s_per_op", &sim::Efficiency::host_s_per_op, 1, 1e-7, 1e-2},
    {"core_bandwidth_bytes_per_s", nullptr, 0.5, 1e7, 1e13, &sim::Device::core_bandwidth_bytes_per_s},
};

/// Standard deviations of the logarithms of a model's correction around 1: how far uncalibrated devices are off from one model to
/// the next.
constexpr double kTimeFactorSd = 0.4, kLaunchFactorSd = 0.5;
constexpr double kLowestFactor = 0.1, kHighestFactor = 10;

/// Of a device that may be another part of the same CPU.
void take_fitted(sim::Device& device, const sim::Device& fitted) {
  device.efficiency = fitted.efficiency;
  device.core_bandwidth_bytes_per_s = fitted.core_bandwidth_bytes_per_s;
  device.corrections = fitted.corrections;
}

class DeviceFit {
 public:
  DeviceFit(std::span<const Measurement> measurements, std::span<const Place> places, const MeasurementModel& model)
      : measurements_(measurements), places_(places.begin(), places.end()), model_(model), start_(places_.front().device) {
    for (const EfficiencyParameter& p : kEfficiencyParameters)
      if (p.has(start_) && p.in(start_) > 0) free_.push_back(&p);
    for (const Measurement& m : measurements) {
      const auto same = [&](const sim::ModelCorrection& c) { return c.model == m.model && c.dataset == m.dataset; };
      if (!m.kernel && std::none_of(corrections_.begin(), corrections_.end(), same)) corrections_.push_back({m.model, m.dataset});
    }
  }

  /// Parameters that the measurements leave about as uncertain as they were keep their value; the others are fitted again.
  Calibration run() {
    const Eigen::VectorXd sd = solve().sd;
    std::vector<const EfficiencyParameter*> seen;
    for (std::size_t j = 0; j < free_.size(); ++j)
      if (sd[static_cast<Eigen::Index>(j)] <= kDetermined * free_[j]->prior_sd) seen.push_back(free_[j]);
    free_ = std::move(seen);
    return result(solve());
  }

 private:
  /// theta: logarithms of the free parameters over their start, then of the two factors of each correction.
  sim::Device at(const Eigen::VectorXd& theta) const {
    sim::Device device = start_;
    Eigen::Index j = 0;
    for (const EfficiencyParameter* p : free_) p->in(device) = std::clamp(p->in(start_)*std::exp(theta[j++]), p->low, p->high);
    device.corrections = corrections_;
    for (sim::ModelCorrection& c : device.corrections) {
      c.time_factor = std::exp(theta[j++]);
      c.launch_factor = std::exp(theta[j++]);
    }
    return device;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const {
    const sim::Device device = at(theta);
    Eigen::VectorXd r(static_cast<Eigen::Index>(measurements_.size()));
    for (std::size_t i = 0; i < measurements_.size(); ++i) {
      Place place = places_[i];
      take_fitted(place.device, device);
      r[static_cast<Eigen::Index>(i)] = std::log(model_.step_s(measurements_[i], place) / measurements_[i].step_s);
    }
    return r;
  }

  FitResult solve() const {
    const auto columns = static_cast<Eigen::Index>(free_.size() + 2 * corrections_.size());
    FitProblem problem{.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); },
                       .prior_sd = Eigen::VectorXd(columns),
                       .low = Eigen::VectorXd::Constant(columns, std::log(kLowestFactor)),
                       .high = Eigen::VectorXd::Constant(columns, std::log(kHighestFactor))};
    Eigen::Index j = 0;
    for (const EfficiencyParameter* p : free_) {
      problem.prior_sd[j] = p->prior_sd;
      problem.low[j] = std::log(p->low / p->in(start_));
      problem.high[j++] = std::log(p->high / p->in(start_));
    }
    for (; j < columns; j += 2) problem.prior_sd.segment<2>(j) << kTimeFactorSd, kLaunchFactorSd;
    return fit(problem);
  }

  Calibration result(const FitResult& fitted) const {
    const sim::Device device = at(fitted.theta);
    Calibration c{.efficiency = device.efficiency,
                  .core_bandwidth_bytes_per_s = device.core_bandwidth_bytes_per_s,
                  .corrections = device.corrections,
                  .residual_sd = fitted.scale};
    for (const EfficiencyParameter& p : kEfficiencyParameters) {
      if (!p.has(start_)) continue;
      const auto found = std::find(free_.begin(), free_.end(), &p);
      const bool seen = found != free_.end();
      c.parameters.push_back({.name = p.name,
                              .value = p.in(device),
                              .before = p.in(start_),
                              .relative_sd = seen ? fitted.sd[found - free_.begin()] : p.prior_sd,
                              .prior_sd = p.prior_sd,
                              .determined = seen});
    }
    return c;
  }

  std::span<const Measurement> measurements_;
  std::vector<Place> places_;
  const MeasurementModel& model_;
  sim::Device start_;
  std::vector<const EfficiencyParameter*> free_;
  std::vector<sim::ModelCorrection> corrections_;
};

std::string limit_key(const Measurement& m) {
  return fmt::format("{:020.3f}", m.power_limit_w > 0 ? m.power_limit_w : 1e9);  // none is the highest
}

/// What makes two measurements of a subject differ: the batch, or a kernel's shape.
std::string variant_of(const Measurement& m) {
  if (!m.kernel) return fmt::format("{:020.3f}", m.batch_per_worker);
  std::string key;
  for (const OpWork& w : kernel_work(*m.kernel))
    key += w.matrix.m.fixed > 0
               ? fmt::format("{:.0f} {:.0f} {:.0f} {}|", w.matrix.m.fixed, w.matrix.n.fixed, w.matrix.k.fixed, w.repeats)
               : fmt::format("{:.0f} bytes|", w.bytes.fixed);
  return key;
}

}  // namespace

sim::Device calibrated(sim::Device device, const Calibration& calibration) {
  device.efficiency = calibration.efficiency;
  device.core_bandwidth_bytes_per_s = calibration.core_bandwidth_bytes_per_s;
  device.corrections = calibration.corrections;
  return device;
}

Calibration calibrate(std::span<const Measurement> measurements, std::span<const Place> places, const MeasurementModel& model) {
  sim::check(measurements.size() == places.size(), "each measurement has its place");
  std::set<std::string> subjects, variants;
  for (const Measurement& m : measurements) {
    sim::check(m.workers == 1, "a device is calibrated on single workers");
    subjects.insert(subject(m));
    variants.insert(variant_of(m));
  }
  if (measurements.empty()) return {.warnings = {"no measurement of a single worker: nothing is fitted"}};
  Calibration c = DeviceFit(measurements, places, model).run();
  const bool kernels = measurements.front().kernel.has_value();
  if (subjects.size() == 1)
    c.warnings.push_back(
        fmt::format("only {}: other {} may behave differently", *subjects.begin(), kernels ? "kinds of kernel" : "models"));
  if (variants.size() == 1)
    c.warnings.emplace_back("only one batch size: what is fixed and what grows with the batch cannot be told apart");
  return c;
}

std::vector<std::vector<std::size_t>> folds(std::span<const Measurement> measurements, HoldOut by) {
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> groups;  // subject, variant
  for (std::size_t i = 0; i < measurements.size(); ++i)
    if (by == HoldOut::limits)
      groups[subject(measurements[i]) + " " + variant_of(measurements[i])][limit_key(measurements[i])].push_back(i);
    else
      groups[subject(measurements[i])][variant_of(measurements[i])].push_back(i);
  std::vector<std::vector<std::size_t>> result(by == HoldOut::models ? groups.size() : 2);
  std::size_t g = 0;
  for (const auto& [name, variants] : groups) {
    std::size_t v = 0;
    for (const auto& [variant, rows] : variants) {
      auto& fold = result[by == HoldOut::models ? g : v++ % 2];
      fold.insert(fold.end(), rows.begin(), rows.end());
    }
    ++g;
  }
  std::erase_if(result, [](const auto& fold) { return fold.empty(); });
  return result;
}

}  // namespace rehearse::workloads
