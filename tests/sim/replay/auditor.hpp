// An outsider who sees only what a recorder is told, keeps books of his own, and compares them; and random worlds to audit.
#pragma once

#include <rapidcheck/catch.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/replay/toy_queues.hpp"

namespace toy {

inline constexpr int kPerNode = 2;
inline constexpr double kUsable = 940;  ///< bytes of a device of 1000

inline bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }

/// Keeps its own books of devices, time, money and energy.
class Auditor final : public Recorder {
 public:
  struct Books {
    double held_s = 0, device_s = 0, usd = 0;
    double since_s = kUnset;  ///< holding devices
    bool running = false;
    int ends = 0;
    JobRecord record;
  };
  std::map<std::string, Books> jobs;
  std::map<std::pair<PoolId, int>, int> held;  ///< devices, by node; one that is shared is one
  std::map<std::pair<PoolId, int>, int> out;   ///< failures and maintenance under way
  struct Shared {
    double fraction = 0, memory_bytes = 0;
    int tenants = 0;
  };
  std::map<std::pair<PoolId, int>, Shared> shared;  ///< by device
  std::map<std::pair<PoolId, int>, double> failed_at;
  std::map<std::pair<std::string, std::pair<PoolId, int>>, double> left;  ///< by job and node: when it last let go of it
  std::map<PoolId, std::vector<PoolSample>> samples;                      ///< by date
  int interrupted = 0, revoked = 0, together = 0;

  void on_job(const JobRecord& record) override {
    Books& books = jobs[record.job->name];
    ++books.ends;
    books.record = record;
  }
  void on_event(double, JobEvent event, const Job& job, const Configuration*) override {
    jobs[job.name].running = event == JobEvent::running;
    interrupted += event == JobEvent::interrupted;
  }
  void on_devices(double time_s, bool taken, const Job& job, const Configuration& c, const Layout& layout) override {
    Books& books = jobs[job.name];
    for (std::size_t g = 0; g < layout.size(); ++g) {
      for (const NodeShare& share : layout[g]) {
        const auto node = std::make_pair(c.groups[g].pool, share.node);
        RC_ASSERT((share.shared_device >= 0) == (job.gpu_fraction < 1));
        if (share.shared_device < 0 || settle(shared[{c.groups[g].pool, share.shared_device}], c.share, taken))
          held[node] += taken ? share.devices : -share.devices;
        RC_ASSERT(held[node] >= 0);
        RC_ASSERT(held[node] <= kPerNode);
        // A job whose next stage begins where it is goes on there, though nothing new starts on the node any more.
        const auto place = std::make_pair(job.name, node);
        const bool goes_on = left.contains(place) && left[place] == time_s && !failed_at.contains(node);
        if (taken) RC_ASSERT(out[node] == 0 || goes_on);
        if (!taken) left[place] = time_s;
        // A job on a node that fails lets go of it at once.
        if (!taken && failed_at.contains(node)) RC_ASSERT(time_s <= failed_at[node]);
      }
    }
    if (taken) {
      books.since_s = time_s;
      return;
    }
    books.held_s += time_s - books.since_s;
    RC_ASSERT(std::abs(c.share.fraction - job.gpu_fraction) < 1e-9);
    const double devices = job.gpu_fraction == 1 ? c.workers() : std::max(job.gpus, 1) * c.share.fraction;
    books.device_s += devices * (time_s - books.since_s);
    books.usd += devices * (time_s - books.since_s) * 0.001 / kPerNode;
  }
  /// True when the device is taken by its first job, or let go by its last.
  bool settle(Shared& device, const DeviceShare& share, bool taken) {
    device.fraction += taken ? share.fraction : -share.fraction;
    device.memory_bytes += taken ? share.memory_bytes : -share.memory_bytes;
    device.tenants += taken ? 1 : -1;
    together += taken && device.tenants > 1;
    RC_ASSERT(device.fraction <= 1);
    RC_ASSERT(device.memory_bytes <= kUsable);
    return device.tenants == (taken ? 1 : 0);
  }
  void on_node(const NodeEvent& event) override {
    for (int n = event.first_node; n < event.first_node + event.nodes; ++n) {
      const auto node = std::make_pair(event.pool, n);
      const bool fails = event.change == NodeChange::failed, is_revoked = event.change == NodeChange::revoked;
      const bool returns = event.change == NodeChange::repaired || event.change == NodeChange::replaced;
      if (fails || event.change == NodeChange::announced || event.change == NodeChange::warned) ++out[node];
      if (returns || event.change == NodeChange::opened) --out[node];
      if (fails || is_revoked) failed_at[node] = event.date_s;
      if (returns) failed_at.erase(node);
      revoked += is_revoked;
    }
  }
  /// Of the power that was seen, between two dates.
  double energy_j(PoolId pool, double from_s, double to_s) const {
    double sum = 0;
    const std::vector<PoolSample>& seen = samples.at(pool);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double until_s = i + 1 < seen.size() ? seen[i + 1].time_s : to_s;
      sum += seen[i].power_w * std::max(0.0, std::min(until_s, to_s) - std::max(seen[i].time_s, from_s));
    }
    return sum;
  }
  void on_pool_sample(const PoolSample& sample) override { samples[sample.pool].push_back(sample); }
};

