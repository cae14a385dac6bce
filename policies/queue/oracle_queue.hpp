// A discipline that is told true durations instead of believed ones; its name in the registry begins with "oracle".
#pragma once

#include <utility>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

template <class Discipline>
class WithTruth final : public sim::OracleQueue {
 public:
  explicit WithTruth(Discipline discipline) : discipline_(std::move(discipline)) {}
  void learn(const sim::Truth& truth) override { discipline_.durations().learn(truth); }
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override { discipline_.decide(view, answer); }

 private:
  Discipline discipline_;
};

}  // namespace rehearse::policies
