// How a search asks: a method names trials, whoever owns it finds out about them (a table, a cost model, jobs on a cluster) and
// tells. So one and the same method runs in a loop and in the middle of a replay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "policies/search/pareto.hpp"

namespace rehearse::policies {

/// A level for each gene, from 0.
using Genes = std::vector<int>;

/// What is searched.
struct SearchSetup {
  std::vector<int> levels;  ///< of each gene, two or more where there is a choice
  std::size_t objectives = 2;
  std::function<Genes(const Genes&)> canonical;  ///< of encodings that mean the same the one to evaluate; empty: as it is
  std::uint64_t random_key = 0;
};

struct Trial {
  Genes genes;       ///< canonical
  double share = 1;  ///< of full training, in (0, 1]; larger than in an earlier trial of these genes
  friend bool operator==(const Trial&, const Trial&) = default;
};

class SearchMethod {
 public:
  virtual ~SearchMethod() = default;
  /// Trials that may run side by side; none is asked twice. Empty: there is nothing more that the method would try.
  virtual std::vector<Trial> ask() = 0;
  /// Objectives of all that were asked, in that order; finite numbers. Before the next ask().
  virtual void tell(std::span<const Objectives> answers) = 0;
};

/// What a method has been told: by canonical genes.
class KnownTrials {
 public:
  explicit KnownTrials(const SearchSetup& setup) : canonical_(setup.canonical) {}
  Genes canonical(const Genes& genes) const { return canonical_ ? canonical_(genes) : genes; }
  const Objectives* find(const Genes& canonical_genes) const;
  void add(Genes canonical_genes, Objectives objectives) { known_[std::move(canonical_genes)] = std::move(objectives); }
  std::size_t size() const { return known_.size(); }
  /// Canonical ones of these that are not known, each once, in this order.
  std::vector<Genes> unknown(std::span<const Genes> genes) const;

 private:
  std::function<Genes(const Genes&)> canonical_;
  std::map<Genes, Objectives> known_;
};

/// Every level as likely.
template <class Random>
Genes random_genes(const SearchSetup& setup, Random& random) {
  Genes genes;
  for (const int levels : setup.levels) genes.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(levels))));
  return genes;
}

std::vector<Trial> full_trials(const std::vector<Genes>& genes);

}  // namespace rehearse::policies
