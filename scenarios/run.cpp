#include "scenarios/run.hpp"

#include "report/repetition_row.hpp"
#include "scenarios/process_pool.hpp"
#include "scenarios/results_folder.hpp"

namespace rehearse::scenarios {

namespace {

void join_files(const Scenario& scenario, const PolicyRuns& runs, const ResultsFolder& folder) {
  using namespace report;
  for (const RecordFile* file :
       {scenario.cluster.carbon_g_per_kwh ? &kJobsFileWithCarbon : &kJobsFile, &kDecisionsFile, &kEventsFile, &kStagesFile,
        &kCurvesFile, &kPredictionsFile, &kUtilizationFile, &kLifeFile, &kRepetitionsFile}) {
    std::vector<std::string> parts;
    for (const RunTask& task : runs.tasks)
      if (runs.results[task.policy].ok) parts.push_back(task.folder + "/" + std::string(file->name));
    folder.join(std::string(file->name), file->header, parts);
  }
}

}  // namespace

report::Summary run_scenario(const Scenario& scenario, const RunOptions& options) {
  const HeldInterrupts interrupts;  // before the folder: when it lets go, nothing half-written is left
  ResultsFolder folder(options.out.empty() ? "results/" + scenario.name : options.out);
  const PolicyRuns runs = run_policies(scenario, options, folder);
  join_files(scenario, runs, folder);
  report::Summary summary{.scenario = scenario.name,
                          .seed = scenario.seed,
                          .repetitions = scenario.repetitions,
                          .baseline = scenario.baseline,
                          .inputs = scenario.inputs,
                          .rows = report::compare(runs.results, scenario.baseline),
                          .measure = scenario.measure,
                          .origin_s = scenario.origin_s};
  for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
  folder.write("scenario.json", scenario.resolved);
  folder.write("timing.json", timing_json(summary));
  folder.write("summary.json", summary_json(summary));
  if (interrupts.take()) throw Interrupted();
  folder.publish();
  return summary;
}

}  // namespace rehearse::scenarios
