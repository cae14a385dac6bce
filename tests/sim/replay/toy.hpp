// A toy world for replay tests: round numbers, worked by hand.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/replay/replay.hpp"

namespace toy {

using namespace rehearse::sim;

/// Pools of GPU nodes: 3.6 dollars an hour and node, so 0.001 dollars a node-second; 100 W idle and 300 W busy a GPU, host 0 W.
inline Cluster cluster(std::vector<std::pair<int, int>> nodes_and_gpus) {
  Cluster c;
  c.devices.push_back({.name = "gpu", .kind = DeviceKind::gpu, .idle_w = 100, .busy_w = 300});
  for (const auto& [nodes, gpus] : nodes_and_gpus) {
    c.instances.push_back({.name = "node", .gpus = {{0, gpus}}, .price_usd_per_hour = 3.6});
    c.pools.push_back(
        {.name = "pool" + std::to_string(c.pools.size()), .instance = static_cast<int>(c.instances.size()) - 1, .nodes = nodes});
  }
  return c;
}

/// A step takes 1 s at any size; a batch above 1000 samples a worker does not fit, whatever memory it needs. No noise.
class Steps final : public StepTimes {
 public:
  double network_bytes = 0;  ///< of a step, through each node
  double input_bytes = 0;    ///< of a step
  const OpGraph& graph(const Profile&) const override { return graph_; }
  StepTiming timing(const Job&, const Configuration& c, const Layout&, std::span<const Plans>) const override {
    return {.step_s = 1,
            .forward_s = 0.25,
            .profiling_s = profiling_s,
            .busy_fraction = 0.5,
            .power_fraction = 0.5,
            .waiting_power_fraction = 0.25,
            .input_bytes = input_bytes,
            .network_bytes = network_bytes,
            .memory_bytes = bytes_per_sample * c.groups.front().batch_per_worker,
            .fits = c.groups.front().batch_per_worker <= 1000};
  }
  double noise(const Job&, const Configuration&, const Layout&, int) const override { return 1; }

  double profiling_s = 0;
  double bytes_per_sample = 0;

  /// Of a sample of the data set.
  void store(double bytes) { graph_.input_bytes = {0, bytes}; }
  void train_parameters(double count) { graph_.parameters = count; }

 private:
  OpGraph graph_{.name = "toy", .ops = {{.name = "only"}}};
};

/// 100 samples an epoch, 40 to evaluate; accuracy is a tenth for each epoch trained. A learning rate of 9 diverges.
class ConvergenceOfTenths : public Convergence {
 public:
  std::uint64_t individuality(const Job&) const override { return 0; }
  double samples_per_epoch(const Profile&) const override { return 100; }
  double evaluation_samples(const Profile&) const override { return 40; }
  double default_epoch_cap(const Profile&) const override { return 12; }
  EpochOutcome train(const Job&, const Configuration& c, double examples, TrainingState& state) const override {
    if (c.learning_rate == 9) return {.diverged = true};
    state.examples += examples;
    return {.noise_scale = 10};
  }
  double accuracy(const Job&, const TrainingState& state) const override { return std::min(1.0, state.examples / 1000); }
  double measured_accuracy(const Job&, int, double accuracy) const override { return accuracy; }
  double evaluation_deviation(const Profile&, double) const override { return 0; }
};

class Tenths final : public ConvergenceOfTenths {};

/// Every job gets the same menu.
class SameMenu final : public Configurator {
 public:
  Menu menu;
  Menu configure(const Job&, double) override { return menu; }
};

class DataParallel final : public Place {
 public:
  StepPlan place(const PlaceView& view) override { return {.replicas = view.workers_on_node}; }
};

class OneThread final : public Threads {
 public:
  ThreadPlan plan(const OpGraph&, const Device&, double) override { return {}; }
};

class ListSource final : public JobSource {
 public:
  explicit ListSource(std::vector<Job> jobs) : jobs_(jobs.begin(), jobs.end()) {}
  std::optional<Job> next() override {
    if (jobs_.empty()) return std::nullopt;
    Job job = jobs_.front();
    jobs_.pop_front();
    return job;
  }

