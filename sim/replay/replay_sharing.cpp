// Jobs that need a part of a GPU: on which device they go, and what those on one device do to each other.
#include <algorithm>
#include <cmath>

#include "sim/replay/replay_run.hpp"
#include "sim/step/machine.hpp"

namespace rehearse::sim {

namespace {

/// What others leave of the device that a job gets when all of them together want more than it has: each the same part of what
/// it wants. What one alone wants it gets, more than 1 too (StepTiming::power_fraction).
class Wanted {
 public:
  void add(double part) {
    sum_ += part;
    most_ = std::max(most_, part);
  }
  double granted() const { return sum_ > most_ ? most_ / sum_ : 1; }

 private:
  double sum_ = 0, most_ = 1;
};

}  // namespace

DeviceShares unshared_devices(const Cluster& cluster, PoolId pool) {
  return DeviceShares(has_gpus(cluster, pool) ? kUsableMemory * worker_device(cluster, pool).memory_bytes : 0);
}

/// Of a job that needs a part of a GPU: keeps the entries with one GPU, for good, and at the part's price. It needs the memory
/// that its step does; of a rigid one, whose memory is not known, as large a part of it as of the device.
void ReplayRun::share_menu(JobSlot slot) {
  const Job& job = jobs_[slot].job;
  if (job.gpu_fraction == 1) return;
  const double fraction = std::max(kShareGrid, std::floor(job.gpu_fraction / kShareGrid) * kShareGrid);
  std::vector<Choice>& ranked = jobs_[slot].menu.ranked.own();
  std::erase_if(ranked, [&](const Choice& choice) {
    const Configuration& c = choice.configuration;
    return c.workers() != 1 || c.sync.servers > 0 || !has_gpus(cluster_, c.groups.front().pool);
  });
  const std::vector<Plans> plans(1);
  for (Choice& choice : ranked) {
    Configuration& c = choice.configuration;
    const PoolId pool = c.groups.front().pool;
    c.share.fraction = fraction;
    c.share.memory_bytes =
        job.work == Work::rigid
            ? std::floor(fraction * kUsableMemory * worker_device(cluster_, pool).memory_bytes)
            : std::ceil(setup_.models.step_times->timing(job, c, empty_cluster_layout(cluster_, c), plans).memory_bytes);
    choice.until_epochs = kNever;
    if (job.work == Work::rigid) continue;  // its menu has the part's price
    for (double* usd : {&choice.predicted.cost_usd, &choice.predicted.ranked_cost_usd, &choice.predicted.safe_cost_usd})
      *usd *= fraction;
  }
}

bool ReplayRun::needs_part(JobSlot slot) const {
  return live_[slot].entry >= 0 && entry_of(slot, live_[slot].entry).configuration.share.is_part();
}

bool ReplayRun::is_part_free(const Configuration& configuration, const Layout& named, bool shares) const {
  const auto pool = static_cast<std::size_t>(configuration.groups.front().pool);
  if (!named.empty()) {
    const NodeShare& on = named[0].front();
    return shares_[pool].has_room(on.shared_device, configuration.share) && shares_[pool].node_of(on.shared_device) == on.node;
  }
  return free_devices_[pool] > 0 ||
         (shares && shares_[pool].choose(configuration.share, Placement::best_fit, false) != DeviceShares::kNone);
}

void ReplayRun::allocate_part(JobSlot slot, const Layout& named, Placement placement, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const auto pool = static_cast<std::size_t>(configuration.groups.front().pool);
  int device = DeviceShares::kNone;
  if (!named.empty())
    device = named[0].front().shared_device;
  else if (live.shares)
    device = shares_[pool].choose(configuration.share, placement, free_devices_[pool] > 0);
  live.layout.assign(1, {});
  if (device == DeviceShares::kNone) {
    nodes_[pool].take(placement, 1, live.layout[0]);
    free_devices_[pool] = nodes_[pool].free_devices();
    live.boot_s = meter_.take_nodes(now_s, configuration.groups.front().pool, live.layout[0]);
    device = shares_[pool].open(live.layout[0].front().node);
  } else {
    live.layout[0].push_back({.node = shares_[pool].node_of(device), .devices = 1});
  }
  live.layout[0].front().shared_device = device;
  shares_[pool].put(device, configuration.share);
  tenants_[pool][device].push_back(slot);
}

void ReplayRun::let_go_part(JobSlot slot, double now_s) {
  const Configuration& configuration = entry_of(slot, live_[slot].entry).configuration;
  const auto pool = static_cast<std::size_t>(configuration.groups.front().pool);
  const NodeShare& held = live_[slot].layout[0].front();
  std::vector<JobSlot>& tenants = tenants_[pool][held.shared_device];
  std::erase(tenants, slot);
  if (shares_[pool].take_back(held.shared_device, configuration.share)) {
    check(tenants.empty(), "a shared device is closed under a job", now_s);
    tenants_[pool].erase(held.shared_device);
    nodes_[pool].give_back(live_[slot].layout[0]);
    meter_.give_back_nodes(now_s, configuration.groups.front().pool, live_[slot].layout[0]);
    free_devices_[pool] = nodes_[pool].free_devices();
    return;
  }
  retune_beside(slot, now_s);
}

std::vector<JobSlot> ReplayRun::running_beside(JobSlot slot) const {
  const auto pool = static_cast<std::size_t>(entry_of(slot, live_[slot].entry).configuration.groups.front().pool);
  const auto found = tenants_[pool].find(live_[slot].layout[0].front().shared_device);
  std::vector<JobSlot> running;
  if (found == tenants_[pool].end()) return running;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(running),
               [&](JobSlot other) { return live_[other].state == JobState::running; });
  return running;
}

