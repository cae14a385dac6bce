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

/// Of a job that needs parts of GPUs: keeps the entries with GPUs, one where it is not rigid, for good, and at the part's price.
/// A part needs the memory that its step does; of a rigid job, whose memory is not known, as large a part of it as of the device.
void ReplayRun::share_menu(JobSlot slot) {
  const Job& job = jobs_[slot].job;
  if (job.gpu_fraction == 1) return;
  const bool rigid = job.work == Work::rigid;
  std::vector<Choice>& ranked = jobs_[slot].menu.ranked.own();
  std::erase_if(ranked, [&](const Choice& choice) {
    const Configuration& c = choice.configuration;
    return (!rigid && c.workers() != 1) || c.sync.servers > 0 || !has_gpus(cluster_, c.groups.front().pool);
  });
  const std::vector<Plans> plans(1);
  for (Choice& choice : ranked) {
    Configuration& c = choice.configuration;
    const PoolId pool = c.groups.front().pool;
    c.share.fraction = on_share_grid(job.gpu_fraction);
    c.share.memory_bytes =
        rigid ? std::floor(c.share.fraction * kUsableMemory * worker_device(cluster_, pool).memory_bytes)
              : std::ceil(setup_.models.step_times->timing(job, c, empty_cluster_layout(cluster_, c), plans).memory_bytes);
    choice.until_epochs = kNever;
    if (rigid) continue;  // its menu has the part's price
    for (double* usd : {&choice.predicted.cost_usd, &choice.predicted.ranked_cost_usd, &choice.predicted.safe_cost_usd})
      *usd *= c.share.fraction;
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
  return shares_[pool].to_open(configuration.share, Placement::best_fit, shares, free_devices_[pool]) != DeviceShares::kNone;
}

/// The layout has an element for each part, those of one node next to each other.
void ReplayRun::allocate_part(JobSlot slot, const Layout& named, Placement placement, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const PoolId pool_id = configuration.groups.front().pool;
  const auto pool = static_cast<std::size_t>(pool_id);
  DeviceShares& shares = shares_[pool];
  std::vector<int> devices;
  if (!named.empty()) {
    devices.push_back(named[0].front().shared_device);
    shares.put(devices.front(), configuration.share);
  } else {
    std::vector<NodeShare> opened;
    const int to_open = shares.to_open(configuration.share, placement, live.shares, free_devices_[pool]);
    if (to_open > 0) {
      nodes_[pool].take(placement, to_open, opened);
      free_devices_[pool] = nodes_[pool].free_devices();
      live.boot_s = meter_.take_nodes(now_s, pool_id, opened);
    }
    std::vector<int> nodes;
    for (const NodeShare& share : opened) nodes.insert(nodes.end(), static_cast<std::size_t>(share.devices), share.node);
    devices = shares.put_all(configuration.share, placement, live.shares, nodes);
  }
  live.layout.assign(1, {});
  for (const int device : devices) {
    live.layout[0].push_back({.node = shares.node_of(device), .devices = 1, .shared_device = device});
    tenants_[pool][device].push_back(slot);
  }
  std::stable_sort(live.layout[0].begin(), live.layout[0].end(),
                   [](const NodeShare& a, const NodeShare& b) { return a.node < b.node; });
}

void ReplayRun::let_go_part(JobSlot slot, double now_s) {
  const Configuration& configuration = entry_of(slot, live_[slot].entry).configuration;
  const PoolId pool_id = configuration.groups.front().pool;
  const auto pool = static_cast<std::size_t>(pool_id);
  std::vector<NodeShare> closed;
  for (const NodeShare& held : live_[slot].layout[0]) {
    std::vector<JobSlot>& tenants = tenants_[pool][held.shared_device];
    std::erase(tenants, slot);
    if (!shares_[pool].take_back(held.shared_device, configuration.share)) continue;
    check(tenants.empty(), "a shared device is closed under a job", now_s);
    tenants_[pool].erase(held.shared_device);
    closed.push_back({.node = held.node, .devices = 1});
  }
  if (!closed.empty()) {
    nodes_[pool].give_back(closed);
    meter_.give_back_nodes(now_s, pool_id, closed);
    free_devices_[pool] = nodes_[pool].free_devices();
  }
  retune_beside(slot, now_s);
}

/// Each once for every part that it has on this device.
template <class Visit>
void ReplayRun::for_each_running_on(PoolId pool, int device, Visit&& visit) const {
  const auto found = tenants_[static_cast<std::size_t>(pool)].find(device);
  if (found == tenants_[static_cast<std::size_t>(pool)].end()) return;
  for (const JobSlot one : found->second)
    if (live_[one].state == JobState::running) visit(one);
}

/// On any of the job's devices, each job once; the job itself too while it runs there.
std::vector<JobSlot> ReplayRun::running_beside(JobSlot slot) const {
  const PoolId pool = entry_of(slot, live_[slot].entry).configuration.groups.front().pool;
  std::vector<JobSlot> running;
  for (const NodeShare& held : live_[slot].layout[0])
    for_each_running_on(pool, held.shared_device, [&](JobSlot one) {
      if (std::find(running.begin(), running.end(), one) == running.end()) running.push_back(one);
    });
  return running;
}

/// Independent neighbours on a device: each slows the job by its own factor. The parts wait for the slowest one.
double ReplayRun::speed_beside_others(JobSlot slot) const {
  double slowest = 1;
  const PoolId pool = entry_of(slot, live_[slot].entry).configuration.groups.front().pool;
  for (const NodeShare& held : live_[slot].layout[0]) {
    double speed = 1;
    for_each_running_on(pool, held.shared_device, [&](JobSlot other) {
      if (other != slot) speed /= setup_.sharing.slowdown(jobs_[slot].job, jobs_[other].job, pool);
    });
    slowest = std::min(slowest, speed);
  }
  return slowest;
}

/// After a job on its devices began to run, or ceased to: all that run there get a new speed, then they and those beside them a
/// new part of what their devices draw.
void ReplayRun::retune_beside(JobSlot slot, double now_s) {
  const std::vector<JobSlot> running = running_beside(slot);
  for (const JobSlot one : running) change_speed(one, now_s);
  std::vector<JobSlot> drawing = running;
  for (const JobSlot one : running)
    for (const JobSlot other : running_beside(one))
      if (std::find(drawing.begin(), drawing.end(), other) == drawing.end()) drawing.push_back(other);
  for (const JobSlot one : drawing) hold_running(one, now_s);
}

/// Of what the job would keep busy and draw at its speed, the parts that it does: the mean over its devices.
ReplayRun::Drawn ReplayRun::granted_beside_others(JobSlot slot) const {
  const PoolId pool = entry_of(slot, live_[slot].entry).configuration.groups.front().pool;
  const std::vector<NodeShare>& held = live_[slot].layout[0];
  Drawn mean{.busy = 0, .power = 0};
  for (const NodeShare& share : held) {
    Wanted busy, power;
    for_each_running_on(pool, share.shared_device, [&](JobSlot one) {
      const Drawn wanted = wants(one);
      busy.add(wanted.busy);
      power.add(wanted.power);
    });
    mean.busy += busy.granted() / static_cast<double>(held.size());
    mean.power += power.granted() / static_cast<double>(held.size());
  }
  return mean;
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
