#include "policies/search/search_run.hpp"

namespace rehearse::policies {

std::optional<Evaluation> SearchLedger::enter(const Trial& trial, const Measures& measures) {
  const auto had = trained_.find(trial.genes);
  const double before = had == trained_.end() ? 0 : had->second;
  // What does not fit into memory fails at its first step.
  const double more = measures.fits ? trial.share - before : 0;
  const auto exceeds = [](double used, double limit) { return used > limit * (1 + 1e-12); };
  const double hours = gpu_hours_ + (measures.fits ? more * measures.gpu_hours : 0);
  const double money = usd_ + (measures.fits ? more * measures.cost_usd : 0);
  if (exceeds(evaluations_ + (measures.fits ? more : 1), budget_.evaluations) || exceeds(hours, budget_.gpu_hours) ||
      exceeds(money, budget_.usd))
    return std::nullopt;
  evaluations_ += measures.fits ? more : 1;
  gpu_hours_ = hours;
  usd_ = money;
  trained_[trial.genes] = trial.share;
  return Evaluation{
      .trial = trial, .measures = measures, .share_before = before, .evaluations = evaluations_, .gpu_hours = gpu_hours_};
}

std::vector<Evaluation> run_search(const SearchSpace& space, SearchMethod& method, std::span<const Goal> goals,
                                   const SearchBudget& budget) {
  std::vector<Evaluation> evaluations;
  SearchLedger ledger(budget);
  for (std::vector<Trial> asked = method.ask(); !asked.empty(); asked = method.ask())
    for (const Trial& trial : asked) {
      const Measures measures = space.measure(trial.genes, trial.share);
      const std::optional<Evaluation> entered = ledger.enter(trial, measures);
      if (!entered) return evaluations;
      evaluations.push_back(*entered);
      method.tell(trial, objectives_of(measures, goals));
    }
  return evaluations;
}

std::vector<Objectives> full_objectives(std::span<const Evaluation> evaluations, std::span<const Goal> goals) {
  std::vector<Objectives> points;
  for (const Evaluation& evaluation : evaluations)
    if (evaluation.trial.share == 1 && evaluation.measures.fits) points.push_back(objectives_of(evaluation.measures, goals));
  return points;
}

}  // namespace rehearse::policies
