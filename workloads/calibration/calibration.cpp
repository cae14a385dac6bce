#include "workloads/calibration/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
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
  double median = 0;   ///< the prior's, where the device has 0
  bool share = false;  ///< `prior_sd` is of the value itself, not of its logarithm
  bool of_gpu = false, of_steps = false;

  double& in(sim::Device& device) const { return of_cpu != nullptr ? device.*of_cpu : device.efficiency.*field; }
  double in(const sim::Device& device) const { return of_cpu != nullptr ? device.*of_cpu : device.efficiency.*field; }
  bool has(const sim::Device& device) const {
    return (of_cpu == nullptr || device.kind == sim::DeviceKind::cpu) && (!of_gpu || device.kind == sim::DeviceKind::gpu);
  }
  double start(const sim::Device& device) const { return in(device) > 0 ? in(device) : median; }
  double at(double theta, const sim::Device& device) const {
    return std::clamp(share ? start(device) + theta : start(device) * std::exp(theta), low, high);
  }
  double theta_of(double value, const sim::Device& device) const {
    return share ? value - start(device) : std::log(value / start(device));
  }
};
constexpr double kOverheadS = 0.01, kOverheadSd = 1.4;
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
    // Between 1 and 100 ms nine times of ten: what steps keep that are extrapolated to no work.
    {.name = "step_overhead_s",
     .field = &sim::Efficiency::step_overhead_s,
     .prior_sd = kOverheadSd,
     .low = 1e-6,
     .high = 10,
     .median = kOverheadS,
     .of_steps = true},
    {.name = "fast_forms",
     .field = &sim::Efficiency::fast_forms,
     .prior_sd = 0.5,
     .low = 0,
     .high = 1,
     .share = true,
     .of_gpu = true,
     .of_steps = true},
    {"core_bandwidth_bytes_per_s", nullptr, 0.5, 1e7, 1e13, &sim::Device::core_bandwidth_bytes_per_s},
};

/// Standard deviations of the logarithms of what models have in common, and of a model's launch factor: how far uncalibrated
/// devices are off, and from one model to the next. With kModelSpread a model's factor has 0.4 altogether.
constexpr double kCommonFactorSd = 0.3, kLaunchFactorSd = 0.5;
constexpr double kLowestFactor = 0.1, kHighestFactor = 10;
constexpr double kInseparable = 0.9;  // correlation
// Of the logarithm of a model's time at one batch size over what is modelled of it; and of how it grows with a doubling, as much
// over the doublings in which the former is forgotten.
constexpr double kBatchSd = 0.15, kBatchGrowthSd = kBatchSd / sim::kBatchMemoryDoublings;
constexpr std::size_t kBatchesForShape = 2;
// A distribution's 90 % in standard deviations of a normal one, to both sides; how many residuals a prior is worth.
constexpr double kNinety = 1.645, kNinetyShare = 0.9;
constexpr double kPriorResiduals = 10;

constexpr double kRepeatability = 0.05;  // of a step: FitProblem's smallest scale

/// Of a stationary process that forgets (Ornstein and Uhlenbeck 1930), the correlation of two batch sizes.
double batch_correlation(double low, double high) { return std::exp(-std::log2(high / low) / sim::kBatchMemoryDoublings); }

/// That process at rising batches, and growth around their middle, from independent standard normal numbers: one for each batch,
/// and where it grows the growth's.
std::vector<sim::BatchFactor> batch_factors(std::span<const double> batches, const double* normal, bool grows) {
  std::vector<sim::BatchFactor> factors;
  const double middle = (std::log2(batches.front()) + std::log2(batches.back())) / 2;
  const double growth = grows ? kBatchGrowthSd * normal[batches.size()] : 0;
  double log_factor = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const double rho = i == 0 ? 0 : batch_correlation(batches[i - 1], batches[i]);
    log_factor = rho * log_factor + kBatchSd * std::sqrt(1 - rho * rho) * normal[i];
    factors.push_back({batches[i], std::exp(log_factor + growth * (std::log2(batches[i]) - middle))});
  }
  return factors;
}

