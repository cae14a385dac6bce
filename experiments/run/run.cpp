#include "experiments/run/run.hpp"

#include <filesystem>

#include "report/html_report.hpp"
#include "report/repetition_row.hpp"
#include "experiments/process/policy_process.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/results_folder.hpp"

namespace rehearse::scenarios {

namespace {

void join_files(const Scenario& scenario, const PolicyRuns& runs, const ResultsFolder& folder) {
  using namespace report;
  for (const RecordFile* file :
       {scenario.cluster.carbon_g_per_kwh ? &kJobsFileWithCarbon : &kJobsFile, &kDecisionsFile, &kEventsFile, &kStagesFile,
        &kCurvesFile, &kPredictionsFile, &kUtilizationFile, &kLifeFile, &kNodesFile, &kRepetitionsFile}) {
    std::vector<std::string> parts;
    for (const RunTask& task : runs.tasks)
      if (runs.results[task.policy].ok) parts.push_back(task.folder.file(file->name));
    folder.join(std::string(file->name), file->header, parts);
  }
}

/// What processes of policies wrote on standard error: logs/POLICY-REPETITION-DECISION.txt.
void keep_logs(const PolicyRuns& runs, const ResultsFolder& folder) {
  namespace fs = std::filesystem;
  std::string logs;
  for (std::size_t t = 0; t < runs.tasks.size(); ++t) {
    for (const auto& entry : fs::directory_iterator(runs.tasks[t].folder.path())) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kLogPrefix)) continue;
      if (logs.empty()) logs = folder.make_subfolder("logs");
      fs::rename(entry.path(), fmt::format("{}/{}-{}.txt", logs, runs.subfolders[t], name.substr(kLogPrefix.size())));
    }
  }
}

std::vector<report::PoolFacts> pool_facts(const sim::Cluster& cluster) {
  std::vector<report::PoolFacts> pools;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::Pool& pool = cluster.pools[p];
    const sim::Instance& instance = cluster.instances[static_cast<std::size_t>(pool.instance)];
    pools.push_back({.name = pool.name,
                     .instance = instance.name,
                     .nodes = pool.nodes,
                     .devices_per_node = sim::workers_per_node(cluster, static_cast<sim::PoolId>(p)),
                     .price_usd_per_hour = instance.price_usd_per_hour});
  }
  return pools;
}

}  // namespace

report::Summary run_scenario(const Scenario& scenario, const RunOptions& options) {
  const HeldInterrupts interrupts;  // before the folder: when it lets go, nothing half-written is left
  ResultsFolder folder(place_of(scenario, options));
  const PolicyRuns runs = run_policies(scenario, options, folder);
  join_files(scenario, runs, folder);
  keep_logs(runs, folder);
  report::Summary summary{.scenario = scenario.name,
                          .seed = scenario.seed,
                          .repetitions = scenario.repetitions,
                          .baseline = scenario.baseline,
                          .inputs = scenario.inputs,
                          .rows = report::compare(runs.results, scenario.baseline),
                          .measure = scenario.measure,
                          .pools = pool_facts(scenario.cluster),
                          .origin_s = scenario.origin_s};
  for (const std::string& name : runs.subfolders) folder.drop_subfolder(name);
  folder.write("scenario.json", scenario.resolved);
  folder.write("timing.json", timing_json(summary));
  folder.write("summary.json", summary_json(summary));
  if (scenario.output.report && !options.report_page.empty())
    folder.write("report.html", report::html_report({.folder = folder.part(), .page = options.report_page}));
  if (interrupts.take()) throw Interrupted();
  folder.publish();
  return summary;
}

}  // namespace rehearse::scenarios
