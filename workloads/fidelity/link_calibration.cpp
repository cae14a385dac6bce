#include <algorithm>
#include <cmath>

#include "workloads/fidelity/calibration.hpp"
#include "workloads/fidelity/robust_fit.hpp"

namespace rehearse::workloads {
namespace {

struct LinkParameter {
  const char* name;
  double& (*of)(Place&);
  double prior_sd;  ///< of the logarithm: what collectives make of a link is known worse than the link
  double low, high;
};
constexpr LinkParameter kLinkParameters[] = {
    {"inside bandwidth_bytes_per_s", [](Place& p) -> double& { return p.inside.bandwidth_bytes_per_s; }, 1, 1e6, 1e13},
    {"inside latency_s", [](Place& p) -> double& { return p.inside.latency_s; }, 1, 1e-8, 0.1},
    {"network bandwidth_bytes_per_s", [](Place& p) -> double& { return p.network.bandwidth_bytes_per_s; }, 1, 1e6, 1e13},
    {"network latency_s", [](Place& p) -> double& { return p.network.latency_s; }, 1, 1e-8, 0.1},
    {"overlap", [](Place& p) -> double& { return p.overlap; }, 0.7, 1, 10},
};
constexpr double kRepeatability = 0.01;  // of several workers' time over one's in the same campaign
constexpr double kDetermined = 0.85;

class LinkFit {
 public:
  LinkFit(std::span<const ScaledOut> pairs, const MeasurementModel& model, const Place& place) : place_(place) {
    for (const ScaledOut& pair : pairs) {
      StepInputs inputs = model.step_inputs(*pair.several, place);
      Measurement one = *pair.several;
      one.nodes = one.workers_per_node = one.workers = 1;
      const double factor = pair.one_s / step_time(model.step_inputs(one, place)).step_s;
      rows_.push_back({inputs, std::log(pair.several->step_s / factor)});
    }
  }

  LinkCalibration run() const {
    constexpr auto kColumns = static_cast<Eigen::Index>(std::size(kLinkParameters));
    FitProblem problem{.residuals = [this](const Eigen::VectorXd& theta) { return residuals(theta); },
                       .prior_sd = Eigen::VectorXd(kColumns),
                       .low = Eigen::VectorXd(kColumns),
                       .high = Eigen::VectorXd(kColumns),
                       .smallest_scale = kRepeatability};
    Place before = place_;
    for (Eigen::Index j = 0; j < kColumns; ++j) {
      const LinkParameter& p = kLinkParameters[j];
      problem.prior_sd[j] = p.prior_sd;
      problem.low[j] = std::log(p.low / p.of(before));
      problem.high[j] = std::log(p.high / p.of(before));
    }
    // Where overlap hides the whole exchange, no link makes a difference: begin without overlap, where every parameter does.
    problem.start = Eigen::VectorXd::Zero(kColumns);
    problem.start[kColumns - 1] = problem.low[kColumns - 1];
    const FitResult fitted = fit(problem);
    Place place = at(fitted.theta);
    LinkCalibration result{
        .inside = place.inside, .network = place.network, .overlap = place.overlap, .residual_sd = fitted.scale};
    for (Eigen::Index j = 0; j < kColumns; ++j) {
      const LinkParameter& p = kLinkParameters[j];
      result.parameters.push_back({.name = p.name,
                                   .value = p.of(place),
                                   .before = p.of(before),
                                   .relative_sd = fitted.sd[j],
                                   .prior_sd = p.prior_sd,
                                   .determined = fitted.sd[j] <= kDetermined * p.prior_sd});
    }
    return result;
  }

 private:
  struct Row {
    StepInputs inputs;
    double log_target_s = 0;  ///< of the measured time, in the model's own seconds
  };

  Place at(const Eigen::VectorXd& theta) const {
    Place place = place_;
    Eigen::Index j = 0;
    for (const LinkParameter& p : kLinkParameters) p.of(place) = std::clamp(p.of(place) * std::exp(theta[j++]), p.low, p.high);
    return place;
  }

  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) const {
    const Place place = at(theta);
    Eigen::VectorXd r(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      StepInputs inputs = rows_[i].inputs;
      inputs.overlap = place.overlap;
      inputs.ring.inside = place.inside;
      inputs.ring.network = inputs.servers.network = place.network;
      r[static_cast<Eigen::Index>(i)] = std::log(step_time(inputs).step_s) - rows_[i].log_target_s;
    }
    return r;
  }

  Place place_;
  std::vector<Row> rows_;
};

}  // namespace

LinkCalibration calibrate_links(std::span<const ScaledOut> pairs, const MeasurementModel& model, const Place& place) {
  return LinkFit(pairs, model, place).run();
}

}  // namespace rehearse::workloads
