#include "experiments/run/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "experiments/run/chance.hpp"
#include "experiments/run/map_processes.hpp"
#include "experiments/run/run_one.hpp"
#include "policies/registry/bundle.hpp"
#include "sim/base/errors.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

using report::CertifiedChange;

// How far each quantity may well be from what a scenario has, and how far it is looked.
constexpr double kUncalibratedError = 0.30;  // of step times of devices that were not measured: docs/evidence/measurements.md
constexpr double kFarthestError = 0.60;
constexpr double kLikelyLoad = 1.5, kFarthestLoad = 4;
constexpr double kLikelyPrice = 1.25, kFarthestPrice = 4;
constexpr double kLikelySwitching = 3, kFarthestSwitching = 10;

/// What the winner spent most of its money on, by the first repetition's records.
struct Spending {
  int pool = -1;
  std::string model;
};

Spending spending_of(const Scenario& scenario, const std::string& jobs_file, std::string_view policy) {
  if (!std::filesystem::exists(jobs_file)) return {};  // the scenario keeps no records of jobs
  std::map<std::string, double> pools, models;
  sim::CsvReader csv(jobs_file, {.required = {"policy", "model", "pool", "cost_usd"}});
  while (sim::CsvRow* row = csv.next()) {
    if (row->text("policy") != policy || !row->has("pool")) continue;
    const double usd = row->number("cost_usd", {}, 0);
    pools[std::string(row->text("pool"))] += usd;
    if (row->has("model")) models[std::string(row->text("model"))] += usd;
  }
  const auto most = [](const std::map<std::string, double>& of) {
    const auto found = std::max_element(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return found == of.end() ? std::string() : found->first;
  };
  Spending spending{.model = most(models)};
  const std::string pool = most(pools);
  for (std::size_t p = 0; p < scenario.cluster.pools.size(); ++p)
    if (scenario.cluster.pools[p].name == pool) spending.pool = static_cast<int>(p);
  return spending;
}

bool arrives_over_time(const Scenario& scenario) {
  return !scenario.generators.empty() ||
         std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const sim::Job& job) { return job.submit_s > 0; });
}

/// A quantity, one direction.
struct Search {
  CertifiedChange change;
  ScenarioChange with;
  Bracket bracket;
  bool is_main = true;  ///< the direction that a verdict is more likely to fall in
};

std::vector<Search> searches_of(const Scenario& scenario, const Spending& spending) {
  std::vector<Search> all;
  const auto add = [&](CertifiedChange change, ScenarioChange with, double farthest) {
    const double from = change.unchanged;
    all.push_back({std::move(change), with, Bracket(from, farthest)});
  };
  const auto both_ways = [&](const CertifiedChange& change, ScenarioChange with, double farthest) {
    add(change, with, farthest);
    CertifiedChange down = change;
    down.likely = 1 / change.likely;
    add(down, with, 1 / farthest);
    all.back().is_main = false;
  };
  const bool has_model = trains(scenario) && !spending.model.empty();
  const std::string pool = spending.pool < 0 ? "" : scenario.cluster.pools[static_cast<std::size_t>(spending.pool)].name;
  if (has_model) {
    const double error = scenario.world_errors.model_error;
    add({.quantity = "model error",
         .is_factor = false,
         .unchanged = error,
         .likely = std::max(kUncalibratedError, 2 * error),
         .settled_by = fmt::format("measured step times of {}{} (traces/measure, rehearse calibrate)", spending.model,
                                   pool.empty() ? "" : " on " + pool)},
        {Quantity::model_error}, std::max(kFarthestError, 4 * error));
  }
  if (arrives_over_time(scenario))
    both_ways({.quantity = "load", .likely = kLikelyLoad, .settled_by = "a count of the jobs that arrive in a week"},
              {Quantity::load}, kFarthestLoad);
  if (spending.pool >= 0 && scenario.cluster.pools.size() > 1)
    both_ways({.quantity = fmt::format("price of {}", pool),
               .likely = kLikelyPrice,
               .settled_by = fmt::format("an offer for {}", pool)},
              {Quantity::price, 1, spending.pool}, kFarthestPrice);
  if (trains(scenario))
    both_ways({.quantity = "switching times",
               .likely = kLikelySwitching,
               .settled_by = fmt::format("the measured start-up{} (containers, data, first batch)",
                                         has_model ? " of " + spending.model : "")},
              {Quantity::switching}, kFarthestSwitching);
  return all;
}