/// Moved by its prior's standard deviation; nothing of a parameter that the device lacks.
std::optional<sim::Device> moved_by_prior(sim::Device device, const EfficiencyParameter& p, const sim::Device& start) {
  if (!p.has(start) || p.start(start) <= 0) return std::nullopt;
  p.in(device) = p.in(start) > 0 ? p.at(p.in(start) < p.high ? p.prior_sd : -p.prior_sd, start) : p.median;
  return device;
}

/// Of a device that may be another part of the same CPU.
void take_fitted(sim::Device& device, const sim::Device& fitted) {
  device.efficiency = fitted.efficiency;
  device.core_bandwidth_bytes_per_s = fitted.core_bandwidth_bytes_per_s;
  device.corrections = fitted.corrections;
}

class DeviceFit {
 public:
  DeviceFit(std::span<const Measurement> measurements, std::span<const Site> sites, const MeasurementModel& model,
            const FitOptions& options)
      : measurements_(measurements),
        sites_(sites.begin(), sites.end()),
        model_(model),
        sheet_(sites_.front().device),
        start_(sheet_),
        assumes_overhead_(options.assumes_overhead) {
    for (const Measurement& m : measurements) {
      const auto same = [&](const sim::ModelCorrection& c) { return c.model == m.model && c.dataset == m.dataset; };
      if (!m.kernel && std::none_of(corrections_.begin(), corrections_.end(), same)) corrections_.push_back({m.model, m.dataset});
    }
    for (const EfficiencyParameter& p : kEfficiencyParameters)
      if (p.has(start_) && p.start(start_) > 0 && !(p.of_steps && corrections_.empty())) free_.push_back(&p);
    for (const sim::ModelCorrection& c : corrections_) {
      std::set<double> batches;
      for (const Measurement& m : measurements)
        if (is_of(c, m)) batches.insert(m.batch_per_worker);
      if (!options.by_batch || batches.size() < kBatchesForShape) batches.clear();
      batches_.emplace_back(batches.begin(), batches.end());
    }
  }

  /// Parameters that the measurements leave about as uncertain as they were keep their value; the others are fitted again. An
  /// overhead of the step is taken only where the rows are much more probable with it: launches explain much of the same. How a
  /// model's time grows with the batch is fitted last: what is determined without it is not left to it.
  Calibration run() {
    FitResult fitted = told_overhead();
    note_inseparable(fitted);
    std::vector<const EfficiencyParameter*> seen;
    for (std::size_t j = 0; j < free_.size(); ++j)
      if (is_seen(fitted, static_cast<std::ptrdiff_t>(j))) seen.push_back(free_[j]);
    const bool kept = seen.size() != free_.size();
    free_ = std::move(seen);
    if (grow() || kept) fitted = solve();
    if (static_cast<int>(corrections_.size()) >= kModelsForSpread)
      for (int i = 0; i < kSpreadIterations; ++i) {
        spread_ = most_probable_spread(static_cast<int>(corrections_.size()), sum_of_squares(fitted), kModelSpread);
        fitted = solve(fitted.theta);
      }
    else if (!corrections_.empty())
      notes_.push_back(fmt::format("{} measured: the spread between models is the prior's, {:.0f} %; {} tell it",
                                   corrections_.size() == 1 ? "one model is" : fmt::format("{} models are", corrections_.size()),
                                   100 * kModelSpread, kModelsForSpread));
    return result(fitted);
  }

 private:
  static constexpr int kSpreadIterations = 3;
  static constexpr double kLargestNormal = 8;

  bool is_seen(const FitResult& fitted, std::ptrdiff_t j) const {
    return fitted.sd[j] <= kDetermined * free_[static_cast<std::size_t>(j)]->prior_sd;
  }