inline NodeRules random_rules(Random& random) {
  NodeRules rules{.max_restarts = static_cast<int>(random.below(40)), .seed = random.next()};
  if (random.below(3) > 0)
    rules.outages = {.law = random.below(2) == 0 ? FailureLaw::exponential : FailureLaw::weibull,
                     .mtbf_s = random.uniform(40, 400),
                     .shape = random.uniform(0.6, 2),
                     .repair_s = random.uniform(1, 40)};
  if (random.below(2) == 0)
    rules.slow = {.between_s = random.uniform(5, 50), .lasts_s = random.uniform(1, 20), .speed = random.uniform(0.2, 1)};
  if (random.below(2) == 0)
    rules.maintenance = {
        {.pool = 0, .nodes = 2, .start_s = random.uniform(0, 50), .duration_s = 10, .announced_s = 5, .every_s = 60}};
  if (random.below(2) == 0) rules.measured = {{1, 0, random.uniform(0, 50), 20}, {0, 1, random.uniform(0, 50), 3}};
  return rules;
}

inline void make_spot(Pool& pool, Random& random) {
  pool.spot = Spot{
      .mean_up_s = random.uniform(20, 200), .down_s = random.uniform(1, 30), .warning_s = static_cast<double>(random.below(4))};
  if (random.below(2) == 0)
    pool.autoscale = Autoscale{.min_nodes = static_cast<int>(random.below(2)), .boot_s = random.uniform(0, 5), .idle_s = 10};
}

inline std::vector<Job> random_jobs(Random& random) {
  std::vector<Job> jobs;
  double submit_s = 0;
  for (int i = 0; i < 25; ++i) {
    submit_s += static_cast<double>(random.below(12)) / 4;
    const std::uint64_t kind = random.below(3);
    Job job = rigid("", submit_s, 1 + static_cast<int>(random.below(3)), 1 + static_cast<double>(random.below(30)));
    if (kind == 1) job = stepping("", submit_s, 1 + static_cast<double>(random.below(30)));
    if (kind == 2) {
      job = {.profile = &profile(), .submit_s = submit_s, .work = Work::train};
      job.epochs = 1 + static_cast<double>(random.below(9));
    }
    if (random.below(4) > 0) job.gpu_fraction = static_cast<double>(1 + random.below(10)) / 10;  // of tenths, as users give them
    if (kind == 0 && job.gpu_fraction < 1) {                                                     // several parts
      job.gpus = 1 + static_cast<int>(random.below(8));
      if (random.below(2) == 0) job.profile = &profile();
    }
    job.name = std::to_string(i);
    job.is_awaited = true;
    if (i > 0 && random.below(4) == 0) job.after.push_back(std::to_string(random.below(static_cast<std::uint64_t>(i))));
    if (random.below(3) == 0) job.after_failed = AfterFailed::run;
    if (random.below(6) == 0) job.walltime_s = random.uniform(1, 60);
    if (random.below(6) == 0) job.deadline_s = 20, job.on_deadline = OnDeadline::stop;
    if (random.below(3) == 0) job.checkpoint_interval_s = random.uniform(1, 10);
    jobs.push_back(job);
  }
  return jobs;
}

/// Two pools, of three and two nodes, under random costs, checkpoints, failures and revocations.
inline World random_world(Random& random) {
  World world{.cluster = cluster({{3, kPerNode}, {2, kPerNode}}),
              .costs = {.rigid_jobs_switch = random.below(2) == 0,
                        .start_s = static_cast<double>(random.below(3)),
                        .checkpoint_s = static_cast<double>(random.below(3))},
              .samples = true};
  world.menus.menu.ranked = {choice(0, 1, 10), choice(0, 3, 5), choice(1, 2, 20), choice(1, 1, 20)};
  world.cluster.devices[0].memory_bytes = 1000;
  world.steps.bytes_per_sample = static_cast<double>(random.below(40));
  world.sharing.set("toy", "toy", random.uniform(1, 3));
  world.nodes = random_rules(random);
  if (random.below(2) == 0) make_spot(world.cluster.pools[1], random);
  world.checkpoints = {.interval_s = random.below(2) == 0 ? kNever : random.uniform(2, 20),
                       .young_daly = random.below(3) == 0,
                       .write_s = random.uniform(0.1, 2),
                       .preemption = random.below(2) == 0 ? Preemption::resume : Preemption::lose};
  return world;
}

