// A search on its own: a method on a space until its budget is used up.
#pragma once

#include <map>
#include <optional>

#include "policies/search/space.hpp"

namespace rehearse::policies {

/// What a search may use up; infinity: it does not matter.
struct SearchBudget {
  double evaluations = std::numeric_limits<double>::infinity();  ///< a share of full training counts as that share of one
  double gpu_hours = std::numeric_limits<double>::infinity();
  double usd = std::numeric_limits<double>::infinity();
};

struct Evaluation {
  Trial trial;
  Measures measures;
  double share_before = 0;             ///< of full training that these genes had had already: it need not be done again
  double evaluations = 0;              ///< used up with this one and all before it
  double gpu_hours = 0;                ///< likewise; NaN where the space knows no training
  double time_s = Measures::kUnknown;  ///< of a search on a cluster: when it was done, since the search began
};

/// Adds up what evaluations use.
class SearchLedger {
 public:
  explicit SearchLedger(const SearchBudget& budget) : budget_(budget) {}
  /// The evaluation, or nothing when the budget does not hold it.
  std::optional<Evaluation> enter(const Trial& trial, const Measures& measures);
  double usd() const { return usd_; }

 private:
  SearchBudget budget_;
  double evaluations_ = 0, gpu_hours_ = 0, usd_ = 0;
  std::map<Genes, double> trained_;  ///< share of each
};

/// In the order in which the method asked. Ends with the first trial that the budget does not hold, or when the method has
/// nothing more to ask.
std::vector<Evaluation> run_search(const SearchSpace& space, SearchMethod& method, std::span<const Goal> goals,
                                   const SearchBudget& budget);

/// Objectives of those trained in full, that fit.
std::vector<Objectives> full_objectives(std::span<const Evaluation> evaluations, std::span<const Goal> goals);

}  // namespace rehearse::policies
