#include "cli/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "cli/say.hpp"
#include "scenarios/read/measured_sites.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/shown.hpp"
#include "traces/histories/history_list.hpp"
#include "traces/measurements/native.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

bool is_of_runs(const std::string& path) {
  const sim::CsvReader csv(path, {.required = {}, .optional = {"time_s", "epochs"}});
  return csv.has_column("time_s") && csv.has_column("epochs");
}

/// Whole trainings as measurements of their mean step; start-up, evaluations and checkpoints are part of it.
traces::MeasurementList steps_of_runs(const std::string& path, const scenarios::Catalogue& catalogue,
                                      const std::optional<traces::OwnNetwork>& own) {
  const std::vector<workloads::PastRun> runs = traces::read_native_history(path).runs;
  traces::MeasurementCollector collector(path);
  collector.note("past runs: a step is the mean of all, with start-up, evaluations and checkpoints");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const workloads::PastRun& run = runs[i];
    const auto line = static_cast<std::int64_t>(i) + 2;
    const scenarios::InstanceEntry* entry = catalogue.find_instance(run.instance);
    const bool is_own = own && run.model == own->model && run.dataset == own->dataset;
    const auto is_model = [&](const workloads::ZooEntry& one) { return one.name == run.model; };
    if (entry == nullptr) {
      const std::string nearest = sim::nearest_name(run.instance, catalogue.instance_names());
      collector.leave_out(line, fmt::format("expected an instance of the catalogue, found {}{}", sim::shown(run.instance),
                                            nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest)));
    } else if (!is_own && (std::ranges::none_of(workloads::zoo(), is_model) || workloads::find_dataset(run.dataset) == nullptr)) {
      collector.leave_out(line, fmt::format("expected a model and a dataset that are known, found {} on {}",
                                            sim::shown(run.model), sim::shown(run.dataset)));
    } else if (run.servers > 0 || run.asynchronous) {
      collector.leave_out(line, "of servers or asynchronous workers");
    } else {
      const auto has_gpu = [&](const scenarios::InstanceEntry::Named& one) {
        return catalogue.find_device(one.device)->kind == sim::DeviceKind::gpu;
      };
      const auto gpu = std::ranges::find_if(entry->devices, has_gpu);
      const bool is_gpu = gpu != entry->devices.end();
      const scenarios::InstanceEntry::Named& device = is_gpu ? *gpu : entry->devices.front();
      const int on_node = std::min(run.workers, is_gpu ? device.count : 1);
      workloads::Measurement m{.line = line, .model = run.model, .dataset = run.dataset};
      if (is_own) m.structure = own->network;
      m.device = device.device;
      m.instance = run.instance;
      m.nodes = (run.workers + on_node - 1) / on_node;
      m.workers_per_node = on_node;
      m.workers = run.workers;
      m.batch_per_worker = run.batch_size / run.workers;
      m.precision = run.precision;
      m.step_s = run.time_s / (run.epochs * std::ceil(run.samples / run.batch_size));
      m.source = "past run";
      collector.add(std::move(m));
    }
  }
  return collector.finish();
}

}  // namespace

Measured load_measured(const MeasuredArguments& arguments, std::optional<traces::OwnNetwork> own) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  traces::MeasurementList list = is_of_runs(arguments.path)
                                     ? steps_of_runs(arguments.path, catalogue, own)
                                     : traces::read_native_measurements(arguments.path, {.devices = catalogue.device_names(),
                                                                                         .instances = catalogue.instance_names(),
                                                                                         .own = std::move(own)});
  say("{}", to_string(list));
  std::vector<workloads::Site> sites;
  for (const workloads::Measurement& m : list.rows) sites.push_back(site_of(m, catalogue));
  workloads::MeasurementModel model(list.rows);
  return {std::move(list), std::move(sites), std::move(model), std::move(catalogue)};
}

