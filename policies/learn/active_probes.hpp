// Which measurement of a profile to buy next, by the value of its information: what the decisions of the jobs to come are worth
// after it, less what they are worth now, less its price (R. A. Howard, "Information value theory", IEEE Trans. SSC 2, 1966),
// between the bounds of monotone envelopes (envelopes.hpp). Two kinds: some steps are timed, or one batch size is trained, whose
// whole curve counts. Nothing that does not repay itself is bought, not even together with another one.
#pragma once

#include <cstddef>
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
};

/// What is known of a job that has arrived.
struct JobLimits {
  double floor = 0;       ///< NaN: none
  double deadline_s = 0;  ///< infinite: none
  double epochs = 0;      ///< exactly so many; of a job with a floor, at most
  double batch_size = 0;  ///< that it must have; 0: any
  double readings = 1;
};

/// Where measurements are made: outside of the queue, paid for as billed.
class Laboratory {
 public:
  struct Measured {
    bool fits = false;  ///< otherwise nothing else is set, and nothing was paid
    PastRun run;
    double held_s = 0;  ///< start-up included
    double usd = 0;     ///< at most the price of the seconds that were allowed
  };
  virtual ~Laboratory() = default;
  virtual double price_usd(std::size_t candidate, double held_s) const = 0;
  /// Start-up, then the longer of 50 steps and 5 s, but `most_s` in all.
  virtual Measured time_steps(std::size_t candidate, double most_s) = 0;
  /// Trains until two evaluations in a row read `until`, at most `epochs` and `most_s` in all. Goes on where the last training
  /// with this batch size ended, if there was one.
  virtual Measured train(std::size_t candidate, double until, double epochs, double most_s) = 0;
};

struct ActiveOptions {
  EnvelopeOptions envelope;
  EnvelopeMargins margins;
  double start_s = 0;     ///< of a job and of a measurement
  double reuse_jobs = 0;  ///< jobs that are expected in all
};

class ActiveProbes {
 public:
  /// Everything must outlive this. `recipe` without a batch: nothing is known of the profile's convergence.
  ActiveProbes(std::vector<ProbeCandidate> candidates, const PastRun& recipe, const ActiveOptions& options,
               Laboratory& laboratory);

  /// A job has arrived: buys what repays itself for jobs like those that have arrived so far. Returns how long this one waits for
  /// measurements: as long as, by what is known before, some configuration would still keep its deadline.
  double arrive(const JobLimits& job, double now_s);
  /// What has been measured by this date; the recipe first.
  std::vector<PastRun> known(double at_s) const;
  /// Known from now on.
  void add(PastRun run) { rows_.push_back({std::move(run), -std::numeric_limits<double>::infinity()}); }
  double cost_usd() const { return cost_usd_; }
  /// Measurements bought so far.
  int probes() const { return probes_; }

 private:
  struct Row {
    PastRun run;
    double known_s = 0;
  };
  class Outlook;
  double time_first(double now_s);
  double time_more(double now_s, const JobLimits& job);
  void train_more(double now_s);
  double buy_times(std::span<const std::size_t> wave, const Outlook& outlook, double now_s);
  std::vector<JobLimits> typical_limits() const;
  double soonest_s(const JobLimits& job, double at_s) const;

  const std::vector<ProbeCandidate> candidates_;
  const ActiveOptions options_;
  Laboratory& laboratory_;
  std::vector<Row> rows_;
  std::vector<JobLimits> arrived_;
  std::vector<bool> timed_;
  double busy_until_s_ = -std::numeric_limits<double>::infinity();
  double cost_usd_ = 0;
  int probes_ = 0;
};

}  // namespace rehearse::policies
