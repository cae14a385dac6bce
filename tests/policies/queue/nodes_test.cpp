// Jobs that need a number of nodes with equally many GPUs: every queue keeps to it.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "policies/queue/backfill_queue.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/queue/slurm.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/random.hpp"
#include "tests/policies/queue/jobs_by_hand.hpp"
#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using namespace rehearse::policies;

namespace {

inline Job on_nodes(Job job, int nodes) {
  job.nodes = nodes;
  return job;
}

/// Checks where jobs are: a recorder that knows what each node has.
class Watchman final : public Recorder {
 public:
  explicit Watchman(const Cluster& cluster) : cluster_(cluster) {
    for (std::size_t p = 0; p < cluster.pools.size(); ++p) held_.emplace_back(static_cast<std::size_t>(cluster.pools[p].nodes));
  }
  int starts_on_nodes = 0;
  std::map<std::string, std::pair<double, double>> dates;  ///< first start, end
  std::map<std::string, FailureReason> failed;

  void on_devices(double, bool taken, const Job& job, const Configuration& configuration, const Layout& layout) override {
    for (std::size_t g = 0; g < layout.size(); ++g) {
      const Group& group = configuration.groups[g];
      const auto pool = static_cast<std::size_t>(group.pool);
      if (taken && job.nodes > 0 && job.gpus > 1) {
        ++starts_on_nodes;
        RC_ASSERT(static_cast<int>(layout[g].size()) == job.nodes);
        std::set<int> nodes;
        for (const NodeShare& share : layout[g]) {
          RC_ASSERT(share.devices * job.nodes == job.gpus);
          RC_ASSERT(nodes.insert(share.node).second);
        }
      }
      for (const NodeShare& share : layout[g]) {
        int& held = held_[pool][static_cast<std::size_t>(share.node)];
        if (share.shared_device < 0) held += taken ? share.devices : -share.devices;
        RC_ASSERT(held >= 0);
        RC_ASSERT(held <= workers_per_node(cluster_, group.pool));
      }
    }
  }
  void on_job(const JobRecord& record) override {
    dates[record.job->name] = {record.start_s == record.start_s ? record.start_s : -1, record.end_s};
    if (record.state == JobState::failed) failed[record.job->name] = record.reason;
  }

