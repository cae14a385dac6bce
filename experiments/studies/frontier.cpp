// The cost-deadline-accuracy frontier: what each policy charges for a job under a grid of deadlines and accuracy floors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "experiments/studies/studies.hpp"
#include "report/statistics.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;
/// Points are submitted so far apart that none waits for another, all within half of the dates that there are.
constexpr double kLastSubmit_s = 4294967296.0;

/// One job under one pair of limits.
struct Limits {
  std::size_t job = 0;  ///< of the scenario's
  double floor = 0, deadline_factor = 0, deadline_s = 0;
};

/// What one policy did under them: means over repetitions; the choice is the first repetition's.
struct Outcome {
  double repetitions = 0, kept = 0, infeasible = 0, cost_usd = 0, time_s = 0, accuracy = 0;
  std::string pool;
  double workers = 0, batch_size = 0;

  bool keeps() const { return kept == repetitions && repetitions > 0; }
  double mean_cost_usd() const { return cost_usd / repetitions; }
};

using Outcomes = std::vector<Outcome>;  ///< by point

/// What was said elsewhere of one policy over another: printed beside what is found.
struct Claim {
  std::string policy, over;
  double percent = 0;
};

class Frontier final : public Study {
 public:
  Frontier(std::vector<double> accuracy_slack, std::vector<double> deadline_factors, std::vector<Claim> claims)
      : accuracy_slack_(std::move(accuracy_slack)), deadline_factors_(std::move(deadline_factors)), claims_(std::move(claims)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const std::vector<sim::Job> workloads = scenario.jobs;
    const std::vector<Limits> points = all_limits(scenario);
    submit(points, workloads, scenario);
    const PolicyRuns runs = run_policies(scenario, options, folder);
    StudyResult result;
    std::vector<std::string> policies;
    std::vector<Outcomes> outcomes;
    for (std::size_t p = 0; p < runs.results.size(); ++p) {
      if (!runs.results[p].ok) {
        result.policy_failed = true;
        result.notes.push_back(fmt::format("policy \"{}\" failed: {}", runs.results[p].policy, runs.results[p].reason));
        continue;
      }
      policies.push_back(runs.results[p].policy);
      outcomes.emplace_back(points.size());
      for (const RunTask& task : runs.tasks)
        if (task.policy == p) read_outcomes(task, money_column(scenario), gap_s(points), outcomes.back());
    }
    for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
    add_tables({workloads, points, policies, outcomes}, scenario.baseline, result);
    add_figures({workloads, points, policies, outcomes}, result);
    result.notes.push_back(report::billing_line(scenario.costs.billing, scenario.costs.minimum_node_s));
    return result;
  }

 private:
  struct Found {
    const std::vector<sim::Job>& workloads;
    const std::vector<Limits>& points;
    const std::vector<std::string>& policies;
    const std::vector<Outcomes>& outcomes;  ///< by policy
  };

