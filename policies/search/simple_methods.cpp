// Real, Aggarwal, Huang, Le, "Regularized evolution for image classifier architecture search", AAAI 2019, algorithm 1; its
// tournament by the scalarisation of Knowles, "ParEGO", IEEE TEVC 2006, section III-A, without the small linear term.
#include "policies/search/simple_methods.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// So many draws without anything new, in a row, and the space counts as exhausted.
constexpr int kMostIdleDraws = 100000;

}  // namespace

std::vector<Genes> RandomSearch::next_round() {
  std::vector<Genes> fresh;
  for (int idle = 0; idle < kMostIdleDraws && fresh.size() < static_cast<std::size_t>(side_by_side_); ++idle) {
    sim::Random random(sim::Random::mix(setup_.random_key) + draws_++);
    const Genes own = known_.canonical(random_genes(setup_, random));
    if (known_.find(own) != nullptr) continue;
    known_.add(own, {});
    fresh.push_back(own);
    idle = 0;
  }
  return fresh;
}

Evolution::Evolution(const EvolutionOptions& options, const SearchSetup& setup)
    : options_(options), setup_(setup), known_(setup) {}

const Evolution::Member& Evolution::tournament(sim::Random& random) const {
  std::vector<double> weights;
  double sum = 0;
  for (std::size_t k = 0; k < setup_.objectives; ++k) sum += weights.emplace_back(random.exponential(1));
  const auto worth = [&](const Member& member) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double range = high_[k] - low_[k];
      if (range > 0) largest = std::max(largest, weights[k] / sum * (member.objectives[k] - low_[k]) / range);
    }
    return largest;
  };
  const Member* best = nullptr;
  for (int i = 0; i < options_.sample; ++i) {
    const Member& drawn = members_[random.below(members_.size())];
    if (best == nullptr || worth(drawn) < worth(*best)) best = &drawn;
  }
  return *best;
}

Genes Evolution::child(sim::Random& random) const {
  Genes genes = tournament(random).genes;
  const std::size_t gene = random.below(genes.size());
  if (setup_.levels[gene] > 1) {
    const int other = static_cast<int>(random.below(static_cast<std::uint64_t>(setup_.levels[gene] - 1)));
    genes[gene] = other + (other >= genes[gene] ? 1 : 0);
  }
  return genes;
}

std::vector<Genes> Evolution::next_round() {
  const bool is_first = members_.empty();
  const auto wanted = static_cast<std::size_t>(is_first ? options_.population : options_.children);
  std::vector<Genes> asked;
  std::set<Genes> bred;  // a small space has fewer candidates than are wanted: each draw must be cheap until they are given up
  for (int idle = 0; idle < kMostIdleDraws && asked.size() < wanted; ++idle) {
    sim::Random random(sim::Random::mix(setup_.random_key) + rounds_++);
    const Genes own = known_.canonical(is_first ? random_genes(setup_, random) : child(random));
    // A child that is known already costs nothing: it joins the population at once.
    if (const Objectives* objectives = known_.find(own)) {
      members_.push_back({own, *objectives});
      members_.pop_front();
    } else if (bred.insert(own).second) {
      asked.push_back(own);
    }
  }
  return asked;
}

void Evolution::take(const std::vector<Genes>& asked, const std::vector<Objectives>& answers) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    known_.add(asked[i], answers[i]);
    members_.push_back({asked[i], answers[i]});
    if (members_.size() > static_cast<std::size_t>(options_.population)) members_.pop_front();
  }
  measure_front();
}

void Evolution::measure_front() {
  std::vector<Objectives> points;
  for (const Member& member : members_) points.push_back(member.objectives);
  low_.assign(setup_.objectives, std::numeric_limits<double>::infinity());
  high_.assign(setup_.objectives, -std::numeric_limits<double>::infinity());
  for (const std::size_t i : pareto_front(points))
    for (std::size_t k = 0; k < setup_.objectives; ++k) {
      low_[k] = std::min(low_[k], points[i][k]);
      high_[k] = std::max(high_[k], points[i][k]);
    }
}

}  // namespace rehearse::policies
