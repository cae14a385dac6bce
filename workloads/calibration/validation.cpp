#include "workloads/calibration/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/linear_algebra.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/link_calibration.hpp"
#include "workloads/calibration/power_calibration.hpp"

namespace rehearse::workloads {

namespace {

using Indices = std::vector<std::size_t>;

class Comparison {
 public:
  Comparison(std::span<const Measurement> measurements, std::span<const Site> sites, const MeasurementModel& model)
      : measurements_(measurements), sites_(sites), model_(model), result_(measurements.size()) {}

  std::vector<Predicted> run(std::optional<HoldOut> hold_out, std::span<const sim::Stack> stacks) {
    for (std::size_t i = 0; i < measurements_.size() && !hold_out; ++i) {
      say(i, sites_[i]);
      result_[i].ground = ground_of(sites_[i]);
      result_[i].log_sd = prediction_sd(at(i), sites_[i], model_, uncalibrated(sites_[i].device));
    }
    if (hold_out == HoldOut::stacks) {
      hold_out_stacks(stacks);
      return std::move(result_);
    }
    if (hold_out == HoldOut::devices) {
      hold_out_devices();
      scale_out(false);
      return std::move(result_);
    }
    for (const auto& [device, rows] : single_workers(stacks)) {
      std::vector<Measurement> own;
      for (const std::size_t i : rows) own.push_back(measurements_[i]);
      const bool kernels = own.front().kernel.has_value();
      for (const Indices& fold : folds(own, hold_out.value_or(kernels ? HoldOut::batches : HoldOut::models)))
        compare(rows, fold, hold_out);
    }
    scale_out(hold_out.has_value());
    return std::move(result_);
  }

 private:
  const Measurement& at(std::size_t i) const { return measurements_[i]; }

  /// By device, and by the software that sources name of `stacks`: rows of one say nothing of how long another takes.
  std::map<std::string, Indices> single_workers(std::span<const sim::Stack> stacks = {}) const {
    std::map<std::string, Indices> by_device;
    for (std::size_t i = 0; i < measurements_.size(); ++i)
      if (at(i).workers == 1)
        by_device[at(i).device + (at(i).kernel ? " kernels" : "") + " " + stack_of(at(i), stacks)].push_back(i);
    return by_device;
  }

  static Ground ground_of(const Site& site) {
    if (!site.device.corrections.empty() || !site.device.stack.empty()) return Ground::calibrated;
    return site.is_on_stack ? Ground::transferred : Ground::uncalibrated;
  }

  void say(std::size_t i, const Site& site) {
    result_[i].model_s = model_.step_s(at(i), site);
    if (!at(i).kernel) result_[i].power_w = model_.power_w(at(i), site);
  }

  /// Brings the prediction to the level of its setting's other power limits: only what a limit does is then predicted.
  void as_in_its_setting(std::size_t i, const Indices& training, const Site& site) {
    std::vector<double> seconds, watts;
    for (const std::size_t j : training) {
      if (!same_setting(at(i), at(j))) continue;
      seconds.push_back(at(j).step_s / model_.step_s(at(j), site));
      if (std::isfinite(at(j).power_w)) watts.push_back(at(j).power_w / model_.power_w(at(j), site));
    }
    if (!seconds.empty()) result_[i].model_s *= quantile(seconds, 0.5);
    if (!watts.empty()) result_[i].power_w *= quantile(watts, 0.5);
  }

