#include "workloads/calibration/thread_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "sim/base/errors.hpp"
#include "workloads/steps/cpu_threads.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

/// A share: how far from its default it may be (standard deviation of the logarithm; both are estimates), and its limits.
struct ThreadParameter {
  const char* name;
  double sim::Threading::*field;
  double prior_sd, low, high;
};
constexpr ThreadParameter kThreadParameters[] = {{"dispatch_share", &sim::Threading::dispatch_share, 1, 0.01, 1},
                                                 {"serial_share", &sim::Threading::serial_share, 2, 1e-6, 0.2}};
constexpr Eigen::Index kCount = std::size(kThreadParameters);

std::string key_of(const Measurement& m) {
  std::string key = subject(m);
  for (const OpWork& w : kernel_work(*m.kernel))
    key += fmt::format("|{} {} {} {} {} {}", w.matrix.m.fixed, w.matrix.n.fixed, w.matrix.k.fixed, w.repeats, w.flops.fixed,
                       w.bytes.fixed);
  return key;
}

sim::Device at(sim::Device cpu, const Eigen::VectorXd& theta) {
  for (Eigen::Index j = 0; j < kCount; ++j) {
    const ThreadParameter& p = kThreadParameters[j];
    cpu.threading.*p.field = std::clamp(cpu.threading.*p.field * std::exp(theta[j]), p.low, p.high);
  }
  return cpu;
}

/// Of each curve's further points, against its first.
std::vector<Compared> speedups(std::span<const Measurement> measurements, std::span<const ThreadCurve> curves,
                               const std::function<double(const Measurement&)>& predicted_s) {
  std::vector<Compared> pairs;
  for (const ThreadCurve& curve : curves) {
    const Measurement& fewest = measurements[curve.front()];
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const Measurement& more = measurements[curve[i]];
      pairs.push_back({predicted_s(fewest) / predicted_s(more), fewest.step_s / more.step_s});
    }
  }
  return pairs;
}

}  // namespace

std::vector<ThreadCurve> thread_curves(std::span<const Measurement> measurements) {
  std::map<std::string, std::map<int, std::size_t>> by_kernel;
  for (std::size_t i = 0; i < measurements.size(); ++i)
    if (measurements[i].kernel && measurements[i].threads > 0)
      by_kernel[key_of(measurements[i])].emplace(measurements[i].threads, i);
  std::vector<ThreadCurve> curves;
  for (const auto& [key, by_threads] : by_kernel) {
    if (by_threads.size() < 2) continue;
    ThreadCurve& curve = curves.emplace_back();
    for (const auto& [threads, index] : by_threads) curve.push_back(index);
  }
  return curves;
}

double threaded_kernel_s(const Measurement& m, const sim::Device& cpu) {
  sim::check(m.kernel.has_value(), "the equation of threads is of one operation");
  const int threads = m.threads > 0 ? m.threads : cpu.cores;
  const sim::CpuMachine machine = sim::cpu_machine_of(cpu);
  double sum_s = 0;
  for (const OpWork& work : kernel_work(*m.kernel))
    sum_s += sim::cpu_alone_s(machine, cpu_op_cost(work, cpu, 1, threads), threads);
  return sum_s;
}

ThreadCurveErrors thread_curve_errors(std::span<const Measurement> measurements, std::span<const ThreadCurve> curves,
                                      const std::function<double(const Measurement&)>& predicted_s) {
  std::vector<Compared> times;
  for (const ThreadCurve& curve : curves)
    for (const std::size_t i : curve) times.push_back({predicted_s(measurements[i]), measurements[i].step_s});
  return {.times = summarise(times), .speedups = summarise(speedups(measurements, curves, predicted_s))};
}

std::optional<ThreadCalibration> calibrate_threads(std::span<const Measurement> measurements, const sim::Device& cpu) {
  const std::vector<ThreadCurve> curves = thread_curves(measurements);
  if (curves.empty()) return std::nullopt;
  FitProblem problem{.residuals =
                         [&](const Eigen::VectorXd& theta) {
                           const sim::Device device = at(cpu, theta);
                           const std::vector<Compared> pairs =
                               speedups(measurements, curves, [&](const Measurement& m) { return threaded_kernel_s(m, device); });
                           Eigen::VectorXd r(static_cast<Eigen::Index>(pairs.size()));
                           for (std::size_t i = 0; i < pairs.size(); ++i)
                             r[static_cast<Eigen::Index>(i)] = std::log(pairs[i].predicted_s / pairs[i].measured_s);
                           return r;
                         },
                     .prior_sd = Eigen::VectorXd(kCount),
                     .low = Eigen::VectorXd(kCount),
                     .high = Eigen::VectorXd(kCount)};
  for (Eigen::Index j = 0; j < kCount; ++j) {
    const ThreadParameter& p = kThreadParameters[j];
    problem.prior_sd[j] = p.prior_sd;
    problem.low[j] = std::log(p.low / (cpu.threading.*p.field));
    problem.high[j] = std::log(p.high / (cpu.threading.*p.field));
  }
  const FitResult fitted = fit(problem);
  const sim::Device device = at(cpu, fitted.theta);
  ThreadCalibration result{.threading = cpu.threading};
  for (Eigen::Index j = 0; j < kCount; ++j) {
    const ThreadParameter& p = kThreadParameters[j];
    const bool determined = fitted.sd[j] <= kDetermined * p.prior_sd;
    if (determined) result.threading.*p.field = device.threading.*p.field;
    result.parameters.push_back({.name = p.name,
                                 .value = result.threading.*p.field,
                                 .before = cpu.threading.*p.field,
                                 .relative_sd = determined ? fitted.sd[j] : p.prior_sd,
                                 .prior_sd = p.prior_sd,
                                 .determined = determined});
  }
  return result;
}

}  // namespace rehearse::workloads
