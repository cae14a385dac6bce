#include "sim/replay/free_devices.hpp"

#include <algorithm>

namespace rehearse::sim {

void FreeDevices::reset(const QueueView& view) {
  whole_.assign(view.free_devices.begin(), view.free_devices.end());
  seen_ = view.shares;
  own_.clear();
}

DeviceShares& FreeDevices::own_shares(PoolId pool) {
  if (own_.empty()) own_.assign(seen_.begin(), seen_.end());
  return own_[static_cast<std::size_t>(pool)];
}

bool FreeDevices::fits(const Configuration& configuration, const Group& group) const {
  const auto pool = static_cast<std::size_t>(group.pool);
  if (group.workers <= whole_[pool]) return true;
  if (!configuration.share.is_part() || seen_.empty()) return false;
  const DeviceShares& shares = own_.empty() ? seen_[pool] : own_[pool];
  return shares.to_open(configuration.share, Placement::best_fit, true, whole_[pool]) != DeviceShares::kNone;
}

bool FreeDevices::take(const Configuration& configuration, Placement placement) {
  const std::vector<Group>& groups = configuration.groups;
  if (!configuration.share.is_part() || seen_.empty()) {
    for (const Group& group : groups) of(group.pool) -= group.workers;
    if (std::all_of(groups.begin(), groups.end(), [&](const Group& group) { return of(group.pool) >= 0; })) return true;
    for (const Group& group : groups) of(group.pool) += group.workers;
    return false;
  }
  const PoolId pool = groups.front().pool;
  if (!fits(configuration, groups.front())) return false;
  DeviceShares& shares = own_shares(pool);
  const int opened = shares.to_open(configuration.share, placement, true, of(pool));
  of(pool) -= opened;
  shares.put_all(configuration.share, placement, true, std::vector<int>(static_cast<std::size_t>(opened)));
  return true;
}

void FreeDevices::give_back_part(const QueueJob& job) {
  const Configuration& held = job.menu.ranked[static_cast<std::size_t>(job.service.entry)].configuration;
  const PoolId pool = held.groups.front().pool;
  DeviceShares& shares = own_shares(pool);
  for (const int device : job.service.shared_devices) {
    const bool out = shares.is_out(device);
    if (shares.take_back(device, held.share) && !out) ++of(pool);
  }
}

}  // namespace rehearse::sim
