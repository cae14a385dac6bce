#include "workloads/calibration/link_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

struct LinkParameter {
  const char* name;
  double& (*of)(Site&);
  double prior_sd;  ///< of the logarithm: what collectives make of a link is known worse than the link
  double low, high;
  bool absolute = false;  ///< `prior_sd` is of the value itself

  double at(double theta, double start) const {
    return std::clamp(absolute ? start + theta : start * std::exp(theta), low, high);
  }
  double theta_of(double value, double start) const { return absolute ? value - start : std::log(value / start); }
};
constexpr LinkParameter kLinkParameters[] = {
    {"inside bandwidth_bytes_per_s", [](Site& p) -> double& { return p.inside.bandwidth_bytes_per_s; }, 1, 1e6, 1e13},
    {"inside latency_s", [](Site& p) -> double& { return p.inside.latency_s; }, 1, 1e-8, 0.1},
    {"network bandwidth_bytes_per_s", [](Site& p) -> double& { return p.network.bandwidth_bytes_per_s; }, 1, 1e6, 1e13},
    {"network latency_s", [](Site& p) -> double& { return p.network.latency_s; }, 1, 1e-8, 0.1},
    {"overlap", [](Site& p) -> double& { return p.overlap; }, 0.7, 1, 10},
    {"server_bytes_per_s", [](Site& p) -> double& { return p.server_bytes_per_s; }, 2, 1e5, 1e13},
    {"server_overlap", [](Site& p) -> double& { return p.server_overlap; }, 0.7, 1, 10},
    // Last, as only some rows tell of it. 0: of NVLink or a switch; 1: of one bus.
    {"inside contention", [](Site& p) -> double& { return p.inside.contention; }, 0.5, -1, 2, true},
};
constexpr Eigen::Index kOverlap = 4, kBandwidths[] = {0, 2}, kContention = std::size(kLinkParameters) - 1;
constexpr double kSlowLink = 0.1;
constexpr double kWorkerFactorSd = 1;  // of the logarithm, of a worker's time that nobody measured
// Of sim::ModelCorrection::loader_s: between 0.03 and 3 ms nine times of ten, an image being 10 ms of one core of 10 to 100.
constexpr double kLoaderMedianS = 3e-4, kLoaderSd = 1.4, kLoaderStart = 2;
constexpr double kTimeRepeatability = 0.01;  // of several workers' time over one's in the same campaign

std::string setting_of_pair(const Measurement& m) {
  return fmt::format("{} batch {} {} threads {} {}", subject(m), m.batch_per_worker, static_cast<int>(m.sync.kind), m.threads,
                     m.source);
}

/// One worker's time, by a factor.
StepInputs slower(StepInputs inputs, double factor) {
  ComputeTime& c = inputs.compute;
  for (double* part : {&c.forward_s, &c.backward_s, &c.update_s, &c.host_s, &c.overhead_s, &c.loading_s, &inputs.input_s})
    *part *= factor;
  return inputs;
}

double worker_s(const StepInputs& inputs) { return inputs.compute.worker_s(inputs.input_s); }

/// One worker's step is known: its own loaders do not hold it back beyond that.
void use_loaders(StepInputs& inputs, double batch, double loader_s) {
  inputs.compute.loading_s = 0;
  inputs.compute.loading_s = std::min(loader_s * batch, worker_s(inputs) - inputs.compute.overhead_s);
}

void use_links(StepInputs& inputs, const Site& site) {
  inputs.overlap = site.overlap;
  inputs.ring.inside = site.inside;
  inputs.ring.network = inputs.servers.network = site.network;
  inputs.servers.apply_s = inputs.gradient_bytes / site.server_bytes_per_s;
  inputs.servers.overlap = site.server_overlap;
}

class LinkFit {
 public:
  LinkFit(std::span<const ScaledOut> measured, const MeasurementModel& model, const Site& site) : site_(site) {
    for (const ScaledOut& one : measured) {
      Row row{.inputs = model.step_inputs(*one.several, site),
              .subject = subject(*one.several),
              .batch = one.several->batch_per_worker,
              .log_measured_s = std::log(one.several->step_s)};
      if (std::isfinite(one.one_s)) {
        row.log_measured_s -= std::log(one.one_s / worker_s(row.inputs));  // in the model's own seconds
      } else {
        const auto known = std::find(settings_.begin(), settings_.end(), setting_of_pair(*one.several));
        row.setting = known - settings_.begin();
        if (known == settings_.end()) settings_.push_back(setting_of_pair(*one.several));
      }
      rows_.push_back(std::move(row));
    }
  }

  /// Contention inside a node, and loaders that share its CPUs, are taken only where the rows are much more probable with them:
  /// a bandwidth explains the same of one number of workers.
  LinkCalibration run() {
    Found best = found();
    const std::size_t sizes = sizes_inside();
    if (sizes == 1)
      notes_.emplace_back(
          "one number of workers of a node: inside contention and shared loaders are not told from bandwidth, they are kept");
    if (sizes > 1) {
      links_ = kContention + 1;
      if (!takes(best)) {
        links_ = kContention;
        notes_.emplace_back("no inside contention is seen beside the bandwidth: it is kept");
      }
      tell_loaders(best);
    }
    return result(std::move(best));
  }

