// The files to run a planned training with, as plan and rent write them.
#pragma once

#include <string>
#include <vector>

#include "policies/harness/recommend.hpp"
#include "scenarios/read/plan_files.hpp"

namespace rehearse::cli {

inline const std::vector<std::string> kFrameworks{"pytorch", "keras"};

struct PlannedOn {
  const sim::Cluster& cluster;
  bool half_precision = false;
  std::string framework = "keras";  ///< or pytorch
  int accumulation = 1;             ///< parts of a worker's batch whose gradients are summed
  double checkpoint_s = 600;        ///< between checkpoints, besides one after each epoch
};

/// In a folder that is made if need be; says so.
void export_planned(const std::string& folder, const scenarios::PlanRequest& request, const policies::PlanChoice& choice,
                    const PlannedOn& on);

}  // namespace rehearse::cli
