// What each configuration leads to if the job takes it for the next stage, in closed form: the stage itself, and the cheapest way
// on with at most one more switch. Cheap enough to be asked at every decision: the noise scale is tabulated over progress once
// for each profile, and examples are integrals over that table (docs/explain/strategies.md, "Learned stages").
#pragma once

#include <map>
#include <span>
#include <vector>

#include "policies/staged/prior.hpp"
#include "sim/replay/alone.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

/// The candidates of a profile as they are believed before anything is measured.
class StageTable {
 public:
  struct Candidate {
    int training_class = -1;  ///< -1: does not fit
    int pool = 0, workers = 0;
    double epoch_s = 0;  ///< with its evaluation
    double usd_per_s = 0;
  };
  /// Candidates that train alike: one global batch and learning rate.
  struct TrainingClass {
    double batch = 0;
    double relative_rate = 0;         ///< set rate over the reference rate; 0: adascale
    std::vector<double> noise_scale;  ///< at each point of the grid
  };

  /// Everything but the candidates must outlive the table.
  StageTable(const sim::Job& job, std::span<const sim::Configuration> candidates, sim::StageRunner& believed,
             const workloads::ProfileModel& model);

  const workloads::ProfileModel& model() const { return model_; }
  const std::vector<sim::Configuration>& configurations() const { return configurations_; }
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const std::vector<TrainingClass>& classes() const { return classes_; }
  /// Progress, from 0 on.
  const std::vector<double>& grid() const { return grid_; }
  /// Progress at which an accuracy is reached, by how far the mean batch lies above the largest without loss.
  using Needed = std::vector<double>;
  /// With all ceilings moved by `ceiling_offset`; kept, and valid as long as the table.
  const Needed& needed(double accuracy, double ceiling_offset) const;
  /// For a mean batch of 2^gap times the largest without loss; infinite when the accuracy is never reached. Linear between
  /// tabulated gaps.
  static double at_gap(const Needed& needed, double gap);

 private:
  const workloads::ProfileModel& model_;
  std::vector<sim::Configuration> configurations_;
  std::vector<Candidate> candidates_;
  std::vector<TrainingClass> classes_;
  std::vector<double> grid_;
  mutable std::map<std::pair<double, double>, Needed> needed_;  ///< by accuracy and offset
};

struct OutlookRequest {
  const sim::Job* job = nullptr;
  const StageTable* table = nullptr;
  const sim::CostRules* costs = nullptr;
  double checkpoint_bytes = 0;
  std::span<const double> ends;  ///< trained epochs at which the stages to come end, but the last
  /// Where the job stands by the corrected belief; what it holds is one of the table's configurations, or any other.
  const sim::Standing* from = nullptr;
  const workloads::Revision* revision = nullptr;
  double epoch_cap = 0;
  /// How much of its training time a safe plan may be wrong about, as a share of the longer; starts and switches are known.
  double reserve = 0;
  /// More than 0: instead exp(-deviations x spread) of its time is planned with, by what is known of it (`StageReserve`).
  double deviations = 0;
  bool offers_held_devices = false;  ///< every batch on the devices held is an option, also where others are cheaper and faster
  const Prior* known = nullptr;      ///< corrected by the stages seen
  double evaluation_deviation = 0;   ///< near the target
};

/// The standard deviation of the logarithm of the training time that is left with one pool and batch.
struct StageReserve {
  double speed = 0;        ///< of the pool, and of stages to come among each other
  double examples = 0;     ///< that the job needs
  double noise_scale = 0;  ///< a change of its logarithm moves that of the examples by `by_noise_scale`
  double by_noise_scale = 0;
  double readings = 0;      ///< progress until evaluations read the target: their noise and the ceiling's
  double error_factor = 1;  ///< on all

  double spread() const;
};

/// One candidate, taken for the next stage. Money and seconds count from now; infinite where the target is never reached.
struct StageOption {
  int candidate = 0;
  bool keeps = false;  ///< what the job holds
  double switch_usd = 0;
  double stage_s = 0, stage_usd = 0;  ///< switching included
  double kept_s = 0, kept_usd = 0;    ///< to the job's end, if nothing changes any more
  double fastest_s = 0;               ///< to the job's end, with at most one more switch
  double plan_s = 0, plan_usd = 0;    ///< the cheapest such way within the deadline
  double safe_usd = 0;                ///< likewise, if it still ends in time with the reserve
  double safest_s = 0;                ///< the soonest end with the reserve
  double epochs = 0;                  ///< of the stage
  double gain = 0;                    ///< share of the progress that is left
};

struct Outlook {
  double time_left_s = sim::kNever;
  double progress_share = 0;  ///< of what the target needs at the smallest batch
  double noise_scale = 0;     ///< at the reference batch, as corrected; samples
  std::vector<StageOption>
      options;  ///< of candidates that no other of their batch beats in both money and time, and the held one
};

Outlook look_ahead(const OutlookRequest& request);

}  // namespace rehearse::policies