  /// Each device by its data sheet, and what the others' measurements say of models and software.
  void hold_out_devices() {
    std::map<std::string, FittedDevice> fitted;
    const auto groups = single_workers();
    for (const auto& [device, rows] : groups) {
      std::vector<Measurement> own;
      std::vector<Site> where;
      for (const std::size_t i : rows) {
        own.push_back(at(i));
        where.push_back(sites_[i]);
      }
      // What is only assumed of one device is no finding to carry to another.
      const FitOptions as_seen{.assumes_overhead = false};
      fitted[device] = {where.front().device, calibrate_device(own, where, model_, as_seen).time};
    }
    const auto is_like = [&](const std::string& a, const std::string& b) {
      return fitted[a].before.kind == fitted[b].before.kind &&
             at(groups.at(a).front()).kernel.has_value() == at(groups.at(b).front()).kernel.has_value();
    };
    for (const auto& [device, rows] : groups) {
      std::map<std::string, FittedDevice> others;
      for (const auto& [name, one] : fitted)
        if (name != device && is_like(name, device)) others[name] = one;
      if (others.empty()) continue;
      const std::map<std::string, double> sds = transfer_sds(others, groups);
      for (const std::size_t i : rows) {
        const Site site = on_transferred(i, others);
        say(i, site);
        result_[i].ground = Ground::transferred;
        const auto sd = sds.find(subject(at(i)));
        result_[i].log_sd = sd == sds.end() ? prediction_sd(at(i), site, model_, uncalibrated(site.device)) : sd->second;
      }
    }
  }

  Site on_transferred(std::size_t i, const std::map<std::string, FittedDevice>& from) const {
    std::vector<FittedDevice> devices;
    for (const auto& [name, one] : from) devices.push_back(one);
    Site site = sites_[i];
    site.device = transferred(site.device, devices);
    return site;
  }

  /// Of one more device, by subject: each of these devices is predicted by the others of them, and counts the same.
  std::map<std::string, double> transfer_sds(const std::map<std::string, FittedDevice>& devices,
                                             const std::map<std::string, Indices>& groups) const {
    std::map<std::string, std::vector<double>> variances;
    for (const auto& [device, one] : devices) {
      std::map<std::string, FittedDevice> others = devices;
      others.erase(device);
      if (others.empty()) return {};
      std::map<std::string, std::vector<double>> errors;
      for (const std::size_t i : groups.at(device))
        errors[subject(at(i))].push_back(std::abs(std::log(model_.step_s(at(i), on_transferred(i, others)) / at(i).step_s)));
      for (auto& [name, of_rows] : errors) variances[name].push_back(std::pow(tail_sd(std::move(of_rows)), 2));
    }
    std::map<std::string, double> sds;
    for (const auto& [name, of_devices] : variances) {
      double sum = 0;
      for (const double one : of_devices) sum += one;
      const auto n = static_cast<double>(of_devices.size());
      sds[name] = std::sqrt(sum / n * (1 + 1 / n));
    }
    return sds;
  }

  /// Each laboratory's rows with a stack, by the mean of the others' fits of it.
  void hold_out_stacks(std::span<const sim::Stack> stacks) {
    const std::vector<StackSet> sets = stack_sets(measurements_, sites_, stacks);
    std::vector<sim::Stack> fits;
    for (const StackSet& set : sets) {
      const auto named = std::ranges::find(stacks, set.stack, &sim::Stack::name);
      fits.push_back(fit_stack(*named, measurements_, sites_, set, model_));
    }
    for (std::size_t s = 0; s < sets.size(); ++s) {
      std::vector<sim::Stack> others;
      for (std::size_t o = 0; o < sets.size(); ++o)
        if (o != s && sets[o].stack == sets[s].stack) others.push_back(fits[o]);
      for (const std::size_t i : sets[s].rows) {
        result_[i].ground = others.empty() ? Ground::untestable : Ground::transferred;
        if (others.empty()) continue;
        Site site = sites_[i];
        site.device = sim::on_stack(site.device, mean_stack(others));
        say(i, site);
        result_[i].log_sd = prediction_sd(at(i), site, model_, uncalibrated(site.device));
      }
    }
  }

