// Staged strategies held against the static and the staged optimum, job by job: each job alone on the cluster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/studies/studies.hpp"
#include "report/statistics.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

using sim::kNan;
constexpr double kGapS = 1048576;  ///< between jobs, so that none waits for another
constexpr double kLeastGain = 0.02;
constexpr int kResamples = 1000;

/// Sums of logarithms over the jobs that reached a stage.
struct StageMeans {
  double jobs = 0, log_workers = 0, log_batch = 0;
};

/// One policy in one world.
struct PolicyOutcomes {
  std::string name, configure;
  policies::FreeKnobs free;
  bool ok = false;
  std::vector<StagedOutcome> jobs;  ///< repetition after repetition
  std::map<int, StageMeans> stages;
};

struct Gain {
  double policy, optimum;
};

double ratio_of(const std::vector<Gain>& gains) {
  double policy = 0, optimum = 0;
  for (const Gain& gain : gains) policy += gain.policy, optimum += gain.optimum;
  return optimum > 0 ? policy / optimum : kNan;
}

/// 1 - money over the other's, over the jobs whose limits both keep, in per cent; positive: dearer.
double dearer_percent(const std::vector<StagedOutcome>& mine, const std::vector<StagedOutcome>& theirs,
                      const std::function<bool(std::size_t)>& counts) {
  double sum = 0, other = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (!mine[i].keeps || !theirs[i].keeps || !counts(i)) continue;
    sum += mine[i].cost_usd;
    other += theirs[i].cost_usd;
  }
  return other > 0 ? 100 * (sum / other - 1) : kNan;
}

bool every_job(std::size_t) { return true; }

class Staged final : public Study {
 public:
  Staged(std::vector<double> model_errors, std::vector<double> switching)
      : model_errors_(std::move(model_errors)), switching_(std::move(switching)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    submit(scenario);
    const sim::CostRules costs = scenario.costs;
    StudyResult result;
    report::Table summary = summary_table(), families = family_table(), choices = choice_table();
    for (const double model_error : model_errors_) {
      for (const double switching : switching_) {
        scenario.world_errors = workloads::WorldErrors::scaled(model_error);
        scenario.costs = costs;
        scenario.costs.start_s *= switching;
        scenario.costs.checkpoint_s *= switching;
        scenario.costs.restore_bytes_per_s /= switching;
        scenario.costs.warmup_epochs *= switching;
        const PolicyRuns runs = run_policies(scenario, options, folder);
        const std::vector<PolicyOutcomes> outcomes = read_runs(scenario, runs, result);
        for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
        add_rows(scenario, outcomes, {model_error, switching}, summary, families, choices);
      }
    }
    result.tables = {std::move(summary), std::move(families), std::move(choices)};
    result.notes.emplace_back(
        "kept: of the jobs whose limits static-isotonic keeps. ratio: (oracle - policy) / (oracle - staged-oracle), summed over "
        "the jobs whose limits all\nthree keep and where staged-oracle saves more than 2 %; 95 % interval by bootstrap over "
        "jobs. "
        "Money without profiling. Switching: factor of what\na switch and a start take. All but manual: those of the same "
        "\"free\".");
    result.notes.push_back(report::billing_line(scenario.costs.billing, scenario.costs.minimum_node_s));
    return result;
  }

 private:
  struct Cell {
    double model_error, switching;
  };

