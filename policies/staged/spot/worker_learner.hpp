// What is learned of spot markets from jobs in many of them, none of which is told its process: a chain over the market's states
// and over what a job has seen so far, and the programme's answer to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/staged/spot/worker_programme.hpp"

namespace rehearse::policies {

/// What a job has seen of its market, against what was to be expected of all: the filtered state of a process that nobody
/// announces.
class MarketSight {
 public:
  /// The market's state at the beginning of the next stage.
  void see(int market, const MarketChain& pooled);
  /// Revocations and arrivals, each seldom, as expected, or often.
  int of_class() const;
  static constexpr int kClasses = 9;

 private:
  int market_ = -1;
  double revocations_ = 0, expected_revocations_ = 0, arrivals_ = 0, expected_arrivals_ = 0;
};

/// What is left out when it is asked what a part is worth.
struct AgentParts {
  bool history = true;             ///< classes of what was seen; else the market's state alone
  double behind = 20;              ///< visits of a state that the pooled first-order chain is worth
  std::vector<bool> allowed = {};  ///< actions, as in WorkerTable::solve
};

class StageAgent {
 public:
  /// `episodes`: states of the market at the beginnings of stages, of one job each. `states`: of the market.
  static std::shared_ptr<const StageAgent> train(const WorkerTerms& terms, int states,
                                                 std::span<const std::vector<std::uint8_t>> episodes, const AgentParts& parts);
  const MarketChain& pooled() const { return pooled_; }
  const WorkerTable& table() const { return table_; }
  int state(const MarketSight& sight, int market) const {
    return (has_history_ ? sight.of_class() : 0) * static_cast<int>(pooled_.size()) + market;
  }

 private:
  StageAgent(MarketChain pooled, WorkerTable table, bool has_history)
      : pooled_(std::move(pooled)), table_(std::move(table)), has_history_(has_history) {}

  MarketChain pooled_;
  WorkerTable table_;
  bool has_history_;
};

/// How often the market's states follow each other, with one visit of staying behind each state.
MarketChain pooled_chain(int states, std::span<const std::vector<std::uint8_t>> episodes);

std::unique_ptr<WorkerPolicy> make_agent_policy(std::string name, std::shared_ptr<const StageAgent> agent);

}  // namespace rehearse::policies