  /// Leaves it free where it earns its place. Otherwise one is assumed where the rows are the more probable with it.
  FitResult told_overhead() {
    const auto overhead = std::find_if(free_.begin(), free_.end(), [](const auto* p) { return p->median > 0; });
    if (overhead == free_.end()) return solve();
    double& start_s = start_.efficiency.step_overhead_s;
    const double before_s = start_s;
    const std::vector<const EfficiencyParameter*> all = free_;
    const FitResult with = solve();
    const double cost_with = cost_of(problem(), with.theta, with.scale);
    free_.erase(overhead);
    FitResult kept = solve();
    double cost_kept = cost_of(problem(), kept.theta, with.scale);
    if (assumes_overhead_ && before_s <= 0) {
      start_s = assumed_overhead_s();
      FitResult assumed = solve();
      const double cost_assumed = cost_of(problem(), assumed.theta, with.scale);
      if (cost_assumed < cost_kept) {
        cost_kept = cost_assumed;
        kept = std::move(assumed);
      } else {
        start_s = before_s;
      }
    }
    if (cost_kept - cost_with < kEvidence) {
      notes_.emplace_back(start_s > before_s
                              ? fmt::format("no step_overhead_s is seen beside launches: {:.1f} ms are assumed", 1e3 * start_s)
                              : "no step_overhead_s is seen beside launches: it is kept");
      return kept;
    }
    start_s = before_s;
    free_ = all;
    return with;
  }

  /// Frees the growth of each model that was measured at several batch sizes; none: false.
  bool grow() {
    const double far = std::exp2(sim::kBatchMemoryDoublings);  // growth goes on until the process has forgotten it
    for (std::vector<double>& batches : batches_) {
      if (batches.empty()) continue;
      grows_ = true;
      batches.insert(batches.begin(), batches.front() / far);
      batches.push_back(far * batches.back());
    }
    return grows_;
  }

  static bool is_of(const sim::ModelCorrection& c, const Measurement& m) {
    return !m.kernel && m.model == c.model && m.dataset == c.dataset;
  }

  /// The index of the common factor, behind the free parameters; then of each model its own factor over it, and its launches';
  /// then what makes its batch sizes differ.
  Eigen::Index common() const { return static_cast<Eigen::Index>(free_.size()); }
  Eigen::Index first_batch() const {
    return common() + (corrections_.empty() ? 0 : 1 + 2 * static_cast<Eigen::Index>(corrections_.size()));
  }
  /// A number for each batch size, and the growth's.
  Eigen::Index batch_columns(const std::vector<double>& batches) const {
    return batches.empty() ? 0 : static_cast<Eigen::Index>(batches.size()) + (grows_ ? 1 : 0);
  }
  Eigen::Index columns() const {
    Eigen::Index columns = first_batch();
    for (const auto& batches : batches_) columns += batch_columns(batches);
    return columns;
  }

