#include "policies/search/search_method.hpp"

#include <algorithm>
#include <set>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

const Objectives* KnownTrials::find(const Genes& canonical_genes) const {
  const auto found = known_.find(canonical_genes);
  return found == known_.end() ? nullptr : &found->second;
}

std::vector<Genes> KnownTrials::unknown(std::span<const Genes> genes) const {
  std::vector<Genes> wanted;
  std::set<Genes> seen;
  for (const Genes& given : genes) {
    Genes own = canonical(given);
    if (find(own) == nullptr && seen.insert(own).second) wanted.push_back(std::move(own));
  }
  return wanted;
}

std::vector<Trial> RoundMethod::ask() {
  if (open_ > 0) return {};
  asked_ = next_round();
  answers_.assign(asked_.size(), {});
  open_ = asked_.size();
  std::vector<Trial> trials;
  for (const Genes& genes : asked_) trials.push_back({.genes = genes});
  return trials;
}

void RoundMethod::tell(const Trial& trial, const Objectives& objectives) {
  const auto found = std::find(asked_.begin(), asked_.end(), trial.genes);
  sim::check(found != asked_.end(), "a search is told what it has asked");
  answers_[static_cast<std::size_t>(found - asked_.begin())] = objectives;
  if (--open_ == 0) take(asked_, answers_);
}

}  // namespace rehearse::policies
