#include <fmt/format.h>

#include <algorithm>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/networks/subject_json.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

using sim::above;
using sim::at_least;
using sim::between;

const std::vector<std::string> kOptimizers{"sgd", "momentum", "adam"};

void read_model(sim::JsonValue value, OwnModels& own, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const std::string name = in.text("name");
  OwnModels::Model model;
  constexpr workloads::Optimizer optimizers[] = {workloads::Optimizer::sgd, workloads::Optimizer::momentum,
                                                 workloads::Optimizer::adam};
  model.optimizer = optimizers[in.choice("optimizer", kOptimizers, 1)];
  model.global_batch = in.number("global_batch", between(1, 1e9));
  model.dataset = in.text("dataset");
  const double sample_bytes = in.number("bytes_per_sample", between(0, 1e12), 0.0);
  const auto cnn = in.child("cnn"), rnn = in.child("rnn"), mlp = in.child("mlp");
  in.finish();
  if (!model.dataset.empty()) known_name(*in.child("dataset"), model.dataset, dataset_names(own), "dataset", mistakes);
  if (cnn.has_value() + rnn.has_value() + mlp.has_value() != 1) {
    value.refuse("exactly one of cnn, rnn and mlp", mistakes);
    return;
  }
  try {
    workloads::Network network = cnn   ? make_network(traces::read_cnn(*cnn, mistakes))
                                 : rnn ? make_network(traces::read_rnn(*rnn, mistakes))
                                       : make_network(traces::read_mlp(*mlp, mistakes));
    network.name = name;
    model.graph = build_graph(network, {.optimizer = model.optimizer, .stored_bytes_per_sample = sample_bytes});
  } catch (const sim::InputError& error) {
    add_at(cnn ? *cnn : rnn ? *rnn : *mlp, error, mistakes);
    return;
  }
  if (!name.empty() && !own.models.emplace(name, std::move(model)).second)
    refuse_again(value, name, "a name that is given once", mistakes);
}

void read_dataset(sim::JsonValue value, OwnModels& own, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const std::string name = in.text("name");
  const OwnModels::Dataset dataset{.training_samples = in.number("training_samples", between(1, 1e12)),
                                   .validation_samples = in.number("validation_samples", between(1, 1e12))};
  in.finish();
  if (!name.empty() && !own.datasets.emplace(name, dataset).second)
    refuse_again(value, name, "a name that is given once", mistakes);
}

void read_convergence(sim::JsonValue value, OwnModels& own, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::ConvergenceParameters c;
  c.model = in.text("model");
  c.dataset = in.text("dataset");
  c.metric = in.text("metric", "accuracy");
  c.source = in.text("source", "the scenario");
  c.reference_batch = in.number("reference_batch", between(1, 1e9));
  c.reference_learning_rate = in.number("reference_learning_rate", above(0), 0.1);
  c.reference_rate_fraction = in.number("reference_rate_fraction", {.low = 0, .high = 1, .low_excluded = true}, 1.0);
  c.rate_exponent = in.number("rate_exponent", {.low = 0, .high = 1, .low_excluded = true}, 1.0);
  c.reference_epochs = in.number("reference_epochs", between(1, 1e6));
  c.start_accuracy = in.number("start_accuracy", between(0, 1), 0.0);
  c.gap_batch = in.number("gap_batch", at_least(1), 1e9);
  c.staleness_loss = in.number("staleness_loss", between(0, 1), 0.0);
  for (const sim::JsonValue knot : in.list("noise_scale")) {
    sim::ObjectReader k(knot, mistakes);
    c.noise.push_back({.progress = k.number("progress", at_least(0)),
                       .noise_scale = k.number("samples", above(0)),
                       .batch_exponent = k.number("batch_exponent", between(0, 2), 0.0)});
    k.finish();
  }
  for (const sim::JsonValue phase : in.list("phases")) {
    sim::ObjectReader p(phase, mistakes);
    c.phases.push_back({.start_progress = p.number("start_progress", at_least(0)),
                        .ceiling = p.number("ceiling", between(0, 1)),
                        .scale = p.number("scale", above(0)),
                        .exponent = p.number("exponent", above(0)),
                        .ceiling_loss = p.number("ceiling_loss", between(0, 1), 0.0)});
    p.finish();
  }
  in.finish();
  if (!c.model.empty()) known_name(*in.child("model"), c.model, model_names(own), "model", mistakes);
  for (const workloads::ConvergenceParameters& other : own.convergence)
    if (other.model == c.model && other.dataset == c.dataset)
      refuse_again(value, c.model + " on " + c.dataset, "a model and dataset that are given once", mistakes);
  const auto data = own.datasets.find(c.dataset);
  if (data != own.datasets.end()) {
    c.training_samples = data->second.training_samples;
    c.validation_samples = data->second.validation_samples;
  } else if (const workloads::Dataset* zoo_data = workloads::find_dataset(c.dataset)) {
    c.training_samples = zoo_data->training_samples;
    c.validation_samples = zoo_data->validation_samples;
  } else if (!c.dataset.empty()) {
    known_name(*in.child("dataset"), c.dataset, dataset_names(own), "dataset", mistakes);
    return;
  }
  for (const std::string& wrong : mistakes_in(c)) value.refuse("parameters for which this holds: " + wrong, mistakes);
  own.convergence.push_back(std::move(c));
}