 private:
  std::deque<Job> jobs_;
};

/// Keeps copies of all that the replay tells.
class Keeper final : public Recorder {
 public:
  struct Row {
    JobRecord record;
    std::string name;
  };
  std::vector<Row> jobs;
  std::vector<std::string> events;
  std::vector<double> stage_costs;
  std::vector<std::pair<StageRecord, double>> stages;  ///< with the seconds of each one's course
  std::vector<std::string> remedies;                   ///< of menus, one for each of their choices
  std::vector<PoolSample> samples;
  std::vector<NodeEvent> node_events;
  int starts = 0;
  void on_job(const JobRecord& record) override { jobs.push_back({record, record.job->name}); }
  void on_event(double, JobEvent event, const Job& job, const Configuration*) override {
    events.push_back(job.name + " " + std::string(name_of(event)));
  }
  void on_decision(const DecisionRecord& record) override {
    starts += record.decision == "start";
    if (record.decision == "configure" && !record.remedy.empty()) remedies.emplace_back(record.remedy);
  }
  void on_stage(const StageRecord& record) override {
    stage_costs.push_back(record.cost_usd);
    stages.emplace_back(record, record.course->length_s);
  }
  void on_pool_sample(const PoolSample& sample) override { samples.push_back(sample); }
  void on_node(const NodeEvent& event) override { node_events.push_back(event); }
  const JobRecord& of(const std::string& name) const {
    for (const Row& row : jobs)
      if (row.name == name) return row.record;
    throw std::out_of_range(name);
  }
};

inline Job rigid(std::string name, double submit_s, int gpus, double duration_s) {
  return {.name = std::move(name), .submit_s = submit_s, .work = Work::rigid, .gpus = gpus, .duration_s = duration_s};
}

inline Choice choice(int pool, int workers, int batch) {
  Choice c;
  c.configuration.groups = {{.pool = pool, .workers = workers, .batch_per_worker = batch}};
  return c;
}

/// A replay in the toy world, on the plain event loop.
struct World {
  Cluster cluster;
  CostRules costs{.start_s = 0, .checkpoint_s = 0};
  Steps steps;
  Tenths tenths;
  SameMenu menus;
  DataParallel place;
  OneThread threads;
  Keeper keeper;
  CheckpointRules checkpoints;
  NodeRules nodes;
  SharingRules sharing;
  Infeasible infeasible = Infeasible::best_effort;
  bool samples = false;
  Recorder* recorder = nullptr;  ///< null: the keeper
  Place* places = nullptr;       ///< null: data-parallel
  NetworkSolver network_solver = NetworkSolver::fast;
  std::function<void(const ReplayProgress&)> on_progress = {};
  AtWork* at_work = nullptr;

  ReplayTotals run(std::vector<Job> jobs, Queue& queue, Configurator* configure = nullptr) {
    ListSource source(std::move(jobs));
    const ReplaySetup setup{.cluster = &cluster,
                            .costs = costs,
                            .checkpoints = checkpoints,
                            .nodes = nodes,
                            .sharing = sharing,
                            .models = {&steps, &tenths},
                            .policy = {.name = "toy",
                                       .configure = configure != nullptr ? configure : &menus,
                                       .place = places != nullptr ? places : &place,
                                       .threads = &threads,
                                       .queue = &queue},
                            .sources = {&source},
                            .recorder = recorder != nullptr ? recorder : &keeper,
                            .infeasible = infeasible,
                            .pool_samples = samples,
                            .network_solver = network_solver,
                            .on_progress = on_progress,
                            .at_work = at_work};
    return replay(setup, run_plain);
  }
};

}  // namespace toy
