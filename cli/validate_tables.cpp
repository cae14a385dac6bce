#include "cli/validate_tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cli/say.hpp"
#include "workloads/calibration/energy.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/validation.hpp"

namespace rehearse::cli {
namespace {

using workloads::Compared;

struct EnergyRows {
  std::vector<Compared> energy, time, power;
};

double median(const std::vector<Compared>& pairs) { return 100 * workloads::summarise(pairs).median; }

void print_orders(std::span<const workloads::Measurement> rows, std::span<const workloads::Predicted> predicted) {
  const auto orders = workloads::setting_orders(rows, predicted);
  if (orders.empty()) return;
  say("\nSettings (batch, power limit) by energy an epoch: rank correlation\n{:<34} {:>5} {:>8} {:>6} {:>15} {:>15}\n",
      "device, model", "rows", "ten best", "all", "ten within, %", "choice over, %");
  for (const workloads::SettingOrder& o : orders)
    say("{:<34} {:>5} {:>8.2f} {:>6.2f} {:>15.1f} {:>15.1f}\n", o.device + " " + o.subject, o.settings, o.correlation,
        o.correlation_all, 100 * o.spread, 100 * o.regret);
}

}  // namespace

void print_energy(std::span<const workloads::Measurement> rows, std::span<const workloads::Predicted> predicted) {
  std::map<std::string, EnergyRows> by_model;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const workloads::SampleEnergy energy = workloads::sample_energy(rows[i], predicted[i]);
    if (!std::isfinite(energy.measured_j)) continue;
    EnergyRows& group = by_model[rows[i].device + " " + subject(rows[i])];
    group.energy.push_back({energy.predicted_j, energy.measured_j});
    group.time.push_back({predicted[i].model_s, rows[i].step_s});
    group.power.push_back({predicted[i].power_w, rows[i].power_w});
  }
  if (by_model.empty()) return;
  say("\nEnergy an epoch, errors in %\n{:<34} {:>5} {:>8} {:>7} {:>8} {:>15} {:>15}\n", "device, model", "rows", "median", "p90",
      "bias", "of time", "of power");
  for (const auto& [name, group] : by_model) {
    const auto s = workloads::summarise(group.energy);
    say("{:<34} {:>5} {:>8.1f} {:>7.1f} {:>+8.1f} {:>15.1f} {:>15.1f}\n", name, s.rows, 100 * s.median, 100 * s.p90, 100 * s.bias,
        median(group.time), median(group.power));
  }
  print_orders(rows, predicted);
}

void print_stacks(std::span<const workloads::Measurement> rows, std::span<const workloads::Site> sites,
                  std::span<const sim::Stack> stacks, std::span<const workloads::Predicted> predicted) {
  const std::vector<workloads::StackSet> sets = stack_sets(rows, sites, stacks);
  if (sets.empty()) {
    say("\nno row of one GPU has a source that names a stack (rehearse list stacks)\n");
    return;
  }
  constexpr double kNinety = 1.645;  // standard deviations to both sides
  double medians = 0, biases = 0, tested = 0;
  say("\nSeconds a step of one worker, by laboratory and stack, errors in %\n{:<34} {:>5} {:>8} {:>7} {:>8} {:>7}  {}\n",
      "laboratory, stack", "rows", "median", "p90", "bias", "in 90 %", "status");
  for (const workloads::StackSet& set : sets) {
    std::vector<Compared> pairs;
    double inside = 0;
    for (const std::size_t i : set.rows) {
      if (!std::isfinite(predicted[i].model_s)) continue;
      pairs.push_back({predicted[i].model_s, rows[i].step_s});
      inside += std::abs(std::log(predicted[i].model_s / rows[i].step_s)) <= kNinety * predicted[i].log_sd;
    }
    const std::string name = fmt::format("{} {}", set.laboratory, set.stack);
    const std::string_view status = name_of(predicted[set.rows.front()].ground);
    if (pairs.empty()) {
      say("{:<34} {:>5} {:>8} {:>7} {:>8} {:>7}  {}\n", name, set.rows.size(), "-", "-", "-", "-", status);
      continue;
    }
    const auto s = workloads::summarise(pairs);
    medians += s.median;
    biases += std::log1p(s.bias);
    ++tested;
    say("{:<34} {:>5} {:>8.1f} {:>7.1f} {:>+8.1f} {:>7.0f}  {}\n", name, s.rows, 100 * s.median, 100 * s.p90, 100 * s.bias,
        100 * inside / static_cast<double>(pairs.size()), status);
  }
  if (tested > 0)
    say("{:<34} {:>5} {:>8.1f} {:>7} {:>+8.1f}\n", "mean of these, each the same", "", 100 * medians / tested, "",
        100 * std::expm1(biases / tested));
}

void print_knees(std::span<const workloads::Measurement> rows, std::span<const workloads::Predicted> predicted) {
  struct Count {
    int curves = 0, at = 0, near = 0;
  };
  std::map<std::string, Count> by_instance;
  for (const workloads::Knee& knee : workloads::knees(rows, predicted)) {
    const char* sync = knee.sync == sim::SyncKind::servers_async ? "asynchronous" : "synchronous";
    Count& count = by_instance[fmt::format("{} {}", knee.instance.empty() ? knee.device : knee.instance, sync)];
    ++count.curves;
    count.at += knee.counts_off == 0 ? 1 : 0;
    count.near += knee.counts_off <= 1 ? 1 : 0;
  }
  if (by_instance.empty()) return;
  say("\nKnees of curves over workers with parameter servers, tested worker counts off\n{:<34} {:>6} {:>6} {:>13}\n", "instance",
      "curves", "none", "at most one");
  for (const auto& [name, count] : by_instance) say("{:<34} {:>6} {:>6} {:>13}\n", name, count.curves, count.at, count.near);
}

}  // namespace rehearse::cli