/// Independent neighbours: each slows the job by its own factor.
double ReplayRun::speed_beside_others(JobSlot slot) const {
  double speed = 1;
  const PoolId pool = entry_of(slot, live_[slot].entry).configuration.groups.front().pool;
  for (const JobSlot other : running_beside(slot))
    if (other != slot) speed /= setup_.sharing.slowdown(jobs_[slot].job, jobs_[other].job, pool);
  return speed;
}

/// After somebody on its device began to run, or ceased to: everyone who runs there gets a new speed, then a new part of what
/// the device draws.
void ReplayRun::retune_beside(JobSlot slot, double now_s) {
  const std::vector<JobSlot> running = running_beside(slot);
  for (const JobSlot one : running) change_speed(one, now_s);
  for (const JobSlot one : running) hold_running(one, now_s);
}

/// Of what the job would keep busy and draw at its speed, the parts that it does.
ReplayRun::Drawn ReplayRun::granted_beside_others(JobSlot slot) const {
  Wanted busy, power;
  for (const JobSlot one : running_beside(slot)) {
    const Drawn wanted = wants(one);
    busy.add(wanted.busy);
    power.add(wanted.power);
  }
  return {.busy = busy.granted(), .power = power.granted()};
}

/// A job exchanges gradients and reads training data while it runs, not while it starts or checkpoints.
void ReplayRun::join_network(JobSlot slot) {
  const LiveJob& live = live_[slot];
  if (!network_) return;
  if (live.course.network_bytes_per_s > 0)
    network_->join(slot, entry_of(slot, live.entry).configuration, live.layout, live.course.network_bytes_per_s);
  if (live.course.input_bytes_per_s > 0) network_->read(slot, live.course.input_bytes_per_s);
}

void ReplayRun::leave_network(JobSlot slot) {
  if (network_) network_->leave(slot);
}

void ReplayRun::settle_network(double now_s) {
  for (const JobSlot slot : network_->solve()) follow_speed(slot, now_s);
}

}  // namespace rehearse::sim
