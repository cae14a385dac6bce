#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/say.hpp"
#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "experiments/sweep/runs.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/money/costs.hpp"
#include "traces/jobs/job_list.hpp"
#include "traces/jobs/workload.hpp"

namespace rehearse::cli {

scenarios::LoadOptions load_options(const ScenarioArguments& arguments) {
  scenarios::LoadOptions options{.catalogues = arguments.catalogues};
  for (const std::string& set : arguments.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || !set.starts_with('/'))
      throw sim::InputError({.file = "--set", .expected = "/pointer=value", .found = "\"" + set + "\""});
    options.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return options;
}

std::unique_ptr<scenarios::Scenario> load(const ScenarioArguments& arguments) {
  return scenarios::load_scenario(arguments.path, load_options(arguments));
}

void say_inputs(const std::vector<report::InputReport>& inputs) {
  for (const report::InputReport& input : inputs) {
    say("{}: {}, {} used\n", input.path, sim::counted(static_cast<double>(input.rows), "row"),
        sim::grouped(static_cast<std::int64_t>(input.jobs)));
    const auto print = [](std::string_view verb, const std::vector<report::InputReport::Reason>& reasons) {
      for (const report::InputReport::Reason& reason : reasons)
        say("  {}: {}{}\n",
            traces::counted_words(static_cast<std::int64_t>(reason.rows), static_cast<std::int64_t>(reason.also), verb),
            reason.reason,
            reason.first_lines.empty() ? "" : fmt::format(" (first lines: {})", fmt::join(reason.first_lines, ", ")));
    };
    print("dropped", input.dropped);
    print(traces::kKept, input.repaired);
    for (const std::string& note : input.notes) say("  {}\n", note);
  }
  if (!inputs.empty()) say("\n");
}

void warn_of_size(const scenarios::RunEstimate& estimate) {
  if (is_large(estimate)) fmt::print(stderr, "warning: this is large: {}\n", to_string(estimate));
}

namespace {

/// Jobs of a trace that ask for more than there is wait longer and longer: what is compared then is how a queue drains. Mean load
/// as traces::Workload has it.
void warn_of_load(const scenarios::Scenario& scenario) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  double work_s = 0, durations_s = 0, count = 0, first_s = kForever, last_s = -kForever, gpus = 0;
  for (const sim::Job& job : scenario.jobs) {
    if (job.work != sim::Work::rigid) continue;
    work_s += job.duration_s * job.gpus * job.gpu_fraction;
    durations_s += job.duration_s;
    count += 1;
    first_s = std::min(first_s, job.submit_s);
    last_s = std::max(last_s, job.submit_s);
  }
  for (std::size_t p = 0; p < scenario.cluster.pools.size(); ++p)
    if (const auto pool = static_cast<sim::PoolId>(p); sim::has_gpus(scenario.cluster, pool))
      gpus += static_cast<double>(scenario.cluster.pools[p].nodes) * sim::workers_per_node(scenario.cluster, pool);
  const double span_s = last_s - first_s, load = work_s / span_s;
  if (gpus > 0 && count > 0 && span_s > traces::Workload::kSpanInDurations * durations_s / count && load > gpus)
    say(stderr,
        "warning: the mean load of the jobs, {:.4g} GPUs, is more than the {:g} of the cluster: the queue grows as long as jobs "
        "come\n",
        load, gpus);
}

}  // namespace

int check_command(const ScenarioArguments& arguments) {
  const scenarios::SweepPlan plan(arguments.path, load_options(arguments));
  const scenarios::Scenario* scenario = &plan.first();
  for (const std::string& warning : scenario->warnings) say(stderr, "warning: {}\n", warning);
  say_inputs(scenario->inputs);
  const auto counted = [](std::size_t number, const char* one, const char* many = "") {
    return sim::counted(static_cast<double>(number), one, many);
  };
  say("{}: no mistakes; {}{}{}, {}, {}, {}\n", arguments.path,
      !scenario->study_name.empty() ? "study " + scenario->study_name + ", " : "", counted(scenario->jobs.size(), "job"),
      scenario->generators.empty() ? "" : " and generated ones", counted(scenario->cluster.pools.size(), "pool"),
      counted(scenario->policies.size(), "policy", "policies"),
      counted(static_cast<std::size_t>(scenario->repetitions), "repetition"));
  warn_of_load(*scenario);
  if (scenario->resampling.blocks && scenario->repetitions == 1 && !scenario->jobs.empty())
    say("\"resample\": every policy gets one redrawn trace, not the recorded one; with \"repetitions\" several are drawn. Blocks "
        "are drawn on their own: crowded times that span several of them are torn apart, so that redrawn traces wait less\n");
  const double points = plan.axes().empty() ? 0 : static_cast<double>(plan.points());
  if (scenario->study_name.empty()) {
    const scenarios::RunEstimate estimate = estimate_run(*scenario, scenarios::processes_of({}), points);
    say("estimate: {}\n", to_string(estimate));
    warn_of_size(estimate);
  }
  if (!plan.axes().empty()) {
    std::vector<std::string> axes;
    for (const scenarios::SweepAxis& axis : plan.axes())
      axes.push_back(fmt::format("{} of {}", counted(axis.values.size(), "value"), axis.pointer));
    say("sweep: {}, at {}: {}\n",
        counted(plan.points() * scenario->policies.size() * static_cast<std::size_t>(scenario->repetitions), "run"),
        counted(plan.points(), "point"), fmt::join(axes, " x "));
  }
  return kOk;
}

}  // namespace rehearse::cli
