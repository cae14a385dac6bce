#include "policies/learn/boosted_learner.hpp"

#include <cmath>

#include "policies/learn/isotonic_learner.hpp"

namespace rehearse::policies {

TimeGuess BoostedLearner::guess_times(std::span<const PastRun> runs) const {
  IsotonicSamples samples = time_samples(runs, RunFeatures::global_batch);
  for (double& y : samples.y) y = std::log(y);
  return [trees = MonotoneTrees::fit(samples, options_)](const PlannedRun& run) {
    return std::exp(trees.predict(time_features(RunFeatures::global_batch, run))) / run.workers;
  };
}

AccuracyGuess BoostedLearner::guess_accuracies(std::span<const PastRun> runs) const {
  return [trees = MonotoneTrees::fit(accuracy_samples(runs, RunFeatures::global_batch), options_)](const PlannedRun& run,
                                                                                                   double epochs) {
    return trees.predict(accuracy_features(RunFeatures::global_batch, run, epochs));
  };
}

}  // namespace rehearse::policies
