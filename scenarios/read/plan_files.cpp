#include "scenarios/read/plan_files.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/units.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/subject_json.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

using sim::above;
using sim::at_least;
using sim::between;

constexpr int kBatchDoublings = 5;      // around the reference batch, as configure strategies have it
constexpr double kUsualBatch = 128;     // of a network that no publication has trained
constexpr double kValidationShare = 0;  // of a data set of the user's own: says nothing of evaluations
const std::vector<std::string> kGoals{"least-energy", "least-cost", "least-time"};  // in Goal's order
const std::vector<std::string> kTasks{"image-classification", "language-model", "translation", "speech"};

/// A data set of the zoo, or the user's own.
struct PlanData {
  workloads::Dataset dataset{};
  std::string name, task;  ///< the texts that `dataset` views
};

void read_own_dataset(sim::JsonValue value, PlanData& data, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  data.name = in.text("name", "own");
  data.task = kTasks[in.choice("task", kTasks)];
  workloads::Dataset& d = data.dataset;
  d.training_samples = in.number("training_samples", between(1, 1e12));
  d.validation_samples = in.number("validation_samples", between(0, 1e12), kValidationShare);
  d.classes = static_cast<int>(in.integer("classes", between(1, 1e7), data.task == "image-classification" ? 1000 : 10000));
  d.bytes_per_sample = in.number("bytes_per_sample", between(0, 1e12), 0.0);
  if (data.task == "image-classification")
    d.shape = {static_cast<int>(in.integer("channels", between(1, 1e4), 3)),
               static_cast<int>(in.integer("height", between(1, 1e5))), static_cast<int>(in.integer("width", between(1, 1e5)))};
  else if (data.task == "speech")
    d.shape = {1, static_cast<int>(in.integer("frequencies", between(1, 1e5), 161)),
               static_cast<int>(in.integer("frames", between(1, 1e6)))};
  else
    d.shape = {1, static_cast<int>(in.integer("tokens", between(1, 1e6))), 1};
  in.finish();
  d.name = data.name;
}

bool read_plan_dataset(sim::ObjectReader& in, const std::string& fallback, PlanData& data, sim::Mistakes& mistakes) {
  const auto value = in.child("dataset");
  if (value && value->is_object()) {
    const std::size_t before = mistakes.size();
    read_own_dataset(*value, data, mistakes);
    return mistakes.size() == before;
  }
  const std::string name = in.text("dataset", fallback);
  const workloads::Dataset* found = workloads::find_dataset(name);
  if (found == nullptr) {
    const OwnModels none;
    if (value) known_name(*value, name, dataset_names(none), "dataset", mistakes);
    if (!value) in.value().refuse("a dataset: the name of one, or an object with its task and size", mistakes);
    return false;
  }
  data.dataset = *found;
  data.name = name;
  return true;
}

struct Trained {
  workloads::Network network;
  double reference_batch = kUsualBatch;
  std::optional<workloads::ConvergenceParameters> convergence;
  sim::LrRule lr_rule = sim::LrRule::adascale;
  workloads::Optimizer optimizer = workloads::Optimizer::momentum;
  std::optional<workloads::Task> task;
};

/// `recipe` has no effect on a model whose accuracy is not modelled but for its optimizer.
Trained zoo_model(const std::string& model, const PlanData& data, const workloads::Recipe* recipe) {
  const workloads::ZooEntry& entry = workloads::zoo_entry(model);
  Trained trained{.network = entry.build(data.dataset),
                  .reference_batch = static_cast<double>(entry.global_batch),
                  .optimizer = entry.optimizer,
                  .task = entry.task};
  const auto* pair = workloads::find_convergence(model, data.name);
  if (recipe != nullptr) {
    trained.lr_rule = recipe->lr_rule;
    trained.optimizer = optimizer_of(*recipe);
  }
  if (pair != nullptr) trained.convergence = recipe == nullptr ? *pair : with_recipe(*pair, *recipe);
  if (trained.convergence) trained.reference_batch = trained.convergence->reference_batch;
  return trained;
}