  static void submit(Scenario& scenario) {
    scenario.jobs = scenario.jobs_of(0);
    scenario.generators.clear();
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) scenario.jobs[i].submit_s = static_cast<double>(i) * kGapS;
    scenario.output = OutputSettings::of_jobs(scenario.output.report);
    scenario.output.stages = Record::all;
  }

  static std::vector<PolicyOutcomes> read_runs(const Scenario& scenario, const PolicyRuns& runs, StudyResult& result) {
    std::vector<PolicyOutcomes> all;
    for (std::size_t p = 0; p < runs.results.size(); ++p) {
      PolicyOutcomes& of = all.emplace_back();
      of.name = runs.results[p].policy;
      of.configure = policies::family_of(scenario.policies[p].configure.name);
      of.free = scenario.policies[p].free;
      of.ok = runs.results[p].ok;
      if (!of.ok) {
        result.policy_failed = true;
        result.notes.push_back(fmt::format("policy \"{}\" failed: {}", of.name, runs.results[p].reason));
        continue;
      }
      of.jobs.resize(scenario.jobs.size() * static_cast<std::size_t>(scenario.repetitions));
      for (const RunTask& task : runs.tasks)
        if (task.policy == p) read_task(scenario, task, of);
    }
    return all;
  }

  static void read_task(const Scenario& scenario, const RunTask& task, PolicyOutcomes& of) {
    const std::size_t first = scenario.jobs.size() * static_cast<std::size_t>(task.repetition);
    std::map<std::string, std::size_t, std::less<>> index;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) index[scenario.jobs[i].name] = i;
    const char* money = money_column(scenario);
    sim::CsvReader jobs(task.folder.file("jobs.csv"), {.required = {"job", "state", "deadline_met", "accuracy_met", money}});
    while (sim::CsvRow* row = jobs.next())
      of.jobs[first + index.at(std::string(row->text("job")))] = {.cost_usd = row->number(money),
                                                                  .keeps = row->text("state") == "finished" &&
                                                                           row->text("deadline_met") != "false" &&
                                                                           row->text("accuracy_met") != "false"};
    sim::CsvReader stages(task.folder.file("stages.csv"), {.required = {"job", "stage", "workers", "batch_size"}});
    while (sim::CsvRow* row = stages.next()) {
      const sim::Job& job = scenario.jobs[index.at(std::string(row->text("job")))];
      if (job.profile == nullptr) continue;  // it runs as it is, nobody chooses for it
      StageMeans& means = of.stages[static_cast<int>(row->integer("stage"))];
      ++means.jobs;
      means.log_workers += std::log(row->number("workers"));
      means.log_batch += std::log(row->number("batch_size") / scenario.profile_models.of(*job.profile).publication_batch);
    }
  }

  static report::Table summary_table() {
    return {.name = "staged",
            .title = "Each job alone",
            .columns = {{"model_error", "model error", "{:g}"},
                        {"switching_factor", "switching", "{:g}"},
                        {"policy", "policy"},
                        {"limits_kept_fraction", "limits", "{:.3f}"},
                        {"kept_of_static_fraction", "kept", "{:.3f}"},
                        {"gain_ratio", "ratio", "{:.2f}"},
                        {"gain_ratio_ci95_low", "from", "{:.2f}"},
                        {"gain_ratio_ci95_high", "to", "{:.2f}"},
                        {"gain_jobs", "jobs", "{:g}"},
                        {"over_staged_mpc_percent", "over mpc, %", "{:+.1f}"},
                        {"over_static_percent", "over static, %", "{:+.1f}"},
                        {"over_oracle_percent", "over oracle, %", "{:+.1f}"},
                        {"over_manual_percent", "over manual, %", "{:+.1f}"}}};
  }
  static report::Table family_table() {
    return {.name = "staged_models",
            .title = "Money over static-isotonic's by model, %, where both keep the limits",
            .columns = {{"model_error", "model error", "{:g}"},
                        {"switching_factor", "switching", "{:g}"},
                        {"policy", "policy"},
                        {"model", "model"},
                        {"over_static_percent", "over static, %", "{:+.1f}"}}};
  }
  static report::Table choice_table() {
    return {.name = "staged_choices",
            .title = "Mean choices (geometric) at each stage; batch over the publication's",
            .columns = {{"model_error", "model error", "{:g}"},
                        {"switching_factor", "switching", "{:g}"},
                        {"policy", "policy"},
                        {"stage", "stage", "{:g}"},
                        {"jobs", "jobs", "{:g}"},
                        {"workers", "workers", "{:.2f}"},
                        {"batch_factor", "batch", "{:.2f}"}}};
  }

  /// The first of this strategy that may choose as much.
  static const PolicyOutcomes* find(const std::vector<PolicyOutcomes>& all, std::string_view configure,
                                    const policies::FreeKnobs& free) {
    for (const PolicyOutcomes& of : all)
      if (of.ok && of.configure == configure && of.free == free) return &of;
    return nullptr;
  }

  static void add_rows(const Scenario& scenario, const std::vector<PolicyOutcomes>& all, const Cell& cell, report::Table& summary,
                       report::Table& families, report::Table& choices) {
    for (const PolicyOutcomes& of : all) {
      if (!of.ok) continue;
      const auto peer = [&](std::string_view configure) { return find(all, configure, of.free); };
      const PolicyOutcomes *oracle = peer("oracle"), *staged_oracle = peer("staged-oracle"), *isotonic = peer("static-isotonic"),
                           *mpc = peer("staged-mpc"), *manual = find(all, "manual", {});
      double kept = 0, base = 0, both = 0;
      for (std::size_t i = 0; i < of.jobs.size(); ++i) {
        kept += of.jobs[i].keeps;
        if (isotonic == nullptr || !isotonic->jobs[i].keeps) continue;
        ++base;
        both += of.jobs[i].keeps;
      }
      GainRatio gain{.ratio = kNan, .ci95_low = kNan, .ci95_high = kNan};
      if (oracle != nullptr && staged_oracle != nullptr)
        gain = gain_ratio(of.jobs, oracle->jobs, staged_oracle->jobs, scenario.seed);
      const auto over = [&](const PolicyOutcomes* other) {
        return other == nullptr ? kNan : dearer_percent(of.jobs, other->jobs, every_job);
      };
      summary.rows.push_back({cell.model_error, cell.switching, of.name, kept / static_cast<double>(of.jobs.size()), both / base,
                              gain.ratio, gain.ci95_low, gain.ci95_high, static_cast<double>(gain.jobs), over(mpc),
                              over(isotonic), over(oracle), over(manual)});
      if (isotonic != nullptr && &of != isotonic) add_families(scenario, of, *isotonic, cell, families);
      for (const auto& [stage, means] : of.stages)
        choices.rows.push_back({cell.model_error, cell.switching, of.name, static_cast<double>(stage), means.jobs,
                                std::exp(means.log_workers / means.jobs), std::exp(means.log_batch / means.jobs)});
    }
  }

  static void add_families(const Scenario& scenario, const PolicyOutcomes& of, const PolicyOutcomes& isotonic, const Cell& cell,
                           report::Table& table) {
    for (const sim::Profile& profile : scenario.profiles.profiles()) {
      const double percent = dearer_percent(
          of.jobs, isotonic.jobs, [&](std::size_t i) { return scenario.jobs[i % scenario.jobs.size()].profile == &profile; });
      if (percent == percent)
        table.rows.push_back(
            {cell.model_error, cell.switching, of.name, fmt::format("{} on {}", profile.model, profile.dataset), percent});
    }
  }

  const std::vector<double> model_errors_, switching_;
};

}  // namespace