  /// theta: logarithms over the start, of a share the difference from it.
  sim::Device at(const Eigen::VectorXd& theta) const {
    sim::Device device = start_;
    Eigen::Index j = 0;
    for (const EfficiencyParameter* p : free_) p->in(device) = p->at(theta[j++], start_);
    device.corrections = corrections_;
    if (corrections_.empty()) return device;
    device.efficiency.model_factor *= std::exp(theta[j++]);
    for (sim::ModelCorrection& c : device.corrections) {
      c.time_factor = device.efficiency.model_factor * std::exp(theta[j++]);
      c.launch_factor = std::exp(theta[j++]);
    }
    for (std::size_t c = 0; c < batches_.size(); ++c) {
      if (!batches_[c].empty()) device.corrections[c].batches = batch_factors(batches_[c], theta.data() + j, grows_);
      j += batch_columns(batches_[c]);
    }
    return device;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const {
    const sim::Device device = at(theta);
    Eigen::VectorXd r(static_cast<Eigen::Index>(measurements_.size()));
    for (std::size_t i = 0; i < measurements_.size(); ++i) {
      Site site = sites_[i];
      take_fitted(site.device, device);
      r[static_cast<Eigen::Index>(i)] = std::log(model_.step_s(measurements_[i], site) / measurements_[i].step_s);
    }
    return r;
  }

  /// A model's factors move its own rows.
  std::vector<std::vector<Eigen::Index>> moves() const {
    std::vector<std::vector<Eigen::Index>> rows(static_cast<std::size_t>(columns()));
    auto of_batch = static_cast<std::size_t>(first_batch());
    for (std::size_t c = 0; c < corrections_.size(); ++c) {
      std::vector<Eigen::Index> own;
      for (std::size_t i = 0; i < measurements_.size(); ++i)
        if (is_of(corrections_[c], measurements_[i])) own.push_back(static_cast<Eigen::Index>(i));
      for (const std::size_t factor : {1, 2}) rows[static_cast<std::size_t>(common()) + 2 * c + factor] = own;
      for (Eigen::Index b = 0; b < batch_columns(batches_[c]); ++b) rows[of_batch++] = own;
    }
    return rows;
  }

  FitProblem problem(Eigen::VectorXd from = {}) const {
    FitProblem problem{.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); },
                       .prior_sd = Eigen::VectorXd(columns()),
                       .low = Eigen::VectorXd::Constant(columns(), std::log(kLowestFactor)),
                       .high = Eigen::VectorXd::Constant(columns(), std::log(kHighestFactor)),
                       .start = std::move(from),
                       .moves = moves()};
    Eigen::Index j = 0;
    for (const EfficiencyParameter* p : free_) {
      problem.prior_sd[j] = p->prior_sd;
      problem.low[j] = p->theta_of(p->low, start_);
      problem.high[j++] = p->theta_of(p->high, start_);
    }
    if (j < first_batch()) problem.prior_sd[j++] = kCommonFactorSd;
    for (; j < first_batch(); j += 2) problem.prior_sd.segment<2>(j) << spread_, kLaunchFactorSd;
    problem.prior_sd.tail(columns() - j).setOnes();
    problem.low.tail(columns() - j).setConstant(-kLargestNormal);
    problem.high.tail(columns() - j).setConstant(kLargestNormal);
    return problem;
  }

  FitResult solve(Eigen::VectorXd from = {}) const { return fit(problem(std::move(from))); }

  /// Expected, of the models' factors over the common one.
  double sum_of_squares(const FitResult& fitted) const {
    double sum = 0;
    for (Eigen::Index j = common() + 1; j < first_batch(); j += 2)
      sum += fitted.theta[j] * fitted.theta[j] + fitted.covariance(j, j);
    return sum;
  }

  void note_inseparable(const FitResult& fitted) {
    const auto name = [&](Eigen::Index j) { return j == common() ? "model_factor" : free_[static_cast<std::size_t>(j)]->name; };
    const Eigen::Index last = corrections_.empty() ? common() - 1 : common();
    for (Eigen::Index a = 0; a <= last; ++a)
      for (Eigen::Index b = a + 1; b <= last; ++b)
        if (std::abs(fitted.covariance(a, b)) > kInseparable * fitted.sd[a] * fitted.sd[b])
          notes_.push_back(fmt::format("{} and {} cannot be told apart by these rows: their priors decide", name(a), name(b)));
  }

  /// What is left uncertain: the columns of the covariance's root, and each parameter that kept its value, by its prior.
  std::vector<sim::Device> moved(const FitResult& fitted) const {
    std::vector<sim::Device> devices;
    const Eigen::MatrixXd root = sim::cholesky_root(fitted.covariance);
    for (Eigen::Index j = 0; j < root.cols(); ++j) devices.push_back(at(fitted.theta + root.col(j)));
    for (const EfficiencyParameter& p : kEfficiencyParameters) {
      const bool kept = std::find(free_.begin(), free_.end(), &p) == free_.end() && p.in(start_) > 0;  // no overhead was seen
      if (const auto device = kept ? moved_by_prior(at(fitted.theta), p, start_) : std::nullopt) devices.push_back(*device);
    }
    return devices;
  }

  std::map<std::string, double> residual_sds(const FitResult& fitted) const {
    const Eigen::VectorXd r = residuals(fitted.theta);
    std::map<std::string, std::vector<double>> of_subject;
    for (std::size_t i = 0; i < measurements_.size(); ++i)
      of_subject[subject(measurements_[i])].push_back(std::abs(r[static_cast<Eigen::Index>(i)]));
    std::map<std::string, double> sds;
    for (auto& [name, absolute] : of_subject) {
      const auto n = static_cast<double>(absolute.size());
      const double own = tail_sd(std::move(absolute));
      sds[name] = std::sqrt((kPriorResiduals * fitted.scale * fitted.scale + n * own * own) / (kPriorResiduals + n));
    }
    return sds;
  }

  Calibration result(const FitResult& fitted) const {
    const sim::Device device = at(fitted.theta);
    Calibration c{.efficiency = device.efficiency,
                  .core_bandwidth_bytes_per_s = device.core_bandwidth_bytes_per_s,
                  .corrections = device.corrections,
                  .residual_sd = fitted.scale,
                  .residual_sd_of = residual_sds(fitted),
                  .notes = notes_,
                  .moved = moved(fitted)};
    for (const EfficiencyParameter& p : kEfficiencyParameters) {
      if (!p.has(start_)) continue;
      const auto found = std::find(free_.begin(), free_.end(), &p);
      const bool seen = found != free_.end();
      c.parameters.push_back({.name = p.name,
                              .value = p.in(device),
                              .before = p.in(sheet_),
                              .relative_sd = seen ? fitted.sd[found - free_.begin()] : p.prior_sd,
                              .prior_sd = p.prior_sd,
                              .determined = seen});
    }
    if (corrections_.empty()) return c;
    const double common_sd = fitted.sd[common()];
    c.parameters.push_back({.name = "model_factor",
                            .value = device.efficiency.model_factor,
                            .before = start_.efficiency.model_factor,
                            .relative_sd = common_sd,
                            .prior_sd = kCommonFactorSd,
                            .determined = true});
    c.model_spread = spread_;
    c.unseen_sd = std::hypot(spread_, common_sd);
    return c;
  }

  std::span<const Measurement> measurements_;
  std::vector<Site> sites_;
  const MeasurementModel& model_;
  const sim::Device sheet_;  // as it was given
  sim::Device start_;        // with what is assumed of it
  std::vector<const EfficiencyParameter*> free_;
  std::vector<sim::ModelCorrection> corrections_;
  std::vector<std::vector<double>> batches_;  // of each correction, rising, one far out at each end where it grows; not of one
  bool assumes_overhead_ = true;
  bool grows_ = false;
  double spread_ = kModelSpread;
  std::vector<std::string> notes_;
};

