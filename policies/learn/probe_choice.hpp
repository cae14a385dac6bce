// Who is measured next: strategies that choose their own past runs, one after the other, instead of taking the shared ones. Plain
// values, so that the runs may come from a simulator as well as from a table.
#pragma once

#include <cstdint>
#include <string>

#include "policies/learn/run_learner.hpp"
#include "sim/jobs/job.hpp"

namespace rehearse::policies {

/// A run that could be measured.
struct Probe {
  PlannedRun run;
  std::string instance;
  double epochs = 0;
  double usd_per_s = 0;
  double start_s = 0;  ///< paid before the first epoch, not part of PastRun::time_s
};

/// All of one profile.
struct ProbeView {
  std::span<const Probe> pool;    ///< not measured yet; at least one
  std::span<const PastRun> seen;  ///< what the probes so far measured
  const sim::Job& typical;        ///< the first that arrived: its objective and its limits are what is searched for
  std::size_t budget = 0;         ///< probes in all, those that were seen among them
  std::uint64_t random_key = 0;   ///< of this choice
};

class ProbeChooser {
 public:
  virtual ~ProbeChooser() = default;
  /// An index into the pool.
  virtual std::size_t next(const ProbeView& view) = 0;
};

/// Any configuration, trained to the end: as many epochs as the pool has for it.
class RandomProbes final : public ProbeChooser {
 public:
  std::size_t next(const ProbeView& view) override;
};

/// Gaussian processes of epoch time (all instances together) and accuracy; the first probes are random, `initial` for each
/// instance and at most a third of the budget, then the one of largest expected improvement of the objective x probability of
/// keeping the limits: O. Alipourfard et al., "CherryPick", NSDI 2017, section 3.4; P. Mendes et al., "TrimTuner", MASCOTS 2020,
/// equation 2. Until a run has kept the limits, the probability alone (M. A. Gelbart et al., UAI 2014, section 3.2).
class BayesianProbes final : public ProbeChooser {
 public:
  /// `curves`: all evaluations of a run count, not its last alone.
  explicit BayesianProbes(std::size_t initial, bool curves = false, double noise_factor = 1)
      : initial_(initial), curves_(curves), noise_factor_(noise_factor) {}
  std::size_t next(const ProbeView& view) override;

 private:
  std::size_t initial_;
  bool curves_;
  double noise_factor_;
};

}  // namespace rehearse::policies
