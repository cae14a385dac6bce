#include "policies/learn/run_learner.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

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
  std::ranges::copy_if(runs, std::back_inserter(alike),
                       [&](const PastRun& r) { return r.told == Told::run && r.asynchronous == asynchronous; });
  return alike;
}

std::optional<int> Accuracies::fewest_epochs(const PlannedRun& run, double floor, int cap) const {
  return first_enough(cap, [&](int epochs) { return safe_accuracy(run, epochs) >= floor; });
}

std::optional<int> Accuracies::expected_epochs(const PlannedRun& run, double floor, int cap) const {
  return first_enough(cap, [&](int epochs) { return smooth_accuracy(run, epochs) >= floor; });
}

std::optional<int> fewest_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap) {
  return accuracies.fewest_epochs(run, floor, cap);
}

std::optional<int> expected_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap) {
  return accuracies.expected_epochs(run, floor, cap);
}

std::vector<PastRun> points_of_curves(std::span<const PastRun> runs) {
  std::vector<PastRun> points;
  int group = 0;
  for (const PastRun& run : runs) {
    if (run.told != Told::run || run.curve.empty()) {
      points.push_back(run);
      continue;
    }
    ++group;
    const std::size_t last = run.curve.size();
    for (std::size_t epochs = 1; epochs <= last; epochs = epochs < last ? std::min(last, epochs * 2) : last + 1) {
      PastRun point = run;
      point.curve.clear();
      point.group = group;
      point.time_s = run.time_s / run.epochs * static_cast<double>(epochs);
      point.epochs = static_cast<double>(epochs);
      point.accuracy = run.curve[epochs - 1];
      points.push_back(std::move(point));
    }
  }
  return points;
}

RunHistory::RunHistory(std::vector<PastRun> runs) : runs_(std::move(runs)) {
  sim::Mistakes all;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    for (sim::Mistake& mistake : mistakes_in(runs_[i])) {
      mistake.line = static_cast<std::int64_t>(i) + 1;
      all.add(std::move(mistake));
    }
  }
  all.throw_if_any();
}

std::vector<PastRun> RunHistory::of(const sim::Profile& profile) const {
  std::vector<PastRun> found;
  std::ranges::copy_if(runs_, std::back_inserter(found), [&](const PastRun& r) { return is_of(r, profile); });
  return found;
}

std::vector<PastRun> RunHistory::on_instance(const sim::Profile& profile, std::string_view instance) const {
  std::vector<PastRun> found;
  std::ranges::copy_if(runs_, std::back_inserter(found),
                       [&](const PastRun& r) { return tells_time(r) && r.instance == instance && is_of(r, profile); });
  return found;
}

RunHistory::Gathered RunHistory::on_instance_or_borrowed(const sim::Profile& profile, std::string_view instance,
                                                         std::size_t enough, const TimeRatio& ratio) const {
  Gathered gathered{.runs = on_instance(profile, instance)};
  if (gathered.runs.size() >= enough || !ratio) return gathered;
  const std::string from = richest_other_instance(profile, instance);
  if (from.empty()) return gathered;
  const double scale = ratio(from, std::string(instance));
  sim::check(std::isfinite(scale) && scale > 0, "the time ratio of two instances is not a number above 0");
  gathered.borrowed = true;
  for (PastRun& run : on_instance(profile, from)) {
    run.time_s *= scale;
    gathered.runs.push_back(std::move(run));
  }
  return gathered;
}

std::string RunHistory::richest_other_instance(const sim::Profile& profile, std::string_view instance) const {
  std::map<std::string, std::size_t> count;
  for (const PastRun& r : runs_)
    if (tells_time(r) && r.instance != instance && is_of(r, profile)) ++count[r.instance];
  const auto richest =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });  // the first of equals
  return richest == count.end() ? std::string{} : richest->first;
}

}  // namespace rehearse::policies
