// Strategies that are made elsewhere: by a process of the user's own, say (scenarios/process). They stand in a policy in the
// place of a registered one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "policies/configure/configure.hpp"
#include "policies/registry/place_planned.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

/// What such a strategy is made with, in one run. Pointers must outlive it.
struct OutsideInputs {
  std::string policy;  ///< its name
  const sim::Cluster* cluster = nullptr;
  const workloads::Belief* belief = nullptr;
  std::uint64_t policy_seed = 0;
  int repetition = 0;
  std::string folder;  ///< for files about it; empty: none
};

/// Makes one for whichever decision it stands in for. Throws PolicyError when it cannot.
class OutsideStrategy {
 public:
  virtual ~OutsideStrategy() = default;
  virtual std::unique_ptr<Configure> configure(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Place> place(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Threads> threads(const OutsideInputs& inputs) const = 0;
  virtual std::unique_ptr<sim::Queue> queue(const OutsideInputs& inputs) const = 0;
};

}  // namespace rehearse::policies
