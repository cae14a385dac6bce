// The cheapest configuration that keeps the limits, taking the belief at its word.
#pragma once

#include "policies/configure/configure.hpp"
#include "policies/configure/menu.hpp"

namespace rehearse::policies {

class CheapestBelieved final : public Configure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::Belief&) override {
    std::vector<sim::Choice> choices;
    for (const sim::Configuration& candidate : view.candidates)
      choices.push_back({.configuration = candidate, .predicted = view.estimate(candidate)});
    return rank(view.job, std::move(choices));
  }
};

}  // namespace rehearse::policies
