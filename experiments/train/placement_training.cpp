#include "experiments/train/placement_training.hpp"

#include "policies/place/rl/transfer_training.hpp"
#include "report/row_writer.hpp"
#include "scenarios/read/agent_file.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/progress_bar.hpp"
#include "experiments/studies/placement.hpp"
#include "sim/base/version.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace {}  // namespace

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
  TrainResult result;
  ProgressBar bar(options.progress, 1, static_cast<std::size_t>(options.iterations));
  while (result.iterations < options.iterations && !result.interrupted) {
    training.iterate();
    ++result.iterations;
    bar.update(0, static_cast<std::uint64_t>(result.iterations));
    result.interrupted = interrupts.take();
    if (result.iterations % kValidateEvery != 0) continue;
    const double ratio = validated();
    if (ratio >= best) continue;
    best = ratio;
    result.best_iteration = result.iterations;
    kept = save(training.parameters(), origin);
  }
  curve.close();
  write_agent_file(options.out, kept);
  result.cost_ratio = best / untrained;
  return result;
}

}  // namespace rehearse::scenarios
