#include "policies/staged/spot/worker_learner.hpp"

namespace rehearse::policies {

namespace {

/// Transitions that the expected rate is worth before any was seen.
constexpr double kBelief = 6;

/// 0 seldom, 1 as expected, 2 often.
int bin_of_rate(double seen, double expected) {
  const double factor = (kBelief + seen) / (kBelief + expected);
  return factor < 0.85 ? 0 : factor < 1.15 ? 1 : 2;
}

}  // namespace

void MarketSight::see(int market, const MarketChain& pooled) {
  if (market_ > 0) {
    expected_revocations_ += pooled[static_cast<std::size_t>(market_)][0];
    revocations_ += market == 0 ? 1 : 0;
  } else if (market_ == 0) {
    expected_arrivals_ += 1 - pooled[0][0];
    arrivals_ += market > 0 ? 1 : 0;
  }
  market_ = market;
}

int MarketSight::of_class() const {
  return 3 * bin_of_rate(revocations_, expected_revocations_) + bin_of_rate(arrivals_, expected_arrivals_);
}

MarketChain pooled_chain(int states, std::span<const std::vector<std::uint8_t>> episodes) {
  const auto count = static_cast<std::size_t>(states);
  MarketChain chain(count, std::vector<double>(count, 0));
  for (std::size_t s = 0; s < count; ++s) chain[s][s] = 1;
  for (const std::vector<std::uint8_t>& episode : episodes)
    for (std::size_t t = 1; t < episode.size(); ++t) ++chain[episode[t - 1]][episode[t]];
  for (std::vector<double>& row : chain) {
    double sum = 0;
    for (const double visits : row) sum += visits;
    for (double& visits : row) visits /= sum;
  }
  return chain;
}

std::shared_ptr<const StageAgent> StageAgent::train(const WorkerTerms& terms, int states,
                                                    std::span<const std::vector<std::uint8_t>> episodes,
                                                    const AgentParts& parts) {
  MarketChain pooled = pooled_chain(states, episodes);
  if (!parts.history) {
    WorkerTable table = WorkerTable::solve(terms, StageLaw::of(pooled), parts.allowed);
    return std::shared_ptr<const StageAgent>(new StageAgent(std::move(pooled), std::move(table), false));
  }
  const auto all = static_cast<std::size_t>(MarketSight::kClasses * states);
  std::vector<std::vector<double>> visits(all, std::vector<double>(all, 0));
  for (std::size_t from = 0; from < all; ++from) {  // the first-order chain, which stays in the class
    const std::size_t market = from % pooled.size(), first = from - market;
    for (std::size_t to = 0; to < pooled.size(); ++to) visits[from][first + to] = parts.behind * pooled[market][to];
  }
  for (const std::vector<std::uint8_t>& episode : episodes) {
    MarketSight sight;
    std::size_t before = all;
    for (const std::uint8_t market : episode) {
      sight.see(market, pooled);
      const std::size_t now = static_cast<std::size_t>(sight.of_class()) * pooled.size() + market;
      if (before < all) ++visits[before][now];
      before = now;
    }
  }
  StageLaw law;
  for (std::size_t from = 0; from < all; ++from) {
    law.market.push_back(static_cast<int>(from % pooled.size()));
    law.steps.emplace_back();
    double sum = 0;
    for (const double count : visits[from]) sum += count;
    for (std::size_t to = 0; to < all; ++to)
      if (visits[from][to] > 0) law.steps.back().push_back({static_cast<int>(to), static_cast<float>(visits[from][to] / sum)});
  }
  WorkerTable table = WorkerTable::solve(terms, law, parts.allowed);
  return std::shared_ptr<const StageAgent>(new StageAgent(std::move(pooled), std::move(table), true));
}

namespace {

class AgentPolicy final : public WorkerPolicy {
 public:
  AgentPolicy(std::string name, std::shared_ptr<const StageAgent> agent) : name_(std::move(name)), agent_(std::move(agent)) {}
  std::string_view name() const override { return name_; }
  void begin() override { sight_ = {}; }
  int decide(const WorkerView& view) override {
    sight_.see(view.market, agent_->pooled());
    return agent_->table().choice(view.time, view.work_left, view.held, agent_->state(sight_, view.market));
  }

 private:
  std::string name_;
  std::shared_ptr<const StageAgent> agent_;
  MarketSight sight_;
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_agent_policy(std::string name, std::shared_ptr<const StageAgent> agent) {
  return std::make_unique<AgentPolicy>(std::move(name), std::move(agent));
}

}  // namespace rehearse::policies
