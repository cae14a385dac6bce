#include "workloads/calibration/stack_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"
#include "workloads/calibration/power_calibration.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

/// A figure of a stack, with the standard deviation of its prior: of its logarithm, of a share of itself.
struct StackParameter {
  double sim::Stack::*field;
  double median, prior_sd, low, high;
  bool share = false;

  double at(double theta) const { return std::clamp(share ? median + theta : median * std::exp(theta), low, high); }
  double theta_of(double value) const { return share ? value - median : std::log(value / median); }
};
// As of a device's efficiencies (calibration.cpp).
constexpr StackParameter kStackParameters[] = {
    {&sim::Stack::time_factor, 1, 0.3, 0.1, 10},
    {&sim::Stack::launch_s, 10e-6, 1, 1e-7, 1e-2},
    {&sim::Stack::host_s_per_op, 10e-6, 1, 1e-7, 1e-2},
    {&sim::Stack::step_overhead_s, 0.01, 1.4, 1e-6, 10},
    {.field = &sim::Stack::fast_forms, .median = 1, .prior_sd = 0.5, .low = 0, .high = 1, .share = true},
};
constexpr Eigen::Index kParameters = std::size(kStackParameters);
// Of logarithms: what data sheets miss of a device, and a model on it.
constexpr double kDeviceSd = 0.2, kModelOnDeviceSd = 0.25;
constexpr double kLargestLogarithm = 3;  // of those

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

class StackFit {
 public:
  StackFit(const sim::Stack& start, std::span<const Measurement> measurements, std::span<const Site> sites, const StackSet& set,
           const MeasurementModel& model)
      : start_(start), model_(model) {
    for (const std::size_t i : set.rows) {
      const Measurement& m = measurements[i];
      rows_.push_back(&m);
      sites_.push_back(&sites[i]);
      device_of_.push_back(index_in(devices_, m.device));
      pair_of_.push_back(index_in(pairs_, m.device + " " + subject(m)));
    }
  }

  sim::Stack run() {
    FitProblem problem{.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); },
                       .prior_sd = Eigen::VectorXd(columns()),
                       .low = Eigen::VectorXd::Constant(columns(), -kLargestLogarithm),
                       .high = Eigen::VectorXd::Constant(columns(), kLargestLogarithm)};
    for (Eigen::Index j = 0; j < kParameters; ++j) {
      const StackParameter& p = kStackParameters[j];
      problem.prior_sd[j] = p.prior_sd;
      problem.low[j] = p.theta_of(p.low);
      problem.high[j] = p.theta_of(p.high);
    }
    const auto devices = static_cast<Eigen::Index>(devices_.size());
    problem.prior_sd.segment(kParameters, devices).setConstant(kDeviceSd);
    problem.prior_sd.tail(static_cast<Eigen::Index>(pairs_.size())).setConstant(kModelOnDeviceSd);
    problem.moves.resize(static_cast<std::size_t>(columns()));
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (const std::size_t factor : {device_of_[i], devices_.size() + pair_of_[i]})
        problem.moves[kParameters + factor].push_back(static_cast<Eigen::Index>(i));
    return at(fit(problem).theta);
  }

 private:
  static std::size_t index_in(std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) names.push_back(name);
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  }
  Eigen::Index columns() const { return kParameters + static_cast<Eigen::Index>(devices_.size() + pairs_.size()); }

  sim::Stack at(const Eigen::VectorXd& theta) const {
    sim::Stack stack = start_;
    for (Eigen::Index j = 0; j < kParameters; ++j) stack.*kStackParameters[j].field = kStackParameters[j].at(theta[j]);
    return stack;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const {
    const sim::Stack stack = at(theta);
    Eigen::VectorXd r(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Site site = *sites_[i];
      site.device = sim::on_stack(site.device, stack);
      site.device.efficiency.model_factor *=
          std::exp(theta[kParameters + static_cast<Eigen::Index>(device_of_[i])] +
                   theta[kParameters + static_cast<Eigen::Index>(devices_.size() + pair_of_[i])]);
      r[static_cast<Eigen::Index>(i)] = std::log(model_.step_s(*rows_[i], site) / rows_[i]->step_s);
    }
    return r;
  }

  const sim::Stack& start_;
  const MeasurementModel& model_;
  std::vector<const Measurement*> rows_;
  std::vector<const Site*> sites_;
  std::vector<std::string> devices_, pairs_;
  std::vector<std::size_t> device_of_, pair_of_;
};

}  // namespace

std::string stack_of(const Measurement& m, std::span<const sim::Stack> stacks) {
  std::string found;
  for (std::string_view rest = m.source; !rest.empty();) {
    const std::string_view word = first_word(rest);
    if (std::ranges::any_of(stacks, [&](const sim::Stack& s) { return s.name == word; })) found = word;
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return found;
}

std::string laboratory_of(const Measurement& m) { return std::string(first_word(m.source)); }

std::vector<StackSet> stack_sets(std::span<const Measurement> measurements, std::span<const Site> sites,
                                 std::span<const sim::Stack> stacks) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_set;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const sim::Device& device = sites[i].device;
    const std::string stack = stack_of(m, stacks);
    const bool is_data_sheet = device.stack.empty() && device.corrections.empty();
    if (!stack.empty() && m.workers == 1 && !m.kernel && device.kind == sim::DeviceKind::gpu && is_data_sheet)
      by_set[{stack, laboratory_of(m)}].push_back(i);
  }
  std::vector<StackSet> sets;
  for (const auto& [name, rows] : by_set) {
    std::vector<Measurement> own;
    for (const std::size_t i : rows) own.push_back(measurements[i]);
    StackSet& set = sets.emplace_back(StackSet{.laboratory = name.second, .stack = name.first, .rows = {}});
    for (const std::size_t k : least_limited(own)) set.rows.push_back(rows[k]);
  }
  return sets;
}

sim::Stack fit_stack(const sim::Stack& start, std::span<const Measurement> measurements, std::span<const Site> sites,
                     const StackSet& set, const MeasurementModel& model) {
  sim::check(!set.rows.empty(), "a stack is fitted to rows");
  return StackFit(start, measurements, sites, set, model).run();
}

sim::Stack mean_stack(std::span<const sim::Stack> fits) {
  sim::check(!fits.empty(), "a mean of something");
  sim::Stack mean = fits.front();
  const auto sets = static_cast<double>(fits.size());
  for (const StackParameter& p : kStackParameters) {
    double sum = 0;
    for (const sim::Stack& fit : fits) sum += p.theta_of(fit.*p.field);
    mean.*p.field = p.at(sum / (sets + 1));
  }
  return mean;
}

}  // namespace rehearse::workloads
