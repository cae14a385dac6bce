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

// What each decision of an episode was worth, by a critic: generalised advantages (Schulman et al. 2016, arXiv:1506.02438,
// equation 16), less what other episodes of the same job in the same world had at that stage (Kool et al. 2019).

/// An episode with one step for each decision.
struct JudgedCourse {
  struct Step {
    double plan_usd = 1;       ///< what the outlook thought was still to be paid
    double cost_usd = 0;       ///< paid before
    double excess = 0;         ///< what the critic thought that would be over `plan_usd`, - 1
    double advantage = 0;      ///< out; in units of the episodes' spread
    double wanted_excess = 0;  ///< out; what the critic should have thought, from -0.5 to 1
  };
  std::vector<Step> steps;
  double cost_usd = 0;  ///< in all
  double fine = 0;      ///< for broken limits, in shares of the reference
  double reference_usd = 1;
};

/// With worth U_t = -(1 + excess) plan / reference, and -fine after the end: d_t = -paid_t / reference + U_(t+1) - U_t and
/// A_t = d_t + 0.95 A_(t+1). From A_t goes the mean of the other courses' at that stage; alone it counts nothing. Then all are
/// divided by 0.003 + their root mean square, so that easy jobs teach as much as those whose limits are at stake.
void find_advantages(std::vector<JudgedCourse*> of_one_job);

}  // namespace rehearse::policies
