// The two files of `rehearse plan`: what is to be trained under which limits, and on what cluster (docs/guide/harness.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/harness/recommend.hpp"
#include "scenarios/read/scenario.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

struct PlanRequest {
  std::string name;
  std::string model;  ///< of the zoo, or the network's own name
  std::string why;    ///< of a model that was recommended; empty: the user's own
  policies::PlanJob job;
  policies::PlanLimits limits;
  policies::Goal goal = policies::Goal::energy;
  double target_accuracy = 0;  ///< 0: none
  workloads::Network network;
  workloads::Optimizer optimizer = workloads::Optimizer::momentum;
  std::string dataset;
  double bytes_per_sample = 0;                  ///< of the data set, as stored
  std::optional<workloads::Task> task;          ///< of a model of the zoo
  std::string recipe;                           ///< by which it is trained; empty: none
  sim::LrRule lr_rule = sim::LrRule::adascale;  ///< the recipe's
  /// Of model, data set and recipe; nothing: not modelled.
  std::optional<workloads::ConvergenceParameters> convergence;
};

struct PlanCluster {
  Scenario scenario;              ///< of which only the cluster and what was said of it are set
  std::vector<int> free_devices;  ///< by pool; empty: all are free
};

/// {"cluster": as in a scenario, "free_devices": {pool: count}, "billing", "minimum_node_s"}; billing is node unless it says
/// more. `stack`: in the place of the cluster's, unless empty. Throws sim::InputError with all mistakes.
std::unique_ptr<PlanCluster> load_plan_cluster(const std::string& path, const std::string& stack = {});

/// Throws sim::InputError with all mistakes; those of a network's layers name them.
PlanRequest load_plan_job(const std::string& path, const PlanCluster& cluster);
/// Of a job's JSON text that stands in no file; `name` is what messages call it.
PlanRequest read_plan_job(std::string text, const std::string& name, const PlanCluster& cluster);

/// What to train for a task on so much data, with the reason.
struct RecommendedModel {
  std::string model, why;
};
/// `side`: of an image, in pixels; `length`: of a sequence, in tokens; whichever the task has.
struct TaskData {
  double samples = 0;
  int side = 0, length = 0;
};
/// Tasks: "image-classification", "language-model", "translation", "speech"; another one is a failed check.
RecommendedModel recommended_model(const std::string& task, const TaskData& data);

}  // namespace rehearse::scenarios