std::vector<workloads::Site> sites_on_stacks(const Measured& measured, const std::string& option) {
  const std::vector<sim::Stack>& stacks = measured.catalogue.stacks();
  const bool is_none = option == scenarios::kNoStack, is_name = !is_none && option != kNamedStacks;
  if (is_name && measured.catalogue.find_stack(option) == nullptr)
    throw sim::InputError({.file = "--stack",
                           .expected = "a stack (rehearse list stacks), named or none",
                           .found = sim::shown(option),
                           .nearest = sim::nearest_name(option, measured.catalogue.stack_names())});
  std::vector<workloads::Site> sites = measured.sites;
  std::map<std::string, int> used;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const workloads::Measurement& m = measured.list.rows[i];
    std::string name = stack_of(m, stacks);
    if (name.empty() && is_name) name = option;
    const sim::Device& device = sites[i].device;
    const bool is_data_sheet = device.stack.empty() && device.corrections.empty() && device.kind == sim::DeviceKind::gpu;
    if (name.empty() || !is_data_sheet || m.kernel) continue;
    ++used[name];
    if (is_none) continue;
    const sim::Stack& stack = *measured.catalogue.find_stack(name);
    sites[i].device = sim::on_stack(device, stack);
    sites[i].is_on_stack = true;
    const scenarios::InstanceEntry* instance = instance_of(m, measured.catalogue);
    if (instance == nullptr || !instance->has_overlap) sites[i].overlap = stack.overlap;
  }
  for (const auto& [name, rows] : used)
    say("{} {}\n", sim::counted(static_cast<double>(rows), "row"),
        is_none ? fmt::format("of {} without what it adds to a data sheet (--stack {})", name, kNamedStacks)
                : fmt::format("on {}: transferred", name));
  return sites;
}

std::string keep_one_stack(const std::string& device, std::span<const sim::Stack> stacks,
                           std::vector<workloads::Measurement>& rows, std::vector<workloads::Site>& sites) {
  std::map<std::string, int> count;
  for (const workloads::Measurement& m : rows) ++count[stack_of(m, stacks)];
  const auto most = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  if (most == count.end()) return {};
  const std::string kept = most->first;
  std::vector<workloads::Measurement> own;
  std::vector<workloads::Site> where;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (stack_of(rows[i], stacks) != kept) continue;
    own.push_back(rows[i]);
    where.push_back(sites[i]);
  }
  if (own.size() < rows.size())
    say("{}: fitted to the rows {}; {} of other software are left out\n", device,
        kept.empty() ? "whose source names no stack" : "of " + kept,
        sim::counted(static_cast<double>(rows.size() - own.size()), "row"));
  rows = std::move(own);
  sites = std::move(where);
  return kept;
}

std::vector<std::size_t> slipped_units(const Measured& measured) {
  constexpr double kOrders = 2.5;  // of ten: nearer to three than to two
  std::vector<std::size_t> slipped;
  for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
    const workloads::Measurement& m = measured.list.rows[i];
    const double ratio = m.step_s / measured.model.step_s(m, measured.sites[i]);
    if (std::abs(std::log10(ratio)) < kOrders) continue;
    slipped.push_back(i);
    say(stderr, "warning: {}:{}: step_s is {:.3g} times the prediction: {}?\n", measured.list.file, m.line, ratio,
        ratio > 1 ? "milliseconds in a column of seconds" : "a time in thousands of seconds");
  }
  return slipped;
}

std::vector<sim::Device> calibrated_devices(const Measured& measured) {
  std::vector<sim::Device> devices;
  for (const sim::Device& device : measured.catalogue.devices()) {
    std::vector<workloads::Measurement> rows;
    std::vector<workloads::Site> sites;
    for (std::size_t i = 0; i < measured.list.rows.size(); ++i) {
      if (measured.list.rows[i].device != device.name || measured.list.rows[i].workers != 1) continue;
      rows.push_back(measured.list.rows[i]);
      sites.push_back(measured.sites[i]);
    }
    if (rows.empty()) continue;
    const std::string stack = keep_one_stack(device.name, measured.catalogue.stacks(), rows, sites);
    devices.push_back(calibrated(device, calibrate(rows, sites, measured.model)));
    devices.back().stack = stack.empty() ? kMeasuredStack : stack;
  }
  return devices;
}

}  // namespace rehearse::cli