  std::vector<Limits> all_limits(const Scenario& scenario) const {
    const workloads::Belief belief(scenario.cluster, scenario.profile_models);
    std::vector<Limits> points;
    for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
      const sim::Profile& profile = *scenario.jobs[j].profile;
      const double reached = workloads::published_accuracy(*scenario.profile_models.of(profile).convergence);
      const double reference_s = workloads::reference_time_s(profile, belief);
      for (const double slack : accuracy_slack_)
        for (const double factor : deadline_factors_)
          points.push_back({.job = j,
                            .floor = workloads::floor_below(reached, slack),
                            .deadline_factor = factor,
                            .deadline_s = factor * reference_s});
    }
    return points;
  }

  static double gap_s(const std::vector<Limits>& points) {
    return std::floor(kLastSubmit_s / static_cast<double>(points.size()));
  }

  /// The scenario's jobs become the points. All points of a job keep its name, and so its true parameters.
  static void submit(const std::vector<Limits>& points, const std::vector<sim::Job>& workloads, Scenario& scenario) {
    scenario.jobs.clear();
    for (std::size_t i = 0; i < points.size(); ++i) {
      sim::Job job = workloads[points[i].job];
      job.submit_s = static_cast<double>(i) * gap_s(points);
      job.target_accuracy = points[i].floor;
      job.deadline_s = points[i].deadline_s;
      scenario.jobs.push_back(std::move(job));
    }
    scenario.output = OutputSettings::of_jobs(scenario.output.report);
  }

  static void read_outcomes(const RunTask& task, const char* money, double gap_s, Outcomes& outcomes) {
    sim::CsvReader jobs(task.folder.file("jobs.csv"),
                        {.required = {"submit_s", "start_s", "end_s", "state", "pool", "workers", "batch_size", "deadline_met",
                                      "accuracy", "accuracy_met", money, "cost_limit_met"}});
    while (sim::CsvRow* row = jobs.next()) {
      Outcome& out = outcomes.at(static_cast<std::size_t>(std::round(row->date("submit_s") / gap_s)));
      const auto breaks = [&](const char* limit) { return row->text(limit) == "false"; };  // empty: the job has none
      const bool kept =
          row->text("state") == "finished" && !breaks("deadline_met") && !breaks("accuracy_met") && !breaks("cost_limit_met");
      out.repetitions += 1;
      out.kept += kept;
      out.cost_usd += row->number(money);
      out.time_s += row->date("end_s") - row->date("start_s", row->date("end_s"));
      out.accuracy += row->number("accuracy", {}, 0.0);
      if (task.repetition > 0) continue;
      out.pool = std::string(row->text("pool"));
      out.workers = row->number("workers", {}, kNan);
      out.batch_size = row->number("batch_size", {}, kNan);
    }
    sim::CsvReader decisions(task.folder.file("decisions.csv"), {.required = {"time_s", "decision", "rank", "feasible"}});
    while (sim::CsvRow* row = decisions.next())
      if (row->text("decision") == "configure" && row->number("rank") == 0 && std::fmod(row->date("time_s"), gap_s) == 0)
        outcomes.at(static_cast<std::size_t>(row->date("time_s") / gap_s)).infeasible += row->text("feasible") == "false";
  }

  static std::vector<bool> efficient_points(const Found& found, const Outcomes& outcomes) {
    std::vector<bool> all;
    for (std::size_t j = 0; j < found.workloads.size(); ++j) {
      const std::vector<bool> marks = efficient(points_of(found, outcomes, j));
      all.insert(all.end(), marks.begin(), marks.end());
    }
    return all;
  }

  void add_tables(const Found& found, const std::string& baseline, StudyResult& result) const {
    report::Table all{.name = "frontier",
                      .title = {},
                      .columns = {{"policy", ""},
                                  {"job", ""},
                                  {"target_accuracy", ""},
                                  {"deadline_factor", ""},
                                  {"deadline_s", ""},
                                  {"cost_usd", ""},
                                  {"time_s", ""},
                                  {"accuracy", ""},
                                  {"kept_fraction", ""},
                                  {"infeasible_fraction", ""},
                                  {"efficient", ""},
                                  {"pool", ""},
                                  {"workers", ""},
                                  {"batch_size", ""}}};
    report::Table summary{.name = "policies",
                          .title = fmt::format("Over all points; saving against {}, where both keep the limits", baseline),
                          .columns = {{"policy", "policy"},
                                      {"points", "points", "{:g}"},
                                      {"kept_fraction", "kept", "{:.3f}"},
                                      {"infeasible_fraction", "found infeasible", "{:.3f}"},
                                      {"efficient_points", "efficient", "{:g}"},
                                      {"saving_percent", "saving, %", "{:.1f}"}}};
    for (std::size_t p = 0; p < found.policies.size(); ++p) {
      const Outcomes& outcomes = found.outcomes[p];
      const std::vector<bool> marks = efficient_points(found, outcomes);
      double kept = 0, infeasible = 0;
      for (std::size_t i = 0; i < found.points.size(); ++i) {
        const Outcome& out = outcomes[i];
        const Limits& point = found.points[i];
        kept += out.kept / out.repetitions;
        infeasible += out.infeasible / out.repetitions;
        all.rows.push_back({found.policies[p], found.workloads[point.job].name, point.floor, point.deadline_factor,
                            point.deadline_s, out.mean_cost_usd(), out.time_s / out.repetitions, out.accuracy / out.repetitions,
                            out.kept / out.repetitions, out.infeasible / out.repetitions,
                            std::string(marks[i] ? "true" : "false"), out.pool, out.workers, out.batch_size});
      }
      const double points = static_cast<double>(found.points.size());
      summary.rows.push_back({found.policies[p], points, kept / points, infeasible / points,
                              static_cast<double>(std::count(marks.begin(), marks.end(), true)),
                              saving_percent(found, outcomes, baseline)});
    }
    if (!claims_.empty()) {
      add_findings(found, result);
      result.tables.push_back(claims_table(found));
    }
    result.tables.push_back(cost_table(found));
    result.tables.push_back(std::move(summary));
    result.saving = {.table = "policies", .column = "saving_percent"};
    result.tables.push_back(savings_table(found));
    result.tables.push_back(std::move(all));
  }

  static std::vector<FrontierPoint> points_of(const Found& found, const Outcomes& outcomes, std::size_t job) {
    std::vector<FrontierPoint> points;
    for (std::size_t i = 0; i < found.points.size(); ++i)
      if (found.points[i].job == job)
        points.push_back({.deadline_s = found.points[i].deadline_s,
                          .floor = found.points[i].floor,
                          .cost_usd = outcomes[i].mean_cost_usd(),
                          .kept = outcomes[i].keeps()});
    return points;
  }

  static std::size_t index_of(const Found& found, const std::string& policy) {
    return static_cast<std::size_t>(std::find(found.policies.begin(), found.policies.end(), policy) - found.policies.begin());
  }

  /// A sentence for each claim, over the points of all jobs.
  void add_findings(const Found& found, StudyResult& result) const {
    for (const Claim& claim : claims_) {
      const std::size_t policy = index_of(found, claim.policy), over = index_of(found, claim.over);
      std::string of_it = "one of them failed";
      if (policy < found.policies.size() && over < found.policies.size()) {
        std::vector<FrontierPoint> points, others;
        for (std::size_t j = 0; j < found.workloads.size(); ++j) {
          std::ranges::move(points_of(found, found.outcomes[policy], j), std::back_inserter(points));
          std::ranges::move(points_of(found, found.outcomes[over], j), std::back_inserter(others));
        }
        const PairedSaving saving = paired_saving(points, others);
        of_it = saving.points == 0
                    ? "there is no point where both keep the limits"
                    : fmt::format(
                          "here at most {:.1f} %, in the median {:.1f} % [{:.1f}, {:.1f}], over the {} where both keep the "
                          "limits",
                          saving.largest_percent, saving.median_percent, saving.median_ci95_low, saving.median_ci95_high,
                          sim::counted(saving.points, "point"));
      }
      result.findings.push_back(
          fmt::format("{} over {}: claimed to save up to {:g} %; {}.", claim.policy, claim.over, claim.percent, of_it));
    }
  }

  /// A row for each claim and job.
  report::Table claims_table(const Found& found) const {
    report::Table table{.name = "claims",
                        .title = "What was claimed, and what is found, where both keep the limits [95 %]",
                        .columns = {{"policy", "policy"},
                                    {"over", "over"},
                                    {"claimed_percent", "claimed, %", "{:.1f}"},
                                    {"job", "job"},
                                    {"points", "points", "{:g}"},
                                    {"largest_percent", "largest, %", "{:.1f}"},
                                    {"largest_ci95_low", "at least", "{:.1f}"},
                                    {"median_percent", "median, %", "{:.1f}"},
                                    {"median_ci95_low", "from", "{:.1f}"},
                                    {"median_ci95_high", "to", "{:.1f}"}}};
    for (const Claim& claim : claims_) {
      const std::size_t policy = index_of(found, claim.policy), over = index_of(found, claim.over);
      if (policy == found.policies.size() || over == found.policies.size()) continue;  // it failed
      for (std::size_t j = 0; j < found.workloads.size(); ++j) {
        const PairedSaving saving =
            paired_saving(points_of(found, found.outcomes[policy], j), points_of(found, found.outcomes[over], j));
        table.rows.push_back({claim.policy, claim.over, claim.percent, found.workloads[j].name,
                              static_cast<double>(saving.points), saving.largest_percent, saving.largest_ci95_low,
                              saving.median_percent, saving.median_ci95_low, saving.median_ci95_high});
      }
    }
    return table;
  }

  /// A row for each job and pair of policies, the later one of the list over the earlier.
  static report::Table savings_table(const Found& found) {
    report::Table table{.name = "savings",
                        .title = "What a policy saves over another at one point of the grid, where both keep the limits",
                        .columns = {{"job", "job"},
                                    {"policy", "policy"},
                                    {"over", "over"},
                                    {"points", "points", "{:g}"},
                                    {"largest_percent", "largest, %", "{:.1f}"},
                                    {"median_percent", "median, %", "{:.1f}"}}};
    for (std::size_t j = 0; j < found.workloads.size(); ++j) {
      for (std::size_t later = 1; later < found.policies.size(); ++later) {
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
          const PairedSaving saving =
              paired_saving(points_of(found, found.outcomes[later], j), points_of(found, found.outcomes[earlier], j));
          table.rows.push_back({found.workloads[j].name, found.policies[later], found.policies[earlier],
                                static_cast<double>(saving.points), saving.largest_percent, saving.median_percent});
        }
      }
    }
    return table;
  }

  static double saving_percent(const Found& found, const Outcomes& outcomes, const std::string& baseline) {
    const auto at = std::find(found.policies.begin(), found.policies.end(), baseline);
    if (at == found.policies.end()) return kNan;
    const Outcomes& base = found.outcomes[static_cast<std::size_t>(at - found.policies.begin())];
    double mine = 0, theirs = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i].keeps() || !base[i].keeps()) continue;
      mine += outcomes[i].mean_cost_usd();
      theirs += base[i].mean_cost_usd();
    }
    return theirs > 0 ? 100 * (1 - mine / theirs) : kNan;
  }

  /// For the terminal: a row for each point, a column for each policy.
  static report::Table cost_table(const Found& found) {
    report::Table table{.title = "Money, $ (!: breaks a limit, ?: the policy found no choice that keeps them)",
                        .columns = {{"job", "job"},
                                    {"target_accuracy", "floor", "{:.3f}"},
                                    {"deadline_factor", "deadline x", "{:g}"},
                                    {"deadline_s", "deadline, s", "{:.0f}"}}};
    for (const std::string& policy : found.policies) table.columns.push_back({.name = {}, .heading = policy});
    for (std::size_t i = 0; i < found.points.size(); ++i) {
      const Limits& point = found.points[i];
      table.rows.push_back({found.workloads[point.job].name, point.floor, point.deadline_factor, point.deadline_s});
      for (const Outcomes& outcomes : found.outcomes) {
        const Outcome& out = outcomes[i];
        table.rows.back().emplace_back(
            fmt::format("{:.4g}{}{}", out.mean_cost_usd(), out.keeps() ? "" : "!", out.infeasible > 0 ? "?" : ""));
      }
    }
    return table;
  }

  /// For each job and floor, money against the deadline.
  void add_figures(const Found& found, StudyResult& result) const {
    const std::size_t deadlines = deadline_factors_.size();
    for (std::size_t first = 0; first < found.points.size(); first += deadlines) {
      const Limits& point = found.points[first];
      const std::string& job = found.workloads[point.job].name;
      report::Figure figure{.title = fmt::format("{}: accuracy of at least {:.3f} (rings: a limit is broken)", job, point.floor),
                            .x = {.label = "deadline, s", .logarithmic = true},
                            .y = {.label = "money, $", .logarithmic = true},
                            .series = {},
                            .height_in = report::kTall_in};
      for (std::size_t p = 0; p < found.policies.size(); ++p) {
        report::Series& series =
            figure.series.emplace_back(report::Series{.name = found.policies[p], .style = report::Style::ring_line, .rows = {}});
        for (std::size_t i = first; i < first + deadlines; ++i) {
          const Outcome& out = found.outcomes[p][i];
          series.rows.push_back({found.points[i].deadline_s, out.mean_cost_usd(), out.keeps() ? 0.0 : 1.0});
        }
      }
      result.figures.push_back({fmt::format("frontier-{}-{:.3f}", file_name(job), point.floor), std::move(figure)});
    }
  }

  const std::vector<double> accuracy_slack_, deadline_factors_;
  const std::vector<Claim> claims_;
};

