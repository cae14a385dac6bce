#include "policies/threads/regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::policies {

namespace {

constexpr std::size_t kMostFeatures = 8;
constexpr double kRidge = 1e-3;       // of the features' scale
constexpr double kLeastGain = 0.005;  // of the error, that a further feature must bring
constexpr int kKnots = 12;            // about so many numbers of threads are predicted, even in their logarithm

std::vector<int> knots(int cores) {
  std::vector<int> at;
  for (int i = 0; i < kKnots; ++i) {
    const int k = static_cast<int>(std::lround(std::pow(cores, i / (kKnots - 1.0))));
    if (at.empty() || at.back() != k) at.push_back(k);
  }
  return at;
}

/// Least squares with a penalty; the last column of x is 1.
Eigen::MatrixXd ridge(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) {
  Eigen::MatrixXd normal = sim::transposed_product(x, x);
  normal.diagonal().array() += kRidge * static_cast<double>(x.rows());
  return sim::solve_symmetric(normal, sim::transposed_product(x, y));
}

Eigen::MatrixXd columns(const Eigen::MatrixXd& all, const std::vector<int>& chosen) {
  Eigen::MatrixXd x(all.rows(), static_cast<Eigen::Index>(chosen.size()) + 1);
  for (std::size_t i = 0; i < chosen.size(); ++i) x.col(static_cast<Eigen::Index>(i)) = all.col(chosen[i]);
  x.rightCols(1).setOnes();
  return x;
}

Eigen::MatrixXd rows(const Eigen::MatrixXd& all, const std::vector<int>& group, int one, bool of_group) {
  std::vector<int> wanted;
  for (int i = 0; i < all.rows(); ++i)
    if ((group[static_cast<std::size_t>(i)] == one) == of_group) wanted.push_back(i);
  Eigen::MatrixXd out(static_cast<Eigen::Index>(wanted.size()), all.cols());
  for (std::size_t i = 0; i < wanted.size(); ++i) out.row(static_cast<Eigen::Index>(i)) = all.row(wanted[i]);
  return out;
}

/// Mean square of what groups get wrong that were left out, one after the other.
double held_out_error(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y, const std::vector<int>& group) {
  double sum = 0;
  const int groups = *std::max_element(group.begin(), group.end()) + 1;
  for (int g = 0; g < groups; ++g) {
    const Eigen::MatrixXd held = rows(x, group, g, true);
    if (held.rows() == 0 || held.rows() == x.rows()) continue;
    const Eigen::MatrixXd weights = ridge(rows(x, group, g, false), rows(y, group, g, false));
    sum += (sim::product(held, weights) - rows(y, group, g, true)).squaredNorm();
  }
  return sum / static_cast<double>(y.size());
}

std::vector<int> choose_features(const Eigen::MatrixXd& all, const Eigen::MatrixXd& y, const std::vector<int>& group) {
  std::vector<int> chosen;
  double error = held_out_error(columns(all, chosen), y, group);
  while (chosen.size() < kMostFeatures) {
    int best = -1;
    double least = error * (1 - kLeastGain);
    for (int f = 0; f < all.cols(); ++f) {
      if (std::find(chosen.begin(), chosen.end(), f) != chosen.end()) continue;
      std::vector<int> with = chosen;
      with.push_back(f);
      if (const double now = held_out_error(columns(all, with), y, group); now < least) {
        least = now;
        best = f;
      }
    }
    if (best < 0) break;
    chosen.push_back(best);
    error = least;
  }
  return chosen;
}

}  // namespace

std::vector<int> counter_runs(int cores) {
  std::vector<int> runs{cores, std::max(1, cores / 4), 1};
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

std::vector<std::string> counter_features(int cores) {
  std::vector<std::string> names;
  for (const int k : counter_runs(cores))
    for (const char* name : {"log time", "log instructions/cycle", "log LLC accesses/instruction", "log LLC misses/access",
                             "log L1 hits/instruction"})
      names.push_back(std::string(name) + ", " + std::to_string(k) + " threads");
  return names;
}

std::vector<double> features_of(const std::vector<workloads::CpuCounters>& runs) {
  std::vector<double> features;
  for (const workloads::CpuCounters& c : runs)
    for (const double value : {c.time_s, (1 + c.instructions) / c.cycles, c.llc_accesses / (1 + c.instructions),
                               c.llc_misses / c.llc_accesses, c.l1_hits / (1 + c.instructions)})
      features.push_back(std::log(value));
  return features;
}

namespace {

/// By class.
std::vector<std::vector<double>> profiled_features(StepBench& bench) {
  std::vector<std::vector<workloads::CpuCounters>> by_class(static_cast<std::size_t>(bench.class_count()));
  for (const int k : counter_runs(bench.machine().cores)) {
    const std::vector<workloads::CpuCounters> seen = bench.probe_counters(k);
    for (std::size_t c = 0; c < seen.size(); ++c) by_class[c].push_back(seen[c]);
  }
  std::vector<std::vector<double>> features;
  for (const auto& runs : by_class) features.push_back(features_of(runs));
  return features;
}

}  // namespace

void CurveExamples::add(StepBench& bench, int model, const CurveEstimator& measured) {
  for (std::vector<double>& one : profiled_features(bench)) features.push_back(std::move(one));
  const sim::CpuBelief curves = measured.estimate(bench);
  for (int c = 0; c < bench.class_count(); ++c) {
    const auto first = curves.alone_s.begin() + static_cast<std::ptrdiff_t>(c) * curves.cores;
    time_s.emplace_back(first, first + curves.cores);
    group.push_back(model);
  }
}

CurveRegression::CurveRegression(const CurveExamples& examples, int cores) : cores_(cores), knots_(knots(cores)) {
  sim::check(examples.features.size() > 1, "a regression needs examples");
  const auto n = static_cast<Eigen::Index>(examples.features.size());
  Eigen::MatrixXd all(n, static_cast<Eigen::Index>(examples.features.front().size()));
  Eigen::MatrixXd y(n, static_cast<Eigen::Index>(knots_.size()));
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto& features = examples.features[static_cast<std::size_t>(i)];
    for (Eigen::Index f = 0; f < all.cols(); ++f) all(i, f) = features[static_cast<std::size_t>(f)];
    for (Eigen::Index k = 0; k < y.cols(); ++k)
      y(i, k) = std::log(
          examples.time_s[static_cast<std::size_t>(i)][static_cast<std::size_t>(knots_[static_cast<std::size_t>(k)]) - 1]);
  }
  chosen_ = choose_features(all, y, examples.group);
  weights_ = ridge(columns(all, chosen_), y);
}

