// NSGA-II and MOEA/D as pagmo has them, turned inside out: pagmo calls for fitness, ours asks and is told.
#pragma once

#include <memory>

#include "policies/search/search_method.hpp"

namespace rehearse::policies {

/// pagmo's own defaults but for the population, which pagmo leaves to its caller.
struct Nsga2Options {
  int population = 40;  ///< a multiple of four, at least 8
  double crossover = 0.95;
  double mutation = 0.01;
};
std::unique_ptr<SearchMethod> make_nsga2(const Nsga2Options& options, const SearchSetup& setup);

/// Genes as continuous numbers that are rounded down. After its first population it asks one trial at a time.
struct MoeadOptions {
  int population = 40;
  int neighbours = 20;  ///< fewer than the population, at least 2
  double crossover = 1;
};
std::unique_ptr<SearchMethod> make_moead(const MoeadOptions& options, const SearchSetup& setup);

}  // namespace rehearse::policies
