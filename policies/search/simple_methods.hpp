// Search methods without a library: random search, and regularised evolution.
#pragma once

#include <deque>

#include "policies/search/search_method.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
