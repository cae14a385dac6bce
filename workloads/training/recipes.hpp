// How a model is trained, as a value: optimizer, rule of the learning rate, label smoothing, each with its effect on what is
// believed of the model's convergence, and the trainings that were published of it (docs/explain/model.md, "Recipes").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/training/convergence.hpp"

namespace rehearse::workloads {

/// sgd has momentum. lars (You et al. 2017) and adam divide each gradient by its own size.
enum class RecipeOptimizer : std::uint8_t { sgd, lars, adam };

/// In RecipeOptimizer's order.
std::span<const std::string> recipe_optimizer_names();

/// A published training of a model by a recipe.
struct RecipeOutcome {
  std::string model, dataset;
  PublishedTraining training;
  /// kappa: the batch beyond which a step is hardly worth more, over what the gradient noise scale says. 1: as it says.
  double critical_batch_factor = 1;
  std::string source;
};

struct Recipe {
  std::string name;
  RecipeOptimizer optimizer = RecipeOptimizer::sgd;
  sim::LrRule lr_rule = sim::LrRule::adascale;  ///< of jobs that name none
  double label_smoothing = 0;                   ///< share of the label that goes to all classes alike, at most 0.5
  std::string source;
  std::vector<RecipeOutcome> outcomes;  ///< each pair once
};

/// What smoothed labels make of an accuracy: a share of the errors that grows linearly to kSmoothingGain at 0.1, and no further.
double smoothed_accuracy(double accuracy, double label_smoothing);
inline constexpr double kSmoothingGain = 0.01;
inline constexpr double kUsualSmoothing = 0.1;

/// Null where nothing was published.
const RecipeOutcome* find_outcome(const Recipe& recipe, std::string_view model, std::string_view dataset);

/// What is believed of a pair when it is trained by the recipe. Where a training of it was published, the pair's shape is brought
/// to that one's batch, rate, length and accuracy; else its levels are smoothed.
ConvergenceParameters with_recipe(const ConvergenceParameters& pair, const Recipe& recipe);

/// What training by these parameters tends to at the reference batch: targets above are never reached.
double highest_accuracy(const ConvergenceParameters& parameters);
/// The first recipe by which the pair gets there; null where none does.
const Recipe* recipe_reaching(const ConvergenceParameters& pair, std::span<const Recipe> recipes, double target);

/// The program's own.
std::span<const Recipe> recipes();
/// Null for a name that is none of theirs.
const Recipe* find_recipe(std::span<const Recipe> recipes, std::string_view name);

}  // namespace rehearse::workloads
