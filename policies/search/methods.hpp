// Every search method there is, in one visible table (methods.cpp).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "policies/registry/registry.hpp"
#include "policies/search/search_method.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

struct SearchEntry : StrategyEntry {
  std::unique_ptr<SearchMethod> (*make)(const Parameters&, const SearchSetup&) = nullptr;
  bool halves = false;  ///< asks for less than full training too
};

/// find_strategy() finds one by its name.
const std::vector<SearchEntry>& search_methods();

// Search methods without a library: random search, and regularised evolution.

/// Every candidate as likely, none twice.
class RandomSearch final : public RoundMethod {
 public:
  RandomSearch(int side_by_side, const SearchSetup& setup) : side_by_side_(side_by_side), setup_(setup), known_(setup) {}

 private:
  std::vector<Genes> next_round() override;
  void take(const std::vector<Genes>&, const std::vector<Objectives>&) override {}

  int side_by_side_;
  SearchSetup setup_;
  KnownTrials known_;
  std::uint64_t draws_ = 0;
};

struct EvolutionOptions {
  int population = 40;
  int sample = 10;    ///< of a tournament
  int children = 10;  ///< bred side by side
};

/// Children are mutants of a sample's best, and the oldest leave. Which is best is decided anew for each child: by the largest
/// weighted distance from the ideal point, the weights drawn at random, so that the search spreads over the front.
class Evolution final : public RoundMethod {
 public:
  Evolution(const EvolutionOptions& options, const SearchSetup& setup);

 private:
  std::vector<Genes> next_round() override;
  void take(const std::vector<Genes>& asked, const std::vector<Objectives>& answers) override;

  struct Member {
    Genes genes;
    Objectives objectives;
  };
  Genes child(sim::Random& random) const;
  const Member& tournament(sim::Random& random) const;
  void measure_front();

  EvolutionOptions options_;
  SearchSetup setup_;
  KnownTrials known_;
  std::deque<Member> members_;  ///< the oldest first
  Objectives low_, high_;       ///< of the members' front
  std::uint64_t rounds_ = 0;
};

// Successive halving around another method: what it asks is trained a little first, and only the promising train on.

struct HalvingOptions {
  double factor = 3;  ///< of all that were ever seen on a rung the best one in so many trains on, so many times longer; above 1
  int rungs = 3;      ///< the last one trains in full, each before it `factor` times less
};

/// Best are those of a better front, within a front those with more room (crowding distance); of equal ones the first alone goes
/// on. Whoever is not among the best yet may be later. The inner method is told what the first rung shows, of all candidates:
/// like is compared with like, and its next generation does not wait for the longer trainings.
class Halving final : public SearchMethod {
 public:
  Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner);
  std::vector<Trial> ask() override;
  void tell(const Trial& trial, const Objectives& objectives) override;

 private:
  struct Rung {
    std::vector<Genes> genes;
    std::vector<Objectives> shown;
    std::set<Objectives> gone_on;
  };
  double share(std::size_t rung) const;
  void promote_best(std::size_t rung);

  HalvingOptions options_;
  std::unique_ptr<SearchMethod> inner_;
  std::vector<Rung> rungs_;
  std::map<Genes, std::size_t> rung_of_;  ///< on which each candidate is, or was stopped
  std::size_t generation_ = 0;            ///< of the first rung, where the inner method's last round begins
  std::size_t open_ = 0;                  ///< of that round, those that were not told
  std::vector<Trial> promoted_;           ///< since the last ask()
};

}  // namespace rehearse::policies