/// {"cnn": ...}, {"rnn": ...} or {"mlp": ...}; a list of layers; {"file": PATH} of a network by itself.
workloads::Network own_network(sim::JsonValue value, const Paths& paths, sim::Mistakes& mistakes) {
  for (const sim::JsonMember member : value.members()) {
    if (member.key.text() == "layers") return traces::read_layers(value);
    if (member.key.text() != "file") continue;
    sim::Mistakes own;  // told by the caller beside the others
    if (value.size() > 1 || !member.value.is_string()) value.refuse("a file's path, and nothing beside it", own);
    own.throw_if_any();
    const std::string path = paths.resolve(member.value, own);
    own.throw_if_any();
    return traces::read_network(path);
  }
  const workloads::Structure structure = traces::read_structure(value, mistakes);
  return std::visit([](const auto& s) { return make_network(s); }, structure);
}

std::vector<double> read_batches(sim::ObjectReader& in, const Trained& trained, bool to_target) {
  std::vector<double> batches;
  if (in.has("batch_sizes")) {
    for (const sim::JsonValue value : in.list("batch_sizes"))
      if (value.is_number() && value.number() >= 1 && value.number() <= 1e9) batches.push_back(std::floor(value.number()));
    return batches;
  }
  if (const auto one = in.maybe_integer("batch_size", between(1, 1e9))) return {static_cast<double>(*one)};
  // A larger batch than the publication's may need more epochs: only where that is modelled.
  for (int j = -kBatchDoublings; j <= (to_target ? kBatchDoublings : 0); ++j)
    if (trained.reference_batch * std::exp2(j) >= 1) batches.push_back(std::floor(trained.reference_batch * std::exp2(j)));
  return batches;
}

/// The epochs that each batch needs; those that never reach the target are left out.
std::vector<policies::BatchOption> options(const std::vector<double>& batches, const Trained& trained, double target,
                                           double epochs) {
  std::vector<policies::BatchOption> found;
  for (const double batch : batches) {
    if (target == 0) {
      found.push_back({batch, epochs});
      continue;
    }
    const int cap = sim::whole<int>(epochs > 0 ? epochs : 3 * trained.convergence->reference_epochs, "epochs");
    const auto reached =
        epochs_to_target(*trained.convergence, {}, {.global_batch = batch, .rule = trained.lr_rule}, target, cap);
    if (reached.epochs) found.push_back({batch, static_cast<double>(*reached.epochs)});
  }
  return found;
}

void read_limits(sim::ObjectReader& in, const PlanCluster& cluster, PlanRequest& request, sim::Mistakes& mistakes) {
  request.goal = static_cast<policies::Goal>(in.choice("objective", kGoals, 0));
  request.limits.deadline_s = in.maybe_number("deadline_s", above(0)).value_or(request.limits.deadline_s);
  request.limits.cost_usd = in.maybe_number("cost_limit_usd", above(0)).value_or(request.limits.cost_usd);
  request.limits.workers = in.has("workers") ? static_cast<int>(in.integer("workers", between(1, 1e7), 1)) : 0;
  request.limits.free_devices = cluster.free_devices;
  const std::string pool = in.text("pool", "any");
  if (pool == "any") return;
  const std::vector<std::string> names = pool_names(cluster.scenario.cluster);
  if (known_name(*in.child("pool"), pool, names, "pool", mistakes))
    request.limits.pool = static_cast<int>(std::ranges::find(names, pool) - names.begin());
}

/// A job runs in one pool.
void check_workers(sim::ObjectReader& in, const PlanCluster& plan, const PlanRequest& request, sim::Mistakes& mistakes) {
  const sim::Cluster& cluster = plan.scenario.cluster;
  int most = 0;
  for (int p = 0; p < static_cast<int>(cluster.pools.size()); ++p) {
    const auto index = static_cast<std::size_t>(p);
    if (request.limits.pool >= 0 && request.limits.pool != p) continue;
    most = std::max(most, plan.free_devices.empty() ? cluster.pools[index].nodes * sim::workers_per_node(cluster, p)
                                                    : plan.free_devices[index]);
  }
  if (request.limits.workers > most)
    in.child("workers")->refuse(fmt::format("at most {}: what is free in one pool", most), mistakes);
}

}  // namespace