 private:
  struct Row {
    StepInputs inputs;
    std::string subject;
    double batch = 1, log_measured_s = 0;
    Eigen::Index loader = -1;   ///< which is fitted
    Eigen::Index setting = -1;  ///< whose worker's time is fitted; -1: it was measured
  };
  struct Found {
    FitProblem problem;
    FitResult free;
  };

  /// Fits once more, with what is now free beside `best`'s.
  bool takes(Found& best) const {
    Found with = found();
    const double cost_with = cost_of(with.problem, with.free.theta, with.free.scale);
    if (cost_of(best.problem, best.free.theta, with.free.scale) - cost_with < kEvidence) return false;
    best = std::move(with);
    return true;
  }

  /// Of every model with several numbers of workers of a node; each for itself, as slow links explain much of the same.
  void tell_loaders(Found& best) {
    std::map<std::string, std::set<int>> sizes;
    for (const Row& row : rows_)
      if (row.setting < 0) sizes[row.subject].insert(row.inputs.ring.workers_per_node);
    for (const auto& [name, of_node] : sizes) {
      if (of_node.size() < 2 || *of_node.rbegin() < 2) continue;
      const auto give = [&](Eigen::Index loader) {
        for (Row& row : rows_)
          if (row.subject == name && row.setting < 0) row.loader = loader;
      };
      give(static_cast<Eigen::Index>(loaders_.size()));
      loaders_.push_back(name);
      if (takes(best)) continue;
      loaders_.pop_back();
      give(-1);
    }
    if (loaders_.empty()) notes_.emplace_back("no loaders are seen that share a node's CPUs: loader_s is kept");
  }

  /// Of the parameters: links, loaders, settings.
  struct Layout {
    Eigen::Index links = 0, loaders = 0;
    Eigen::Index settings() const { return links + loaders; }
  };
  Layout layout() const { return {links_, static_cast<Eigen::Index>(loaders_.size())}; }
  static double loader_s(double theta) { return kLoaderMedianS * std::exp(theta); }

  /// Different numbers of workers that exchange inside a node.
  std::size_t sizes_inside() const {
    std::set<int> sizes;
    for (const Row& row : rows_)
      if (row.inputs.exchange == Exchange::ring && row.inputs.ring.workers_per_node > 1)
        sizes.insert(row.inputs.ring.workers_per_node);
    return sizes.size();
  }

  Found found() const {
    const Layout now = layout();
    const Eigen::Index columns = now.settings() + static_cast<Eigen::Index>(settings_.size());
    FitProblem problem{.residuals = [this, now](const Eigen::VectorXd& theta) { return residuals(theta, now); },
                       .prior_sd = Eigen::VectorXd::Constant(columns, kWorkerFactorSd),
                       .low = Eigen::VectorXd::Constant(columns, std::log(1e-3)),
                       .high = Eigen::VectorXd::Constant(columns, std::log(1e3)),
                       .smallest_scale = kTimeRepeatability,
                       .loss = RobustLoss::huber};
    Site before = site_;
    for (Eigen::Index j = 0; j < links_; ++j) {
      const LinkParameter& p = kLinkParameters[j];
      problem.prior_sd[j] = p.prior_sd;
      problem.low[j] = p.theta_of(p.low, p.of(before));
      problem.high[j] = p.theta_of(p.high, p.of(before));
    }
    problem.prior_sd.segment(now.links, now.loaders).setConstant(kLoaderSd);
    if (!settings_.empty() || !loaders_.empty()) {
      problem.moves.resize(static_cast<std::size_t>(columns));
      for (std::size_t i = 0; i < rows_.size(); ++i)
        for (const Eigen::Index moving : {rows_[i].setting >= 0 ? now.settings() + rows_[i].setting : -1,
                                          rows_[i].loader >= 0 ? now.links + rows_[i].loader : -1})
          if (moving >= 0) problem.moves[static_cast<std::size_t>(moving)].push_back(static_cast<Eigen::Index>(i));
    }
    // Where overlap or fast links hide the whole exchange, no link makes a difference: begin without overlap, where every
    // parameter does, and once more from slow links, for rows that are far from the links that one begins with.
    problem.start = Eigen::VectorXd::Zero(columns);
    problem.start[kOverlap] = problem.low[kOverlap];
    problem.start.segment(now.links, now.loaders).setConstant(kLoaderStart);
    const FitResult near = fit(problem);
    for (const Eigen::Index bandwidth : kBandwidths) problem.start[bandwidth] = std::log(kSlowLink);
    FitResult far = fit(problem);
    return {std::move(problem), far.scale < near.scale ? std::move(far) : near};
  }

