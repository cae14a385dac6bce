// Where a policy's saving comes from: its knobs switched on one after the other, from manual to the whole policy.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/studies/studies.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;

KnobSet bit(int knob) { return KnobSet{1} << knob; }
KnobSet all_of(int knobs) { return bit(knobs) - 1; }

/// A part of a policy that is either as manual has it, or as the policy chooses.
struct Knob {
  const char* name;
  void (*switch_off)(policies::PolicySpec&);
  bool (*is_on)(const policies::PolicySpec&);
};

bool chooses(const policies::PolicySpec& spec) { return spec.configure.name != policies::PolicySpec().configure.name; }

bool same(const policies::StrategyChoice& a, const policies::StrategyChoice& b) {
  return a.name == b.name && a.parameters == b.parameters;
}

const Knob kKnobs[] = {
    {"pool", [](policies::PolicySpec& spec) { spec.free.pool = false; },
     [](const policies::PolicySpec& spec) { return chooses(spec) && spec.free.pool; }},
    {"workers", [](policies::PolicySpec& spec) { spec.free.workers = false; },
     [](const policies::PolicySpec& spec) { return chooses(spec) && spec.free.workers; }},
    {"batch", [](policies::PolicySpec& spec) { spec.free.batch = false; },
     [](const policies::PolicySpec& spec) { return chooses(spec) && spec.free.batch; }},
    {"place", [](policies::PolicySpec& spec) { spec.place = policies::PolicySpec().place; },
     [](const policies::PolicySpec& spec) { return !same(spec.place, policies::PolicySpec().place); }},
    {"threads", [](policies::PolicySpec& spec) { spec.threads = policies::PolicySpec().threads; },
     [](const policies::PolicySpec& spec) { return !same(spec.threads, policies::PolicySpec().threads); }},
};

/// One policy taken apart.
struct Parts {
  std::string policy;
  std::vector<const Knob*> knobs;
  std::optional<int> pool;                  ///< the knob that is also fixed
  std::map<KnobSet, std::size_t> variants;  ///< index among the policies that run
};

class Contributions final : public Study {
 public:
  explicit Contributions(std::vector<const Knob*> order) : order_(std::move(order)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    std::vector<policies::PolicySpec> variants;
    std::vector<Parts> all;
    for (const policies::PolicySpec& spec : scenario.policies)
      if (Parts parts = take_apart(spec, variants); !parts.knobs.empty()) all.push_back(std::move(parts));
    StudyResult result;
    result.notes.emplace_back(
        "Percent of the effective cost of manual. In turn: switched on after those above; alone: nothing else is on; last: all "
        "else is.");
    report::Table table = empty_table();
    if (!all.empty()) {
      scenario.policies = std::move(variants);
      const PolicyRuns runs = run_policies(scenario, options, folder);
      for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
      for (const Parts& parts : all) add_rows(parts, runs.results, table, result);
    }
    result.tables.push_back(std::move(table));
    result.saving = {.table = "contributions", .column = "in_turn_percent"};
    return result;
  }

 private:
  Parts take_apart(const policies::PolicySpec& spec, std::vector<policies::PolicySpec>& variants) const {
    Parts parts{.policy = spec.name};
    for (const Knob* knob : order_) {
      if (!knob->is_on(spec)) continue;
      if (std::string_view(knob->name) == "pool") parts.pool = static_cast<int>(parts.knobs.size());
      parts.knobs.push_back(knob);
    }
    if (parts.knobs.empty()) return parts;
    for (const KnobSet set : sets_needed(static_cast<int>(parts.knobs.size()), parts.pool)) {
      policies::PolicySpec variant = spec;
      std::string on;
      for (std::size_t k = 0; k < parts.knobs.size(); ++k) {
        if ((set & bit(static_cast<int>(k))) == 0)
          parts.knobs[k]->switch_off(variant);
        else
          on += (on.empty() ? "" : ", ") + std::string(parts.knobs[k]->name);
      }
      if (set == 0) variant.configure = policies::PolicySpec().configure;  // manual itself: nothing is learnt, nothing profiled
      variant.name = fmt::format("{} ({})", spec.name, set == 0 ? "manual" : on);
      parts.variants[set] = variants.size();
      variants.push_back(std::move(variant));
    }
    return parts;
  }

  static report::Table empty_table() {
    return {.name = "contributions",
            .title = "What each knob contributes to the saving",
            .columns = {{"policy", "policy"},
                        {"knob", "knob"},
                        {"in_turn_percent", "in turn, %", "{:.1f}"},
                        {"in_turn_percent_ci95_low", "from", "{:.1f}"},
                        {"in_turn_percent_ci95_high", "to", "{:.1f}"},
                        {"alone_percent", "alone, %", "{:.1f}"},
                        {"last_percent", "last, %", "{:.1f}"},
                        {"in_turn_pool_fixed_percent", "in turn, pool fixed, %", "{:.1f}"},
                        {"limits_broken", "limits broken", "{:.3g}"}}};
  }

  /// Of each repetition.
  struct Samples {
    std::vector<double> in_turn, alone, last, fixed, limits_broken;