RecommendedModel recommended_model(const std::string& task, const TaskData& data) {
  const auto chosen = [&](const char* model, const char* reason) {
    return RecommendedModel{model, fmt::format("{} for {}: {}", model, task, reason)};
  };
  if (task == "translation") return chosen("nmt", "recurrent encoder and decoder with attention");
  if (task == "speech") return chosen("deepspeech2", "convolutions over the spectrogram, then recurrent layers");
  if (task == "language-model")  // Kaplan et al. 2020: data that a large transformer needs, and a small LSTM does not
    return data.samples * data.length < 1e9 ? chosen("rnnlm", "two LSTM layers; under 1e9 tokens a large transformer overfits")
                                            : chosen("gpt2", "a transformer; with 1e9 tokens and more it is worth its cost");
  sim::check(task == "image-classification", "a task without a recommended model");
  if (data.side <= 48) return chosen("resnet32", "a residual network made for images of 32 pixels");
  if (data.samples < 1e5) return chosen("resnet18", "fewer than 100,000 images do not feed a deeper network");
  if (data.samples < 5e6) return chosen("resnet50", "the usual depth for up to 5 million images");
  return chosen("resnet101", "more than 5 million images feed a deeper network");
}

namespace {

/// A scenario where a cluster or a job was meant: what that is, and how the scenario's becomes one.
void refuse_scenario(const sim::JsonDocument& document, const std::string& path, const char* expected) {
  bool has_cluster = false, has_jobs = false;
  for (const sim::JsonMember member : document.root().members()) {
    has_cluster = has_cluster || member.key.text() == "cluster";
    has_jobs = has_jobs || member.key.text() == "jobs" || member.key.text() == "policies";
  }
  if (has_cluster && has_jobs)
    throw sim::InputError(
        {.file = path, .line = 1, .expected = expected, .found = "a scenario (\"rehearse run\" is for scenarios)"});
}

}  // namespace

std::unique_ptr<PlanCluster> load_plan_cluster(const std::string& path, const std::string& stack) {
  const sim::JsonDocument document = sim::read_json_file(path);
  refuse_scenario(document, path,
                  "a cluster file: the scenario's \"cluster\" without jobs and policies, for instance "
                  "{\"cluster\": {\"pools\": [{\"name\": \"gpu\", \"instance\": \"p3.2xlarge\", \"nodes\": 2}]}}");
  sim::Mistakes mistakes;
  auto plan = std::make_unique<PlanCluster>();
  sim::ObjectReader in(document.root(), mistakes);
  const Paths paths{path.substr(0, path.rfind('/') + 1)};
  read_cluster(in, paths, {.stack = stack}, plan->scenario, mistakes);
  read_billing(in, sim::Billing::node, plan->scenario.costs, mistakes);
  const sim::Cluster& cluster = plan->scenario.cluster;
  if (const auto free = in.child("free_devices")) {
    mistakes.throw_if_any();  // how many devices there are is known of pools without mistakes alone
    for (const sim::Pool& pool : cluster.pools)
      plan->free_devices.push_back(pool.nodes * sim::workers_per_node(cluster, static_cast<int>(plan->free_devices.size())));
    sim::ObjectReader counts(*free, mistakes);
    for (std::size_t p = 0; p < cluster.pools.size(); ++p)
      plan->free_devices[p] =
          static_cast<int>(counts.integer(cluster.pools[p].name, between(0, plan->free_devices[p]), plan->free_devices[p]));
    counts.finish();
  }
  in.finish();
  mistakes.throw_if_any();
  return plan;
}