/// Of a run of these jobs in the world.
inline void check_books(Auditor& auditor, const World& world, const std::vector<Job>& jobs, const ReplayTotals& totals) {
  RC_ASSERT(auditor.jobs.size() == jobs.size());
  for (const auto& [node, devices] : auditor.held) RC_ASSERT(devices == 0);
  double device_s = 0, usd = 0, energy_j = 0;
  for (const Job& job : jobs) {
    const Auditor::Books& books = auditor.jobs[job.name];
    const JobRecord& r = books.record;
    RC_ASSERT(books.ends == 1);
    RC_ASSERT(r.state == JobState::finished || r.state == JobState::failed);
    RC_ASSERT((r.state == JobState::failed) == (r.reason != FailureReason::none));
    // Work done plus work lost equals work charged, and nothing is negative.
    RC_ASSERT(near(r.time.held_s(), books.held_s));
    RC_ASSERT(r.time.train_s > -1e-5 && r.time.switch_s > -1e-5 && r.time.lost_s > -1e-5);
    RC_ASSERT(near(r.device_s, books.device_s));
    RC_ASSERT(near(r.cost.total(), books.usd));
    RC_ASSERT(r.cost.compute_usd > -1e-8 && r.cost.lost_usd > -1e-8 && r.cost.switch_usd > -1e-8);
    // What preemptions cost is switching and lost work; training, writing and lost work are parts of what was held.
    RC_ASSERT(r.preemption_s >= -1e-5 && r.preemption_s <= r.time.switch_s + r.time.lost_s + 1e-5);
    if (r.preemptions == 0) RC_ASSERT(r.preemption_s == 0);
    const DeviceParts& d = r.devices;
    RC_ASSERT(d.lost_device_s > -1e-4 && d.checkpoint_device_s > -1e-4);
    RC_ASSERT(d.train_device_s + d.lost_device_s + d.checkpoint_device_s <= r.device_s + 1e-4);
    RC_ASSERT(r.checkpoint_usd <= r.cost.switch_usd + 1e-7);
    const double rounding_s = 1e-5 * (2 + r.restarts + r.preemptions + r.reconfigurations);  // dates round up by 2^-20 s a start
    if (job.walltime_s != kNever) RC_ASSERT(books.held_s <= job.walltime_s + rounding_s);
    if (r.state == JobState::finished && job.work != Work::train) {
      // What counted is the work that was asked for, once.
      const double work_s = job.work == Work::rigid ? job.duration_s : job.steps;
      RC_ASSERT(r.time.train_s >= work_s - rounding_s);
      if (world.nodes.slow.between_s == kNever && job.gpu_fraction == 1) RC_ASSERT(r.time.train_s <= work_s + rounding_s);
    }
    if (r.state == JobState::finished && job.work == Work::train) RC_ASSERT(std::abs(r.accuracy - job.epochs / 10) < 1e-9);
    device_s += books.device_s;
    usd += books.usd;
    energy_j += r.energy_j;
  }
  double pool_device_s = 0, pool_usd = 0, pool_energy_j = 0, idle_energy_j = 0, seen_energy_j = 0;
  for (std::size_t p = 0; p < totals.pools.size(); ++p) {
    pool_device_s += totals.pools[p].pool_device_s - totals.pools[p].idle_device_s;
    pool_usd += totals.pools[p].pool_usd - totals.pools[p].idle_usd;
    pool_energy_j += totals.pools[p].pool_energy_j;
    idle_energy_j += totals.pools[p].idle_energy_j;
    // An autoscaled pool's idle nodes go between two samples.
    seen_energy_j += world.cluster.pools[p].autoscale
                         ? totals.pools[p].pool_energy_j
                         : auditor.energy_j(static_cast<PoolId>(p), totals.first_submit_s, totals.last_end_s);
  }
  RC_ASSERT(near(device_s, pool_device_s));
  RC_ASSERT(near(usd, pool_usd));
  RC_ASSERT(near(energy_j + idle_energy_j, pool_energy_j));
  RC_ASSERT(near(seen_energy_j, pool_energy_j));
}

}  // namespace toy
