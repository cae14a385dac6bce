// A view of one job for configure strategies, as a bundle makes it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry/bundle.hpp"
#include "policies/configure/menu.hpp"
#include "tests/workloads/real_world.hpp"

namespace rehearse::tests {

/// Predictions are the test's; candidates are named by their number of workers.
struct MadeUp {
  sim::Cluster cluster = real_cluster({{"fast", "v100", 64, 1, 3.6}});
  RealWorld real{cluster, {{"resnet18", "cifar10"}}};
  sim::CostRules costs;
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train, .deadline_s = 100};
  std::vector<sim::Configuration> candidates;
  std::vector<sim::Prediction> predictions;
  std::uint64_t key = 1;
  policies::RunHistory history;

  void add(double time_s, double cost_usd) {
    candidates.push_back(configuration(0, static_cast<int>(candidates.size()) + 1, 1));
    predictions.push_back({.time_s = time_s, .cost_usd = cost_usd});
  }
  template <class Strategy>
  std::vector<int> order(Strategy&& strategy) {
    const std::function<sim::Prediction(const sim::Configuration&)> estimate = [this](const sim::Configuration& c) {
      return predictions[static_cast<std::size_t>(c.workers()) - 1];
    };
    const sim::Menu menu = strategy.configure(policies::ConfigureView{.job = job,
                                                                      .cluster = real.cluster,
                                                                      .costs = costs,
                                                                      .candidates = candidates,
                                                                      .manual = candidates.front(),
                                                                      .estimate = estimate,
                                                                      .history = &history,
                                                                      .random_key = key},
                                              *real.belief);
    std::vector<int> names;
    for (const sim::Choice& choice : menu.ranked) names.push_back(choice.configuration.workers());
    return names;
  }
};

/// A bundle and all that it needs, in a world without errors unless told.
struct Bundled {
  const RealWorld& real;
  sim::CostRules costs;
  policies::ManualRules manual;
  policies::RunHistory history;
  workloads::World world;

  explicit Bundled(const RealWorld& of, const workloads::WorldErrors& errors = workloads::WorldErrors::scaled(0),
                   std::uint64_t seed = 1)
      : real(of), world(of.world(errors, seed)) {}
  policies::BundleInputs inputs(std::uint64_t policy_seed = 1) {
    return {.cluster = &real.cluster,
            .costs = costs,
            .belief = real.belief.get(),
            .world = &world,
            .history = &history,
            .manual = &manual,
            .policy_seed = policy_seed};
  }
  sim::Menu menu(const std::string& strategy, const sim::Job& job, const std::string& policy = {}) {
    const policies::PolicySpec spec{.name = policy.empty() ? strategy : policy, .configure = {strategy, {}}};
    return policies::Bundle(spec, inputs()).configure(job, job.submit_s);
  }
  /// The job alone in the world under a choice.
  sim::AloneOutcome truth(const sim::Job& job, const sim::Choice& choice) {
    policies::DataParallel place;
    policies::RecommendedThreads threads;
    return sim::AloneRunner(real.cluster, costs, world.models(), {.name = "truth", .place = &place, .threads = &threads})
        .run(job, choice);
  }
};

}  // namespace rehearse::tests
