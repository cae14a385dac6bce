#include "workloads/calibration/power_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

struct PowerParameter {
  const char* name;
  double sim::PowerLaw::*field;
  double prior_sd;  ///< of the logarithm
  double low, high;
};
constexpr PowerParameter kPowerParameters[] = {
    {"running_w", &sim::PowerLaw::running_w, 0.5, 1, 1e3},          {"clock_w", &sim::PowerLaw::clock_w, 0.5, 1, 1e4},
    {"arithmetic_w", &sim::PowerLaw::arithmetic_w, 0.5, 1, 1e4},    {"memory_w", &sim::PowerLaw::memory_w, 0.5, 1, 1e4},
    {"voltage_floor", &sim::PowerLaw::voltage_floor, 0.3, 0.3, 1},  {"voltage_slope", &sim::PowerLaw::voltage_slope, 0.5, 0.1, 5},
    {"lowest_clock", &sim::PowerLaw::lowest_clock, 0.3, 0.05, 0.5},
};

/// Of a model: watts, seconds (limits may hold back even the least limited rows, from which the efficiencies are), and waiting.
constexpr double kPowerFactorSd = 0.3, kWorkFactorSd = 0.25, kWaitSd = 1;
constexpr double kWait = 0.1, kLongestWait = 0.9;
constexpr Eigen::Index kOfModel = 3;

constexpr double kWattsRepeatability = 0.02;  // of mean watts, and of an epoch's seconds

/// Shares of busy_w that a device without a law begins with: between those of four GPUs in Zeus's tables.
sim::PowerLaw start_of(const sim::Device& device) {
  if (device.power) return *device.power;
  sim::PowerLaw law = sim::power_law(device);
  law.running_w = 0.25 * device.busy_w;
  law.clock_w = law.memory_w = 0.2 * device.busy_w;
  law.arithmetic_w = device.busy_w;
  law.launch_w = law.clock_w;
  return law;
}

class PowerFit {
 public:
  PowerFit(std::span<const Measurement> measurements, std::span<const Site> sites, const MeasurementModel& model)
      : measurements_(measurements),
        sites_(sites),
        model_(model),
        start_(start_of(sites.front().device)),
        corrections_(sites.front().device.corrections) {}

  PowerCalibration run() const {
    const auto laws = static_cast<Eigen::Index>(std::size(kPowerParameters));
    const auto columns = laws + kOfModel * static_cast<Eigen::Index>(corrections_.size());
    FitProblem problem{.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); },
                       .prior_sd = Eigen::VectorXd(columns),
                       .low = Eigen::VectorXd::Constant(columns, std::log(0.1)),
                       .high = Eigen::VectorXd::Constant(columns, std::log(10)),
                       .smallest_scale = kWattsRepeatability,
                       .loss = RobustLoss::huber};
    Eigen::Index j = 0;
    for (const PowerParameter& p : kPowerParameters) {
      problem.prior_sd[j] = p.prior_sd;
      problem.low[j] = std::log(p.low / start_.*p.field);
      problem.high[j++] = std::log(p.high / start_.*p.field);
    }
    for (; j < columns; j += kOfModel) problem.prior_sd.segment<kOfModel>(j) << kPowerFactorSd, kWorkFactorSd, kWaitSd;
    return result(fit(problem));
  }

 private:
  PowerCalibration result(const FitResult& fitted) const {
    const sim::Device device = at(fitted.theta);
    PowerCalibration result{.law = *device.power, .corrections = device.corrections, .residual_sd = fitted.scale};
    Eigen::Index j = 0;
    for (const PowerParameter& p : kPowerParameters) {
      result.parameters.push_back({.name = p.name,
                                   .value = result.law.*p.field,
                                   .before = start_.*p.field,
                                   .relative_sd = fitted.sd[j],
                                   .prior_sd = p.prior_sd,
                                   .determined = fitted.sd[j] <= kDetermined * p.prior_sd});
      ++j;
    }
    return result;
  }

  /// theta: logarithms of the law's parameters over their start, then of each model's three.
  sim::Device at(const Eigen::VectorXd& theta) const {
    sim::Device device = sites_.front().device;
    sim::PowerLaw law = start_;
    Eigen::Index j = 0;
    for (const PowerParameter& p : kPowerParameters)
      law.*p.field = std::clamp(start_.*p.field * std::exp(theta[j++]), p.low, p.high);
    law.launch_w = law.clock_w;  // gaps of tens of microseconds are too short for a clock to rest
    device.power = law;
    device.corrections = corrections_;
    for (sim::ModelCorrection& c : device.corrections) {
      c.power_factor = std::exp(theta[j++]);
      c.time_factor *= std::exp(theta[j++]);
      c.wait_share = std::min(kLongestWait, kWait * std::exp(theta[j++]));
    }
    return device;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const {
    const sim::Device device = at(theta);
    std::vector<double> r;
    for (std::size_t i = 0; i < measurements_.size(); ++i) {
      const Measurement& m = measurements_[i];
      Site site = sites_[i];
      site.device.power = device.power;
      site.device.corrections = device.corrections;
      r.push_back(std::log(model_.step_s(m, site) / m.step_s));
      if (std::isfinite(m.power_w)) r.push_back(std::log(model_.power_w(m, site) / m.power_w));
    }
    return Eigen::Map<const Eigen::VectorXd>(r.data(), static_cast<Eigen::Index>(r.size()));
  }

  std::span<const Measurement> measurements_;
  std::span<const Site> sites_;
  const MeasurementModel& model_;
  sim::PowerLaw start_;
  std::vector<sim::ModelCorrection> corrections_;
};

