#include "workloads/training/past_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

namespace rehearse::workloads {

bool is_of(const PastRun& run, const sim::Profile& profile) {
  return run.model == profile.model && run.dataset == profile.dataset && run.precision == profile.precision &&
         run.lr_rule == profile.lr_rule && run.max_accumulation == profile.max_accumulation && run.recipe == profile.recipe;
}

bool PastRun::operator==(const PastRun& o) const {
  const auto values = [](const PastRun& r) {
    return std::tie(r.model, r.dataset, r.precision, r.lr_rule, r.max_accumulation, r.recipe, r.instance, r.workers, r.batch_size,
                    r.samples, r.epochs, r.time_s, r.accuracy, r.asynchronous, r.target_accuracy, r.censored, r.servers,
                    r.learning_rate, r.curve, r.told, r.group);
  };
  const bool no_price = std::isnan(price_usd_per_hour) && std::isnan(o.price_usd_per_hour);
  return values(*this) == values(o) && (no_price || price_usd_per_hour == o.price_usd_per_hour);
}

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
  if (run.told != Told::recipe) expect_name("instance", run.instance);
  expect(run.workers >= 1, "workers", "a whole number of at least 1", run.workers);
  expect_positive("batch_size", run.batch_size);
  expect_positive("samples", run.samples);
  if (run.told != Told::out_of_memory) expect_positive("epochs", run.epochs);
  if (tells_time(run)) expect_positive("time_s", run.time_s);
  expect(run.servers >= 0, "servers", "a whole number of at least 0", run.servers);
  expect(std::isfinite(run.learning_rate) && run.learning_rate >= 0, "learning_rate", "a number of at least 0",
         run.learning_rate);
  expect(std::isnan(run.price_usd_per_hour) || (std::isfinite(run.price_usd_per_hour) && run.price_usd_per_hour > 0),
         "price_usd_per_hour", "a number above 0", run.price_usd_per_hour);
  expect(run.accuracy >= 0 && run.accuracy <= 1, "accuracy", "a number from 0 to 1", run.accuracy);
  expect(run.target_accuracy >= 0 && run.target_accuracy <= 1, "target_accuracy", "a number from 0 to 1", run.target_accuracy);
  return mistakes;
}

}  // namespace rehearse::workloads
