#include "policies/configure/least_energy.hpp"

#include <algorithm>
#include <optional>

#include "policies/configure/menu.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::policies {

namespace {

std::optional<workloads::StructureFeatures> structure_of(const workloads::ProfileModel& model) {
  for (const workloads::ZooEntry& entry : workloads::zoo()) {
    if (entry.name != model.model) continue;
    // A sample of a dataset of the scenario's own looks like the model's default dataset's.
    const workloads::Dataset* data = workloads::find_dataset(model.dataset);
    return structure_features(entry.build(data != nullptr ? *data : workloads::dataset(entry.dataset)));
  }
  return std::nullopt;
}

double epochs_of(const sim::Job& job, const sim::Configuration& c, const sim::Prediction& believed, double samples) {
  return job.work == sim::Work::steps ? job.steps * c.batch_size() / samples : believed.epochs;
}

}  // namespace

const EstimatorSet& LeastEnergy::estimators(const ConfigureView& view, const workloads::StructureFeatures& features) {
  workloads::SweepSettings settings = sweep_for(features);
  settings.networks = networks_;
  std::unique_ptr<const EstimatorSet>& set = estimators_[settings.kind];
  if (set == nullptr) set = std::make_unique<const EstimatorSet>(view.cluster, settings);
  return *set;
}

sim::Menu LeastEnergy::configure(const ConfigureView& view, const workloads::Belief& belief) {
  const workloads::ProfileModel& model = belief.profiles().of(*view.job.profile);
  const auto features = structure_of(model);
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates) {
    const sim::Prediction believed = view.estimate(c);
    if (!features || !believed.feasible || c.groups.size() != 1) {
      choices.push_back({.configuration = c, .predicted = believed});
      continue;
    }
    const EstimatorSet& set = estimators(view, *features);
    const Recommender recommender(view.cluster, view.costs, set);
    const PlanJob job{.features = *features,
                      .samples = model.training_samples,
                      .evaluation_samples = view.job.work == sim::Work::train ? model.validation_samples : 0,
                      .batches = {},
                      .sample_bytes = model.step.input_bytes(1)};
    const sim::Group& group = c.groups.front();
    for (const EstimatorSet::Limited& limited : set.of_pool(group.pool)) {
      const auto one = recommender.evaluate(job, {.pool = group.pool,
                                                  .workers = group.workers,
                                                  .batch = c.batch_size(),
                                                  .power_limit_w = limited.power_limit_w,
                                                  .epochs = epochs_of(view.job, c, believed, model.training_samples)});
      if (!one) continue;
      sim::Choice choice{.configuration = c, .predicted = believed};
      choice.configuration.power_limit_w = limited.power_limit_w;
      sim::Prediction& p = choice.predicted;
      p.time_s = one->time_s.expected;
      p.cost_usd = one->cost_usd.expected;
      p.safe_cost_usd = one->cost_usd.high;
      p.ranked_cost_usd = one->energy_j.expected;  // the menu's order: any unit will do
      p.feasible = one->time_s.high <= view.job.deadline_s;
      choices.push_back(std::move(choice));
    }
  }
  if (choices.empty()) choices.push_back({.configuration = view.manual, .predicted = view.estimate(view.manual)});
  return rank(view.job, std::move(choices));
}

}  // namespace rehearse::policies