GainRatio gain_ratio(const std::vector<StagedOutcome>& policy, const std::vector<StagedOutcome>& static_optimum,
                     const std::vector<StagedOutcome>& staged_optimum, std::uint64_t seed) {
  std::vector<Gain> gains;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    if (!policy[i].keeps || !static_optimum[i].keeps || !staged_optimum[i].keeps) continue;
    const Gain gain{static_optimum[i].cost_usd - policy[i].cost_usd, static_optimum[i].cost_usd - staged_optimum[i].cost_usd};
    if (gain.optimum > kLeastGain * static_optimum[i].cost_usd) gains.push_back(gain);
  }
  GainRatio out{.ratio = ratio_of(gains), .ci95_low = kNan, .ci95_high = kNan, .jobs = static_cast<int>(gains.size())};
  if (gains.empty()) return out;
  sim::Random random(sim::stream_key(seed, 0, "bootstrap", "staged"));
  std::vector<double> ratios;
  std::vector<Gain> resample(gains.size());
  for (int r = 0; r < kResamples; ++r) {
    for (Gain& gain : resample) gain = gains[random.below(gains.size())];
    ratios.push_back(ratio_of(resample));
  }
  out.ci95_low = report::quantile(ratios, 0.025);
  out.ci95_high = report::quantile(ratios, 0.975);
  return out;
}

std::unique_ptr<StudyParameters> read_staged(sim::ObjectReader& in, const Paths&, Scenario&, sim::Mistakes& mistakes) {
  std::vector<double> model_errors = read_numbers(in, "model_errors", sim::between(0, 2), {0, 0.1}, mistakes);
  std::vector<double> switching = read_numbers(in, "switching", sim::between(0.01, 1000), {1, 20}, mistakes);
  return std::make_unique<Staged>(std::move(model_errors), std::move(switching));
}

}  // namespace rehearse::scenarios
