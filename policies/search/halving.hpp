// Successive halving inside another method: what it asks is trained a little first, and only the best go on.
#pragma once

#include <memory>

#include "policies/search/search_method.hpp"

namespace rehearse::policies {

struct HalvingOptions {
  double factor = 3;  ///< of the best, one in so many goes on; above 1
  int rungs = 3;      ///< the last one trains in full, each before it `factor` times less
};

/// Best are those of a better front, within a front those with more room (as NSGA-II has it). Who is stopped is worth what it has
/// shown until then: the inner method is told these objectives.
class Halving final : public SearchMethod {
 public:
  Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner);
  std::vector<Trial> ask() override;
  void tell(std::span<const Objectives> answers) override;

 private:
  double share() const;
  void promote();

  HalvingOptions options_;
  std::unique_ptr<SearchMethod> inner_;
  std::vector<Trial> generation_;      ///< that the inner method asked
  std::vector<Objectives> shown_;      ///< of each of them, so far
  std::vector<std::size_t> climbing_;  ///< of the generation, those on this rung
  int rung_ = 0;
};

}  // namespace rehearse::policies
