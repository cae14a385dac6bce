// Learners that only guess: a function of the run, made safe by what the guess gets wrong on runs that it has not seen.
#pragma once

#include <functional>

#include "policies/learn/run_learner.hpp"

namespace rehearse::policies {

using TimeGuess = std::function<double(const PlannedRun&)>;                     ///< seconds an epoch
using AccuracyGuess = std::function<double(const PlannedRun&, double epochs)>;  ///< accuracy

/// Times are held within a millionth of the shortest and a million times the longest epoch measured. The safety margin is a
/// quantile of the errors on held-out tenths of the runs, relative for times, absolute for accuracies, at least 0. Censored runs
/// join in where the guess without them stays below their bound, as if that had been measured; they are never held out. A run
/// outside the range of the past workers, batches and epochs is extrapolated.
class PointLearner : public RunLearner {
 public:
  explicit PointLearner(double margin_quantile) : margin_quantile_(margin_quantile) {}
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;

 protected:
  /// At least one run, none of them censored.
  virtual TimeGuess guess_times(std::span<const PastRun> runs) const = 0;
  /// The same; all of them trained alike.
  virtual AccuracyGuess guess_accuracies(std::span<const PastRun> runs) const = 0;
  double margin_quantile() const { return margin_quantile_; }

 private:
  double margin_quantile_;
};

/// The runs that are not censored, then those censored ones that `falls_short` of what was learned from the former, as if
/// measured. All of them where every run is censored.
template <class Learn, class FallsShort>
std::vector<PastRun> with_binding_bounds(std::span<const PastRun> runs, Learn&& learn, FallsShort&& falls_short) {
  std::vector<PastRun> kept, censored;
  for (const PastRun& run : runs) (run.censored ? censored : kept).push_back(run);
  if (censored.empty()) return kept;
  if (kept.empty()) {
    kept = std::move(censored);
  } else {
    const auto learned = learn(kept);
    for (PastRun& run : censored)
      if (falls_short(learned, run)) kept.push_back(run);
  }
  for (PastRun& run : kept) run.censored = false;
  return kept;
}

}  // namespace rehearse::policies
