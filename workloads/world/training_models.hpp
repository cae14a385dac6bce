// The models behind Belief and World: step time by the closed form, of model-parallel replicas by the fast timer, convergence by
// its equations, with or without errors.
// Not for policies: they are handed Belief or World.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "workloads/steps/placed_step.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::workloads {

/// What makes a world; nothing of it in a belief.
struct WorldDraw {
  WorldErrors errors;
  std::uint64_t seed = 0;
  int repetition = 0;
};

class TrainingModels final : public sim::StepTimes, public sim::Convergence {
 public:
  TrainingModels(const sim::Cluster& cluster, const ProfileModels& profiles, const TrainingModels* belief,
                 std::optional<WorldDraw> draw);

  const sim::OpGraph& graph(const sim::Profile& profile) const override { return profiles_.of(profile).graph; }
  sim::StepTiming timing(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout,
                         std::span<const sim::Plans> plans) const override;
  double noise(const sim::Job& job, const sim::Configuration& configuration, const sim::Layout& layout, int stage) const override;

  double checkpoint_bytes(const sim::Profile& profile) const override { return profiles_.of(profile).checkpoint_bytes; }

  std::uint64_t individuality(const sim::Job& job) const override;
  double samples_per_epoch(const sim::Profile& profile) const override { return profiles_.of(profile).training_samples; }
  double evaluation_samples(const sim::Profile& profile) const override { return profiles_.of(profile).validation_samples; }
  double default_epoch_cap(const sim::Profile& profile) const override;
  sim::EpochOutcome train(const sim::Job& job, const sim::Configuration& configuration, double examples,
                          sim::TrainingState& state) const override;
  /// As `train`, with these errors instead of the world's.
  sim::EpochOutcome train_with(const ConvergenceErrors& errors, const sim::Job& job, const sim::Configuration& configuration,
                               double examples, sim::TrainingState& state) const;
  double accuracy(const sim::Job& job, const sim::TrainingState& state) const override;
  double accuracy_with(const ConvergenceErrors& errors, const sim::Job& job, const sim::TrainingState& state) const;
  double measured_accuracy(const sim::Job& job, int epoch, double accuracy) const override;
  double measured_noise_scale(const sim::Job& job, int stage, double noise_scale) const override;
  double evaluation_deviation(const sim::Profile& profile, double accuracy) const override;

  /// Factor of an evaluation's deviation; 0 in the belief.
  double evaluation_noise() const { return draw_ ? draw_->errors.evaluation_noise : 0; }
  /// Every model-parallel step that was timed, in order; one may stand there several times.
  const std::vector<TimedReplica>& timed_replicas() const { return timed_replicas_; }
  /// How many different steps were timed.
  std::size_t steps_timed() const { return timings_.size(); }
  const ProfileModels& profiles() const { return profiles_; }
  const sim::Cluster& cluster() const { return cluster_; }

 private:
  struct GroupKey {
    int profile, pool, workers, batch, nodes, workers_on_node, servers, threads;
    sim::SyncKind sync;
    double power_limit_w;
    std::shared_ptr<const sim::CpuPlan> schedule;  ///< of a CPU: instead of `threads`
    double profiling_steps;
    const std::vector<sim::DeviceIndex>* placement =
        nullptr;  ///< of a node's one replica, among placements_; null: data-parallel
    std::int64_t evaluations = 0;
    double reinitialisation_s = 0;
    bool operator==(const GroupKey&) const = default;
  };
  struct GroupKeyHash {
    std::size_t operator()(const GroupKey& key) const;
  };
  sim::StepTiming group_timing(const GroupKey& key, sim::Precision precision) const;
  bool is_of_other_form() const { return draw_ && draw_->errors.is_of_other_form; }
  /// What a worker's step takes of the believed time in a world of another form.
  double other_batch_curve(const ProfileModel& model, const sim::Device& device, const Conditions& conditions) const;
  ReplicaTime replica_time(const GroupKey& key, const Conditions& conditions) const;
  const sim::StepTiming& remembered(const GroupKey& key, sim::Precision precision) const;
  /// Jobs of Work::steps with a measured duration: what makes the believed time on the trace's GPUs equal to it.
  double scale_to_duration(const sim::Job& job) const;
  double trace_step_s(const sim::Job& job) const;
  double node_factor(int pool, int node) const;
  ConvergenceErrors errors_of(const sim::Job& job) const;

  const sim::Cluster& cluster_;
  const ProfileModels& profiles_;
  const TrainingModels* belief_;  ///< null in the belief itself
  std::optional<WorldDraw> draw_;
  std::vector<double> sync_factor_;  ///< by pool
  /// By pool and node, empty without noise; 0: nothing has run there yet. A million nodes are not drawn for ten jobs.
  mutable std::vector<std::vector<double>> node_factor_;
  std::vector<std::vector<double>> compute_factor_;    ///< by profile and device
  std::vector<std::vector<double>> batch_slope_;       ///< of log time a doubling of the batch, by profile and device
  std::vector<std::vector<double>> workers_slope_;     ///< likewise of the workers, by profile and pool
  std::vector<double> memory_factor_;                  ///< by profile
  std::vector<ConvergenceErrors> convergence_errors_;  ///< by profile, but for the job's own factor
  mutable std::unordered_map<GroupKey, sim::StepTiming, GroupKeyHash> timings_;
  mutable std::set<std::vector<sim::DeviceIndex>> placements_;
  mutable std::vector<TimedReplica> timed_replicas_;
};

}  // namespace rehearse::workloads