  /// `held` are indices into `rows`.
  void compare(const Indices& rows, const Indices& held, std::optional<HoldOut> hold_out) {
    const bool calibrated = hold_out.has_value();
    const std::set<std::size_t> back(held.begin(), held.end());
    Indices training;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (!back.contains(k)) training.push_back(rows[k]);
    std::vector<Measurement> known;
    std::vector<Site> where;
    for (const std::size_t i : training) {
      known.push_back(at(i));
      where.push_back(sites_[i]);
    }
    const bool fitted = calibrated && !known.empty();
    const DeviceCalibration calibration = fitted ? calibrate_device(known, where, model_) : DeviceCalibration{};
    for (const std::size_t k : held) {
      Site site = sites_[rows[k]];
      if (fitted) result_[rows[k]].log_sd = prediction_sd(at(rows[k]), site, model_, calibration.time);
      if (fitted) site.device = workloads::calibrated(site.device, calibration);
      if (calibrated) say(rows[k], site);
      if (fitted) result_[rows[k]].ground = Ground::calibrated;
      if (fitted && hold_out == HoldOut::limits) as_in_its_setting(rows[k], training, site);
      baselines(rows[k], training);
    }
    if (!calibrated &&
        !at(rows.front()).kernel)  // a line needs the same model's other batches, which the folds by model hold back
      for (const std::size_t k : held) result_[rows[k]].straight_line_s = straight_line(rows[k], rows);
  }

  void baselines(std::size_t i, const Indices& training) {
    std::vector<double> seconds_a_flop;
    for (const std::size_t j : training) seconds_a_flop.push_back(at(j).step_s / model_.flops(at(j)));
    result_[i].flops_only_s = quantile(seconds_a_flop, 0.5) * model_.flops(at(i));
    result_[i].regression_s = regression(i, training);
    result_[i].straight_line_s = straight_line(i, training);
  }

  /// Columns, in units that keep them near 1: TFLOP, TB, thousands of operations.
  Eigen::Vector3d features(std::size_t i) const {
    return {1e-12 * model_.flops(at(i)), 1e-12 * model_.bytes(at(i)), 1e-3 * model_.operations(at(i))};
  }

  double regression(std::size_t i, const Indices& training) const {
    if (training.size() < 4) return kNotMeasured;
    Eigen::MatrixXd a(static_cast<Eigen::Index>(training.size()), 3);
    for (std::size_t r = 0; r < training.size(); ++r)
      a.row(static_cast<Eigen::Index>(r)) = features(training[r]).transpose() / at(training[r]).step_s;
    const Eigen::Vector3d x = sim::shortest_least_squares(a, Eigen::VectorXd::Ones(a.rows()));
    const double predicted_s = x.dot(features(i));
    return predicted_s > 0 ? predicted_s : kNotMeasured;
  }

  /// a + b batch through the other batch sizes of the same model, least squares on relative errors.
  double straight_line(std::size_t i, const Indices& training) const {
    Indices same;
    std::set<double> batches;
    for (const std::size_t j : training) {
      if (subject(at(j)) != subject(at(i)) || at(j).batch_per_worker == at(i).batch_per_worker || at(j).kernel) continue;
      if (at(j).power_limit_w != at(i).power_limit_w || at(j).threads != at(i).threads) continue;
      same.push_back(j);
      batches.insert(at(j).batch_per_worker);
    }
    if (batches.size() < 2) return kNotMeasured;
    Eigen::MatrixXd a(static_cast<Eigen::Index>(same.size()), 2);
    for (std::size_t r = 0; r < same.size(); ++r)
      a.row(static_cast<Eigen::Index>(r)) << 1 / at(same[r]).step_s, at(same[r]).batch_per_worker / at(same[r]).step_s;
    const Eigen::Vector2d x = sim::least_squares(a, Eigen::VectorXd::Ones(a.rows()));
    const double predicted_s = x[0] + x[1] * at(i).batch_per_worker;
    return predicted_s > 0 ? predicted_s : kNotMeasured;
  }

  ScaledOut against_one(std::size_t i) const { return workloads::against_one(at(i), measurements_); }

