#include <fmt/format.h>

#include <cmath>
#include <set>

#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/pool_fields.hpp"
#include "scenarios/read/read_platform.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

const std::vector<std::string> kBilling{"allocated", "node", "pool"};  // in Billing's order

/// Under node billing an empty node is given back at once, and none is kept: nobody would pay for it.
std::optional<sim::Autoscale> read_autoscale(sim::ObjectReader& pool, int nodes, sim::Billing billing, sim::Mistakes& mistakes) {
  const auto value = pool.child("autoscale");
  if (!value) return std::nullopt;
  sim::ObjectReader in(*value, mistakes);
  sim::Autoscale rules;
  const bool rents = billing == sim::Billing::node;
  if (rents) rules.idle_s = 0;
  read_numbers(in, rules);
  in.finish();
  for (const char* key : {"min_nodes", "idle_s"})
    if (rents && in.has(key) && (rules.min_nodes > 0 || rules.idle_s > 0))
      in.child(key)->refuse("0 under \"billing\": \"node\", where a node is given back when it has no job", mistakes);
  if (rules.min_nodes > nodes) in.child("min_nodes").value_or(*value).refuse("at most the pool's nodes", mistakes);
  return rules;
}

std::optional<sim::Spot> read_spot(sim::ObjectReader& pool, bool is_spot, bool has_prices, const Paths& paths, Scenario& scenario,
                                   sim::Mistakes& mistakes) {
  const auto value = pool.child("spot");
  if (!value) return std::nullopt;
  sim::ObjectReader in(*value, mistakes);
  sim::Spot rules;
  read_numbers(in, rules);
  if (const auto availability = in.child("availability"))
    rules.availability = read_availability(*availability, paths, scenario, mistakes);
  in.finish();
  if (!is_spot) value->refuse("pricing \"spot\" beside it", mistakes);
  if (in.has("bid_usd_per_hour") && !has_prices)
    in.child("bid_usd_per_hour")->refuse("prices_usd_per_hour of the pool that the bid is against", mistakes);
  return rules;
}

void read_pool(sim::JsonValue value, const Catalogue& catalogue, const Paths& paths, Scenario& scenario,
               sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Pool pool;
  pool.name = in.text("name");
  const std::string instance = in.text("instance");
  read_numbers(in, pool);
  const bool spot = in.choice("pricing", pricings(), 0) == 1;
  const auto prices = in.child("prices_usd_per_hour");
  if (prices) pool.prices_usd_per_hour = read_series(*prices, paths, scenario, mistakes);
  pool.spot = read_spot(in, spot, prices.has_value(), paths, scenario, mistakes);
  pool.autoscale = read_autoscale(in, pool.nodes, scenario.costs.billing, mistakes);
  in.finish();
  const InstanceEntry* entry = catalogue.find_instance(instance);
  if (entry == nullptr && !instance.empty())
    known_name(*in.child("instance"), instance, catalogue.instance_names(), "instance", mistakes);
  pool.instance = entry == nullptr ? kNoInstance : add_to_cluster(*entry, catalogue, scenario.cluster, mistakes);
  if (pool.instance == kNoInstance) {
    scenario.cluster.pools.push_back(std::move(pool));  // never run; what names the pool is right
    return;
  }
  sim::Instance& chosen = scenario.cluster.instances.back();
  if (spot && std::isnan(chosen.spot_price_usd_per_hour)) value.refuse("an instance with a spot price", mistakes);
  // Nobody bids more than what an on-demand node costs.
  if (pool.spot && std::isinf(pool.spot->bid_usd_per_hour) && entry->has_price)
    pool.spot->bid_usd_per_hour = chosen.price_usd_per_hour;
  if (spot) chosen.price_usd_per_hour = chosen.spot_price_usd_per_hour;
  if (pool.prices_usd_per_hour) chosen.price_usd_per_hour = pool.prices_usd_per_hour->at(0);  // what policies reckon with
  if (!entry->has_price && !prices)
    scenario.warnings.push_back(fmt::format("instance \"{}\" has no price_usd_per_hour: it costs nothing", instance));
  const int per_node = chosen.gpus.empty() ? 1 : chosen.gpus.front().count;
  if (static_cast<double>(pool.nodes) * per_node > 1e7) value.refuse("at most 10,000,000 devices in a pool", mistakes);
  scenario.cluster.pools.push_back(std::move(pool));
}

