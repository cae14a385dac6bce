#include "policies/search/methods.hpp"

#include "policies/search/halving.hpp"
#include "policies/search/pagmo_methods.hpp"
#include "policies/search/simple_methods.hpp"

namespace rehearse::policies {

namespace {

using MadeMethod = std::unique_ptr<SearchMethod>;

int whole(const Parameters& p, std::string_view name) { return static_cast<int>(p.number(name)); }

ParameterDeclaration whole_number(std::string name, int fallback, std::string help, double low) {
  return {.name = std::move(name),
          .fallback = static_cast<double>(fallback),
          .help = std::move(help),
          .low = low,
          .high = 10000,
          .whole = true};
}

ParameterDeclaration probability(std::string name, double fallback, std::string help) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = 0, .high = 0.999};
}

std::vector<ParameterDeclaration> nsga2_parameters() {
  const Nsga2Options defaults;
  return {whole_number("population", defaults.population, "candidates of a generation; taken up to a multiple of four", 8),
          probability("crossover", defaults.crossover, "that two parents mix"),
          probability("mutation", defaults.mutation, "of each gene of a child")};
}

MadeMethod nsga2(const Parameters& p, const SearchSetup& setup) {
  return make_nsga2(
      {.population = (whole(p, "population") + 3) / 4 * 4, .crossover = p.number("crossover"), .mutation = p.number("mutation")},
      setup);
}

SearchEntry search_entry(std::string name, std::string help, MadeMethod (*make)(const Parameters&, const SearchSetup&),
                         std::vector<ParameterDeclaration> parameters) {
  SearchEntry made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.make = make;
  made.parameters = std::move(parameters);
  return made;
}

SearchEntry moead_entry() {
  const MoeadOptions defaults;
  const auto make = [](const Parameters& p, const SearchSetup& setup) {
    const int population = whole(p, "population");
    return make_moead({.population = population, .neighbours = std::min(MoeadOptions().neighbours, population - 1)}, setup);
  };
  return search_entry("moead", "decomposition into single objectives, differential evolution (Li and Zhang 2009; pagmo)", make,
                      {whole_number("population", defaults.population, "candidates, each with weights of its own", 8)});
}

SearchEntry random_search_entry() {
  return search_entry("random-search", "a yardstick: candidates at random, none twice",
                      [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
                        return std::make_unique<RandomSearch>(whole(p, "side_by_side"), setup);
                      },
                      {whole_number("side_by_side", 40, "candidates that are tried at once", 1)});
}

SearchEntry evolution_entry() {
  const EvolutionOptions defaults;
  const auto make = [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
    return std::make_unique<Evolution>(
        EvolutionOptions{
            .population = whole(p, "population"), .sample = whole(p, "sample"), .children = whole(p, "side_by_side")},
        setup);
  };
  return search_entry("evolution", "the oldest leave, mutants of the best of a sample come, by random weights (Real et al. 2019)",
                      make,
                      {whole_number("population", defaults.population, "candidates that may have children", 2),
                       whole_number("sample", defaults.sample, "candidates of whom the best has a child", 1),
                       whole_number("side_by_side", defaults.children, "children that are tried at once", 1)});
}

SearchEntry halving_entry() {
  const HalvingOptions defaults;
  std::vector<ParameterDeclaration> parameters = nsga2_parameters();
  parameters.push_back({.name = "factor",
                        .fallback = defaults.factor,
                        .help = "one in so many trains on, so many times longer",
                        .low = 1.1,
                        .high = 100});
  parameters.push_back(whole_number("rungs", defaults.rungs, "lengths of training, the last one the full length", 1));
  parameters.back().high = 10;
  const auto make = [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
    return std::make_unique<Halving>(HalvingOptions{.factor = p.number("factor"), .rungs = whole(p, "rungs")}, nsga2(p, setup));
  };
  SearchEntry made = search_entry("nsga2-halving", "nsga2 whose candidates train a little first, and only the best of them on",
                                  make, std::move(parameters));
  made.halves = true;
  return made;
}

}  // namespace

const std::vector<SearchEntry>& search_methods() {
  static const std::vector<SearchEntry> entries{
      search_entry("nsga2", "non-dominated sorting genetic algorithm (Deb et al. 2002; pagmo with its defaults)", nsga2,
                   nsga2_parameters()),
      moead_entry(), random_search_entry(), evolution_entry(), halving_entry()};
  return entries;
}

}  // namespace rehearse::policies
