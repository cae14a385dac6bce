#include "policies/learn/run_learner.hpp"

#include <algorithm>
#include <iterator>

namespace rehearse::policies {

namespace {

/// The first of 1..cap for which `enough` holds, if it holds for all after that. Doubled until it holds, then halved in between.
template <class Enough>
std::optional<int> first_enough(int cap, Enough&& enough) {
  int too_few = 0, reached = 1;
  while (reached < cap && !enough(reached)) {
    too_few = reached;
    reached = reached > cap / 2 ? cap : reached * 2;
  }
  if (cap < 1 || (reached == cap && !enough(cap))) return std::nullopt;
  while (reached - too_few > 1) {
    const int middle = too_few + (reached - too_few) / 2;
    (enough(middle) ? reached : too_few) = middle;
  }
  return reached;
}

}  // namespace

PlannedRun planned(const PastRun& run) {
  return {.workers = run.workers, .batch_size = run.batch_size, .samples = run.samples, .asynchronous = run.asynchronous};
}

std::vector<PastRun> trained_alike(std::span<const PastRun> runs, bool asynchronous) {
  std::vector<PastRun> alike;
  std::ranges::copy_if(runs, std::back_inserter(alike), [&](const PastRun& r) { return r.asynchronous == asynchronous; });
  return alike;
}

std::optional<int> fewest_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap) {
  return first_enough(cap, [&](int epochs) { return accuracies.safe_accuracy(run, epochs) >= floor; });
}

std::optional<int> expected_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap) {
  return first_enough(cap, [&](int epochs) { return accuracies.smooth_accuracy(run, epochs) >= floor; });
}

}  // namespace rehearse::policies