    void add_to(const std::string& policy, const std::string& knob, report::Table& table) const {
      const report::Estimate turn = report::estimate(in_turn);
      table.rows.push_back({policy, knob, turn.mean, turn.ci95_low, turn.ci95_high, report::mean(alone), report::mean(last),
                            report::mean(fixed), report::mean(limits_broken)});
    }
  };

  static void add_rows(const Parts& parts, const std::vector<report::PolicyResult>& results, report::Table& table,
                       StudyResult& result) {
    bool all_ok = true;
    for (const auto& [set, variant] : parts.variants) {
      if (results[variant].ok) continue;
      all_ok = false;
      result.notes.push_back(fmt::format("policy \"{}\" failed: {}", results[variant].policy, results[variant].reason));
    }
    if (!all_ok) {
      result.policy_failed = true;
      return;
    }
    const int knobs = static_cast<int>(parts.knobs.size());
    std::vector<Samples> by_knob(parts.knobs.size());
    Samples manual, profiling, total;
    for (std::size_t r = 0; r < results[parts.variants.at(0)].repetitions.size(); ++r) {
      const auto metrics = [&](KnobSet set) -> const report::RunMetrics& {
        return results[parts.variants.at(set)].repetitions[r].metrics;
      };
      const auto cost = [&](KnobSet set) { return metrics(set).effective_cost_usd - metrics(set).profiling_cost_usd; };
      const double percent = 100 / cost(0), profiled = 0 - percent * metrics(all_of(knobs)).profiling_cost_usd;
      const std::vector<Contribution> found = contributions(knobs, parts.pool, cost);
      double sum = profiled, sum_fixed = profiled;
      for (int k = 0; k < knobs; ++k) {
        const Contribution& c = found[static_cast<std::size_t>(k)];
        Samples& of = by_knob[static_cast<std::size_t>(k)];
        of.in_turn.push_back(percent * c.in_turn);
        of.alone.push_back(percent * c.alone);
        of.last.push_back(percent * c.last);
        of.fixed.push_back(percent * c.in_turn_fixed);
        of.limits_broken.push_back(metrics(all_of(k + 1)).limits_broken);
        sum += percent * c.in_turn;
        if (!parts.pool || k != *parts.pool) sum_fixed += percent * c.in_turn_fixed;
      }
      manual.limits_broken.push_back(metrics(0).limits_broken);
      profiling.in_turn.push_back(profiled);
      profiling.fixed.push_back(profiled);
      total.in_turn.push_back(sum);
      total.fixed.push_back(sum_fixed);
      total.limits_broken.push_back(metrics(all_of(knobs)).limits_broken);
    }
    manual.add_to(parts.policy, "manual", table);
    for (std::size_t k = 0; k < by_knob.size(); ++k) by_knob[k].add_to(parts.policy, parts.knobs[k]->name, table);
    profiling.add_to(parts.policy, "profiling", table);
    total.add_to(parts.policy, "total", table);
  }

  const std::vector<const Knob*> order_;
};

}  // namespace

std::vector<KnobSet> sets_needed(int knobs, std::optional<int> fixed) {
  std::set<KnobSet> sets{0};
  for (int k = 0; k < knobs; ++k) {
    sets.insert(all_of(k + 1));
    sets.insert(bit(k));
    sets.insert(all_of(knobs) & ~bit(k));
    if (fixed) sets.insert(all_of(k + 1) & ~bit(*fixed));
  }
  return {sets.begin(), sets.end()};
}

std::vector<Contribution> contributions(int knobs, std::optional<int> fixed, const std::function<double(KnobSet)>& cost) {
  const KnobSet all = all_of(knobs);
  std::vector<Contribution> found;
  for (int k = 0; k < knobs; ++k) {
    Contribution c{.in_turn = cost(all_of(k)) - cost(all_of(k + 1)),
                   .alone = cost(0) - cost(bit(k)),
                   .last = cost(all & ~bit(k)) - cost(all),
                   .in_turn_fixed = kNan};
    if (fixed && k != *fixed) c.in_turn_fixed = cost(all_of(k) & ~bit(*fixed)) - cost(all_of(k + 1) & ~bit(*fixed));
    found.push_back(c);
  }
  return found;
}

std::unique_ptr<StudyParameters> read_contributions(sim::ObjectReader& in, const Paths&, Scenario&, sim::Mistakes& mistakes) {
  std::vector<std::string> names;
  for (const Knob& knob : kKnobs) names.emplace_back(knob.name);
  std::vector<const Knob*> order;
  for (const sim::JsonValue value : in.list("order")) {
    const auto known = known_choice(value, names, mistakes);
    if (!known) continue;
    const Knob* knob = &kKnobs[*known];
    if (std::find(order.begin(), order.end(), knob) != order.end())
      refuse_again(value, knob->name, "a knob that is given once", mistakes);
    else
      order.push_back(knob);
  }
  if (const auto list = in.child("order"); list && list->is_array() && list->size() == 0)
    list->refuse("at least one knob", mistakes);
  for (const Knob& knob : kKnobs)
    if (std::find(order.begin(), order.end(), &knob) == order.end()) order.push_back(&knob);
  return std::make_unique<Contributions>(std::move(order));
}

}  // namespace rehearse::scenarios
