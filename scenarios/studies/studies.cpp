#include "scenarios/process_pool.hpp"
#include "scenarios/studies/learning_curve.hpp"
#include "scenarios/studies/study.hpp"

namespace rehearse::scenarios {

const std::vector<StudyKind>& studies() {
  static const std::vector<StudyKind> all{
      {.name = "learning-curve",
       .help = "policies against the number of past runs and the error of the model, with what profiling costs",
       .read = read_learning_curve},
  };
  return all;
}

report::StudySummary run_study(Scenario& scenario, const RunOptions& options, bool& policy_failed) {
  const HeldInterrupts interrupts;
  ResultsFolder folder(options.out.empty() ? "results/" + scenario.name : options.out);
  StudyResult result = scenario.study->run(scenario, options, folder);
  policy_failed = result.policy_failed;
  report::StudySummary summary{.scenario = scenario.name,
                               .study = scenario.study_name,
                               .seed = scenario.seed,
                               .repetitions = scenario.repetitions,
                               .inputs = scenario.inputs,
                               .tables = std::move(result.tables),
                               .notes = std::move(result.notes)};
  for (const report::Table& table : summary.tables) report::write_csv(folder.part() + "/" + table.name + ".csv", table);
  folder.write("scenario.json", scenario.resolved);
  folder.write("summary.json", study_json(summary));
  if (interrupts.take()) throw Interrupted();
  folder.publish();
  return summary;
}

}  // namespace rehearse::scenarios
