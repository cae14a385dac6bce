#include "sim/replay/job_network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

int racks_of(const Pool& pool, int nodes_per_rack) { return (pool.nodes + nodes_per_rack - 1) / nodes_per_rack; }

/// The nodes' cards, pool by pool, then the racks' uplinks.
std::vector<double> capacities_of(const Cluster& cluster) {
  const Network& network = *cluster.network;
  std::vector<double> capacities;
  const auto card = [&](const Pool& pool) {
    return cluster.instances[static_cast<std::size_t>(pool.instance)].network.bandwidth_bytes_per_s;
  };
  for (const Pool& pool : cluster.pools) capacities.insert(capacities.end(), static_cast<std::size_t>(pool.nodes), card(pool));
  for (const Pool& pool : cluster.pools)
    for (int left = pool.nodes; left > 0; left -= network.nodes_per_rack)
      capacities.push_back(std::min(left, network.nodes_per_rack) * card(pool) / network.oversubscription);
  return capacities;
}

}  // namespace

JobNetwork::JobNetwork(const Cluster& cluster, NetworkSolver solver)
    : nodes_per_rack_(cluster.network->nodes_per_rack), capacities_(capacities_of(cluster)), rates_(capacities_) {
  int link = 0;
  for (const Pool& pool : cluster.pools) {
    first_node_.push_back(link);
    link += pool.nodes;
  }
  for (const Pool& pool : cluster.pools) {
    first_rack_.push_back(link);
    link += racks_of(pool, nodes_per_rack_);
  }
  if (solver == NetworkSolver::simgrid) simgrid_ = std::make_unique<SimGridRates>();
}

void JobNetwork::find_links(const Configuration& configuration, const Layout& layout, std::vector<std::int32_t>& links) const {
  links.clear();
  for (std::size_t g = 0; g < layout.size(); ++g)
    for (const NodeShare& share : layout[g])
      links.push_back(first_node_[static_cast<std::size_t>(configuration.groups[g].pool)] + share.node);
  const auto distinct = [&](std::size_t from) {
    const auto first = links.begin() + static_cast<std::ptrdiff_t>(from);
    std::sort(first, links.end());
    links.erase(std::unique(first, links.end()), links.end());
  };
  distinct(0);
  const std::size_t cards = links.size();
  for (std::size_t g = 0; g < layout.size(); ++g)
    for (const NodeShare& share : layout[g])
      links.push_back(first_rack_[static_cast<std::size_t>(configuration.groups[g].pool)] + share.node / nodes_per_rack_);
  distinct(cards);
  if (links.size() == cards + 1) links.pop_back();  // within one rack
}

void JobNetwork::join(JobSlot job, const Configuration& configuration, const Layout& layout, double bytes_per_s) {
  if (group_of_.size() <= job) group_of_.resize(job + 1, kNone);
  check(group_of_[job] == kNone, "a job joins the network twice");
  Flow flow{.links = {}, .cap = bytes_per_s, .rate = bytes_per_s, .job = job};
  find_links(configuration, layout, flow.links);
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
  group_of_[job] = group;
}

void JobNetwork::leave(JobSlot job) {
  if (group_of_.size() <= job || group_of_[job] == kNone) return;
  const int group = std::exchange(group_of_[job], kNone);
  rates_.set_flows(group, 0);
  spare_[flows_[static_cast<std::size_t>(group)].links.size()].push_back(group);
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
  const Flow& flow = flows_[static_cast<std::size_t>(group_of_[job])];
  return flow.rate / flow.cap;
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
