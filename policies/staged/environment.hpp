// What a staged strategy learns in: one job alone in a drawn world, stage by stage. A stage costs what the replay charges for it,
// and shows what the replay shows, noise included.
#pragma once

#include <deque>
#include <vector>

#include "sim/replay/alone.hpp"

namespace rehearse::policies {

class Episode {
 public:
  /// Both must outlive the episode; the runner is on the world's models.
  Episode(const sim::Job& job, sim::StageRunner& world) : job_(job), world_(world) {}

  /// Runs the choice until its stage or the job ends. False, and the job has ended, when it does not fit.
  bool step(const sim::Choice& choice);

  bool ended() const { return standing_.ended; }
  /// Stages after which the job goes on, as they were measured.
  const std::vector<sim::StageSeen>& seen() const { return seen_; }
  /// True time, money and accuracy so far.
  const sim::Standing& standing() const { return standing_; }
  /// Relative lateness of an ended job; 0 in time.
  double lateness() const;
  /// Accuracy that an ended job lacks to its floor beyond what one evaluation may miss; 0 when it has it.
  double shortfall() const;

 private:
  const sim::Job& job_;
  sim::StageRunner& world_;
  std::deque<sim::Configuration> held_;  ///< the standing points to the last
  sim::Standing standing_;
  std::vector<sim::StageSeen> seen_;
};

}  // namespace rehearse::policies