namespace {

/// `samples`: of an epoch, without a data set or in the place of its own number.
bool read_samples_and_dataset(sim::ObjectReader& in, const PlanRequest& request, PlanData& data, sim::Mistakes& mistakes) {
  const auto samples = in.maybe_number("samples", between(1, 1e12));
  const OwnModels none;
  const bool is_own = samples && request.model.empty() && !in.has("dataset");
  if (is_own) {
    data.name = in.text("dataset", "own");
    data.dataset.name = data.name;
  } else {
    const std::string of_model = default_dataset(none, request.model);
    // A model that is unknown is told already, and would say which data set.
    if (of_model.empty() && !request.model.empty() && !in.has("dataset")) return false;
    if (!read_plan_dataset(in, of_model, data, mistakes)) return false;
  }
  if (samples) data.dataset.training_samples = *samples;
  return true;
}

/// What is expected of a target that no batch reaches.
std::string reachable(const PlanRequest& request, const Trained& trained, double epochs) {
  const double highest = workloads::highest_accuracy(*trained.convergence);
  if (request.target_accuracy <= highest)
    return fmt::format("an accuracy that {} reaches on {} in {}", request.model, request.dataset,
                       epochs > 0 ? "the epochs it has" : "three times its publication's epochs");
  return fmt::format("an accuracy of at most {:.4g} ({} on {}{} is believed to get no further{})",
                     std::floor(highest * 1e4) / 1e4, request.model, request.dataset,
                     request.recipe.empty() ? "" : fmt::format(" by the recipe \"{}\"", request.recipe),
                     recipe_hint({}, request.model, request.dataset, request.target_accuracy));
}

PlanRequest read_job(const sim::JsonDocument& document, const Paths& paths, const PlanCluster& cluster) {
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  PlanRequest request;
  request.name = in.text("name", "job");
  const auto network = in.child("network");
  request.model = in.text("model", "");
  const double target = in.number("target_accuracy", between(0, 1), 0.0),
               epochs = in.number("epochs", {.low = 0, .high = 1e6, .low_excluded = true}, 0.0);
  request.recipe = in.text("recipe", "");
  PlanData data;
  const OwnModels none;
  const workloads::Recipe* recipe = nullptr;
  if (!request.recipe.empty()) {
    std::vector<std::string> names;
    for (const workloads::Recipe& one : workloads::recipes()) names.push_back(one.name);
    known_name(*in.child("recipe"), request.recipe, names, "recipe", mistakes);
    recipe = find_recipe(workloads::recipes(), request.recipe);
    if (network) in.child("recipe")->refuse("no recipe beside a network: how its accuracy grows is not modelled", mistakes);
  }
  if (!request.model.empty()) known_name(*in.child("model"), request.model, model_names(none), "model", mistakes);
  if (network && !request.model.empty()) network->refuse("either a model or a network", mistakes);
  const bool has_data = read_samples_and_dataset(in, request, data, mistakes);
  read_limits(in, cluster, request, mistakes);
  mistakes.throw_if_any();
  check_workers(in, cluster, request, mistakes);
  mistakes.throw_if_any();
  if (!network && request.model.empty()) {
    if (data.task.empty()) document.root().refuse("a model, a network, or a dataset with a task", mistakes);
    mistakes.throw_if_any();
    const RecommendedModel chosen =
        recommended_model(data.task, {data.dataset.training_samples,
                                      std::min(data.dataset.shape.height, data.dataset.shape.width), data.dataset.shape.height});
    request.model = chosen.model;
    request.why = chosen.why;
  }
  Trained trained;
  sim::check(has_data, "a data set that was read");
  try {
    if (network)
      trained.network = own_network(*network, paths, mistakes);
    else
      trained = zoo_model(request.model, data, recipe);
    if (mistakes.empty()) request.job.features = structure_features(trained.network);
  } catch (const sim::InputError& error) {
    add_at(network ? *network : document.root(), error, mistakes);
  }
  mistakes.throw_if_any();
  if (request.model.empty()) request.model = trained.network.name;
  if (target > 0 && !trained.convergence)
    in.child("target_accuracy")
        ->refuse(fmt::format("epochs: the accuracy of {} on {} is not modelled", request.model, data.name), mistakes);
  if (target == 0 && epochs == 0) document.root().refuse("epochs, or a target_accuracy", mistakes);
  request.target_accuracy = target;
  const std::vector<double> batches = read_batches(in, trained, target > 0);
  if (batches.empty()) document.root().refuse("a batch size of at least 1", mistakes);
  in.finish();
  mistakes.throw_if_any();
  request.network = std::move(trained.network);
  request.optimizer = trained.optimizer;
  request.task = trained.task;
  request.convergence = trained.convergence;
  request.lr_rule = trained.lr_rule;
  request.dataset = data.name;
  request.bytes_per_sample = data.dataset.bytes_per_sample;
  request.job.samples = data.dataset.training_samples;
  request.job.sample_bytes = data.dataset.bytes_per_sample;
  request.job.evaluation_samples = data.dataset.validation_samples;
  request.job.batches = options(batches, trained, target, epochs);
  if (request.job.batches.empty()) in.child("target_accuracy")->refuse(reachable(request, trained, epochs), mistakes);
  mistakes.throw_if_any();
  return request;
}

}  // namespace

PlanRequest load_plan_job(const std::string& path, const PlanCluster& cluster) {
  const sim::JsonDocument document = sim::read_json_file(path);
  refuse_scenario(document, path,
                  "a job file: one job, for instance {\"model\": \"resnet18\", \"dataset\": \"cifar10\", \"epochs\": 10}");
  return read_job(document, Paths{path.substr(0, path.rfind('/') + 1)}, cluster);
}

PlanRequest read_plan_job(std::string text, const std::string& name, const PlanCluster& cluster) {
  return read_job(sim::parse_json(std::move(text), name), Paths{}, cluster);
}

}  // namespace rehearse::scenarios
