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
  /// Trials that may begin now, side by side; none is asked twice. Empty: none before more is told, or, when all that was asked
  /// has been told, none ever.
  virtual std::vector<Trial> ask() = 0;
  /// The objectives of a trial that was asked, finite numbers; in any order.
  virtual void tell(const Trial& trial, const Objectives& objectives) = 0;
};

/// One that trains in full and goes on when all that it has asked is known.
class RoundMethod : public SearchMethod {
 public:
  std::vector<Trial> ask() final;
  void tell(const Trial& trial, const Objectives& objectives) final;

 private:
  /// Canonical genes, each once; empty: it has nothing more to ask.
  virtual std::vector<Genes> next_round() = 0;
  virtual void take(const std::vector<Genes>& asked, const std::vector<Objectives>& answers) = 0;

  std::vector<Genes> asked_;
  std::vector<Objectives> answers_;
  std::size_t open_ = 0;
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

}  // namespace rehearse::policies
