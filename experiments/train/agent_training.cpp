#include "experiments/train/agent_training.hpp"

#include <algorithm>

#include "experiments/run/process_pool.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/place/rl/transfer_training.hpp"
#include "policies/staged/agent_training.hpp"
#include "report/row_writer.hpp"
#include "scenarios/read/agent_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace {

void write_point(report::RowWriter& curve, const policies::LearningPoint& point) {
  curve.integer(point.iteration).number(point.cost_ratio).number(point.critic_error).number(point.late).number(point.short_of);
  curve.number(point.late_price).number(point.short_price);
  curve.end_row();
}

}  // namespace

std::string curve_path(std::string out) {
  if (sim::is_streamed(out)) return "/dev/null";  // an agent that goes through a pipe has nothing beside it
  constexpr std::string_view kEnding = ".json";
  if (out.ends_with(kEnding)) out.resize(out.size() - kEnding.size());
  return out + ".csv";
}

TrainResult iterated(const TrainOptions& options, const HeldInterrupts& interrupts, const std::function<void()>& iterate,
                     const std::function<void(TrainResult&)>& after) {
  TrainResult result;
  ProgressBar bar(
      {.wanted = options.progress, .parts_a_task = static_cast<std::size_t>(options.iterations), .one_part = "iteration"});
  while (result.iterations < options.iterations && !result.interrupted) {
    iterate();
    ++result.iterations;
    bar.update(0, static_cast<std::uint64_t>(result.iterations));
    result.interrupted = interrupts.take();
    after(result);
  }
  return result;
}

TrainResult train_staged_rl(const Scenario& scenario, const TrainOptions& options) {
  const auto trains = [](const sim::Job& job) { return job.work == sim::Work::train; };
  if (scenario.generators.empty() && std::none_of(scenario.jobs.begin(), scenario.jobs.end(), trains))
    throw sim::InputError(
        sim::Mistake{.expected = "a scenario with trainings, generated or listed, to learn from", .found = "none"});
  policies::AgentTraining training({.cluster = &scenario.cluster,
                                    .costs = scenario.costs,
                                    .models = &scenario.profile_models,
                                    .manual = &scenario.manual,
                                    .stage_rules = scenario.stages,
                                    .generators = scenario.generators,
                                    .jobs = scenario.jobs,
                                    .model_error = scenario.world_errors.model_error,
                                    .seed = scenario.seed});
  const HeldInterrupts interrupts;
  report::RowWriter curve(sim::OutputFile(curve_path(options.out)));
  curve.line("iteration,cost_ratio,critic_error,late_fraction,short_fraction,late_price,short_price");
  policies::LearningPoint best = training.validate();  // the untrained agent, which all others are measured by
  write_point(curve, best);
  const policies::NetworkOrigin origin{.kind = policies::StagedAgent::kKind,
                                       .seed = scenario.seed,
                                       .command = options.command,
                                       .version = std::string(sim::program_version())};
  if (!options.resume.empty()) {
    training.agent().load_from(read_agent_file(options.resume, policies::StagedAgent::blueprint()));
    best = training.validate();
  }
  policies::NetworkState kept = save(training.agent().parameters(), origin);
  const auto validate_often = [&](TrainResult& result) {
    if (result.iterations % kValidateEvery != 0) return;
    const policies::LearningPoint point = training.validate();
    write_point(curve, point);
    if (point.merit >= best.merit) return;
    best = point;
    kept = save(training.agent().parameters(), origin);
  };
  TrainResult result = iterated(
      options, interrupts, [&] { training.iterate(); }, validate_often);
  curve.close();
  write_agent_file(options.out, kept);
  result.best_iteration = best.iteration;
  result.cost_ratio = best.cost_ratio;
  return result;
}

TrainResult train_rl_transfer(const Scenario& scenario, const TrainOptions& options) {
  const std::vector<NamedCase> cases = placement_cases(scenario);
  policies::TransferSetup setup{.cases = {}, .seed = scenario.seed, .iterations = options.iterations};
  for (const NamedCase& c : cases) setup.cases.push_back({c.name, &c.placed.graph, &c.placed.machine, &c.placed.groups});
  policies::TransferTraining training(std::move(setup));
  const HeldInterrupts interrupts;
  report::RowWriter curve(sim::OutputFile(curve_path(options.out)));
  curve.line("iteration,time_over_heft");
  const auto validated = [&] {
    const double ratio = training.time_ratio();
    curve.integer(training.iteration()).number(ratio);
    curve.end_row();
    return ratio;
  };
  const double untrained = validated();
  const policies::NetworkOrigin origin{.kind = policies::GraphLayers::kKind,
                                       .seed = scenario.seed,
                                       .command = options.command,
                                       .version = std::string(sim::program_version())};
  double best = untrained;
  if (!options.resume.empty()) {
    load(read_agent_file(options.resume, policies::GraphLayers::blueprint()), training.parameters());
    best = validated();
  }
  policies::NetworkState kept = save(training.parameters(), origin);
  const auto validate_often = [&](TrainResult& result) {
    if (result.iterations % kValidateEvery != 0) return;
    const double ratio = validated();
    if (ratio >= best) return;
    best = ratio;
    result.best_iteration = result.iterations;
    kept = save(training.parameters(), origin);
  };
  TrainResult result = iterated(
      options, interrupts, [&] { training.iterate(); }, validate_often);
  curve.close();
  write_agent_file(options.out, kept);
  result.cost_ratio = best / untrained;
  return result;
}

}  // namespace rehearse::scenarios
