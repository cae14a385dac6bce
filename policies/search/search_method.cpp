#include "policies/search/search_method.hpp"

#include <algorithm>
#include <set>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

const Objectives* KnownTrials::find(const Genes& canonical_genes) const {
  const auto found = known_.find(canonical_genes);
  return found == known_.end() ? nullptr : &found->second;
}

std::vector<Genes> KnownTrials::unknown(std::span<const Genes> genes) const {
  std::vector<Genes> wanted;
  std::set<Genes> seen;
  for (const Genes& given : genes) {
    Genes own = canonical(given);
    if (find(own) == nullptr && seen.insert(own).second) wanted.push_back(std::move(own));
  }
  return wanted;
}

std::vector<Trial> RoundMethod::ask() {
  if (open_ > 0) return {};
  asked_ = next_round();
  answers_.assign(asked_.size(), {});
  open_ = asked_.size();
  std::vector<Trial> trials;
  for (const Genes& genes : asked_) trials.push_back({.genes = genes});
  return trials;
}

void RoundMethod::tell(const Trial& trial, const Objectives& objectives) {
  const auto found = std::find(asked_.begin(), asked_.end(), trial.genes);
  sim::check(found != asked_.end(), "a search is told what it has asked");
  answers_[static_cast<std::size_t>(found - asked_.begin())] = objectives;
  if (--open_ == 0) take(asked_, answers_);
}

double measure_of(const Measures& measures, SearchGoal goal) {
  switch (goal) {
    case SearchGoal::accuracy:
      return measures.accuracy;
    case SearchGoal::latency:
      return measures.latency_s;
    case SearchGoal::memory:
      return measures.memory_bytes;
    case SearchGoal::training_time:
      return measures.training_s;
    case SearchGoal::cost:
      return measures.cost_usd;
    case SearchGoal::energy:
      return measures.energy_j;
  }
  sim::fail_check("no such goal");
}

Objectives objectives_of(const Measures& measures, std::span<const SearchGoal> goals) {
  if (!measures.fits) return Objectives(goals.size(), kDoesNotFit);
  Objectives objectives;
  for (const SearchGoal goal : goals)
    objectives.push_back(goal == SearchGoal::accuracy ? 1 - measures.accuracy : measure_of(measures, goal));
  return objectives;
}

SearchSetup setup_of(const SearchSpace& space, std::size_t objectives, std::uint64_t random_key) {
  SearchSetup setup{.objectives = objectives,
                    .canonical = [&space](const Genes& genes) { return space.canonical(genes); },
                    .random_key = random_key};
  for (const Gene& gene : space.genes()) setup.levels.push_back(static_cast<int>(gene.levels.size()));
  return setup;
}

std::string levels_text(const SearchSpace& space, const Genes& genes) {
  std::string text;
  for (std::size_t i = 0; i < genes.size(); ++i) {
    const Gene& gene = space.genes()[i];
    text += (i > 0 ? " " : "") + gene.name + "=" + gene.levels[static_cast<std::size_t>(genes[i])];
  }
  return text;
}

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

std::vector<Evaluation> run_search(const SearchSpace& space, SearchMethod& method, std::span<const SearchGoal> goals,
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

std::vector<Objectives> full_objectives(std::span<const Evaluation> evaluations, std::span<const SearchGoal> goals) {
  std::vector<Objectives> points;
  for (const Evaluation& evaluation : evaluations)
    if (evaluation.trial.share == 1 && evaluation.measures.fits) points.push_back(objectives_of(evaluation.measures, goals));
  return points;
}

}  // namespace rehearse::policies
