#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "policies/harness/uneven_split.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/plan_files.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

using policies::MixedSplit;
using policies::PoolWorkers;

constexpr int kMostWorkers = 4096;

struct Asked {
  std::string name;
  int workers = 0;
};

Asked read_workers(const std::string& text) {
  const std::size_t equals = text.find('=');
  Asked asked{.name = text.substr(0, equals)};
  const char* const end = text.data() + text.size();
  if (equals != std::string::npos) {
    const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, asked.workers);
    if (error == std::errc() && rest == end && asked.workers >= 1 && asked.workers <= kMostWorkers) return asked;
  }
  throw sim::InputError(
      {.pointer = "--workers", .expected = fmt::format("NAME=COUNT, from 1 to {}", kMostWorkers), .found = text});
}

[[noreturn]] void unknown(const std::string& name, const std::string& expected, const std::vector<std::string>& names) {
  throw sim::InputError({.pointer = "--workers", .expected = expected, .found = name, .nearest = sim::nearest_name(name, names)});
}

/// A pool of the catalogue's instance with the fewest of the device.
PoolWorkers rented(const Asked& asked, const scenarios::Catalogue& catalogue, sim::Cluster& cluster) {
  const scenarios::InstanceEntry* smallest = nullptr;
  int fewest = 0;
  std::vector<std::string> gpus;
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) {
    for (const scenarios::InstanceEntry::Named& named : entry.devices) {
      const sim::Device* device = catalogue.find_device(named.device);
      if (device == nullptr || device->kind != sim::DeviceKind::gpu) continue;
      gpus.push_back(named.device);
      if (named.device != asked.name || (smallest != nullptr && fewest <= named.count)) continue;
      smallest = &entry;
      fewest = named.count;
    }
  }
  if (smallest == nullptr) unknown(asked.name, "a GPU that an instance has (rehearse list instances)", gpus);
  sim::Mistakes mistakes;
  const int instance = add_to_cluster(*smallest, catalogue, cluster, mistakes);
  mistakes.throw_if_any();
  const auto pool = static_cast<sim::PoolId>(cluster.pools.size());
  cluster.pools.push_back({.name = fmt::format("{} ({})", asked.name, smallest->instance.name), .instance = instance});
  const int per_node = sim::workers_per_node(cluster, pool);
  cluster.pools.back().nodes = (asked.workers + per_node - 1) / per_node;
  return {pool, asked.workers};
}

PoolWorkers in_pool(const Asked& asked, const scenarios::PlanCluster& plan) {
  const sim::Cluster& cluster = plan.scenario.cluster;
  const std::vector<std::string> names = scenarios::pool_names(cluster);
  const auto found = std::ranges::find(names, asked.name);
  if (found == names.end()) unknown(asked.name, "a pool of the cluster", names);
  const auto pool = static_cast<sim::PoolId>(found - names.begin());
  const int most = plan.free_devices.empty()
                       ? cluster.pools[static_cast<std::size_t>(pool)].nodes * sim::workers_per_node(cluster, pool)
                       : plan.free_devices[static_cast<std::size_t>(pool)];
  if (asked.workers > most)
    throw sim::InputError({.pointer = "--workers",
                           .expected = fmt::format("at most {} of {}: what is free", most, asked.name),
                           .found = std::to_string(asked.workers)});
  return {pool, asked.workers};
}

void print_workers(const MixedSplit& uneven, const sim::Cluster& cluster) {
  say("{:<32}{:>8}{:>9}{:>9}\n", "workers", "number", "samples", "weight");
  for (const sim::Group& group : uneven.configuration.groups)
    say("{:<32}{:>8}{:>9}{:>9.4f}\n", cluster.pools[static_cast<std::size_t>(group.pool)].name, group.workers,
        group.batch_per_worker, group.batch_per_worker / uneven.split.batch);
}

void print_step(const char* label, const MixedSplit& one, double than_s) {
  if (std::isfinite(one.simulated_s))
    say("{:<32}{:>9.4f} s{:>+9.1f} %\n", label, one.simulated_s, 100 * (one.simulated_s / than_s - 1));
  else
    say("{:<32}{:>11}\n", label, "does not fit");
}