std::vector<Claim> read_claims(sim::ObjectReader& in, const Scenario& scenario, sim::Mistakes& mistakes) {
  std::vector<Claim> claims;
  const auto list = in.child("claims");
  if (!list) return claims;
  for (const sim::JsonValue value : sim::read_list(*list, mistakes)) {
    sim::ObjectReader claim_in(value, mistakes);
    Claim claim{.policy = claim_in.text("policy"), .over = claim_in.text("over")};
    claim.percent = claim_in.number("percent", sim::between(-1000, 100));
    claim_in.finish();
    for (const std::string& name : {claim.policy, claim.over})
      if (std::none_of(scenario.policies.begin(), scenario.policies.end(), [&](const auto& spec) { return spec.name == name; }))
        value.refuse("\"policy\" and \"over\" among the scenario's policies", mistakes);
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace

std::vector<bool> efficient(std::span<const FrontierPoint> points) {
  const auto beats = [](const FrontierPoint& a, const FrontierPoint& b) {
    return a.kept && a.deadline_s <= b.deadline_s && a.floor >= b.floor && a.cost_usd <= b.cost_usd &&
           (a.deadline_s < b.deadline_s || a.floor > b.floor || a.cost_usd < b.cost_usd);
  };
  std::vector<bool> marks;
  for (const FrontierPoint& point : points)
    marks.push_back(point.kept &&
                    std::none_of(points.begin(), points.end(), [&](const FrontierPoint& other) { return beats(other, point); }));
  return marks;
}

PairedSaving paired_saving(std::span<const FrontierPoint> points, std::span<const FrontierPoint> others) {
  std::vector<double> savings;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].kept && others[i].kept) savings.push_back(100 * (1 - points[i].cost_usd / others[i].cost_usd));
  constexpr int kDraws = 1000;
  std::vector<double> largest, medians, drawn(savings.size());
  sim::Random random(sim::stream_key(0, savings.size(), "bootstrap", "frontier"));
  for (int draw = 0; draw < kDraws && !savings.empty(); ++draw) {
    for (double& saving : drawn) saving = savings[random.below(savings.size())];
    largest.push_back(report::quantile(drawn, 1));
    medians.push_back(report::quantile(drawn, 0.5));
  }
  return {.points = static_cast<int>(savings.size()),
          .largest_percent = report::quantile(savings, 1),
          .median_percent = report::quantile(savings, 0.5),
          .largest_ci95_low = report::quantile(largest, 0.05),
          .median_ci95_low = report::quantile(medians, 0.025),
          .median_ci95_high = report::quantile(medians, 0.975)};
}

std::unique_ptr<StudyParameters> read_frontier(sim::ObjectReader& in, const Paths&, Scenario& scenario, sim::Mistakes& mistakes) {
  std::vector<double> slack = read_numbers(in, "accuracy_slack", sim::between(0, 1), {0.005, 0.02, 0.05}, mistakes);
  std::vector<double> factors = read_numbers(in, "deadline_factors", sim::between(1e-3, 1e3), powers_of_two(-3, 3), mistakes);
  std::sort(factors.begin(), factors.end());
  require_listed_jobs_with_floors(in, scenario, mistakes);
  std::vector<Claim> claims = read_claims(in, scenario, mistakes);
  return std::make_unique<Frontier>(std::move(slack), std::move(factors), std::move(claims));
}

}  // namespace rehearse::scenarios
