#include "workloads/steps/profiles.hpp"

#include <string>

namespace rehearse::workloads {

const sim::Profile* ProfileTable::intern(std::string_view model, std::string_view dataset, sim::Precision precision,
                                         sim::LrRule lr_rule, int max_accumulation, std::string_view recipe) {
  const auto known = by_key_.find(Key{model, dataset, precision, lr_rule, max_accumulation, recipe});
  if (known != by_key_.end()) return known->second;
  const sim::Profile& profile = profiles_.emplace_back(sim::Profile{.index = static_cast<int>(profiles_.size()),
                                                                    .model = std::string(model),
                                                                    .dataset = std::string(dataset),
                                                                    .precision = precision,
                                                                    .lr_rule = lr_rule,
                                                                    .max_accumulation = max_accumulation,
                                                                    .recipe = std::string(recipe)});
  by_key_.emplace(Key{profile.model, profile.dataset, precision, lr_rule, max_accumulation, profile.recipe}, &profile);
  return &profile;
}

}  // namespace rehearse::workloads