/// The cluster that a platform file describes, with its definitions in the catalogue.
std::optional<sim::JsonDocument> read_platform_key(sim::ObjectReader& cluster, const Paths& paths, Catalogue& catalogue,
                                                   Scenario& scenario, sim::Mistakes& mistakes) {
  const auto file = cluster.child("platform");
  if (!file) return std::nullopt;
  const std::string path = paths.resolve(*file, mistakes);
  if (path.empty()) return std::nullopt;
  try {
    PlatformCluster platform = platform_cluster(sim::read_platform(path), path, catalogue, mistakes);
    scenario.sha256_of_file[std::string(file->text())] = sim::sha256_of_file(path);
    scenario.cluster.network.emplace().racks = std::move(platform.racks);
    sim::JsonDocument document = sim::parse_json(std::move(platform.json), path);
    sim::Mistakes within;
    catalogue.add(document.root(), within);
    for (sim::Mistake mistake : within.listed()) {  // the text between is nobody's
      mistake.line = mistake.column = 0;
      mistakes.add(std::move(mistake));
    }
    return document;
  } catch (const sim::InputError& error) {
    add_at(*file, error, mistakes);
    return std::nullopt;
  }
}

}  // namespace

const sim::Instance* instance_or_null(const sim::Cluster& cluster, sim::PoolId pool) {
  const int instance = cluster.pools[static_cast<std::size_t>(pool)].instance;
  return instance == kNoInstance ? nullptr : &cluster.instances[static_cast<std::size_t>(instance)];
}

std::vector<std::string> pool_names(const sim::Cluster& cluster) {
  std::vector<std::string> names;
  for (const sim::Pool& pool : cluster.pools) names.push_back(pool.name);
  return names;
}

void read_billing(sim::ObjectReader& in, sim::Billing fallback, sim::CostRules& costs, sim::Mistakes& mistakes) {
  costs.billing = static_cast<sim::Billing>(in.choice("billing", kBilling, static_cast<std::size_t>(fallback)));
  costs.minimum_node_s = in.number("minimum_node_s", sim::between(0, 1e9), 0.0);
  if (costs.billing != sim::Billing::node && in.has("minimum_node_s"))
    in.child("minimum_node_s")->refuse("\"billing\": \"node\" beside it: other billings know no minimum", mistakes);
}

namespace {

/// Of the cluster, or of an option in its place; "none" is none.
void apply_stack(sim::ObjectReader& cluster, const std::string& option, Catalogue& catalogue, Scenario& scenario,
                 sim::Mistakes& mistakes) {
  const std::string own = cluster.text("stack", kNoStack), name = option.empty() ? own : option;
  if (name == kNoStack) return;
  const sim::Stack* stack = catalogue.find_stack(name);
  if (stack == nullptr) {
    std::vector<std::string> names = catalogue.stack_names();
    names.emplace_back(kNoStack);
    if (option.empty()) known_name(*cluster.child("stack"), name, names, "stack", mistakes);
    if (!option.empty())
      mistakes.add({.file = "--stack",
                    .expected = "a stack (rehearse list stacks), or none",
                    .found = sim::shown(name),
                    .nearest = sim::nearest_name(name, names)});
    return;
  }
  scenario.stack = *stack;
  catalogue.use_stack(*scenario.stack);
}

}  // namespace

void read_cluster(sim::ObjectReader& in, const Paths& paths, const LoadOptions& options, Scenario& scenario,
                  sim::Mistakes& mistakes) {
  Catalogue catalogue;
  catalogue.add_own();
  const auto add_file = [&](const std::string& path, std::string_view as_written, const auto& told) {
    try {
      catalogue.add_file(path, mistakes);
      scenario.sha256_of_file[std::string(as_written)] = sim::sha256_of_file(path);
    } catch (const sim::InputError& error) {
      told(error);
    }
  };
  const auto value = in.required("cluster", "an object with pools");
  if (!value) return;
  sim::ObjectReader cluster(*value, mistakes);
  for (const sim::JsonValue path : cluster.list("catalogues")) {
    const std::string resolved = paths.resolve(path, mistakes);
    if (!resolved.empty()) add_file(resolved, path.text(), [&](const sim::InputError& error) { add_at(path, error, mistakes); });
  }
  cluster.has("devices");
  cluster.has("instances");
  cluster.has("stacks");
  if (value->is_object()) catalogue.add(*value, mistakes);
  for (const std::string& path : options.catalogues)
    add_file(path, path, [&](const sim::InputError& error) { mistakes.add_all(error); });

  std::set<std::string> names;
  const auto platform = read_platform_key(cluster, paths, catalogue, scenario, mistakes);
  apply_stack(cluster, options.stack, catalogue, scenario, mistakes);
  const auto pools = cluster.child("pools");
  if (value->is_object() && pools.has_value() == cluster.has("platform")) value->refuse("either pools or a platform", mistakes);
  if (pools && pools->is_array() && pools->size() == 0) pools->refuse("at least one pool", mistakes);
  for (const sim::JsonValue pool :
       platform ? sim::ObjectReader(platform->root(), mistakes).list("pools") : cluster.list("pools")) {
    read_pool(pool, catalogue, paths, scenario, mistakes);
    const std::string& name = scenario.cluster.pools.back().name;
    if (!name.empty() && !names.insert(name).second) refuse_again(pool, name, "a name that is given once", mistakes);
  }
  if (const auto network = cluster.child("network")) {
    sim::ObjectReader net(*network, mistakes);
    if (scenario.cluster.network) network->refuse("no network beside a platform, which has its own", mistakes);
    sim::Network& shared = scenario.cluster.network.emplace();
    shared.oversubscription = net.number("oversubscription", sim::between(1, 1000), shared.oversubscription);
    shared.nodes_per_rack = static_cast<int>(net.integer("nodes_per_rack", sim::between(1, 1e6), shared.nodes_per_rack));
    net.finish();
  }
  if (const auto bandwidth = cluster.maybe_number("storage_bandwidth_bytes_per_s", sim::between(1e3, 1e18)))
    scenario.cluster.storage_bandwidth_bytes_per_s = *bandwidth;
  if (const auto carbon = cluster.child("carbon_g_per_kwh"))
    scenario.cluster.carbon_g_per_kwh = read_series(*carbon, paths, scenario, mistakes);
  cluster.finish();
}