workloads::RecipeOutcome read_outcome(sim::JsonValue value, const OwnModels& own, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::RecipeOutcome outcome{.model = in.text("model"), .dataset = in.text("dataset")};
  outcome.training.batch = in.number("reference_batch", between(1, 1e9));
  outcome.training.learning_rate = in.number("reference_learning_rate", above(0), 0.1);
  outcome.training.epochs = in.number("epochs", between(1, 1e6));
  outcome.training.final_accuracy = in.number("final_accuracy", {.low = 0, .high = 1, .low_excluded = true});
  outcome.critical_batch_factor = in.number("critical_batch_factor", between(0.01, 100), 1.0);
  outcome.source = in.text("source", "the scenario");
  in.finish();
  if (outcome.model.empty() || outcome.dataset.empty()) return outcome;
  if (!known_name(*in.child("model"), outcome.model, model_names(own), "model", mistakes)) return outcome;
  if (find_convergence(own, outcome.model, outcome.dataset) == nullptr)
    value.refuse(fmt::format("a model whose accuracy is modelled; of {} on {} nothing is known (see \"convergence\")",
                             outcome.model, outcome.dataset),
                 mistakes);
  return outcome;
}

void read_recipe(sim::JsonValue value, OwnModels& own, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::Recipe recipe{.name = in.text("name")};
  recipe.optimizer = static_cast<workloads::RecipeOptimizer>(in.choice("optimizer", workloads::recipe_optimizer_names(), 0));
  recipe.lr_rule = static_cast<sim::LrRule>(in.choice("lr_rule", traces::lr_rule_names(), 0));
  recipe.label_smoothing = in.number("label_smoothing", between(0, 0.5), 0.0);
  recipe.source = in.text("source", "the scenario");
  for (const sim::JsonValue entry : in.list("outcomes")) {
    workloads::RecipeOutcome outcome = read_outcome(entry, own, mistakes);
    if (find_outcome(recipe, outcome.model, outcome.dataset) != nullptr)
      refuse_again(entry, outcome.model + " on " + outcome.dataset, "a model and dataset that are given once", mistakes);
    const auto* pair = find_convergence(own, outcome.model, outcome.dataset);
    recipe.outcomes.push_back(std::move(outcome));
    if (pair == nullptr || !mistakes.empty()) continue;
    for (const std::string& wrong : mistakes_in(with_recipe(*pair, recipe)))
      entry.refuse("a training whose parameters keep this: " + wrong, mistakes);
  }
  in.finish();
  if (find_recipe(own.recipes, recipe.name) != nullptr) refuse_again(value, recipe.name, "a name that is given once", mistakes);
  own.recipes.push_back(std::move(recipe));
}

}  // namespace

OwnModels read_own_models(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  OwnModels own;
  for (const sim::JsonValue value : in.list("datasets")) read_dataset(value, own, mistakes);
  for (const sim::JsonValue value : in.list("models")) read_model(value, own, mistakes);
  for (const sim::JsonValue value : in.list("convergence")) read_convergence(value, own, mistakes);
  for (const sim::JsonValue value : in.list("recipes")) read_recipe(value, own, mistakes);
  return own;
}

