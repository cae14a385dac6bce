// Successive halving around another method: what it asks is trained a little first, and only the promising train on.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "policies/search/search_method.hpp"

namespace rehearse::policies {

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
