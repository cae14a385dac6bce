#include "sim/replay/free_devices.hpp"

#include <algorithm>

namespace rehearse::sim {

int held_in(const QueueJob& job, PoolId pool) {
  return static_cast<int>(configuration_of(job, job.service.entry).workers_of(pool));
}

Layout held_layout(const QueueView& view, JobSlot slot) {
  Layout layout;
  if (view.held == nullptr || view.jobs[slot].service.entry < 0) return layout;
  layout = view.held->held(slot);
  for (std::vector<NodeShare>& shares : layout) {
    // Several parts on one device are one device.
    std::vector<NodeShare> once;
    for (const NodeShare& share : shares) {
      const auto is_same = [&](const NodeShare& other) { return share.shared_device == other.shared_device; };
      if (share.shared_device < 0 || std::none_of(once.begin(), once.end(), is_same)) once.push_back(share);
    }
    shares = std::move(once);
  }
  return layout;
}

std::vector<NodeShare> held_nodes(const QueueView& view, JobSlot slot, PoolId pool) {
  std::vector<NodeShare> held;
  const Layout layout = held_layout(view, slot);
  for (std::size_t g = 0; g < layout.size(); ++g)
    if (configuration_of(view.jobs[slot], view.jobs[slot].service.entry).groups[g].pool == pool)
      held.insert(held.end(), layout[g].begin(), layout[g].end());
  return held;
}

void FreeDevices::reset(const QueueView& view, bool by_node) {
  whole_.assign(view.free_devices.begin(), view.free_devices.end());
  nodes_.clear();
  if (by_node) nodes_.assign(view.nodes.begin(), view.nodes.end());
  seen_ = view.shares;
  own_.clear();
}

void FreeDevices::reset_whole(const QueueView& view, bool by_node) {
  reset(view, by_node);
  seen_ = {};
}

DeviceShares& FreeDevices::own_shares(PoolId pool) {
  if (own_.empty()) own_.assign(seen_.begin(), seen_.end());
  return own_[static_cast<std::size_t>(pool)];
}

bool FreeDevices::fits(const Configuration& configuration, const Group& group) const {
  const auto pool = static_cast<std::size_t>(group.pool);
  if (group.workers <= whole_[pool] && (nodes_.empty() || nodes_[pool].has_room_for(group))) return true;
  if (!configuration.share.is_part() || seen_.empty()) return false;
  const DeviceShares& shares = own_.empty() ? seen_[pool] : own_[pool];
  return shares.to_open(configuration.share, Placement::best_fit, true, whole_[pool]) != DeviceShares::kNone;
}

bool FreeDevices::fits(const Configuration& configuration) const {
  return std::all_of(configuration.groups.begin(), configuration.groups.end(),
                     [&](const Group& group) { return fits(configuration, group); });
}

bool FreeDevices::take(const Configuration& configuration, Placement placement) {
  if (configuration.share.is_part() && !seen_.empty()) return take_part(configuration, placement);
  taken_.clear();
  const std::vector<Group>& groups = configuration.groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const auto pool = static_cast<std::size_t>(group.pool);
    if (!fits(configuration, group)) {
      while (g-- > 0) {
        static constexpr std::span<const NodeShare> kNowhere;
        give_back(groups[g].pool, groups[g].workers, nodes_.empty() ? kNowhere : taken_[g]);
      }
      return false;
    }
    whole_[pool] -= group.workers;
    if (!nodes_.empty()) nodes_[pool].take(placement, group, taken_.emplace_back());
  }
  return true;
}

bool FreeDevices::take_part(const Configuration& configuration, Placement placement) {
  taken_.clear();
  const PoolId pool = configuration.groups.front().pool;
  if (!fits(configuration, configuration.groups.front())) return false;
  DeviceShares& shares = own_shares(pool);
  const int opened = shares.to_open(configuration.share, placement, true, of(pool));
  std::vector<int> nodes(static_cast<std::size_t>(opened));
  if (opened > 0) {
    taken_.push_back(take(pool, opened, placement));
    if (is_by_node()) nodes.clear();
    for (const NodeShare& share : taken_.front()) nodes.insert(nodes.end(), static_cast<std::size_t>(share.devices), share.node);
  }
  shares.put_all(configuration.share, placement, true, nodes);
  return true;
}

std::vector<NodeShare> FreeDevices::take(PoolId pool, int devices, Placement placement) {
  std::vector<NodeShare> shares;
  whole_[static_cast<std::size_t>(pool)] -= devices;
  if (!nodes_.empty()) nodes_[static_cast<std::size_t>(pool)].take(placement, devices, shares);
  return shares;
}

void FreeDevices::take(PoolId pool, std::span<const NodeShare> shares) {
  for (const NodeShare& share : shares) whole_[static_cast<std::size_t>(pool)] -= share.devices;
  if (!nodes_.empty()) nodes_[static_cast<std::size_t>(pool)].take(shares);
}

void FreeDevices::give_back(PoolId pool, int devices, std::span<const NodeShare> shares) {
  whole_[static_cast<std::size_t>(pool)] += devices;
  if (!nodes_.empty()) nodes_[static_cast<std::size_t>(pool)].give_back(shares);
}

void FreeDevices::give_back(const QueueView& view, JobSlot slot, PoolId pool) {
  const QueueJob& job = view.jobs[slot];
  if (holds_part(job))
    give_back_part(job);
  else
    give_back(pool, held_in(job, pool), nodes_.empty() ? std::vector<NodeShare>() : held_nodes(view, slot, pool));
}

void FreeDevices::take_again(const QueueView& view, JobSlot slot, PoolId pool) {
  whole_[static_cast<std::size_t>(pool)] -= held_in(view.jobs[slot], pool);
  if (!nodes_.empty()) nodes_[static_cast<std::size_t>(pool)].take(held_nodes(view, slot, pool));
}

void FreeDevices::give_back_part(const QueueJob& job) {
  const Configuration& held = job.menu.ranked[static_cast<std::size_t>(job.service.entry)].configuration;
  const PoolId pool = held.groups.front().pool;
  DeviceShares& shares = own_shares(pool);
  for (const int device : job.service.shared_devices) {
    const bool out = shares.is_out(device);
    const NodeShare opened{.node = shares.node_of(device), .devices = 1};
    if (shares.take_back(device, held.share) && !out) give_back(pool, 1, {&opened, 1});
  }
}

}  // namespace rehearse::sim