std::string setting_but_limit(const Measurement& m) {
  return fmt::format("{} {} {} {} {}", m.device, subject(m), m.batch_per_worker, m.source, m.threads);
}

double limit_w(const Measurement& m) { return m.power_limit_w > 0 ? m.power_limit_w : INFINITY; }

}  // namespace

bool has_power(const Measurement& m) { return !m.kernel && (std::isfinite(m.power_w) || m.power_limit_w > 0); }

bool same_setting(const Measurement& a, const Measurement& b) { return setting_but_limit(a) == setting_but_limit(b); }

std::vector<std::size_t> least_limited(std::span<const Measurement> measurements) {
  std::map<std::string, double> highest;
  for (const Measurement& m : measurements) {
    double& limit = highest[setting_but_limit(m)];
    limit = std::max(limit, limit_w(m));
  }
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < measurements.size(); ++i)
    if (limit_w(measurements[i]) == highest[setting_but_limit(measurements[i])]) result.push_back(i);
  return result;
}

PowerCalibration calibrate_power(std::span<const Measurement> measurements, std::span<const Site> sites,
                                 const MeasurementModel& model) {
  sim::check(std::any_of(measurements.begin(), measurements.end(), has_power), "power is fitted to measured power");
  return PowerFit(measurements, sites, model).run();
}

sim::Device calibrated(sim::Device device, const PowerCalibration& calibration) {
  device.power = calibration.law;
  device.corrections = calibration.corrections;
  return device;
}

DeviceCalibration calibrate_device(std::span<const Measurement> measurements, std::span<const Site> sites,
                                   const MeasurementModel& model, FitOptions options) {
  if (std::none_of(measurements.begin(), measurements.end(), has_power))
    return {.time = calibrate(measurements, sites, model, options)};
  std::vector<Measurement> fastest;
  std::vector<Site> there;
  for (const std::size_t i : least_limited(measurements)) {
    fastest.push_back(measurements[i]);
    fastest.back().power_limit_w = 0;
    there.push_back(sites[i]);
  }
  // Limits hold back the least limited rows too, large batches more than small ones: that is the power law's to explain.
  const bool has_limits = fastest.size() < measurements.size();
  options.by_batch = options.by_batch && !has_limits;
  DeviceCalibration result{.time = calibrate(fastest, there, model, options)};
  std::vector<Site> timed(sites.begin(), sites.end());
  for (Site& site : timed) site.device = calibrated(site.device, result.time);
  result.power = calibrate_power(measurements, timed, model);
  return result;
}

sim::Device calibrated(sim::Device device, const DeviceCalibration& calibration) {
  device = calibrated(std::move(device), calibration.time);
  return calibration.power ? calibrated(std::move(device), *calibration.power) : device;
}

}  // namespace rehearse::workloads
