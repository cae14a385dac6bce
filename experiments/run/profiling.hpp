// Past runs to learn from: simulated in the world, so that they cost what profiling would cost, or the user's own.
#pragma once

#include <string>
#include <vector>

#include "policies/learn/probing.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

struct Profiled {
  policies::RunHistory history;
  std::vector<double> cost_usd;  ///< of each profile's runs, by index; 0 for the user's own
};

/// Who chooses the runs: nobody, so that they are drawn at random and shared by all; or one policy, for itself.
struct ChosenProbes {
  policies::ProbeChooser* chooser = nullptr;
  std::string policy;  ///< its name: of its random streams
};

/// `runs` of each (profile, instance) that occurs in the jobs and pools. Each trains a number of epochs from {1, 2, 4,
/// ..., the model's} with a random configuration of the grid. Drawn from the world's streams, so that all learners share it.
/// Who chooses has as many runs of each profile in all, from the same configurations and numbers of epochs.
Profiled profile_models(const Scenario& scenario, const std::vector<sim::Job>& jobs, const workloads::Belief& belief,
                        const workloads::World& world, int repetition, const ChosenProbes& probes);

}  // namespace rehearse::scenarios