namespace {

constexpr sim::NumberRange kTimes{.low = 0, .high = 0x1p33};
constexpr sim::NumberRange kValues{.low = 0, .high = 1e6};
constexpr const char* kLater = "a time after the one before";

std::vector<sim::StepSeries::Step> read_file(const std::string& path, const std::string& column, sim::Mistakes& mistakes) {
  std::vector<sim::StepSeries::Step> steps;
  sim::CsvReader reader(path, {.required = {"time_s", column}, .others_allowed = false});
  while (sim::CsvRow* row = reader.next()) {
    const sim::StepSeries::Step step{.time_s = row->number("time_s", kTimes), .value = row->number(column, kValues)};
    if (row->mistakes().empty() && !steps.empty() && step.time_s <= steps.back().time_s) row->refuse("time_s", kLater);
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (row->mistakes().empty()) steps.push_back(step);
  }
  return steps;
}

std::vector<sim::StepSeries::Step> read_list(sim::ObjectReader& in, const std::string& column, sim::Mistakes& mistakes) {
  std::vector<sim::StepSeries::Step> steps;
  for (const sim::JsonValue value : in.list("steps")) {
    sim::ObjectReader step(value, mistakes);
    const sim::StepSeries::Step read{.time_s = step.number("time_s", kTimes), .value = step.number(column, kValues)};
    step.finish();
    if (!steps.empty() && read.time_s <= steps.back().time_s) {
      step.child("time_s").value_or(value).refuse(kLater, mistakes);
      continue;
    }
    steps.push_back(read);
  }
  return steps;
}

/// Steps or a file of an object that may say more.
std::optional<sim::StepSeries> read_steps(sim::JsonValue value, sim::ObjectReader& in, const std::string& column,
                                          const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  std::vector<sim::StepSeries::Step> steps = read_list(in, column, mistakes);
  const auto file = in.child("file");
  if (!value.is_object()) return std::nullopt;
  const std::string path = file ? paths.resolve(*file, mistakes) : "";
  if (in.has("steps") == file.has_value()) {
    value.refuse("either steps or a file", mistakes);
    return std::nullopt;
  }
  if (file) {
    if (path.empty()) return std::nullopt;
    try {
      steps = read_file(path, column, mistakes);
      scenario.sha256_of_file[std::string(file->text())] = sim::sha256_of_file(path);
    } catch (const sim::InputError& error) {
      add_at(*file, error, mistakes);
      return std::nullopt;
    }
  }
  if (steps.empty()) {
    value.refuse("a step at least", mistakes);
    return std::nullopt;
  }
  return sim::StepSeries(std::move(steps));
}

}  // namespace

std::optional<sim::StepSeries> read_series(sim::JsonValue value, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  std::optional<sim::StepSeries> series = read_steps(value, in, "value", paths, scenario, mistakes);
  in.finish();
  return series;
}

std::optional<sim::RecordedCapacity> read_availability(sim::JsonValue value, const Paths& paths, Scenario& scenario,
                                                       sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  std::optional<sim::StepSeries> nodes = read_steps(value, in, "available_nodes", paths, scenario, mistakes);
  const double offset_s = in.number("offset_s", kTimes, 0);
  const auto repeat_s = in.maybe_number("repeat_s", {.low = 1, .high = kTimes.high});
  in.finish();
  if (!nodes) return std::nullopt;
  sim::RecordedCapacity availability{.nodes = std::move(*nodes), .offset_s = offset_s};
  if (!repeat_s) return availability;
  availability.repeat_s = *repeat_s;
  if (*repeat_s <= availability.nodes.steps().back().time_s)
    in.child("repeat_s")->refuse("more than the last date of the series", mistakes);
  if (offset_s >= *repeat_s) in.child("offset_s").value_or(value).refuse("less than repeat_s", mistakes);
  return availability;
}

}  // namespace rehearse::scenarios
