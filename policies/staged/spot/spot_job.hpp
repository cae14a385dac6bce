// One job on spot nodes of several zones, with on-demand nodes beside them: Wu et al., "Can't Be Late: Optimizing Spot Instance
// Savings under Deadlines", NSDI 2024, section 3. Time goes in equal steps; a zone has spot capacity in a step, or not.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rehearse::policies {

/// In steps, and dollars a step. Every start of a run takes `restart` steps without progress; what is left of them when a run
/// ends is lost.
struct SpotTerms {
  int work = 0, deadline = 0, restart = 0;
  double on_demand_usd = 0, spot_usd = 0;
  int slack() const { return deadline - work; }
};

/// Where a job runs in a step: a zone's index, or one of these.
inline constexpr int kWaits = -2, kOnDemand = -1;

/// Whether a zone has spot capacity, step by step.
using SpotAvailability = std::span<const std::uint8_t>;

/// What is known of a zone: what was seen since the job was submitted.
struct ZoneHistory {
  bool is_up = false;
  int age = 0;          ///< steps since it last changed, or since the submission
  double recent = 0.5;  ///< share of steps with capacity, with a half-life of kRecentHalfLife
  static constexpr double kRecentHalfLife = 480;

  void see(bool up, bool is_first);
};

struct SpotState {
  int time = 0;          ///< steps since the submission
  int work_left = 0;     ///< > 0
  int restart_left = 0;  ///< steps until the run makes progress
  int mode = kWaits;     ///< of the step before; a revoked job waits
};

/// What a policy sees before each step.
struct SpotView {
  const SpotTerms& terms;
  const SpotState& state;
  std::span<const ZoneHistory> zones;

  /// Steps that may pass without progress.
  int slack() const { return terms.deadline - state.time - state.work_left; }
};

class SpotPolicy {
 public:
  virtual ~SpotPolicy() = default;
  virtual std::string_view name() const = 0;
  /// A new job.
  virtual void begin(const SpotTerms&) {}
  /// Where the job runs in the coming step: kWaits, kOnDemand or a zone that is up.
  virtual int decide(const SpotView& view) = 0;
};

/// Whether the deadline can be kept whatever the zones do after a step in this mode: on-demand nodes are always there.
bool keeps_deadline(const SpotView& view, int mode);

struct SpotOutcome {
  double usd = 0;
  bool kept = false;
  int spot_steps = 0, on_demand_steps = 0, waited_steps = 0, starts = 0;
  int overruled = 0;  ///< steps in which the policy's answer could have broken the deadline and the safe one was taken
};

/// Every zone has `terms.deadline` steps at least; the deadline can be kept on demand. A zone that is down, as an answer, is a
/// failed check.
SpotOutcome run_spot_job(const SpotTerms& terms, std::span<const SpotAvailability> zones, SpotPolicy& policy);

/// The least that the job can cost, all of the zones' future known: backward induction over time, slack and mode.
double omniscient_usd(const SpotTerms& terms, std::span<const SpotAvailability> zones);

// Policies for spot jobs that need no learning: the rules of "Can't Be Late" (NSDI 2024), all on demand, and planning for the
// mean.

/// Its section 4.3: run until revoked; take spot when idle; behind work x time / deadline, go on demand until two restarts ahead.
/// With no more slack than two restarts and no spot run it stays on demand.
std::unique_ptr<SpotPolicy> make_uniform_progress();

/// Its section 4.2: spot when it is there, else wait; on demand to the end from two restarts of slack.
std::unique_ptr<SpotPolicy> make_spot_greedy();

/// The static choice that needs no luck.
std::unique_ptr<SpotPolicy> make_on_demand();

/// Mean lengths of a zone's runs with and without capacity, in steps.
struct MeanRuns {
  double up = 0, down = 0;
};

/// Plans anew before each step as if each run to come took the mean: the cheapest of spot with waiting, spot with on-demand nodes
/// in the gaps, and on demand to the end. Without a forecast what is there now stays.
std::unique_ptr<SpotPolicy> make_mean_planner(const MeanRuns* forecast);

}  // namespace rehearse::policies
