#include "policies/search/space.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::policies {

double measure_of(const Measures& measures, Goal goal) {
  switch (goal) {
    case Goal::accuracy:
      return measures.accuracy;
    case Goal::latency:
      return measures.latency_s;
    case Goal::memory:
      return measures.memory_bytes;
    case Goal::training_time:
      return measures.training_s;
    case Goal::cost:
      return measures.cost_usd;
    case Goal::energy:
      return measures.energy_j;
  }
  sim::fail_check("no such goal");
}

Objectives objectives_of(const Measures& measures, std::span<const Goal> goals) {
  if (!measures.fits) return Objectives(goals.size(), kDoesNotFit);
  Objectives objectives;
  for (const Goal goal : goals) objectives.push_back(goal == Goal::accuracy ? 1 - measures.accuracy : measure_of(measures, goal));
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

}  // namespace rehearse::policies
