// What the decisions of a profile's jobs are worth, by what has been measured and by what is imagined of measurements to come:
// money of the choices that would be made between the bounds of monotone envelopes (envelopes.hpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "policies/learn/envelopes.hpp"

namespace rehearse::policies {

/// A configuration that jobs of the profile may get, and that may be measured.
struct ProbeCandidate {
  PlannedRun run;
  std::string instance;
  double usd_per_s = 0;
  double start_s = 0;      ///< of a job and of a measurement
  bool too_large = false;  ///< for the memory of its workers, as has been seen
};

/// What is known of a job that has arrived.
struct JobLimits {
  double floor = 0;       ///< NaN: none
  double deadline_s = 0;  ///< infinite: none
  double epochs = 0;      ///< exactly so many; of a job with a floor, at most
  double batch_size = 0;  ///< that it must have; 0: any
  double readings = 1;
};

struct ActiveOptions {
  EnvelopeOptions envelope;
  EnvelopeMargins margins;
  const BelievedRuns* believed = nullptr;  ///< before anything is measured; null: nothing
  double reuse_jobs = 0;                   ///< jobs that are expected in all
  double budget = 0.05;                    ///< of what those are expected to cost: for all measurements but the first
};

/// What decisions are worth, by what is known and what is imagined.
class ProbeOutlook {
 public:
  ProbeOutlook(std::span<const ProbeCandidate> candidates, std::span<const PastRun> runs, const ActiveOptions& options,
               std::vector<JobLimits> limits);

  std::size_t size() const { return candidates_.size(); }
  std::size_t batches() const { return slots_.size(); }
  std::size_t slot(std::size_t candidate) const { return slot_[candidate]; }
  const LogBounds& time(std::size_t candidate) const { return times_[candidate]; }
  const LogBounds& epochs(std::size_t job, std::size_t slot) const { return epochs_[job][slot]; }
  double trained(std::size_t slot) const { return trained_[slot]; }
  const std::vector<JobLimits>& limits() const { return limits_; }
  /// Its time counts as known.
  bool is_known(std::size_t candidate) const;
  double epoch_s(std::size_t c) const { return epoch_s_[c]; }
  double longest_epoch_s(std::size_t c) const { return longest_epoch_s_[c]; }
  double longest_step_s(std::size_t c) const;

  double safe_s(std::size_t job, std::size_t c) const;
  /// Of the one that is sure to be over first.
  double soonest_s(std::size_t job) const;
  double expected_s(std::size_t job, std::size_t c) const {
    return candidates_[c].start_s + epoch_s_[c] * training_[job][slot_[c]].expected;
  }
  double expected_usd(std::size_t job, std::size_t c) const { return candidates_[c].usd_per_s * expected_s(job, c); }
  double least_s(std::size_t job, std::size_t c) const {
    return candidates_[c].start_s + candidates_[c].run.samples * std::exp(times_[c].low + epochs_[job][slot_[c]].low);
  }
  double least_usd(std::size_t job, std::size_t c) const { return candidates_[c].usd_per_s * least_s(job, c); }
  bool may_take(std::size_t job, std::size_t c) const {
    return !candidates_[c].too_large &&
           (limits_[job].batch_size == 0 || limits_[job].batch_size == candidates_[c].run.batch_size);
  }
  /// Could it keep the deadline, at its best?
  bool may_keep(std::size_t job, std::size_t c) const { return may_take(job, c) && least_s(job, c) <= limits_[job].deadline_s; }

  /// What would be decided for a job.
  struct Decision {
    std::size_t candidate = 0;       ///< size(): none is sure to keep the limits
    double usd = kUnbounded;         ///< expected; without a sure one `unsure_usd`
    double unsure_usd = kUnbounded;  ///< the fastest one's twice: a broken limit costs the run again
  };
  Decision decide(std::size_t job) const;
  double worth_usd() const;
  /// Mean money of a job of each that was decided with less knowledge, by what is known here. What would be decided alike costs
  /// exactly `worth_usd()`.
  double decided_usd(std::span<const Decision> before) const;
  std::vector<Decision> decisions() const;

  /// As if the steps of this one had been timed, `share` of the way up its interval.
  void imagine_time(std::size_t candidate, double share);
  /// As if this batch had been trained; `share` above 1: it never reaches the floors.
  void imagine_training(std::size_t slot, double share);
  /// Whether a training at this batch may never reach the floors.
  bool may_never(std::size_t slot) const;
  double likely_high(std::size_t job, std::size_t slot) const;
  /// Of a training at this batch: what stands for all that it may show.
  std::vector<double> shares_of_training(std::size_t slot) const;
  /// The candidate that trains this batch: the cheapest whose time is known, or one that is over sooner for little more. None:
  /// size.
  std::size_t trainer_of(std::size_t slot, double spare_usd) const;

 private:
  /// Epochs of a job at a batch.
  struct Training {
    double safe = 0, expected = 0, likely = 0;
  };
  void settle_time(std::size_t c);
  void settle_training(std::size_t job, std::size_t slot);

  std::span<const ProbeCandidate> candidates_;
  const ActiveOptions& options_;
  std::vector<JobLimits> limits_;
  std::vector<double> epoch_s_, longest_epoch_s_;
  std::vector<std::vector<Training>> training_;  // by job and batch
  std::vector<double> workers_, batches_, noise_;
  std::vector<TimeSlack> slack_;
  std::vector<LogBounds> times_;
  std::vector<double> slots_, trained_;  // of each batch: its logarithm, epochs of the longest training
  std::vector<std::size_t> slot_;
  std::vector<std::vector<LogBounds>> epochs_;  // by job and batch
  double epoch_noise_ = 0;
};

/// Shares of an interval that stand for all of it.
inline constexpr double kImaginedShares[] = {1.0 / 6, 0.5, 5.0 / 6};

/// Mean money of a job after what is imagined with each share, were it decided before, and decided when that is known. Both are
/// priced in each outcome by what is known then, so that what changes no decision saves exactly nothing.
struct Foreseen {
  double unaware_usd = 0, aware_usd = 0;
  double saved_usd() const { return std::isfinite(unaware_usd) ? unaware_usd - aware_usd : 0; }
};

template <class Imagine>
Foreseen foresee(std::span<const ProbeOutlook::Decision> decided, const ProbeOutlook& now, std::span<const double> shares,
                 Imagine&& imagine) {
  Foreseen mean;
  for (const double share : shares) {
    ProbeOutlook then = now;
    imagine(then, share);
    mean.unaware_usd += then.decided_usd(decided) / static_cast<double>(shares.size());
    mean.aware_usd += then.worth_usd() / static_cast<double>(shares.size());
  }
  return mean;
}

}  // namespace rehearse::policies
