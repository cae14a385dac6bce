#include "experiments/studies/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/run/process_pool.hpp"
#include "experiments/studies/studies.hpp"
#include "report/html_report.hpp"
#include "report/plots/run_gnuplot.hpp"
#include "sim/io/file.hpp"

namespace rehearse::scenarios {

std::vector<double> powers_of_two(int from, int to) {
  std::vector<double> powers;
  for (int i = from; i <= to; ++i) powers.push_back(std::exp2(i));
  return powers;
}

void require_listed_jobs_with_floors(sim::ObjectReader& in, const Scenario& scenario, sim::Mistakes& mistakes) {
  const bool all = std::all_of(scenario.jobs.begin(), scenario.jobs.end(),
                               [](const sim::Job& job) { return job.work == sim::Work::train && job.has_target(); });
  if (!all || !scenario.generators.empty())
    in.value().refuse("\"jobs\" without generators, each with a \"target_accuracy\"", mistakes);
}

std::string file_name(std::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    safe += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  if (safe.size() <= kLongestFileNamePart) return safe;
  const std::string fingerprint = sim::sha256_of_text(name).substr(0, 16);  // two long names stay two
  return safe.substr(0, kLongestFileNamePart - fingerprint.size() - 1) + "-" + fingerprint;
}

const std::vector<StudyKind>& studies() {
  static const std::vector<StudyKind> all{
      {.name = "learning-curve",
       .help = "policies against the number of past runs and the error of the model, with what profiling costs",
       .read = read_learning_curve},
      {.name = "characterise",
       .help = "what resources and batch size do to each job, and what choosing them apart costs",
       .policies = false,
       .read = read_characterise},
      {.name = "frontier",
       .help = "what each policy charges for a job under a grid of deadlines and accuracy floors",
       .read = read_frontier},
      {.name = "contributions",
       .help = "what pool, workers, batch, place and threads each contribute to a policy's saving",
       .read = read_contributions},
      {.name = "measured-runs",
       .help = "what strategies choose from a table of measured runs, of which they have seen a part",
       .cluster = false,
       .jobs = false,
       .read = read_measured_runs},
      {.name = "staged",
       .help = "staged strategies against the static and the staged optimum, job by job, also with dear switching",
       .read = read_staged},
      {.name = "spot",
       .help = "a job on spot nodes of several zones: rules, plans, the stochastic programme and the omniscient optimum",
       .cluster = false,
       .jobs = false,
       .policies = false,
       .read = read_spot},
      {.name = "spot-workers",
       .help = "workers and spot or on-demand nodes, stage by stage: static choices, re-planning, learning, the exact programme",
       .cluster = false,
       .jobs = false,
       .policies = false,
       .read = read_spot_workers},
      {.name = "placement",
       .help = "placement methods on training steps of models: seconds a step against evaluations and the lower bound",
       .jobs = false,
       .policies = false,
       .read = read_placement},
      {.name = "threads",
       .help = "threads of each operation on many-core CPUs: planners and strategies against the recommended setting",
       .policies = false,
       .read = read_threads},
      {.name = "search",
       .help = "architectures searched for accuracy, latency, memory, time, money and energy: methods against the best front",
       .cluster = false,
       .jobs = false,
       .policies = false,
       .read = read_search},
  };
  return all;
}

report::StudySummary run_study(Scenario& scenario, const RunOptions& options, bool& policy_failed) {
  const HeldInterrupts interrupts;
  ResultsFolder folder(place_of(scenario, options));
  StudyResult result = dynamic_cast<const Study&>(*scenario.study).run(scenario, options, folder);
  policy_failed = result.policy_failed;
  report::StudySummary summary{.scenario = scenario.name,
                               .study = scenario.study_name,
                               .seed = scenario.seed,
                               .repetitions = scenario.repetitions,
                               .warnings = scenario.warnings,
                               .inputs = scenario.inputs,
                               .findings = std::move(result.findings),
                               .saving = std::move(result.saving),
                               .tables = std::move(result.tables),
                               .notes = std::move(result.notes)};
  for (const policies::PolicySpec& spec : scenario.policies)
    if (policies::is_yardstick(spec)) summary.yardsticks.push_back(spec.name);
  for (report::NamedFigure& figure : result.figures) mark_yardsticks(figure.figure, summary.yardsticks);
  for (const report::Table& table : summary.tables)
    if (!table.name.empty()) report::write_csv(folder.part() + "/" + table.name + ".csv", table);
  summary.figures_left_out = draw_figures(result.figures, folder.part());
  folder.write("scenario.json", scenario.resolved);
  folder.write("summary.json", study_json(summary));
  if (scenario.output.report && !options.report_page.empty())
    folder.write("report.html", report::html_report({.folder = folder.part(), .page = options.report_page}));
  if (interrupts.take()) throw Interrupted();
  folder.publish();
  return summary;
}

}  // namespace rehearse::scenarios