/// Of the batch that is trained, whatever the split: gradients count by their workers' shares.
void print_rate(const std::string& model, const std::string& dataset, double batch) {
  const auto* convergence = workloads::find_convergence(model, dataset);
  if (convergence == nullptr) {
    say("\nlearning rate: that of the global batch; no training of {} on {} is modelled that would say which\n", model, dataset);
    return;
  }
  const double reference = convergence->reference_batch;
  say("\nlearning rate {:.4g}, the most useful one for {} samples at the start ({:.4g} for the publication's {})\n",
      most_useful_rate(*convergence, {}, 0, batch), batch, most_useful_rate(*convergence, {}, 0, reference), reference);
}

void print_verdict(const policies::MixedComparison& c) {
  if (c.slow_pay && !std::isfinite(c.fast_alone.simulated_s))
    say("the slow ones pay: the fast ones alone do not hold the batch\n");
  else if (c.slow_pay)
    say("the slow ones pay: {:.1f} % less time a step than the fast ones alone\n",
        100 * (1 - c.uneven.simulated_s / c.fast_alone.simulated_s));
  else if (c.all_fast)
    say("all are equally fast\n");
  else if (c.uneven.mix == c.fast_alone.mix)
    say("the slow ones do not pay: they would only hold the others up\n");
  else
    say("the slow ones do not pay: the fast ones alone take {:.1f} % less time a step\n",
        100 * (1 - c.fast_alone.simulated_s / c.uneven.simulated_s));
}

}  // namespace

int split_command(const SplitArguments& arguments) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  std::unique_ptr<scenarios::PlanCluster> plan;
  if (!arguments.cluster.empty()) plan = scenarios::load_plan_cluster(arguments.cluster);
  sim::Cluster own;
  std::vector<PoolWorkers> mix;
  for (const std::string& text : arguments.workers) {
    const Asked asked = read_workers(text);
    mix.push_back(plan ? in_pool(asked, *plan) : rented(asked, catalogue, own));
    for (std::size_t i = 0; i + 1 < mix.size(); ++i)
      if (mix[i].pool == mix.back().pool)
        throw sim::InputError({.pointer = "--workers", .expected = "each pool once", .found = text});
  }
  const sim::Cluster& cluster = plan ? plan->scenario.cluster : own;
  const scenarios::OwnModels none;
  if (const auto names = model_names(none); std::ranges::find(names, arguments.model) == names.end())
    throw sim::InputError({.expected = "a model (rehearse list models)",
                           .found = arguments.model,
                           .nearest = sim::nearest_name(arguments.model, names)});
  const std::string dataset = arguments.dataset.empty() ? default_dataset(none, arguments.model) : arguments.dataset;
  if (const auto names = dataset_names(none); std::ranges::find(names, dataset) == names.end())
    throw sim::InputError(
        {.expected = "a data set (rehearse list models)", .found = dataset, .nearest = sim::nearest_name(dataset, names)});
  workloads::ProfileTable table;
  const sim::Profile* const profile = table.intern(arguments.model, dataset);
  workloads::ProfileModels models;
  add_profile_models(none, table, models);
  const workloads::Belief belief(cluster, models);
  const policies::MixedComparison c = compare_mixed(belief, *profile, mix, arguments.batch);
  if (!std::isfinite(c.uneven.simulated_s))
    throw sim::InputError({.pointer = "--batch",
                           .expected = fmt::format("at most {:.0f} samples: what the memories hold", c.uneven.split.batch),
                           .found = std::to_string(arguments.batch)});
  say("{} on {}, global batch {}\n\n", arguments.model, dataset, arguments.batch);
  print_workers(c.uneven, cluster);
  say("\na simulated step\n");
  print_step("uneven split", c.uneven, c.uneven.simulated_s);
  print_step("equal split", c.equal, c.uneven.simulated_s);
  print_step("the fast ones alone", c.fast_alone, c.uneven.simulated_s);
  print_rate(arguments.model, dataset, c.uneven.split.batch);
  print_verdict(c);
  return kOk;
}

}  // namespace rehearse::cli