 private:
  const Cluster& cluster_;
  std::vector<std::vector<int>> held_;
};

struct World2 {
  Cluster machines;
  std::vector<Job> jobs;
};

/// Two pools of up to four nodes, jobs of any number of nodes that some pool has, and jobs that say nothing of nodes.
World2 random_node_jobs(Random& random, bool one_gpu_nodes = false) {
  const auto below = [&random](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  World2 made;
  std::vector<std::pair<int, int>> pools;
  for (int p = 1 + below(2); p > 0; --p) pools.emplace_back(1 + below(4), one_gpu_nodes ? 1 : 1 + below(4));
  made.machines = cluster(pools);
  double submit_s = 0;
  for (int i = 0; i < 40; ++i) {
    submit_s += below(3) == 0 ? 0 : below(6);
    const int pool = below(static_cast<int>(pools.size()));
    const auto [nodes, gpus] = pools[static_cast<std::size_t>(pool)];
    const int k = 1 + below(nodes), each = 1 + below(gpus);
    Job job = rigid(std::to_string(i), submit_s, k * each, 1 + below(30));
    if (one_gpu_nodes || below(3) > 0) job.nodes = k;
    job.user = below(2) == 0 ? "a" : "b";
    job.priority = below(4);
    if (below(2) == 0) job.walltime_s = job.duration_s * (below(2) == 0 ? 1 : random.uniform(1, 4));
    if (below(3) == 0) job.deadline_s = 10 + below(100);
    if (below(2) == 0)
      job.pool = pool;
    else if (pools.size() > 1 && below(2) == 0)
      job.pools = {{.pool = pool, .speed = 1}, {.pool = 1 - pool, .speed = below(2) == 0 ? 2.0 : 0.5}};
    if (job.pool < 0 && job.pools.empty()) job.pool = pool;
    made.jobs.push_back(job);
  }
  return made;
}

std::map<std::string, ParameterValue> some_parameters(const QueueEntry& entry, Random& random) {
  std::map<std::string, ParameterValue> given;
  for (const ParameterDeclaration& parameter : entry.parameters) {
    for (const char* name : {"overtaking", "order", "measure", "placement", "durations"})
      if (parameter.name == name && random.below(2) == 0) given[name] = parameter.choices[random.below(parameter.choices.size())];
    for (const char* name : {"preempt", "spare"})  // slurm preempts by tiers, which are to order the jobs too
      if (parameter.name == name && !entry.name.starts_with("slurm") && random.below(2) == 0) given[name] = random.below(2) == 0;
    if (parameter.name == "threshold_device_s") given["threshold_device_s"] = 20.0;
    if (parameter.name == "requeue_s") given["requeue_s"] = 5.0;
    if (parameter.name == "backfill_interval_s") given["backfill_interval_s"] = 2.0;
    if (parameter.name == "round_s") given["round_s"] = 20.0;
    if (parameter.name == "lease_s") given["lease_s"] = 20.0;
    if (parameter.name == "slot_s") given["slot_s"] = 20.0;
  }
  return given;
}

Watchman run_under(const QueueEntry& entry, const std::map<std::string, ParameterValue>& given, const World2& made,
                   double checkpoint_s) {
  Watchman watchman(made.machines);
  World world{.cluster = made.machines,
              .costs = {.rigid_jobs_switch = checkpoint_s > 0, .start_s = 1, .checkpoint_s = checkpoint_s},
              .recorder = &watchman};
  const std::unique_ptr<Queue> queue = entry.make(Parameters(entry.parameters, given));
  try {
    const ReplayTotals totals = world.run(made.jobs, *queue);
    RC_ASSERT(totals.finished + totals.failed == made.jobs.size());
  } catch (const std::exception& error) {
    throw std::runtime_error(entry.name + ": " + error.what());
  }
  for (const auto& [name, reason] : watchman.failed)
    if (reason != FailureReason::rejected && reason != FailureReason::walltime_stop)
      throw std::runtime_error(entry.name + ": job " + name + " failed: " + std::string(name_of(reason)));
  return watchman;
}

}  // namespace

TEST_CASE("every queue keeps to the nodes of a job", "[queue]") {
  int starts = 0;
  rc::prop("random jobs, clusters and parameters", [&](std::uint64_t seed) {
    for (const QueueEntry& entry : queue_strategies()) {
      Random random(seed);
      const World2 made = random_node_jobs(random);
      starts += run_under(entry, some_parameters(entry, random), made, random.below(2) == 0 ? 0.0 : 2.0).starts_on_nodes;
    }
  });
  CHECK(starts > 1000);
}

TEST_CASE("where a node has one GPU, nodes are counted as GPUs are", "[queue]") {
  // Of plans only the counts are equal: a job that is planned by node needs the same nodes from its start to its end.
  const std::set<std::string> plan{"easy", "conservative", "deadline-admission", "slurm-backfill"};
  // A fifth of the queues a draw: all of them take a minute under the sanitizers.
  rc::prop("random jobs", [&](std::uint64_t seed) {
    const auto& entries = queue_strategies();
    for (std::size_t e = seed % 5; e < entries.size(); e += 5) {
      const QueueEntry& entry = entries[e];
      if (plan.contains(entry.name)) continue;
      Random random(seed);
      World2 made = random_node_jobs(random, true);
      const std::map<std::string, ParameterValue> given = some_parameters(entry, random);
      const double checkpoint_s = random.below(2) == 0 ? 0 : 2;
      const Watchman by_node = run_under(entry, given, made, checkpoint_s);
      for (Job& job : made.jobs) job.nodes = 0;
      if (run_under(entry, given, made, checkpoint_s).dates != by_node.dates) throw std::runtime_error(entry.name);
    }
  });
}

TEST_CASE("a job of one node waits for a node", "[queue]") {
  // Two nodes of 4. "a" and "b" hold 3 each, and 2 are free, on two nodes. Counted, a job of 2 GPUs starts at once; on one node
  // it starts when "a" ends.
  for (const int nodes : {0, 1}) {
    World world{.cluster = cluster({{2, 4}})};
    Fifo queue;
    world.run({rigid("a", 0, 3, 10), rigid("b", 0, 3, 20), on_nodes(rigid("pair", 1, 2, 5), nodes)}, queue);
    CHECK(world.keeper.of("pair").start_s == (nodes == 0 ? 1 : 10));
  }
}

TEST_CASE("easy reserves nodes, not counts", "[queue]") {
  // Two nodes of 4. "a" holds 3 GPUs of node 0 until 10, "b" 3 of node 1 until 20. The head needs a whole node: node 0 at 10.
  // "c", of 1 GPU for 100 s, fits on node 0 now, the lowest of two alike; it would hold up the head there and waits; "d" ends in
  // time.
  World world{.cluster = cluster({{2, 4}})};
  Easy queue;
  world.run({rigid("a", 0, 3, 10), on_nodes(rigid("b", 0, 3, 20), 1), on_nodes(rigid("head", 1, 4, 5), 1), rigid("c", 2, 1, 100),
             rigid("d", 3, 1, 7)},
            queue);
  CHECK(world.keeper.of("head").start_s == 10);
  CHECK(world.keeper.of("d").start_s == 3);
  CHECK(world.keeper.of("c").start_s == 10);  // on node 1, as node 0 is the head's
}

TEST_CASE("conservative plans on nodes", "[queue]") {
  // As above, without "c": "first" has node 0 from 10 to 15, "second" (two nodes of 2) both from 20 on; "third", 1 GPU for 8 s,
  // would be in the way of nobody on node 0 until 10.
  World world{.cluster = cluster({{2, 4}})};
  Conservative queue;
  world.run({rigid("a", 0, 3, 10), on_nodes(rigid("b", 0, 3, 20), 1), on_nodes(rigid("first", 1, 4, 5), 1),
             on_nodes(rigid("second", 1, 4, 5), 2), rigid("third", 2, 1, 8)},
            queue);
  CHECK(world.keeper.of("first").start_s == 10);
  CHECK(world.keeper.of("second").start_s == 20);
  CHECK(world.keeper.of("third").start_s == 2);
}

TEST_CASE("preemption makes room on nodes", "[queue]") {
  // Two nodes of 2: "a" (1) and "b" (1) on node 0, "c" (2) on node 1, in order of priority 1, 2, 3. The job of one node with 2
  // GPUs and priority 9: the last ones in order go first, "a" and "b", whose node is then free; "c" runs on.
  World world{.cluster = cluster({{2, 2}})};
  Priority queue({.line = {.claims_together = true}});
  world.run({with_priority(rigid("a", 0, 1, 100), 1), with_priority(rigid("b", 0, 1, 100), 2),
             with_priority(rigid("c", 0, 2, 100), 3), with_priority(on_nodes(rigid("whole", 10, 2, 5), 1), 9)},
            queue);
  CHECK(world.keeper.of("whole").start_s == 10);
  CHECK(world.keeper.of("c").preemptions == 0);
  CHECK(world.keeper.of("a").preemptions == 1);
  CHECK(world.keeper.of("b").preemptions == 1);
}

TEST_CASE("a rigid job that names several pools starts where it can", "[queue]") {
  // A pool of one GPU, and one of another GPU that is twice as fast. "long" holds the first until 100; "either" names both.
  Job either = rigid("either", 1, 1, 10);
  either.pools = {{.pool = 0, .speed = 1}, {.pool = 1, .speed = 2}};
  const std::vector<Job> jobs{in_pool(rigid("long", 0, 1, 100), 0), either};
  for (const char* name : {"easy", "conservative", "sjf", "srtf", "priority", "edf", "slurm", "gavel", "las", "slurm-backfill"}) {
    INFO(name);
    const QueueEntry* entry = find_strategy(queue_strategies(), name);
    World world{.cluster = cluster({{1, 1}, {1, 1}})};
    world.run(jobs, *entry->make(Parameters(entry->parameters, {})));
    CHECK(world.keeper.of("either").pool == 1);
    CHECK(world.keeper.of("either").end_s - world.keeper.of("either").start_s == 5);
    CHECK(world.keeper.of("either").start_s < 31);  // gavel and slurm look in rounds
  }
  // fifo waits for the first pool: until 100, and then 10 s.
  World world{.cluster = cluster({{1, 1}, {1, 1}})};
  Fifo fifo;
  world.run(jobs, fifo);
  CHECK(world.keeper.of("either").pool == 0);
  CHECK(world.keeper.of("either").end_s == 110);
  // With both pools free, the first is preferred.
  World empty{.cluster = cluster({{1, 1}, {1, 1}})};
  Easy easy;
  std::swap(either.pools[0], either.pools[1]);
  empty.run({either}, easy);
  CHECK(empty.keeper.of("either").pool == 1);
}