std::vector<std::string> model_names(const OwnModels& own) {
  std::vector<std::string> names;
  for (const auto& [name, model] : own.models) names.push_back(name);
  for (const workloads::ZooEntry& entry : workloads::zoo()) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> dataset_names(const OwnModels& own) {
  std::vector<std::string> names;
  for (const auto& [name, dataset] : own.datasets) names.push_back(name);
  for (const workloads::Dataset& dataset : workloads::datasets()) names.emplace_back(dataset.name);
  return names;
}

std::string default_dataset(const OwnModels& own, const std::string& model) {
  const auto found = own.models.find(model);
  if (found != own.models.end()) return found->second.dataset;
  for (const workloads::ZooEntry& entry : workloads::zoo())
    if (entry.name == model) return std::string(entry.dataset);
  return {};
}

const workloads::ConvergenceParameters* find_convergence(const OwnModels& own, const std::string& model,
                                                         const std::string& dataset) {
  for (const workloads::ConvergenceParameters& c : own.convergence)
    if (c.model == model && c.dataset == dataset) return &c;
  return workloads::find_convergence(model, dataset);
}

std::vector<workloads::Recipe> all_recipes(const OwnModels& own) {
  std::vector<workloads::Recipe> all = own.recipes;
  for (const workloads::Recipe& recipe : workloads::recipes())
    if (find_recipe(own.recipes, recipe.name) == nullptr) all.push_back(recipe);
  return all;
}

workloads::Optimizer optimizer_of(const workloads::Recipe& recipe) {
  return recipe.optimizer == workloads::RecipeOptimizer::adam ? workloads::Optimizer::adam : workloads::Optimizer::momentum;
}

std::optional<workloads::ConvergenceParameters> convergence_by(const OwnModels& own, const std::string& model,
                                                               const std::string& dataset, const std::string& recipe) {
  const workloads::ConvergenceParameters* pair = find_convergence(own, model, dataset);
  if (pair == nullptr) return std::nullopt;
  if (recipe.empty()) return *pair;
  const std::vector<workloads::Recipe> recipes = all_recipes(own);
  const workloads::Recipe* found = find_recipe(recipes, recipe);
  sim::check(found != nullptr, "a job's recipe is one of the scenario's or the program's");
  return with_recipe(*pair, *found);
}

std::string recipe_hint(const OwnModels& own, const std::string& model, const std::string& dataset, double target) {
  const workloads::ConvergenceParameters* pair = find_convergence(own, model, dataset);
  if (pair == nullptr) return {};
  const std::vector<workloads::Recipe> recipes = all_recipes(own);
  const workloads::Recipe* reaching = recipe_reaching(*pair, recipes, target);
  return reaching == nullptr ? std::string() : fmt::format("; the recipe \"{}\" reaches it", reaching->name);
}

void add_profile_models(const OwnModels& own, const workloads::ProfileTable& profiles, workloads::ProfileModels& models) {
  for (std::size_t i = models.size(); i < profiles.profiles().size(); ++i) {
    const sim::Profile& profile = profiles.profiles()[i];
    if (const auto measured = own.job_types.find(profile.model); profile.dataset.empty() && measured != own.job_types.end()) {
      // Nothing else is known of it: a graph without operations.
      models.add({.graph = {.name = profile.model}, .model = profile.model, .measured = measured->second});
      continue;
    }
    workloads::ProfileModelInputs inputs{
        .model = profile.model, .dataset = profile.dataset, .max_accumulation = profile.max_accumulation};
    inputs.convergence = convergence_by(own, profile.model, profile.dataset, profile.recipe);
    const auto mine = own.models.find(profile.model);
    if (mine != own.models.end()) {
      inputs.graph = mine->second.graph;
      inputs.optimizer = mine->second.optimizer;
      inputs.publication_batch = mine->second.global_batch;
    } else {
      const workloads::ZooEntry& entry = workloads::zoo_entry(profile.model);
      // A dataset of the scenario's own brings its numbers of samples; a sample looks like the model's default dataset's.
      inputs.graph =
          workloads::zoo_graph(profile.model, own.datasets.contains(profile.dataset) ? std::string() : profile.dataset);
      inputs.optimizer = entry.optimizer;
      // On another dataset than the publication's, the batch of the recipe that the convergence is from.
      const bool own_recipe = inputs.convergence && (entry.dataset != profile.dataset || !profile.recipe.empty());
      inputs.publication_batch = own_recipe ? inputs.convergence->reference_batch : entry.global_batch;
    }
    const std::vector<workloads::Recipe> recipes = profile.recipe.empty() ? std::vector<workloads::Recipe>() : all_recipes(own);
    if (const workloads::Recipe* recipe = find_recipe(recipes, profile.recipe)) inputs.optimizer = optimizer_of(*recipe);
    const auto data = own.datasets.find(profile.dataset);
    inputs.training_samples =
        data != own.datasets.end() ? data->second.training_samples : workloads::dataset(profile.dataset).training_samples;
    inputs.validation_samples =
        data != own.datasets.end() ? data->second.validation_samples : workloads::dataset(profile.dataset).validation_samples;
    models.add(std::move(inputs));
  }
}

}  // namespace rehearse::scenarios
