#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/commands.hpp"
#include "cli/convergence.hpp"
#include "cli/measured.hpp"
#include "cli/say.hpp"
#include "scenarios/read/measured_sites.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "traces/measurements/convergence_list.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/link_calibration.hpp"
#include "workloads/calibration/link_validation.hpp"
#include "workloads/calibration/power_calibration.hpp"
#include "workloads/calibration/thread_calibration.hpp"
#include "workloads/calibration/validation.hpp"

namespace rehearse::cli {
namespace {

using workloads::Measurement;

/// Errors of one way of predicting the device's rows.
std::string errors(const std::vector<Measurement>& rows, const std::vector<workloads::Predicted>& predicted) {
  std::vector<workloads::Compared> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::isfinite(predicted[i].model_s)) pairs.push_back({predicted[i].model_s, rows[i].step_s});
  const auto s = workloads::summarise(pairs);
  return fmt::format("median {:.1f} %, 90th percentile {:.1f} %, bias {:+.1f} %", 100 * s.median, 100 * s.p90, 100 * s.bias);
}

void print(const std::vector<workloads::FittedParameter>& parameters) {
  say("  {:<30}{:>12}{:>12}  {}\n", "parameter", "before", "fitted", "uncertainty");
  for (const workloads::FittedParameter& p : parameters)
    say("  {:<30}{:>12.4g}{:>12.4g}  {}\n", p.name, p.before, p.value,
        !p.determined ? fmt::format("not determined by these rows: {}", p.value == p.before ? "kept" : "assumed")
        : p.absolute  ? fmt::format("+-{:.2f}", p.relative_sd)
                      : fmt::format("{:.0f} %", 100 * p.relative_sd));
}

void print(const workloads::Calibration& c) {
  print(c.parameters);
  for (const sim::ModelCorrection& m : c.corrections)
    say("  {:<26} time x {:.2f}, launches x {:.2f}\n", m.model + (m.dataset.empty() ? "" : "/" + m.dataset), m.time_factor,
        m.launch_factor);
  if (!c.corrections.empty())
    say("  {:<26} time x {:.2f}, {:.0f} % either way (standard deviation; between models {:.0f} %)\n", "a model not measured",
        c.efficiency.model_factor, 100 * c.unseen_sd, 100 * c.model_spread);
  for (const std::string& warning : c.warnings) say("  badly determined: {}\n", warning);
  for (const std::string& note : c.notes) say("  {}\n", note);
}

void print(const workloads::PowerCalibration& c) {
  print(c.parameters);
  for (const sim::ModelCorrection& m : c.corrections)
    say("  {:<26} power x {:.2f}\n", m.model + (m.dataset.empty() ? "" : "/" + m.dataset), m.power_factor);
}

/// Rows of several workers, and where their links are.
struct LinkRows {
  const scenarios::InstanceEntry* instance = nullptr;  ///< null: the catalogue has none with enough of the device
  std::vector<workloads::ScaledOut> rows;
  workloads::Site site;
};

void print_scaled(const char* name, const std::vector<workloads::ScaledOut>& rows, const std::vector<double>& predicted_s) {
  std::vector<workloads::Compared> pairs;
  for (std::size_t i = 0; i < rows.size(); ++i) pairs.push_back({predicted_s[i], rows[i].several->step_s});
  const auto s = workloads::summarise(pairs);
  say("  {:<16} median {:.1f} %, 90th percentile {:.1f} %, bias {:+.1f} %\n", name, 100 * s.median, 100 * s.p90, 100 * s.bias);
}

/// The left-out error first: what is fitted may be as many figures as there are rows.
void print_link_errors(const LinkRows& given, const Measured& measured, const workloads::LinkCalibration& fitted) {
  const auto by = [&](const workloads::LinkCalibration& links) {
    std::vector<double> seconds;
    for (const workloads::ScaledOut& one : given.rows) seconds.push_back(scaled_out_s(one, measured.model, links));
    return seconds;
  };
  const std::vector<double> left_out_s = left_out_counts_s(given.rows, measured.model, given.site);
  if (left_out_s.empty())
    say("  held-out counts: not known: one number of workers says nothing of another\n");
  else
    print_scaled("held-out counts:", given.rows, left_out_s);
  print_scaled("fitted:", given.rows, by(fitted));
  print_scaled("before:", given.rows, by({.site = given.site, .worker_factor = fitted.worker_factor}));
}

/// Of each curve over workers with parameter servers, once.
void print_knees(const std::vector<workloads::ScaledOut>& rows, const Measured& measured,
                 const workloads::LinkCalibration& links) {
  std::set<std::string> curves;
  for (const workloads::ScaledOut& one : rows) {
    const Measurement& m = *one.several;
    if (m.sync.kind == sim::SyncKind::ring) continue;
    curves.insert(fmt::format("{}, batch {}, {} {} {}: knee at {:.1f} workers", subject(m), m.batch_per_worker, m.sync.servers,
                              m.sync.kind == sim::SyncKind::servers_async ? "asynchronous servers" : "synchronous servers",
                              m.source, knee_workers(one, measured.model, links)));
  }
  for (const std::string& curve : curves) say("  {}\n", curve);
}

/// Beside what is fitted of one worker.
void use_loaders(sim::Device& device, const std::map<std::string, double>& loader_s) {
  for (sim::ModelCorrection& c : device.corrections)
    if (const auto found = loader_s.find(c.model + (c.dataset.empty() ? "" : "/" + c.dataset)); found != loader_s.end())
      c.loader_s = found->second;
}

/// The instance with fitted links; nothing when it is none of the catalogue.
std::optional<scenarios::InstanceEntry> calibrated_links(const LinkRows& given, const Measured& measured, sim::Device* fitted) {
  const workloads::LinkCalibration links = calibrate_links(given.rows, measured.model, given.site);
  say("\n{}: {} of several workers\n", given.instance ? given.instance->instance.name : "no instance of the catalogue",
      sim::counted(static_cast<double>(given.rows.size()), "row"));
  print(links.parameters);
  for (const std::string& note : links.notes) say("  {}\n", note);
  print_link_errors(given, measured, links);
  if (fitted != nullptr) use_loaders(*fitted, links.loader_s);
  print_knees(given.rows, measured, links);
  if (!given.instance) return std::nullopt;
  scenarios::InstanceEntry entry = *given.instance;
  sim::Instance& i = entry.instance;
  i.inside = links.site.inside;
  i.network = links.site.network;
  i.overlap = links.site.overlap;
  i.server_bytes_per_s = links.site.server_bytes_per_s;
  i.server_overlap = links.site.server_overlap;
  i.source += fmt::format(". Links calibrated on {} rows", given.rows.size());
  return entry;
}

/// Of a site that may have only a part of the device.
void use_fit(sim::Device& there, const sim::Device& fitted) {
  there.efficiency = fitted.efficiency;
  there.core_bandwidth_bytes_per_s = fitted.core_bandwidth_bytes_per_s;
  there.threading = fitted.threading;
  there.corrections = fitted.corrections;
  there.power = fitted.power;
}

/// Of a CPU whose efficiencies are calibrated: its time against threads, and how well it follows the measured curves.
void calibrate_threading(const std::vector<Measurement>& rows, sim::Device& cpu) {
  const std::vector<workloads::ThreadCurve> curves = workloads::thread_curves(rows);
  const auto fitted = workloads::calibrate_threads(rows, cpu);
  if (!fitted) return;
  const auto print_errors = [&](const char* name) {
    const auto e =
        workloads::thread_curve_errors(rows, curves, [&](const Measurement& m) { return workloads::threaded_kernel_s(m, cpu); });
    say("  {:<16} time: median {:.1f} %, 90th percentile {:.1f} %; speed-up: median {:.1f} %, 90th percentile {:.1f} %, bias "
        "{:+.1f} %\n",
        name, 100 * e.times.median, 100 * e.times.p90, 100 * e.speedups.median, 100 * e.speedups.p90, 100 * e.speedups.bias);
  };
  say("  time against threads: {} kernels with several numbers of threads\n", curves.size());
  print(fitted->parameters);
  print_errors("before:");
  cpu.threading = fitted->threading;
  print_errors("fitted:");
}

/// Of one device.
struct DeviceRows {
  std::vector<Measurement> rows;
  std::vector<workloads::Site> sites;
};

sim::Device calibrated(const std::string& name, DeviceRows given, const Measured& measured) {
  const std::string stack = keep_one_stack(name, measured.catalogue.stacks(), given.rows, given.sites);
  const std::vector<Measurement>& rows = given.rows;
  const workloads::DeviceCalibration c = calibrate_device(rows, given.sites, measured.model);
  sim::Device device = workloads::calibrated(*measured.catalogue.find_device(name), c);
  device.stack = stack.empty() ? kMeasuredStack : stack;
  device.source += fmt::format(". Efficiency calibrated on {} rows", rows.size());
  say("\n{}: {} of one worker\n", device.name, sim::counted(static_cast<double>(rows.size()), "row"));
  print(c.time);
  if (c.power) print(*c.power);
  const std::vector<workloads::Site>& before = given.sites;
  std::vector<workloads::Site> after = before;
  for (workloads::Site& p : after) p.device = workloads::calibrated(p.device, c);
  const auto left_out = [&](workloads::HoldOut by) { return errors(rows, predict(rows, before, measured.model, by)); };
  if (folds(rows, workloads::HoldOut::batches).size() == 2)
    say("  held-out rows:   {}\n", left_out(workloads::HoldOut::batches));
  else
    say("  held-out rows:   not known: one batch size of each model says nothing of another\n");
  if (folds(rows, workloads::HoldOut::models).size() > 1)
    say("  held-out {} {}\n", rows.front().kernel ? "kinds: " : "models:", left_out(workloads::HoldOut::models));
  say("  fitted:          {}\n", errors(rows, predict(rows, after, measured.model, std::nullopt)));
  say("  before:          {}\n", errors(rows, predict(rows, before, measured.model, std::nullopt)));
  if (device.kind == sim::DeviceKind::cpu) calibrate_threading(rows, device);
  return device;
}

/// A stack for each that sources name, of the laboratories that measured it, each counting the same. `overlaps` are those of
/// instances fitted to its rows.
std::vector<sim::Stack> calibrated_stacks(const Measured& measured, const std::map<std::string, std::vector<double>>& overlaps) {
  const std::span<const Measurement> rows = measured.list.rows;
  const std::vector<workloads::StackSet> sets = stack_sets(rows, measured.sites, measured.catalogue.stacks());
  std::map<std::string, std::vector<sim::Stack>> fits;
  std::map<std::string, std::string> laboratories;
  for (const workloads::StackSet& set : sets) {
    fits[set.stack].push_back(fit_stack(*measured.catalogue.find_stack(set.stack), rows, measured.sites, set, measured.model));
    std::string& names = laboratories[set.stack];
    names += (names.empty() ? "" : ", ") +
             fmt::format("{} ({})", set.laboratory, sim::counted(static_cast<double>(set.rows.size()), "row"));
  }
  std::vector<sim::Stack> stacks;
  for (const auto& [name, of_name] : fits) {
    sim::Stack stack = workloads::mean_stack(of_name);
    if (const auto found = overlaps.find(name); found != overlaps.end()) {
      double sum = 0;
      for (const double overlap : found->second) sum += std::log(overlap);
      stack.overlap = std::exp(sum / static_cast<double>(found->second.size()));
    }
    say("\nstack {}: {}\n  time x {:.3f}, {:.1f} us a launch, {:.1f} us of the host an operation, {:.1f} ms a step, fast forms "
        "{:.2f}, overlap {:.1f}\n",
        name, laboratories[name], stack.time_factor, 1e6 * stack.launch_s, 1e6 * stack.host_s_per_op, 1e3 * stack.step_overhead_s,
        stack.fast_forms, stack.overlap);
    if (of_name.size() < 2) say("  one laboratory: how far another is from it is untestable\n");
    stack.source = fmt::format("{}. Fitted to {}", measured.catalogue.find_stack(name)->source, laboratories[name]);
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

}  // namespace

int calibrate_command(const CalibrateArguments& arguments) {
  if (traces::is_convergence(arguments.measured.path)) return calibrate_convergence(arguments);
  const Measured measured = load_measured(arguments.measured);
  const std::vector<std::size_t> slipped = slipped_units(measured);
  if (!slipped.empty())
    say("{} with slipped units left out of the fit\n", sim::counted(static_cast<double>(slipped.size()), "row"));
  std::map<std::string, DeviceRows> by_device;
  std::map<std::string, LinkRows> by_instance;
  std::size_t unused = 0;
  for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
    const Measurement& m = measured.list.rows[i];
    if (std::binary_search(slipped.begin(), slipped.end(), i)) continue;
    if (m.workers == 1) {
      by_device[m.device].rows.push_back(m);
      by_device[m.device].sites.push_back(measured.sites[i]);
      continue;
    }
    const workloads::ScaledOut scaled = against_one(m, measured.list.rows);
    if (!tells_of_links(scaled)) {
      ++unused;
      continue;
    }
    const scenarios::InstanceEntry* instance = instance_of(m, measured.catalogue);
    LinkRows& rows = by_instance[instance ? instance->instance.name : m.device];
    if (rows.rows.empty()) rows = {.instance = instance, .site = measured.sites[i]};
    rows.rows.push_back(scaled);
  }
  if (unused > 0)
    say("not used: {} of several workers, of which none of one worker is in the same setting\n",
        sim::counted(static_cast<double>(unused), "row"));
  if (by_device.empty() && by_instance.empty())
    throw sim::InputError({.file = arguments.measured.path, .expected = "rows that can be fitted", .found = "none"});
  std::vector<sim::Device> devices;
  for (const auto& [name, rows] : by_device) devices.push_back(calibrated(name, rows, measured));
  std::vector<scenarios::InstanceEntry> instances;
  std::map<std::string, std::vector<double>> overlaps;
  for (auto& [name, rows] : by_instance) {
    const std::string& device = rows.rows.front().several->device;
    const auto fitted = std::find_if(devices.begin(), devices.end(), [&](const sim::Device& d) { return d.name == device; });
    if (fitted != devices.end()) use_fit(rows.site.device, *fitted);
    if (auto entry = calibrated_links(rows, measured, fitted == devices.end() ? nullptr : &*fitted)) {
      const std::string stack = stack_of(*rows.rows.front().several, measured.catalogue.stacks());
      if (!stack.empty()) overlaps[stack].push_back(entry->instance.overlap);
      instances.push_back(std::move(*entry));
    }
  }
  const std::vector<sim::Stack> stacks = calibrated_stacks(measured, overlaps);
  sim::write_file(arguments.out, scenarios::catalogue_json(devices, instances, stacks));
  say("\n{}: {} and {}; use it with --catalogue {}\n", arguments.out, sim::counted(static_cast<double>(devices.size()), "device"),
      sim::counted(static_cast<double>(instances.size()), "instance"), arguments.out);
  return kOk;
}

}  // namespace rehearse::cli
