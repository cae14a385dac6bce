#include "workloads/training/recipes.hpp"

#include <algorithm>

namespace rehearse::workloads {
namespace {

// The critical batch of a tuned training with momentum over the gradient noise scale. Its prior is log-normal around 1 with a
// deviation of a factor of 3 (McCandlish et al. 2018 find critical batches so near to noise scales). Fitted, with the length of
// the training, to the epochs to 75.9 % at the eleven batches from 1,632 to 67,840 of MLPerf's reference convergence points
// (docs/evidence/mlperf-lars.csv): 2.25, with deviations of 4 %, by least squares of log epochs (test "the critical batch is
// that of ..."). Nothing published tells LARS and plain momentum apart below a batch of 8,192, so that both have it.
constexpr double kTunedCriticalBatch = 2.25;

const Recipe* known_recipe(std::span<const Recipe> recipes, auto holds) {
  const auto found = std::ranges::find_if(recipes, holds);
  return found == recipes.end() ? nullptr : &*found;
}

std::vector<Recipe> make_recipes() {
  return {
      {.name = "sgd-warmup",
       .optimizer = RecipeOptimizer::sgd,
       .lr_rule = sim::LrRule::linear_warmup,
       .source = "Goyal et al. 2017, arXiv:1706.02677",
       .outcomes = {{.model = "resnet50",
                     .dataset = "imagenet",
                     .training = {.batch = 256, .learning_rate = 0.1, .epochs = 90, .final_accuracy = 0.764},
                     .critical_batch_factor = kTunedCriticalBatch,
                     .source = "Goyal et al. 2017, Table 1: top-1 error 23.60 % at batch 256, 90 epochs; critical batch: carried "
                               "over from lars-smoothing"}}},
      {.name = "lars-smoothing",
       .optimizer = RecipeOptimizer::lars,
       .lr_rule = sim::LrRule::adascale,
       .label_smoothing = kUsualSmoothing,
       .source = "You et al. 2017, arXiv:1708.03888; rates tuned at each batch, as MLPerf's submissions do",
       .outcomes = {{.model = "resnet50",
                     .dataset = "imagenet",
                     .training = {.batch = 256, .learning_rate = 3.4, .epochs = 43, .final_accuracy = 0.7595},
                     .critical_batch_factor = kTunedCriticalBatch,
                     .source = "length and critical batch fitted to MLPerf Training's reference convergence points to 75.9 % "
                               "(mlcommons/logging, rcps_resnet.json of 1.0 and 4.0); rate: 7.4 at batch 1,632"}}},
      {.name = "adam",
       .optimizer = RecipeOptimizer::adam,
       .lr_rule = sim::LrRule::sqrt,
       .source = "square-root rule: Malladi et al. 2022, arXiv:2205.10287; its critical batch is not known apart from the noise "
                 "scale"},
  };
}

}  // namespace

std::span<const std::string> recipe_optimizer_names() {
  static const std::vector<std::string> names{"sgd", "lars", "adam"};
  return names;
}

double smoothed_accuracy(double accuracy, double label_smoothing) {
  return accuracy + (1 - accuracy) * kSmoothingGain * std::min(1.0, label_smoothing / kUsualSmoothing);
}

const RecipeOutcome* find_outcome(const Recipe& recipe, std::string_view model, std::string_view dataset) {
  const auto found =
      std::ranges::find_if(recipe.outcomes, [&](const RecipeOutcome& o) { return o.model == model && o.dataset == dataset; });
  return found == recipe.outcomes.end() ? nullptr : &*found;
}

ConvergenceParameters with_recipe(const ConvergenceParameters& pair, const Recipe& recipe) {
  const RecipeOutcome* outcome = find_outcome(recipe, pair.model, pair.dataset);
  ConvergenceParameters c = outcome == nullptr ? pair : reshaped(pair, outcome->training, pair.training_samples);
  c.rate_exponent = recipe.optimizer == RecipeOptimizer::sgd ? 1.0 : 0.5;
  c.source = (outcome == nullptr ? recipe.source : outcome->source) + "; shape and noise scale: " + pair.source;
  if (outcome == nullptr) {
    for (AccuracyPhase& phase : c.phases) phase.ceiling = smoothed_accuracy(phase.ceiling, recipe.label_smoothing);
    return c;
  }
  for (NoiseKnot& knot : c.noise) knot.noise_scale *= outcome->critical_batch_factor;
  return c;
}

double highest_accuracy(const ConvergenceParameters& parameters) { return accuracy_ceiling(parameters, {}, {}); }

const Recipe* recipe_reaching(const ConvergenceParameters& pair, std::span<const Recipe> recipes, double target) {
  return known_recipe(recipes, [&](const Recipe& r) { return highest_accuracy(with_recipe(pair, r)) >= target; });
}

std::span<const Recipe> recipes() {
  static const std::vector<Recipe> all = make_recipes();
  return all;
}

const Recipe* find_recipe(std::span<const Recipe> recipes, std::string_view name) {
  return known_recipe(recipes, [&](const Recipe& r) { return r.name == name; });
}

}  // namespace rehearse::workloads