  /// What the rows leave uncertain keeps its value; the rest is fitted again.
  LinkCalibration result(Found found) const {
    FitProblem& problem = found.problem;
    problem.start = found.free.theta;
    const auto determined = [&](Eigen::Index j) { return j < links_ && found.free.sd[j] <= kDetermined * problem.prior_sd[j]; };
    for (Eigen::Index j = 0; j < links_; ++j)
      if (!determined(j)) problem.start[j] = problem.low[j] = problem.high[j] = 0;
    const FitResult fitted = fit(problem);
    LinkCalibration result{.site = at(fitted.theta, links_), .residual_sd = fitted.scale, .notes = notes_};
    Site before = site_;
    for (Eigen::Index j = 0; j <= kContention; ++j) {
      const LinkParameter& p = kLinkParameters[j];
      result.parameters.push_back({.name = p.name,
                                   .value = p.of(result.site),
                                   .before = p.of(before),
                                   .relative_sd = j < links_ ? found.free.sd[j] : p.prior_sd,
                                   .prior_sd = p.prior_sd,
                                   .absolute = p.absolute,
                                   .determined = determined(j)});
    }
    for (std::size_t l = 0; l < loaders_.size(); ++l) {
      const Eigen::Index j = links_ + static_cast<Eigen::Index>(l);
      const bool is_seen = fitted.sd[j] <= kDetermined * kLoaderSd;  // it never holds a step back where it is not
      const double value_s = is_seen ? loader_s(fitted.theta[j]) : 0;
      if (is_seen) result.loader_s[loaders_[l]] = value_s;
      result.parameters.push_back({.name = "loader_s of " + loaders_[l],
                                   .value = value_s,
                                   .relative_sd = fitted.sd[j],
                                   .prior_sd = kLoaderSd,
                                   .determined = is_seen});
    }
    for (std::size_t s = 0; s < settings_.size(); ++s)
      result.worker_factor[settings_[s]] = std::exp(fitted.theta[layout().settings() + static_cast<Eigen::Index>(s)]);
    return result;
  }

  Site at(const Eigen::VectorXd& theta, Eigen::Index links) const {
    Site site = site_;
    for (Eigen::Index j = 0; j < links; ++j) {
      const LinkParameter& p = kLinkParameters[j];
      p.of(site) = p.at(theta[j], p.of(site));
    }
    return site;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta, Layout in) const {
    const Site site = at(theta, in.links);
    Eigen::VectorXd r(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      StepInputs inputs = row.setting < 0 ? row.inputs : slower(row.inputs, std::exp(theta[in.settings() + row.setting]));
      if (row.loader >= 0 && row.loader < in.loaders) use_loaders(inputs, row.batch, loader_s(theta[in.links + row.loader]));
      use_links(inputs, site);
      r[static_cast<Eigen::Index>(i)] = std::log(step_time(inputs).step_s) - row.log_measured_s;
    }
    return r;
  }

  Site site_;
  std::vector<Row> rows_;
  std::vector<std::string> settings_, loaders_;
  Eigen::Index links_ = kContention;  // parameters that are fitted, of kLinkParameters the first
  std::vector<std::string> notes_;
};

StepInputs inputs_of(const ScaledOut& measured, const MeasurementModel& model, const LinkCalibration& links) {
  StepInputs inputs = model.step_inputs(*measured.several, links.site);
  const auto loader = links.loader_s.find(subject(*measured.several));
  if (loader != links.loader_s.end()) use_loaders(inputs, measured.several->batch_per_worker, loader->second);
  const auto factor = links.worker_factor.find(setting_of_pair(*measured.several));
  return factor == links.worker_factor.end() ? inputs : slower(inputs, factor->second);
}

}  // namespace

ScaledOut against_one(const Measurement& m, std::span<const Measurement> all) {
  const auto one = std::find_if(all.begin(), all.end(), [&](const Measurement& other) {
    return other.workers == 1 && !other.kernel && other.device == m.device && subject(other) == subject(m) &&
           other.source == m.source && other.instance == m.instance && other.batch_per_worker == m.batch_per_worker &&
           other.sync.kind == m.sync.kind;
  });
  return {&m, one == all.end() ? kNotMeasured : one->step_s};
}

bool tells_of_links(const ScaledOut& measured) {
  return std::isfinite(measured.one_s) || measured.several->sync.kind != sim::SyncKind::ring;
}

LinkCalibration calibrate_links(std::span<const ScaledOut> measured, const MeasurementModel& model, const Site& site) {
  return LinkFit(measured, model, site).run();
}

double scaled_out_s(const ScaledOut& measured, const MeasurementModel& model, const LinkCalibration& links) {
  const StepInputs inputs = inputs_of(measured, model, links);
  const double factor = std::isfinite(measured.one_s) ? measured.one_s / worker_s(inputs) : 1;
  return factor * step_time(inputs).step_s;
}

double knee_workers(const ScaledOut& measured, const MeasurementModel& model, const LinkCalibration& links) {
  const StepInputs inputs = inputs_of(measured, model, links);
  return saturation_workers(worker_s(inputs), push_s(inputs.gradient_bytes, inputs.servers), inputs.servers);
}

}  // namespace rehearse::workloads
