// How a search asks: a method names trials, whoever owns it finds out about them (a table, a cost model, jobs on a cluster) and
// tells. So one and the same method runs in a loop and in the middle of a replay.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Where a search looks: genes, what they stand for, and what is known of a candidate.

/// What a candidate is measured by. NaN: the space does not know it.
struct Measures {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double accuracy = kUnknown;      ///< in [0, 1], after the share of training that was asked
  double latency_s = kUnknown;     ///< of one inference
  double memory_bytes = kUnknown;  ///< of a device in training
  double training_s = kUnknown;    ///< in full, as all below
  double cost_usd = kUnknown;
  double energy_j = kUnknown;
  double gpu_hours = kUnknown;
  bool fits = true;  ///< into the memory of its devices
};

/// In this order kSearchGoalNames, as scenarios have them.
enum class SearchGoal : std::uint8_t { accuracy, latency, memory, training_time, cost, energy };
inline constexpr std::array<std::string_view, 6> kSearchGoalNames{"accuracy",      "latency", "memory",
                                                                  "training-time", "cost",    "energy"};

double measure_of(const Measures& measures, SearchGoal goal);

/// To be small: the error 1 - accuracy in the accuracy's place. What does not fit is worse than all that does.
Objectives objectives_of(const Measures& measures, std::span<const SearchGoal> goals);
inline constexpr double kDoesNotFit = 1e30;

struct Gene {
  std::string name;
  std::vector<std::string> levels;
};

class SearchSpace {
 public:
  virtual ~SearchSpace() = default;
  virtual const std::vector<Gene>& genes() const = 0;
  /// Of genes that mean the same, one.
  virtual Genes canonical(const Genes& genes) const { return genes; }
  /// One line; different for different canonical genes.
  virtual std::string name(const Genes& genes) const = 0;
  /// After a share of full training, in (0, 1].
  virtual Measures measure(const Genes& genes, double share) const = 0;
};

SearchSetup setup_of(const SearchSpace& space, std::size_t objectives, std::uint64_t random_key);

/// Gene names and levels, "gene=level gene=level".
std::string levels_text(const SearchSpace& space, const Genes& genes);

// A search on its own: a method on a space until its budget is used up.

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
std::vector<Evaluation> run_search(const SearchSpace& space, SearchMethod& method, std::span<const SearchGoal> goals,
                                   const SearchBudget& budget);

/// Objectives of those trained in full, that fit.
std::vector<Objectives> full_objectives(std::span<const Evaluation> evaluations, std::span<const SearchGoal> goals);

}  // namespace rehearse::policies
