// What each decision of an episode was worth, by a critic: generalised advantages (Schulman et al. 2016, arXiv:1506.02438,
// equation 16), less what other episodes of the same job in the same world had at that stage (Kool et al. 2019).
#pragma once

#include <vector>

namespace rehearse::policies {

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