  /// Several workers against one. With a hold-out the links are calibrated on every other placement, by instance.
  void scale_out(bool calibrated) {
    std::map<std::string, std::map<std::string, Indices>> groups;  // instance, placement
    for (std::size_t i = 0; i < measurements_.size(); ++i) {
      if (at(i).workers == 1) continue;
      const ScaledOut pair = against_one(i);
      result_[i].perfect_linear_s = pair.one_s;
      if (!tells_of_links(pair)) continue;
      if (!calibrated) result_[i].scaled_s = scaled_out_s(pair, model_, {.site = sites_[i]});
      groups[at(i).device + " " + at(i).instance + " " + at(i).source]
            [fmt::format("{:04} {:04} {:04}", at(i).nodes, at(i).workers, at(i).workers_per_node)]
                .push_back(i);
    }
    if (!calibrated) return;
    for (const auto& [instance, placements] : groups)
      for (const std::size_t fold : {0, 1}) hold_out_links(placements, fold);
  }

  void hold_out_links(const std::map<std::string, Indices>& placements, std::size_t fold) {
    std::vector<ScaledOut> training;
    Indices held;
    std::size_t p = 0;
    for (const auto& [placement, rows] : placements) {
      const bool back = p++ % 2 == fold;
      for (const std::size_t i : rows)
        if (back)
          held.push_back(i);
        else
          training.push_back(against_one(i));
    }
    if (held.empty() || training.empty()) return;
    const LinkCalibration links = calibrate_links(training, model_, sites_[held.front()]);
    for (const std::size_t i : held) {
      result_[i].scaled_s = scaled_out_s(against_one(i), model_, links);
      if (at(i).sync.kind != sim::SyncKind::ring) result_[i].knee_workers = knee_workers(against_one(i), model_, links);
    }
  }

  std::span<const Measurement> measurements_;
  std::span<const Site> sites_;
  const MeasurementModel& model_;
  std::vector<Predicted> result_;
};

}  // namespace

std::string_view name_of(Ground ground) {
  constexpr std::string_view kNames[] = {"uncalibrated", "transferred", "calibrated", "untestable"};
  return kNames[static_cast<std::size_t>(ground)];
}

std::vector<Predicted> predict(std::span<const Measurement> measurements, std::span<const Site> sites,
                               const MeasurementModel& model, std::optional<HoldOut> hold_out,
                               std::span<const sim::Stack> stacks) {
  return Comparison(measurements, sites, model).run(hold_out, stacks);
}

namespace {

constexpr std::size_t kFewestScales = 3;

struct Point {
  const Measurement* measured = nullptr;
  double predicted_knee = 0;
};
using Curve = std::map<int, Point>;  // by workers

/// The index among the tested counts that is nearest, in ratio.
int nearest(const Curve& curve, double workers) {
  int at = 0, best = 0;
  double least = INFINITY;
  for (const auto& [count, point] : curve) {
    const double distance = std::abs(std::log(workers / count));
    if (distance < least) {
      least = distance;
      best = at;
    }
    ++at;
  }
  return best;
}

Knee knee_of(const Curve& curve) {
  const Measurement& first = *curve.begin()->second.measured;
  Knee knee{.device = first.device, .instance = first.instance, .subject = subject(first), .sync = first.sync.kind};
  double highest = 0;  // steps of all workers a second
  for (const auto& [count, point] : curve) highest = std::max(highest, count / point.measured->step_s);
  knee.measured_workers = highest * first.step_s;
  for (const auto& [count, point] : curve)
    knee.counts_off =
        std::max(knee.counts_off, std::abs(nearest(curve, point.predicted_knee) - nearest(curve, knee.measured_workers)));
  return knee;
}

}  // namespace

std::vector<Knee> knees(std::span<const Measurement> measurements, std::span<const Predicted> predicted) {
  std::map<std::string, Curve> curves;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    if (!std::isfinite(predicted[i].knee_workers)) continue;
    curves[fmt::format("{} {} {} {} {} {}", m.device, m.instance, subject(m), static_cast<int>(m.sync.kind), m.batch_per_worker,
                       m.source)][m.workers] = {&m, predicted[i].knee_workers};
  }
  std::vector<Knee> result;
  for (const auto& [key, curve] : curves)
    if (curve.size() >= kFewestScales) result.push_back(knee_of(curve));
  return result;
}

}  // namespace rehearse::workloads
