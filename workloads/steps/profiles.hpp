// The profiles of a scenario: what its jobs train, each distinct combination once.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/job.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/op_graph.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/step_model.hpp"
#include "workloads/steps/throughput_table.hpp"
#include "workloads/training/convergence.hpp"

namespace rehearse::workloads {

/// Gives every distinct profile one address, which stays the same while the table lives (jobs point to it), and an index in order
/// of creation, which is the same whatever reads the jobs.
class ProfileTable {
 public:
  ProfileTable() = default;
  ProfileTable(const ProfileTable&) = delete;
  ProfileTable& operator=(const ProfileTable&) = delete;

  /// The names are taken as they are: whoever knows the valid ones checks them. A type of job that was measured is a model
  /// without a dataset.
  const sim::Profile* intern(std::string_view model, std::string_view dataset, sim::Precision precision = sim::Precision::fp32,
                             sim::LrRule lr_rule = sim::LrRule::adascale, int max_accumulation = 1, std::string_view recipe = {});

  /// By index.
  const std::deque<sim::Profile>& profiles() const { return profiles_; }

 private:
  // Views into profiles_.
  using Key = std::tuple<std::string_view, std::string_view, sim::Precision, sim::LrRule, int, std::string_view>;
  std::deque<sim::Profile> profiles_;
  std::map<Key, const sim::Profile*> by_key_;
};

// How much memory of its device one worker needs, and the largest batch that fits (docs/explain/step.md, "Memory of a device").

using sim::kContextBytes;
using sim::kUsableMemory;
inline constexpr double kBucketBytes = 2 * 64e6;  ///< in which gradients are exchanged
inline constexpr double kLargestWorkspaceBytes = 512e6;

/// Sums over a graph, so that a batch's need is a few operations.
class MemoryModel {
 public:
  MemoryModel(const sim::OpGraph& graph, Optimizer optimizer);

  /// 4 P (2 + s) + b x saved outputs + largest workspace + buckets + context. Half precision halves what grows with the batch
  /// and changes nothing else: 2-byte weights and gradients beside 4-byte master weights.
  double bytes(double batch, sim::Precision precision = sim::Precision::fp32) const;
  bool fits(double batch, const sim::Device& device, sim::Precision precision = sim::Precision::fp32) const;
  /// The largest whole batch that fits; 0 when not even one sample does. At most 2^30.
  int largest_batch(const sim::Device& device, sim::Precision precision = sim::Precision::fp32) const;

 private:
  double fixed_bytes_ = 0;
  double saved_bytes_per_sample_ = 0;
  double workspace_bytes_per_sample_ = 0;  // of the largest
};

// What is computed once for each profile (model, dataset, precision): its graph, the sums behind step time and memory, and what
// is believed of its convergence.

struct ProfileModel {
  sim::OpGraph graph;
  StepModel step;
  MemoryModel memory;
  std::string model, dataset;
  Optimizer optimizer = Optimizer::momentum;
  double training_samples = 0;
  double validation_samples = 0;
  double publication_batch = 0;                      ///< global
  double checkpoint_bytes = 0;                       ///< parameters and what the optimiser keeps of each
  std::optional<ConvergenceParameters> convergence;  ///< none: cost only, its accuracy is not modelled
  int max_accumulation = 1;                          ///< Profile::max_accumulation
  /// Of a job type: what was measured of its steps, in the place of all of the above; else null.
  std::shared_ptr<const MeasuredSteps> measured;

  /// Passes in which a worker of so many samples computes its step: the fewest, a power of two, whose samples its device holds; 0
  /// when max_accumulation of them do not. `memory_factor` multiplies what a pass needs.
  int passes(double batch, const sim::Device& device, sim::Precision precision, double memory_factor = 1) const;
};

/// How to make a ProfileModel. `optimizer` counts for memory and the update.
struct ProfileModelInputs {
  sim::OpGraph graph;
  std::string model, dataset;  ///< the profile's
  Optimizer optimizer = Optimizer::momentum;
  double training_samples = 0;
  double validation_samples = 0;
  double publication_batch = 0;
  std::optional<ConvergenceParameters> convergence;
  int max_accumulation = 1;
  std::shared_ptr<const MeasuredSteps> measured = nullptr;
};

/// By Profile::index.
class ProfileModels {
 public:
  void add(ProfileModelInputs inputs);
  const ProfileModel& of(const sim::Profile& profile) const { return models_[static_cast<std::size_t>(profile.index)]; }
  std::size_t size() const { return models_.size(); }

 private:
  std::deque<ProfileModel> models_;
};

}  // namespace rehearse::workloads
