// Time against threads from hardware counters: ridge regression on counters of a few profiling steps, its features chosen by
// cross-validation over models (after Liu et al., IPDPS 2019, section III; forward selection: Efroymson 1960).
#pragma once

#include <Eigen/Core>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "policies/threads/estimators.hpp"

namespace rehearse::policies {

/// Numbers of threads of the profiling steps: all cores, a quarter of them, one.
std::vector<int> counter_runs(int cores);
/// Names of the features, those of each run one after the other.
std::vector<std::string> counter_features(int cores);
/// Of one class, from the counters of each run.
std::vector<double> features_of(const std::vector<workloads::CpuCounters>& runs);

/// Classes of operations whose whole curves were measured once.
struct CurveExamples {
  std::vector<std::vector<double>> features;
  std::vector<std::vector<double>> time_s;  ///< by class, then threads from 1
  std::vector<int> group;                   ///< of each class: its model; no model is both learned from and judged on

  /// Adds what profiling a whole model shows, its times by `measured`. The bench's steps count there.
  void add(StepBench& bench, int model, const CurveEstimator& measured = ExhaustiveProbes());
};

class CurveRegression {
 public:
  /// At least two groups of examples, all of a CPU with so many cores.
  CurveRegression(const CurveExamples& examples, int cores);
  /// Seconds at 1, 2, ..., `cores` threads.
  std::vector<double> predict(const std::vector<double>& features) const;
  /// Indices of the features that were chosen, the most useful first.
  const std::vector<int>& chosen() const { return chosen_; }

 private:
  int cores_;
  std::vector<int> knots_;  // numbers of threads that are predicted
  std::vector<int> chosen_;
  Eigen::MatrixXd weights_;  // features and 1, by knots
};

class CounterRegression final : public CurveEstimator {
 public:
  explicit CounterRegression(std::shared_ptr<const CurveRegression> model) : model_(std::move(model)) {}
  sim::CpuBelief estimate(StepBench& bench) const override;

 private:
  std::shared_ptr<const CurveRegression> model_;
};

/// A regression in a replay, which has no runs of other models: some networks of the zoo are profiled once on each CPU, but for
/// the job's own, and so many jobs share their profiling.
class ZooRegression final : public CurveEstimator {
 public:
  ZooRegression(BenchNoise noise, double reuse_jobs) : noise_(noise), reuse_jobs_(reuse_jobs) {}
  /// CPUs must outlive it.
  sim::CpuBelief estimate(StepBench& bench) const override;
  static const std::vector<std::string_view>& networks();

 private:
  struct Learned {
    std::shared_ptr<const CurveRegression> model;
    double profiled_s = 0;
  };
  const Learned& learned(const sim::Device& cpu, std::string_view but_for) const;

  BenchNoise noise_;
  double reuse_jobs_;
  mutable std::map<std::tuple<const sim::Device*, std::string_view>, Learned> known_;
};

}  // namespace rehearse::policies
