// How firm a run's verdict is (report/certificate.hpp).
#pragma once

#include <limits>

#include "experiments/run/run.hpp"
#include "report/certificate.hpp"

namespace rehearse::scenarios {

/// Replays may take at most so many times those of the run itself.
inline constexpr double kCertificateShare = 9;

/// Varies one quantity at a time around the scenario, by bisection on a scale of factors, and judges each changed world by means
/// over the same first repetitions: noise, arrivals and policies draw what they drew in the run. `figures` are those of the run
/// itself, whose jobs.csv is in the folder, and `drawn` what they show of the drawn jobs. The scenario is as it was afterwards:
/// only children change their copy. Interrupts must be held. Throws as map_processes does.
report::Certificate certify(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder,
                            const report::VerdictInput& figures, const report::Statement& drawn);

// One change of a scenario.

enum class Quantity { model_error, load, price, switching };

/// What the quantities of a scenario are multiplied by, or (`model_error`) set to.
struct ScenarioChange {
  Quantity quantity = Quantity::load;
  double value = 1;
  int pool = -1;  ///< whose price
};

void apply(const ScenarioChange& change, Scenario& scenario);

/// The nearest value beyond `from` that reverses, found by halving the ratio between the farthest value that holds and the
/// nearest that reverses; both in one direction, on a scale of factors (a difference where `from` is 0).
class Bracket {
 public:
  /// `to` is tried first: when it holds, nothing nearer is.
  Bracket(double from, double to) : holds_(from), next_(to) {}
  /// Nothing more to try: all holds, or the two are close as report::kReversalTolerance has it.
  bool is_done() const;
  double next() const { return next_; }
  void tried(bool holds);
  double holds_to() const { return holds_; }
  double falls_at() const { return falls_; }  ///< NaN: nothing reversed

 private:
  double holds_;
  double falls_ = std::numeric_limits<double>::quiet_NaN();
  double next_;
  bool all_holds_ = false;
};

}  // namespace rehearse::scenarios
