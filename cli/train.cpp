#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/say.hpp"
#include "experiments/train/agent_training.hpp"

namespace rehearse::cli {

int train_command(const TrainArguments& arguments) {
  const auto scenario = load(arguments.scenario);
  std::string command = fmt::format("rehearse train {} {}", arguments.strategy, arguments.scenario.path);
  for (const std::string& set : arguments.scenario.sets) command += " --set " + set;
  if (arguments.iterations != TrainArguments().iterations) command += fmt::format(" --iterations {}", arguments.iterations);
  if (!arguments.resume.empty()) command += " --resume " + arguments.resume;
  const bool places = arguments.strategy == "rl-transfer";
  const scenarios::TrainOptions options{
      .out = arguments.out, .resume = arguments.resume, .iterations = arguments.iterations, .command = command, .progress = true};
  const auto train = [&] {
    if (places) return scenarios::train_rl_transfer(*scenario, options);
    if (arguments.strategy == "staged-shared") return scenarios::train_staged_shared(*scenario, options);
    return scenarios::train_staged_rl(*scenario, options);
  };
  const scenarios::TrainResult result = train();
  say("{} of {} iterations; the agent of iteration {} {} {:.2f} % of the untrained one{}\n{}\n", result.iterations,
      arguments.iterations, result.best_iteration, places ? "makes steps that take" : "costs", 100 * result.cost_ratio,
      places ? "'s" : " on the validation jobs", arguments.out);
  return result.interrupted ? kInterrupted : kOk;
}

}  // namespace rehearse::cli
