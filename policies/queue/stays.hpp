// How long jobs keep what a discipline gives out anew in rounds or leases. One that is stopped or moved before it keeps anything
// of what it did (a start-up longer than a round, an epoch that diverges, work that no checkpoint keeps) would be so for ever.
#pragma once

#include <vector>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class Stays {
 public:
  /// Until when the job should be left alone, who has lost what it held in vain n times: 2^n rounds after it got what it holds.
  /// 0: as the discipline likes. To be asked before anything is taken from a job.
  double until_s(const sim::QueueJob& job, sim::JobSlot slot, double round_s) {
    const sim::Service& service = job.service;
    if (service.state != sim::JobState::starting && service.state != sim::JobState::running) return 0;
    Stay& stay = of(slot);
    if (service.held_since_s != stay.since_s) {
      const bool in_vain = stay.taken && service.fraction_done <= stay.done;
      stay = {.rounds = in_vain ? 2 * stay.rounds : stay.rounds, .since_s = service.held_since_s, .done = service.fraction_done};
    }
    return stay.rounds > 1 ? stay.since_s + stay.rounds * round_s : 0;
  }
  /// The discipline stops or moves the job.
  void take(sim::JobSlot slot) { of(slot).taken = true; }
  void forget(sim::JobSlot slot) { of(slot) = {}; }

 private:
  struct Stay {
    double rounds = 1;
    double since_s = -1;  // it holds devices, as last seen
    double done = 0;      // part of its work, then
    bool taken = false;   // they have been taken away since
  };
  Stay& of(sim::JobSlot slot) {
    if (stays_.size() <= slot) stays_.resize(slot + 1);
    return stays_[slot];
  }
  std::vector<Stay> stays_;  // by slot
};

}  // namespace rehearse::policies
