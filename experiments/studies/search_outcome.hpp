// What searches have found, and the tables about it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "experiments/run/results_folder.hpp"
#include "experiments/studies/search_spaces.hpp"
#include "policies/search/search_method.hpp"
#include "report/plots/figure.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

/// Evaluations as text for the way between processes.
std::string to_text(const std::vector<policies::Evaluation>& evaluations);
std::vector<policies::Evaluation> evaluations_of(const std::string& text);
/// The next word as a number, which may be "nan" or "inf"; anything else is a failed check.
double read_number(std::istringstream& in);

/// A candidate trained in full.
struct Found {
  policies::Genes genes;
  policies::Measures measures;
  policies::Objectives objectives;
};

/// What all searches on one space are held against: the best candidates, of all there are where they are known, else of all that
/// any search has found.
struct SearchReference {
  std::vector<Found> front;    ///< by the first objective, the best last
  policies::Objectives worst;  ///< the corner from which hypervolumes are counted
  double volume = 0;           ///< of the front
  bool is_exact = false;       ///< the front of all candidates there are
  std::size_t knee = 0;        ///< of the front
};

/// Searches on one space: by method, then repetition.
struct SpaceOutcome {
  const NamedSpace* space = nullptr;
  std::vector<std::vector<std::vector<policies::Evaluation>>> searches;
  SearchReference reference;
};

struct SearchQuestion {
  std::vector<policies::SearchGoal> goals;
  std::vector<std::string> methods;
  double accuracy_above =
      0;  ///< what is less accurate does not count for the hypervolume; NaN: down to the front's least accurate
};

SearchReference reference_of(const SearchQuestion& question, const SpaceOutcome& outcome);

/// Over that of the reference, of the first `count` evaluations; 1 is all of it.
double relative_volume(const SearchQuestion& question, const SearchReference& reference,
                       std::span<const policies::Evaluation> evaluations);

/// The fewest evaluations whose relative volume is at least this; null when they never come to it.
const policies::Evaluation* first_to_reach(const SearchQuestion& question, const SearchReference& reference,
                                           std::span<const policies::Evaluation> evaluations, double volume);

/// docs/reference/metrics.md, "Studies".
report::Table search_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
report::Table front_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
report::Table progress_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
/// One for the terminal with counts, one for the file with the architectures.
std::vector<report::Table> change_tables(const std::vector<SpaceOutcome>& outcomes);

/// front-SPACE-GOAL: the first objective against each other one; hypervolume-SPACE: against evaluations.
std::vector<report::NamedFigure> search_figures(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);

}  // namespace rehearse::scenarios
