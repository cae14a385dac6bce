#include "policies/learn/run_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace rehearse::policies {

std::vector<sim::Mistake> mistakes_in(const PastRun& run) {
  std::vector<sim::Mistake> mistakes;
  const auto expect = [&](bool ok, const char* column, const char* expected, double found) {
    if (!ok) mistakes.push_back({.pointer = column, .expected = expected, .found = fmt::format("{}", found)});
  };
  const auto expect_positive = [&](const char* column, double value) {
    expect(std::isfinite(value) && value > 0, column, "a number above 0", value);
  };
  const auto expect_name = [&](const char* column, const std::string& name) {
    if (name.empty()) mistakes.push_back({.pointer = column, .expected = "a name", .found = "nothing"});
  };
  expect_name("model", run.model);
  expect_name("dataset", run.dataset);
  expect_name("instance", run.instance);
  expect(run.workers >= 1, "workers", "a whole number of at least 1", run.workers);
  expect_positive("batch_size", run.batch_size);
  expect_positive("samples", run.samples);
  expect_positive("epochs", run.epochs);
  expect_positive("time_s", run.time_s);
  expect(run.accuracy >= 0 && run.accuracy <= 1, "accuracy", "a number from 0 to 1", run.accuracy);
  return mistakes;
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

std::vector<PastRun> RunHistory::on_instance(std::string_view model, std::string_view instance) const {
  std::vector<PastRun> found;
  std::ranges::copy_if(runs_, std::back_inserter(found),
                       [&](const PastRun& r) { return r.model == model && r.instance == instance; });
  return found;
}

RunHistory::Gathered RunHistory::on_instance_or_borrowed(std::string_view model, std::string_view instance, std::size_t enough,
                                                         const TimeRatio& ratio) const {
  Gathered gathered{.runs = on_instance(model, instance)};
  if (gathered.runs.size() >= enough || !ratio) return gathered;
  const std::string from = richest_other_instance(model, instance);
  if (from.empty()) return gathered;
  const double scale = ratio(from, std::string(instance));
  sim::check(std::isfinite(scale) && scale > 0, "the time ratio of two instances is not a number above 0");
  gathered.borrowed = true;
  for (PastRun& run : on_instance(model, from)) {
    run.time_s *= scale;
    gathered.runs.push_back(std::move(run));
  }
  return gathered;
}

std::vector<PastRun> RunHistory::on_dataset(std::string_view model, std::string_view dataset) const {
  std::vector<PastRun> found;
  std::ranges::copy_if(runs_, std::back_inserter(found),
                       [&](const PastRun& r) { return r.model == model && r.dataset == dataset; });
  return found;
}

std::string RunHistory::richest_other_instance(std::string_view model, std::string_view instance) const {
  std::map<std::string, std::size_t> count;
  for (const PastRun& r : runs_)
    if (r.model == model && r.instance != instance) ++count[r.instance];
  const auto richest =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });  // the first of equals
  return richest == count.end() ? std::string{} : richest->first;
}

}  // namespace rehearse::policies
