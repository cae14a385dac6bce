// Trains the agent of staged-rl, an advantage actor-critic over randomised jobs, prices, switching costs, worlds and knowledge of
// them (docs/explain/strategies.md, "Learned stages"): Sutton and Barto 2018, section 13.5; advantages by Schulman et al. 2016
// (arXiv:1506.02438, equation 16), less what the other rollouts of the same job in the same world have at that stage (Kool et
// al., "Buy 4 REINFORCE samples, get a baseline for free!", 2019); limits by dual ascent (Tessler et al., Reward constrained
// policy optimization, ICLR 2019).
#pragma once

#include <memory>
#include <vector>

#include "policies/configure/configure.hpp"
#include "policies/configure/manual.hpp"
#include "policies/learn/nn/parameter_set.hpp"
#include "policies/staged/staged_agent.hpp"
#include "workloads/generate/generator.hpp"

namespace rehearse::policies {

struct TrainingInputs {
  const sim::Cluster* cluster = nullptr;
  sim::CostRules costs;
  const workloads::ProfileModels* models = nullptr;
  const ManualRules* manual = nullptr;
  StageRules stage_rules;
  std::vector<workloads::GeneratorSettings> generators;  ///< of the jobs, each as often as its count
  std::vector<sim::Job> jobs;                            ///< more of them, as they are; those of Work::train count
  double model_error = 0.1;                              ///< worlds have 0 to 1.5 times this error
  std::uint64_t seed = 0;
};

struct LearningPoint {
  int iteration = 0;
  double cost_ratio = 1;                   ///< of the greedy agent over the untrained one, on the validation jobs
  double critic_error = 0;                 ///< root mean square of its excess, of what the steps before this point saw
  double late = 0, short_of = 0;           ///< shares of the validation jobs that break the deadline, the floor
  double late_price = 0, short_price = 0;  ///< multipliers
  double merit = 0;                        ///< what the best agent is chosen by; smaller is better
};

class AgentTraining {
 public:
  /// Everything the inputs point to must outlive it.
  explicit AgentTraining(const TrainingInputs& inputs);
  ~AgentTraining();

  StagedAgent& agent() { return agent_; }
  /// One batch of jobs and one step of the optimiser.
  void iterate();
  /// The agent as it is now, greedy, on the validation jobs.
  LearningPoint validate();

 private:
  struct Site;
  struct Course;
  struct Rollout;
  Rollout roll_out(Course& course, const workloads::World& world, const Prior& prior, sim::Random* random);
  void learn(const std::vector<Rollout>& rollouts);
  double penalty(const Rollout& rollout) const;

  const TrainingInputs inputs_;
  StagedAgent agent_;
  Tape tape_, decide_;
  Adam adam_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<sim::Job> jobs_;
  std::vector<double> reference_usd_;  ///< of the validation jobs under the untrained agent
  double late_price_ = 2, short_price_ = 2;
  int iteration_ = 0;
  double critic_squares_ = 0, critic_steps_ = 0;
};

}  // namespace rehearse::policies
