// Which measurement of a profile to buy next, by the value of its information: what the decisions of the jobs to come are worth
// after it, less what they are worth now, less its price (R. A. Howard, "Information value theory", IEEE Trans. SSC 2, 1966),
// between the bounds of monotone envelopes (envelopes.hpp). Two kinds: some steps are timed, or one batch size is trained, whose
// whole curve counts. Nothing that does not repay itself is bought, not even together with another one.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policies/learn/probe_outlook.hpp"

namespace rehearse::policies {

/// Where measurements are made: outside of the queue, paid for as billed.
class Laboratory {
 public:
  struct Measured {
    bool fits = false;  ///< otherwise `run` says that it was out of memory, or it has diverged and nothing else is set
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

class ActiveProbes {
 public:
  /// Everything must outlive this. `recipe` without a batch: nothing is known of the profile's convergence.
  ActiveProbes(std::vector<ProbeCandidate> candidates, const PastRun& recipe, const ActiveOptions& options,
               Laboratory& laboratory);

  /// A job has arrived: buys what repays itself for jobs like those that have arrived so far. Returns how long this one waits for
  /// measurements: no longer than, by what is known before, some configuration would still keep its deadline.
  double arrive(const JobLimits& job, double now_s);
  /// What has been measured by this date, the readings of trainings under way among it; the recipe first.
  std::vector<PastRun> known(double at_s) const;
  /// Known from now on.
  void add(PastRun run);
  double cost_usd() const { return cost_usd_; }
  /// Measurements bought so far.
  int probes() const { return probes_; }

 private:
  struct Row {
    PastRun run;
    double known_s = 0;
    double training = 0;             ///< its batch size, where it is a training of ours: of each the last row counts; else 0
    double expected_s = 0;           ///< when a training was expected to be known
    double begin_s = 0, before = 0;  ///< of a training: its first step, and the epochs that were trained by then
    /// Of a training under way, what its evaluations have read by this date; without a new one no run.
    std::optional<PastRun> read_by(double at_s) const;
  };
  /// Of a training: until which accuracy, at most and about how many epochs of how many seconds.
  struct Plan {
    double until = 0, epochs = 0, expected_epochs = 0, epoch_s = 0, longest_epoch_s = 0;
  };
  struct Training {
    double epochs = 0;   ///< trained so far
    double reached = 0;  ///< the accuracy that it was to read twice, and did
    double end_s = 0;
  };
  double time_first(double now_s);
  std::vector<std::size_t> first_of_instances() const;
  double time_more(double now_s, const JobLimits& job);
  void train_more(double now_s);
  double train(std::size_t candidate, const Plan& plan, double now_s);
  double measure(const JobLimits& job, double now_s);
  double wait_for_trainings(const JobLimits& job, double now_s, double waited_s) const;
  double jobs_to_come() const;
  /// What may still be spent, where a job costs so much.
  double left_usd(double job_usd) const;
  void note_too_large(const PastRun& run);
  void pay(const Laboratory::Measured& measured, std::size_t candidate, double most_s);
  double buy_times(std::span<const std::size_t> wave, const ProbeOutlook& outlook, double now_s);
  std::vector<JobLimits> typical_limits() const;

  std::vector<ProbeCandidate> candidates_;
  const ActiveOptions options_;
  Laboratory& laboratory_;
  std::vector<Row> rows_;
  std::vector<JobLimits> arrived_;
  std::vector<bool> timed_;
  std::map<double, Training> trainings_;  ///< by batch size
  /// Steps are being timed.
  double busy_until_s_ = -std::numeric_limits<double>::infinity();
  std::size_t ended_ = 0, think_at_ = 1;  ///< of trainings, when it last thought; jobs that have arrived when it will again
  double highest_floor_ = 0, shortest_s_ = std::numeric_limits<double>::infinity();  ///< of jobs that it has thought of
  double cost_usd_ = 0;
  int probes_ = 0;
};

}  // namespace rehearse::policies
