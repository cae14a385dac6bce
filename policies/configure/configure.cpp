#include "policies/configure/configure.hpp"

#include <cmath>

#include "sim/replay/stage.hpp"

namespace rehearse::policies {

std::vector<double> stage_ends(const sim::Job& job, const sim::Configuration& usual, const StageRules& rules,
                               sim::StageRunner& believed) {
  std::vector<double> ends;
  if (job.work != sim::Work::train || usual.groups.empty()) return ends;
  sim::Job to_target = job;
  to_target.stop = sim::Stop::target;
  const sim::Convergence& convergence = *believed.models().convergence;
  sim::Progress now;
  std::vector<double> accuracies;  // by epoch
  train_epochs(to_target, usual, sim::epoch_cap(to_target, 0, convergence), convergence, now,
               [&](const sim::EpochStep& step, const sim::Progress& at) {
                 if (!step.outcome.diverged) accuracies.push_back(at.accuracy);
               });
  const auto epochs = static_cast<double>(accuracies.size());
  double end = 0;
  for (int k = 1; k < rules.count; ++k) {
    const double share = static_cast<double>(k) / rules.count;
    double next = std::round(share * epochs);
    if (rules.by == StagesBy::accuracy && !accuracies.empty()) {
      const double wanted = accuracies.front() + share * (accuracies.back() - accuracies.front());
      next = 1;
      while (next < epochs && accuracies[static_cast<std::size_t>(next) - 1] < wanted) ++next;
    }
    if (next > end && next < epochs) ends.push_back(end = next);
  }
  return ends;
}

}  // namespace rehearse::policies
