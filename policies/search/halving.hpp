// Successive halving around another method: what it asks is trained a little first, and only the promising train on.
#pragma once

#include <map>
#include <memory>

#include "policies/search/search_method.hpp"

namespace rehearse::policies {

struct HalvingOptions {
  double factor = 3;  ///< of a generation at most one in so many trains on, so many times longer; above 1
  int rungs = 3;      ///< the last one trains in full, each before it `factor` times less
};

/// Promising is what nobody dominates of all that were ever seen on the same rung. The inner method is told what the first rung
/// shows, of all candidates: like is compared with like, and its next generation need not wait for the longer trainings.
class Halving final : public SearchMethod {
 public:
  Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner);
  std::vector<Trial> ask() override;
  void tell(const Trial& trial, const Objectives& objectives) override;

 private:
  double share(std::size_t rung) const;
  void promote(const Genes& genes, std::size_t rung);
  void end_generation();

  HalvingOptions options_;
  std::unique_ptr<SearchMethod> inner_;
  std::map<Genes, std::size_t> rung_;          ///< on which each candidate is, or was stopped
  std::vector<std::vector<Objectives>> seen_;  ///< by rung, of all generations
  std::vector<Genes> generation_;              ///< of the inner method's last round, those that were told
  std::vector<Objectives> shown_;              ///< by them, on the first rung
  std::size_t open_ = 0;                       ///< of that round, those that were not
  std::vector<Trial> promoted_;                ///< since the last ask()
};

}  // namespace rehearse::policies