constexpr const char* kFailed = "failed";

std::string to_text(const report::VerdictFigures& figures) {
  return fmt::format("{} {}", figures.broken_share, figures.effective_cost_usd);
}

report::VerdictFigures figures_from(const std::string& text) {
  std::istringstream in(text);
  std::string broken, cost;
  in >> broken >> cost;
  return {.broken_share = std::stod(broken), .effective_cost_usd = std::stod(cost)};
}

class Certifier {
 public:
  Certifier(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder, const report::VerdictInput& figures,
            const report::Statement& drawn)
      : scenario_(scenario), options_(options), folder_(folder), figures_(figures) {
    certificate_.winner = drawn.winner;
    for (std::size_t p = 0; p < figures.policies.size(); ++p)
      if (!figures.policies[p].is_yardstick && !figures.policies[p].repetitions.empty()) contestants_.push_back(p);
  }

  report::Certificate certify() {
    if (certificate_.winner.empty()) return certificate_;
    std::vector<Search> searches =
        searches_of(scenario_, spending_of(scenario_, folder_.part() + "/jobs.csv", certificate_.winner));
    plan(searches);
    while (left_ > 0) {
      std::vector<Search*> now;
      for (Search& search : searches)
        if (!search.bracket.is_done() && static_cast<int>(now.size()) < left_) now.push_back(&search);
      if (now.empty()) break;
      try_all(now);
    }
    for (Search& search : searches) {
      search.change.holds_to = search.bracket.holds_to();
      search.change.falls_at = search.bracket.falls_at();
      certificate_.changes.push_back(std::move(search.change));
    }
    return std::move(certificate_);
  }

 private:
  /// Changed worlds that can be afforded, each with as many repetitions as leave five tries for every search.
  void plan(std::vector<Search>& searches) {
    constexpr int kTries = 5;
    const double run = static_cast<double>(figures_.policies.size()) * scenario_.repetitions;
    const double replays = kCertificateShare * run, each = static_cast<double>(contestants_.size());
    const int all = std::max(1, static_cast<int>(figures_.policies[contestants_.front()].repetitions.size()));
    int repetitions = std::clamp(static_cast<int>(replays / each / static_cast<double>(kTries * searches.size())), 1, all);
    // So many that the verdict is seen in them while nothing is changed.
    while (repetitions < all && !reversal(first(repetitions), certificate_.winner).empty())
      repetitions = std::min(all, 2 * repetitions);
    certificate_.repetitions = repetitions;
    left_ = static_cast<int>(replays / each / certificate_.repetitions);
    if (left_ < kTries * static_cast<int>(searches.size())) std::erase_if(searches, [](const Search& s) { return !s.is_main; });
  }

  report::VerdictInput first(int repetitions) const {
    report::VerdictInput input = figures_;
    for (report::VerdictPolicy& policy : input.policies)
      if (!policy.repetitions.empty()) policy.repetitions.resize(static_cast<std::size_t>(repetitions));
    return input;
  }

