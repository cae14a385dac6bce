#include <fmt/format.h>

#include <cmath>
#include <set>

#include "scenarios/loader_parts.hpp"
#include "sim/read/sha256.hpp"

namespace rehearse::scenarios {

namespace {

const std::vector<std::string> kPricing{"on-demand", "spot"};

void read_pool(sim::JsonValue value, const Catalogue& catalogue, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Pool pool;
  pool.name = in.text("name");
  const std::string instance = in.text("instance");
  pool.nodes = static_cast<int>(in.integer("nodes", sim::between(1, 1e6)));
  const bool spot = in.choice("pricing", kPricing, 0) == 1;
  in.finish();
  const InstanceEntry* entry = catalogue.find_instance(instance);
  if (entry == nullptr) {
    if (!instance.empty()) known_name(*in.child("instance"), instance, catalogue.instance_names(), "instance", mistakes);
    scenario.cluster.pools.push_back(std::move(pool));  // never run; what names the pool is right
    return;
  }
  pool.instance = add_to_cluster(*entry, catalogue, scenario.cluster, mistakes);
  sim::Instance& chosen = scenario.cluster.instances.back();
  if (spot && std::isnan(chosen.spot_price_usd_per_hour)) value.refuse("an instance with a spot price", mistakes);
  if (spot) chosen.price_usd_per_hour = chosen.spot_price_usd_per_hour;
  if (!entry->has_price)
    scenario.warnings.push_back(fmt::format("instance \"{}\" has no price_usd_per_hour: it costs nothing", instance));
  const int per_node = chosen.gpus.empty() ? 1 : chosen.gpus.front().count;
  if (static_cast<double>(pool.nodes) * per_node > 1e7) value.refuse("at most 10,000,000 devices in a pool", mistakes);
  scenario.cluster.pools.push_back(std::move(pool));
}

}  // namespace

std::vector<std::string> pool_names(const sim::Cluster& cluster) {
  std::vector<std::string> names;
  for (const sim::Pool& pool : cluster.pools) names.push_back(pool.name);
  return names;
}

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
  if (value->is_object()) catalogue.add(*value, mistakes);
  for (const std::string& path : options.catalogues)
    add_file(path, path, [&](const sim::InputError& error) { mistakes.add_all(error); });

  std::set<std::string> names;
  const auto pools = cluster.required("pools", "a list of pools");
  if (pools && pools->is_array() && pools->size() == 0) pools->refuse("at least one pool", mistakes);
  for (const sim::JsonValue pool : cluster.list("pools")) {
    read_pool(pool, catalogue, scenario, mistakes);
    const std::string& name = scenario.cluster.pools.back().name;
    if (!name.empty() && !names.insert(name).second) refuse_again(pool, name, "a name that is given once", mistakes);
  }
  if (const auto network = cluster.child("network")) {
    sim::ObjectReader net(*network, mistakes);
    sim::Network& shared = scenario.cluster.network.emplace();
    shared.oversubscription = net.number("oversubscription", sim::between(1, 1000), shared.oversubscription);
    shared.nodes_per_rack = static_cast<int>(net.integer("nodes_per_rack", sim::between(1, 1e6), shared.nodes_per_rack));
    net.finish();
  }
  cluster.finish();
}

}  // namespace rehearse::scenarios
