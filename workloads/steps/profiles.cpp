#include "workloads/steps/profiles.hpp"

#include <string>

namespace rehearse::workloads {

const sim::Profile* ProfileTable::intern(std::string_view model, std::string_view dataset, sim::Precision precision,
                                         sim::LrRule lr_rule) {
  const auto known = by_key_.find(Key{model, dataset, precision, lr_rule});
  if (known != by_key_.end()) return known->second;
  const sim::Profile& profile = profiles_.emplace_back(sim::Profile{.index = static_cast<int>(profiles_.size()),
                                                                    .model = std::string(model),
                                                                    .dataset = std::string(dataset),
                                                                    .precision = precision,
                                                                    .lr_rule = lr_rule});
  by_key_.emplace(Key{profile.model, profile.dataset, precision, lr_rule}, &profile);
  return &profile;
}

}  // namespace rehearse::workloads