  /// One changed world a search.
  void try_all(const std::vector<Search*>& searches) {
    const auto policies = static_cast<int>(contestants_.size()), repetitions = certificate_.repetitions;
    const int each = policies * repetitions, tasks = each * static_cast<int>(searches.size());
    const std::vector<std::string> texts = map_processes(tasks, processes_of(options_), folder_, [&](int task) {
      ScenarioChange change = searches[static_cast<std::size_t>(task / each)]->with;
      change.value = searches[static_cast<std::size_t>(task / each)]->bracket.next();
      try {
        return to_text(replayed(change, contestants_[static_cast<std::size_t>(task % each / repetitions)], task % repetitions));
      } catch (const sim::PolicyError&) {
        return std::string(kFailed);
      }
    });
    for (std::size_t s = 0; s < searches.size(); ++s) {
      report::VerdictInput changed{.reference = figures_.reference, .limits_margin = figures_.limits_margin};
      for (int p = 0; p < policies; ++p) {
        changed.policies.push_back({.name = figures_.policies[contestants_[static_cast<std::size_t>(p)]].name});
        const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(s) * each + p * repetitions, end = begin + repetitions;
        if (std::find(begin, end, kFailed) != end) continue;
        for (auto text = begin; text != end; ++text) changed.policies.back().repetitions.push_back(figures_from(*text));
      }
      const std::string instead = reversal(changed, certificate_.winner);
      if (!instead.empty()) searches[s]->change.instead = instead;
      searches[s]->bracket.tried(instead.empty());
    }
    left_ -= static_cast<int>(searches.size());
    certificate_.replays += tasks;
    certificate_.run_share = certificate_.replays / (static_cast<double>(figures_.policies.size()) * scenario_.repetitions);
  }

  /// In the child: its copy of the scenario is its own.
  report::VerdictFigures replayed(const ScenarioChange& change, std::size_t policy, int repetition) const {
    apply(change, scenario_);
    const report::RunMetrics m =
        replay_one(
            scenario_, {.policy = policy, .repetition = repetition}, [](const sim::ReplayProgress&) {}, sim::run_plain)
            .outcome.metrics;
    return {.broken_share = m.jobs > 0 ? m.limits_broken / m.jobs : 0, .effective_cost_usd = m.effective_cost_usd};
  }

  Scenario& scenario_;
  const RunOptions& options_;
  const ResultsFolder& folder_;
  const report::VerdictInput& figures_;
  std::vector<std::size_t> contestants_;  ///< policies but yardsticks
  report::Certificate certificate_;
  int left_ = 0;  ///< changed worlds that may still be tried
};

}  // namespace

void apply(const ScenarioChange& change, Scenario& scenario) {
  switch (change.quantity) {
    case Quantity::model_error: {
      // All errors keep their proportions; where there are none, those of the defaults.
      workloads::WorldErrors& e = scenario.world_errors;
      if (e.model_error <= 0) {
        const bool is_of_other_form = e.is_of_other_form;
        e = workloads::WorldErrors::scaled(change.value);
        e.is_of_other_form = is_of_other_form;
        return;
      }
      e.scale(change.value / e.model_error);
      return;
    }
    case Quantity::load:
      for (sim::Job& job : scenario.jobs) job.submit_s /= change.value;
      for (workloads::GeneratorSettings& generator : scenario.generators) {
        generator.first_submit_s /= change.value;
        generator.arrivals_per_hour *= change.value;
      }
      return;
    case Quantity::price: {
      const sim::Pool& pool = scenario.cluster.pools[static_cast<std::size_t>(change.pool)];
      sim::Instance& instance = scenario.cluster.instances[static_cast<std::size_t>(pool.instance)];
      instance.price_usd_per_hour *= change.value;
      instance.spot_price_usd_per_hour *= change.value;
      return;
    }
    case Quantity::switching:
      for (double* seconds : {&scenario.costs.start_s, &scenario.costs.checkpoint_s, &scenario.costs.warmup_epochs})
        *seconds *= change.value;
      scenario.costs.restore_bytes_per_s /= change.value;
      return;
  }
}

bool Bracket::is_done() const {
  if (all_holds_) return true;
  if (std::isnan(falls_)) return false;
  return holds_ > 0 ? std::abs(std::log(falls_ / holds_)) <= report::kReversalTolerance
                    : falls_ <= report::kReversalTolerance * kUncalibratedError;
}

void Bracket::tried(bool holds) {
  if (holds) {
    holds_ = next_;
    all_holds_ = std::isnan(falls_);
  } else {
    falls_ = next_;
  }
  if (!std::isnan(falls_)) next_ = holds_ > 0 ? std::sqrt(holds_ * falls_) : falls_ / 2;
}

report::Certificate certify(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder,
                            const report::VerdictInput& figures, const report::Statement& drawn) {
  return Certifier(scenario, options, folder, figures, drawn).certify();
}

}  // namespace rehearse::scenarios
