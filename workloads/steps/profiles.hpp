// The profiles of a scenario: what its jobs train, each distinct combination once.
#pragma once

#include <deque>
#include <map>
#include <string_view>
#include <tuple>

#include "sim/jobs/job.hpp"

namespace rehearse::workloads {

/// Gives every distinct profile one address, which stays the same while the table lives (jobs point to it), and an index in order
/// of creation, which is the same whatever reads the jobs.
class ProfileTable {
 public:
  ProfileTable() = default;
  ProfileTable(const ProfileTable&) = delete;
  ProfileTable& operator=(const ProfileTable&) = delete;

  /// The names are taken as they are: whoever knows the valid ones checks them.
  const sim::Profile* intern(std::string_view model, std::string_view dataset, sim::Precision precision = sim::Precision::fp32,
                             sim::LrRule lr_rule = sim::LrRule::adascale);

  /// By index.
  const std::deque<sim::Profile>& profiles() const { return profiles_; }

 private:
  using Key = std::tuple<std::string_view, std::string_view, sim::Precision, sim::LrRule>;  // views into profiles_
  std::deque<sim::Profile> profiles_;
  std::map<Key, const sim::Profile*> by_key_;
};

}  // namespace rehearse::workloads
