// The agent of staged-rl, an actor and a critic on one trunk. The actor scores every option of a decision from what is known of
// the job and of the option; the score of the closed-form outlook is added, so that an untrained network decides like it
// (residual policy learning: Silver et al. 2018, arXiv:1812.06298). What breaks the deadline for sure is masked out. The critic
// says by how much the money still to be paid will exceed the outlook's best plan; it is what training judges decisions by.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/staged/prior.hpp"
#include "policies/staged/stage_outlook.hpp"
#include "policies/learn/nn/layers.hpp"
#include "policies/learn/nn/network_state.hpp"

namespace rehearse::policies {

inline constexpr int kAgentFeatures = 29;

/// What the features need beside the outlook.
struct AgentView {
  const sim::Job* job = nullptr;
  const sim::Cluster* cluster = nullptr;
  const StageTable* table = nullptr;
  const sim::Standing* from = nullptr;
  std::span<const sim::StageSeen> seen;
  const workloads::Revision* revision = nullptr;
  const Prior* prior = nullptr;
  std::size_t stages_left = 1;
};

/// A decision as the network sees it. Rows are the outlook's options.
struct AgentInputs {
  Matrix features;            ///< options x kAgentFeatures
  std::vector<double> prior;  ///< score of each option by the outlook alone, the best one's 0
  std::vector<double> mask;   ///< 0, or kForbidden
  bool feasible = true;       ///< some option is believed to keep the limits
  std::int32_t leader = 0;    ///< the best option by the outlook among those not masked
  double plan_usd = 0;        ///< the cheapest plan's money among those not masked; 0: there is none
};

AgentInputs agent_inputs(const AgentView& view, const Outlook& outlook);

class StagedAgent {
 public:
  static constexpr const char* kKind = "staged-rl";

  /// Untrained: its network says 0 everywhere.
  explicit StagedAgent(std::uint64_t seed);
  static NetworkBlueprint blueprint();
  void load_from(const NetworkState& state) { load(state, parameters_); }
  ParameterSet& parameters() { return parameters_; }
  const ParameterSet& parameters() const { return parameters_; }

  struct Judgement {
    Var scores;  ///< of all options before the mask, 1 x options
    Var excess;  ///< critic: money still to be paid, fines for broken limits included, over `plan_usd` - 1; 1 x 1
  };
  Judgement judge(Tape& tape, const AgentInputs& inputs) const;
  /// The option with the best score among those that are not masked.
  int best(Tape& tape, const AgentInputs& inputs) const;

 private:
  ParameterSet parameters_;
  sim::Random random_;
  Linear trunk_, actor_, critic_;
};

}  // namespace rehearse::policies
