// Stages chosen by a trained agent (staged_agent.hpp), from what the job has shown so far.
#pragma once

#include <memory>

#include "policies/configure/configure.hpp"
#include "policies/staged/prior.hpp"
#include "policies/staged/staged_agent.hpp"

namespace rehearse::policies {

/// Everything about one decision; `from` points into `seen` or the table.
struct AgentDecision {
  Outlook outlook;
  AgentInputs inputs;
  sim::Standing from;
  std::vector<double> ends;  ///< of the stages to come
};

/// What a decision needs that does not change while a job trains.
struct AgentBasis {
  const workloads::Belief& belief;
  const StageTable& table;
  std::span<const double> ends;  ///< of all stages but the last
  const Prior& prior;
  /// That the time left is kept free for, of what is left unknown; 0: `reserve` of the training time, whatever is known.
  double deviations = 0;
  double reserve = 0.1;
  bool offers_held_devices = false;  ///< as OutlookRequest has it
};

/// What the agent is asked: the prior corrected by the stages seen (`revise`), the outlook, its features. No options when nothing
/// fits.
AgentDecision prepare_decision(const ConfigureView& view, std::span<const sim::StageSeen> seen, const AgentBasis& basis);

/// The candidates of each profile, tabulated once; anew when they change.
class StageTables {
 public:
  const StageTable& of(const ConfigureView& view, const workloads::Belief& belief);

 private:
  std::map<int, std::unique_ptr<StageTable>> tables_;  ///< by profile
};

class StagedRl final : public Configure {
 public:
  /// Null: an untrained agent, which decides by the outlook alone.
  /// `miss_chance`: that a plan as safe as is asked for ends too late, from 0 to less than 0.5; 0: a tenth is kept free.
  StagedRl(const NetworkState* network, Priors priors, double miss_chance = 0);
  sim::Menu configure(const ConfigureView& view, const workloads::Belief& belief) override;
  sim::Menu configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  StagedAgent agent_;
  Tape tape_;
  Priors priors_;
  const double deviations_;
  StageTables tables_;
};

}  // namespace rehearse::policies