std::vector<double> CurveRegression::predict(const std::vector<double>& features) const {
  Eigen::RowVectorXd x(weights_.rows());
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    x(static_cast<Eigen::Index>(i)) = features[static_cast<std::size_t>(chosen_[i])];
  x(weights_.rows() - 1) = 1;
  const Eigen::RowVectorXd log_s = x * weights_;
  std::vector<ThreadSample> samples;
  for (std::size_t k = 0; k < knots_.size(); ++k) samples.push_back({knots_[k], std::exp(log_s(static_cast<Eigen::Index>(k)))});
  return interpolated(std::move(samples), cores_);
}

sim::CpuBelief CounterRegression::estimate(StepBench& bench) const {
  std::vector<double> alone_s;
  for (const std::vector<double>& features : profiled_features(bench)) {
    const std::vector<double> curve = model_->predict(features);
    alone_s.insert(alone_s.end(), curve.begin(), curve.end());
  }
  return sim::CpuBelief::of(bench.machine().cores, std::move(alone_s));
}

namespace {

constexpr int kMostSamples = 64;  // of a network that is profiled for others

/// A profiling step for each number of threads that a regression predicts.
class KnotProbes final : public CurveEstimator {
 public:
  sim::CpuBelief estimate(StepBench& bench) const override {
    const auto classes = static_cast<std::size_t>(bench.class_count());
    std::vector<std::vector<ThreadSample>> samples(classes);
    for (const int k : knots(bench.machine().cores)) {
      const std::vector<double> seen = bench.probe(std::vector<int>(classes, k));
      for (std::size_t c = 0; c < classes; ++c) samples[c].push_back({k, seen[c]});
    }
    std::vector<double> alone_s;
    for (std::vector<ThreadSample>& of_class : samples) {
      const std::vector<double> curve = interpolated(std::move(of_class), bench.machine().cores);
      alone_s.insert(alone_s.end(), curve.begin(), curve.end());
    }
    return sim::CpuBelief::of(bench.machine().cores, std::move(alone_s));
  }
};

}  // namespace

const std::vector<std::string_view>& ZooRegression::networks() {
  static const std::vector<std::string_view> names{"alexnet", "resnet32", "inception-v2", "dcgan", "rnnlm", "deepspeech2"};
  return names;
}

const ZooRegression::Learned& ZooRegression::learned(const sim::Device& cpu, std::string_view but_for) const {
  const auto found = known_.find({&cpu, but_for});
  if (found != known_.end()) return found->second;
  Learned learned;
  CurveExamples examples;
  int models = 0;
  for (const std::string_view name : networks()) {
    if (name == but_for) continue;
    const double batch = std::min(kMostSamples, workloads::zoo_entry(name).global_batch);
    const workloads::CpuStepModel model = workloads::cpu_step_model(workloads::zoo_graph(name), cpu, batch);
    BenchNoise noise = noise_;
    noise.key = sim::stream_key(noise_.key, 0, "threads examples", fmt::format("{}/{}", name, cpu.name));
    StepBench bench(model, cpu, batch, noise);
    examples.add(bench, models++, KnotProbes());
    learned.profiled_s += bench.profiled_s();
  }
  learned.model = std::make_shared<const CurveRegression>(examples, std::max(1, cpu.cores));
  return known_.emplace(std::tuple{&cpu, but_for}, std::move(learned)).first->second;
}

sim::CpuBelief ZooRegression::estimate(StepBench& bench) const {
  const auto& names = networks();
  const auto own = std::find(names.begin(), names.end(), bench.name());
  const Learned& from = learned(bench.cpu(), own == names.end() ? std::string_view() : *own);
  bench.charge_share(from.profiled_s / reuse_jobs_);
  return CounterRegression(from.model).estimate(bench);
}

}  // namespace rehearse::policies
