#include "policies/search/search_method.hpp"

#include <set>

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

std::vector<Trial> full_trials(const std::vector<Genes>& genes) {
  std::vector<Trial> trials;
  for (const Genes& own : genes) trials.push_back({.genes = own});
  return trials;
}

}  // namespace rehearse::policies
