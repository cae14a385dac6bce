// One run: one policy in one repetition, in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "experiments/run/process_pool.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/output_file.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::scenarios {

struct RunTask {
  std::size_t policy = 0;  ///< index into Scenario::policies
  int repetition = 0;
  sim::OwnFolder folder = {};      ///< for its files; none: it writes none
  sim::AtWork* at_work = nullptr;  ///< as sim::ReplaySetup has it
  /// Hears each job's menu at its arrival; what it throws ends the replay. May be empty.
  std::function<void(const sim::Job& job, const sim::Menu& menu, const workloads::Belief& belief)> on_menu = {};
};

inline constexpr const char* kOutcomeFile = "outcome.bin";

struct Replayed {
  report::RunOutcome outcome;
  std::vector<workloads::TimedReplica> timed;  ///< steps that the fast timer timed
};

/// Replays; with a folder, writes the run's files there. `drive` as sim::replay has it. Throws what went wrong.
Replayed replay_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress,
                    void (*drive)(sim::EventQueue&, sim::EventHandler&));

/// Replays and writes the run's files and its outcome. Throws what went wrong.
void run_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress);

// What a policy's searches for placements tried, as it answers.

/// Hands every question on. A strategy searches once for each (model, GPU, GPUs of a node, samples) and repeats itself then.
class CountedPlace final : public sim::Place {
 public:
  explicit CountedPlace(sim::Place& inner) : inner_(inner) {}
  sim::StepPlan place(const sim::PlaceView& view) override {
    sim::StepPlan plan = inner_.place(view);
    const sim::Group& group = view.configuration->groups[static_cast<std::size_t>(view.group)];
    const auto samples = static_cast<std::int64_t>(group.batch_per_worker) * view.workers_on_node;
    const bool is_new = searches_.emplace(view.graph, view.worker, view.workers_on_node, samples, group.pool).second;
    if (is_new) evaluations_ += static_cast<double>(plan.evaluations);
    return plan;
  }
  /// Steps of the searches whose plans jobs started with.
  double evaluations() const { return evaluations_; }

 private:
  sim::Place& inner_;
  std::set<std::tuple<const sim::OpGraph*, const sim::Device*, int, std::int64_t, sim::PoolId>> searches_;
  double evaluations_ = 0;
};

}  // namespace rehearse::scenarios