std::string limit_key(const Measurement& m) {
  return fmt::format("{:020.3f}", m.power_limit_w > 0 ? m.power_limit_w : 1e9);  // none is the highest
}

/// What makes two measurements of a subject differ: the batch, or a kernel's shape.
std::string variant_of(const Measurement& m) {
  if (!m.kernel) return fmt::format("{:020.3f}", m.batch_per_worker);
  std::string key;
  for (const OpWork& w : kernel_work(*m.kernel))
    key += w.matrix.m.fixed > 0 ? fmt::format("{:.0f} {:.0f} {:.0f} {} {:.0f}|", w.matrix.m.fixed, w.matrix.n.fixed,
                                              w.matrix.k.fixed, w.repeats, w.products)
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

sim::Device transferred(sim::Device to, std::span<const FittedDevice> from) {
  sim::check(!from.empty(), "somewhere to transfer from");
  const auto devices = static_cast<double>(from.size());
  const auto sum = [&](const auto& change) {
    double all = 0;
    for (const FittedDevice& one : from) all += change(one);
    return all;
  };
  for (const EfficiencyParameter& p : kEfficiencyParameters) {
    if (!p.has(to) || p.of_cpu != nullptr) continue;
    const auto value = [&](const FittedDevice& one) { return one.calibration.efficiency.*p.field; };
    const bool absolute = p.share || p.median > 0;
    const double changes = sum([&](const FittedDevice& one) {
      if (absolute) return value(one) - p.in(one.before);
      return p.in(one.before) > 0 && value(one) > 0 ? std::log(value(one) / p.in(one.before)) : 0;
    });
    // Of kernels and launches half of the prior's variance is the device's, as of stacks half is the laboratory's.
    const double factor = absolute ? 1 : std::exp(changes / (devices + 1));
    p.in(to) = absolute ? std::clamp(p.in(to) + changes / devices, 0.0, p.high) : std::clamp(factor * p.in(to), p.low, p.high);
  }
  const double common = sum([](const FittedDevice& one) {
    return std::log(one.calibration.efficiency.model_factor / one.before.efficiency.model_factor);
  });
  to.efficiency.model_factor *= std::exp(common / devices);
  std::map<std::pair<std::string, std::string>, std::vector<sim::ModelCorrection>> by_model;
  for (const FittedDevice& one : from)
    for (const sim::ModelCorrection& c : one.calibration.corrections) by_model[{c.model, c.dataset}].push_back(c);
  for (const auto& [model, corrections] : by_model) {
    double time = 0, launch = 0;
    std::map<double, double> batches;
    for (const sim::ModelCorrection& c : corrections) {
      time += std::log(c.time_factor) / static_cast<double>(corrections.size());
      launch += std::log(c.launch_factor) / static_cast<double>(corrections.size());
      for (const sim::BatchFactor& b : c.batches) batches[b.batch] = 0;
    }
    for (auto& [batch, log_factor] : batches)
      for (const sim::ModelCorrection& c : corrections)
        log_factor += std::log(sim::batch_factor(c, batch)) / static_cast<double>(corrections.size());
    std::erase_if(to.corrections,
                  [&](const sim::ModelCorrection& c) { return c.model == model.first && c.dataset == model.second; });
    to.corrections.push_back(
        {.model = model.first, .dataset = model.second, .time_factor = std::exp(time), .launch_factor = std::exp(launch)});
    for (const auto& [batch, log_factor] : batches) to.corrections.back().batches.push_back({batch, std::exp(log_factor)});
  }
  return to;
}

Calibration uncalibrated(const sim::Device& device) {
  Calibration c{.efficiency = device.efficiency,
                .core_bandwidth_bytes_per_s = device.core_bandwidth_bytes_per_s,
                .corrections = device.corrections,
                .residual_sd = kRepeatability,
                .model_spread = std::hypot(kCommonFactorSd, kModelSpread)};
  c.unseen_sd = c.model_spread;
  for (const EfficiencyParameter& p : kEfficiencyParameters)
    if (const auto moved = moved_by_prior(device, p, device)) c.moved.push_back(*moved);
  return c;
}

double prediction_sd(const Measurement& m, const Site& site, const MeasurementModel& model, const Calibration& calibration) {
  const auto with = [&](const sim::Device& fitted) {
    Site there = site;
    take_fitted(there.device, fitted);
    return std::log(model.step_s(m, there));
  };
  const sim::Device now = calibrated(site.device, calibration);
  const double log_s = with(now);
  const auto residual = calibration.residual_sd_of.find(subject(m));
  double residual_sd = residual == calibration.residual_sd_of.end() ? calibration.residual_sd : residual->second;
  if (m.kernel && residual == calibration.residual_sd_of.end())  // a kind that nobody measured: as the worst
    for (const auto& [name, sd] : calibration.residual_sd_of) residual_sd = std::max(residual_sd, sd);
  double variance = residual_sd * residual_sd;
  const auto add = [&](const sim::Device& device) { variance += std::pow(with(device) - log_s, 2); };
  for (const sim::Device& device : calibration.moved) add(device);
  const auto same = [&](const sim::ModelCorrection& c) { return c.model == m.model && c.dataset == m.dataset; };
  const auto own = std::find_if(now.corrections.begin(), now.corrections.end(), same);
  if (!m.kernel && own != now.corrections.end()) variance += std::pow(batch_sd(*own, m.batch_per_worker), 2);
  if (m.kernel || own != now.corrections.end()) return std::sqrt(variance);
  const double common = now.efficiency.model_factor;
  for (const auto& [time, launch] : {std::pair{std::exp(calibration.model_spread), 1.0}, {1.0, std::exp(kLaunchFactorSd)}}) {
    sim::Device other = now;
    other.corrections.push_back({.model = m.model, .dataset = m.dataset, .time_factor = common * time, .launch_factor = launch});
    add(other);
  }
  return std::sqrt(variance);
}

double tail_sd(std::vector<double> absolute) {
  sim::check(!absolute.empty(), "nine of ten of something");
  std::sort(absolute.begin(), absolute.end());
  const auto n = static_cast<double>(absolute.size());
  return absolute[static_cast<std::size_t>(std::min(n, std::ceil(kNinetyShare * (n + 1)))) - 1] / kNinety;
}

double batch_sd(const sim::ModelCorrection& correction, double batch) {
  const std::vector<sim::BatchFactor>& known = correction.batches;
  if (known.empty()) return 0;
  const auto forgotten = [](double low, double high) { return 1 - std::pow(batch_correlation(low, high), 2); };
  const auto next = std::ranges::lower_bound(known, batch, {}, &sim::BatchFactor::batch);
  if (next == known.end()) return kBatchSd * std::sqrt(forgotten(known.back().batch, batch));
  if (next == known.begin()) return kBatchSd * std::sqrt(forgotten(batch, next->batch));
  const double low = (next - 1)->batch;
  return kBatchSd * std::sqrt(forgotten(low, batch) * forgotten(batch, next->batch) / forgotten(low, next->batch));
}

double assumed_overhead_s() {
  constexpr double kLowerQuartile = -0.6745;  // of the standard normal distribution
  return kOverheadS * std::exp(kLowerQuartile * kOverheadSd);
}

double most_probable_spread(int count, double sum_of_squares, double prior) {
  // Its derivative is 0 where t^4 / prior^2 + n t^2 - sum = 0.
  const double n = count, p2 = prior * prior;
  return std::sqrt(p2 / 2 * (std::sqrt(n * n + 4 * sum_of_squares / p2) - n));
}

Calibration calibrate(std::span<const Measurement> measurements, std::span<const Site> sites, const MeasurementModel& model,
                      const FitOptions& options) {
  sim::check(measurements.size() == sites.size(), "each measurement has its site");
  std::set<std::string> subjects, variants;
  for (const Measurement& m : measurements) {
    sim::check(m.workers == 1, "a device is calibrated on single workers");
    subjects.insert(subject(m));
    variants.insert(variant_of(m));
  }
  if (measurements.empty()) return {.warnings = {"no measurement of a single worker: nothing is fitted"}};
  Calibration c = DeviceFit(measurements, sites, model, options).run();
  const bool kernels = measurements.front().kernel.has_value();
  if (subjects.size() == 1)
    c.warnings.push_back(
        fmt::format("only {}: other {} may behave differently", *subjects.begin(), kernels ? "kinds of kernel" : "models"));
  if (variants.size() == 1)
    c.warnings.emplace_back("only one batch size: what is fixed and what grows with the batch cannot be told apart");
  return c;
}

std::vector<std::vector<std::size_t>> folds(std::span<const Measurement> measurements, HoldOut by) {
  sim::check(by != HoldOut::devices && by != HoldOut::stacks, "folds are of one device's measurements");
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
