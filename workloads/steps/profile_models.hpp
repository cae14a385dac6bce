// What is computed once for each profile (model, dataset, precision): its graph, the sums behind step time and memory, and what
// is believed of its convergence.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "sim/jobs/job.hpp"
#include "sim/step/op_graph.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/steps/memory.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::workloads {

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
