#include "sim/replay/job_network.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

double card_of(const Cluster& cluster, const Pool& pool) {
  return cluster.instances[static_cast<std::size_t>(pool.instance)].network.bandwidth_bytes_per_s;
}

/// Racks that pools fill node by node.
Racks even_racks(const Cluster& cluster) {
  const Network& network = *cluster.network;
  Racks racks;
  for (const Pool& pool : cluster.pools) {
    const auto first = static_cast<int>(racks.uplinks_bytes_per_s.size());
    std::vector<int>& of_node = racks.of_node.emplace_back();
    for (int node = 0; node < pool.nodes; ++node) of_node.push_back(first + node / network.nodes_per_rack);
    for (int left = pool.nodes; left > 0; left -= network.nodes_per_rack)
      racks.uplinks_bytes_per_s.push_back(std::min(left, network.nodes_per_rack) * card_of(cluster, pool) /
                                          network.oversubscription);
  }
  return racks;
}

/// The nodes' cards, pool by pool, then the racks' uplinks, then the file system.
std::vector<double> capacities_of(const Cluster& cluster, const Racks& racks) {
  std::vector<double> capacities;
  if (cluster.network) {
    for (const Pool& pool : cluster.pools)
      capacities.insert(capacities.end(), static_cast<std::size_t>(pool.nodes), card_of(cluster, pool));
    for (const double uplink : racks.uplinks_bytes_per_s)
      if (std::isfinite(uplink)) capacities.push_back(uplink);
  }
  if (std::isfinite(cluster.storage_bandwidth_bytes_per_s)) capacities.push_back(cluster.storage_bandwidth_bytes_per_s);
  return capacities;
}

}  // namespace

Racks racks_of(const Cluster& cluster) {
  if (!cluster.network) return {};
  return cluster.network->racks ? *cluster.network->racks : even_racks(cluster);
}

JobNetwork::JobNetwork(const Cluster& cluster, NetworkSolver solver) : JobNetwork(cluster, racks_of(cluster), solver) {}

JobNetwork::JobNetwork(const Cluster& cluster, const Racks& racks, NetworkSolver solver)
    : capacities_(capacities_of(cluster, racks)), rates_(capacities_) {
  if (solver == NetworkSolver::simgrid) simgrid_ = std::make_unique<SimGridRates>();
  if (std::isfinite(cluster.storage_bandwidth_bytes_per_s)) storage_ = static_cast<int>(capacities_.size()) - 1;
  if (!cluster.network) return;
  int link = 0;
  for (const Pool& pool : cluster.pools) {
    first_node_.push_back(link);
    link += pool.nodes;
  }
  for (const double uplink : racks.uplinks_bytes_per_s) uplinks_.push_back(std::isfinite(uplink) ? link++ : kNone);
  rack_of_node_ = racks.of_node;
}

bool JobNetwork::is_needed(const Cluster& cluster) {
  return cluster.network || std::isfinite(cluster.storage_bandwidth_bytes_per_s);
}

void JobNetwork::find_links(const Configuration& configuration, const Layout& layout, std::vector<std::int32_t>& links) const {
  links.clear();
  std::set<int> racks;
  for (std::size_t g = 0; g < layout.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    for (const NodeShare& share : layout[g]) {
      links.push_back(first_node_[pool] + share.node);
      racks.insert(rack_of_node_[pool][static_cast<std::size_t>(share.node)]);
    }
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  if (racks.size() == 1) return;
  for (const int rack : racks)
    if (const int link = uplinks_[static_cast<std::size_t>(rack)]; link != kNone) links.push_back(link);
}

void JobNetwork::add(JobSlot job, Use use, std::vector<std::int32_t> links, double bytes_per_s) {
  if (groups_of_.size() <= job) groups_of_.resize(job + 1, {kNone, kNone});
  check(groups_of_[job][use] == kNone, "a job joins the network twice");
  Flow flow{.links = std::move(links), .cap = bytes_per_s, .rate = bytes_per_s, .job = job};
  std::vector<int>& spare = spare_[flow.links.size()];
  int group = static_cast<int>(flows_.size());
  if (spare.empty()) {
    rates_.add_group(flow.links, flow.cap);
    flows_.emplace_back();
  } else {
    group = spare.back();
    spare.pop_back();
    rates_.change_group(group, flow.links, flow.cap);
  }
  rates_.set_flows(group, 1);
  flows_[static_cast<std::size_t>(group)] = std::move(flow);
  groups_of_[job][use] = group;
}

void JobNetwork::join(JobSlot job, const Configuration& configuration, const Layout& layout, double bytes_per_s) {
  if (rack_of_node_.empty()) return;
  std::vector<std::int32_t> links;
  find_links(configuration, layout, links);
  add(job, exchange, std::move(links), bytes_per_s);
}

void JobNetwork::read(JobSlot job, double bytes_per_s) {
  if (storage_ != kNone) add(job, input, {storage_}, bytes_per_s);
}

void JobNetwork::leave(JobSlot job) {
  if (groups_of_.size() <= job) return;
  for (int& of_use : groups_of_[job]) {
    const int group = std::exchange(of_use, kNone);
    if (group == kNone) continue;
    rates_.set_flows(group, 0);
    spare_[flows_[static_cast<std::size_t>(group)].links.size()].push_back(group);
  }
}

std::span<const JobSlot> JobNetwork::solve() {
  changed_.clear();
  const std::span<const std::int32_t> groups = rates_.solve();
  for (const std::int32_t group : groups) {
    Flow& flow = flows_[static_cast<std::size_t>(group)];
    flow.rate = rates_.rate(group);
    changed_.push_back(flow.job);
  }
  if (simgrid_) ask_simgrid(groups);
  return changed_;
}

double JobNetwork::share(JobSlot job) const {
  double least = 1;
  if (groups_of_.size() <= job) return least;
  for (const int group : groups_of_[job]) {
    if (group == kNone) continue;
    const Flow& flow = flows_[static_cast<std::size_t>(group)];
    least = std::min(least, flow.rate / flow.cap);
  }
  return least;
}

/// The groups are whole components: nobody else has flows on their links.
void JobNetwork::ask_simgrid(std::span<const std::int32_t> changed) {
  std::vector<std::int32_t> used;
  for (const std::int32_t group : changed)
    for (const std::int32_t link : flows_[static_cast<std::size_t>(group)].links) used.push_back(link);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<double> capacities;
  for (const std::int32_t link : used) capacities.push_back(capacities_[static_cast<std::size_t>(link)]);
  std::vector<CappedFlow> flows;
  for (const std::int32_t group : changed) {
    const Flow& flow = flows_[static_cast<std::size_t>(group)];
    flows.push_back({.links = {}, .cap = flow.cap});
    for (const std::int32_t link : flow.links)
      flows.back().links.push_back(static_cast<std::int32_t>(std::lower_bound(used.begin(), used.end(), link) - used.begin()));
  }
  const std::vector<double> rates = simgrid_->solve(capacities, flows);
  for (std::size_t f = 0; f < rates.size(); ++f) {
    Flow& flow = flows_[static_cast<std::size_t>(changed[f])];
    check(std::abs(rates[f] - flow.rate) <= 1e-9 * flow.rate, "the two network solvers agree");
    flow.rate = std::min(rates[f], flow.cap);
  }
}

}  // namespace rehearse::sim
