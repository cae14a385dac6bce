#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/studies/search_parts.hpp"
#include "experiments/studies/study.hpp"
#include "policies/search/spaces.hpp"
#include "sim/io/file.hpp"
#include "traces/architectures/cell_table.hpp"
#include "traces/networks/subject_json.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/training/architecture_accuracy.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/zoo/nas_cell_network.hpp"

namespace rehearse::scenarios {

namespace {

using policies::SearchGoal;

constexpr std::string_view kHowToGetAccuracies =
    "put the accuracies of NAS-Bench-201 beside the latencies of github.com/HayeonLee/HELP, data/nasbench201/latency";

std::vector<policies::Genes> every_candidate(const std::vector<policies::Gene>& genes) {
  std::vector<policies::Genes> all{{}};
  for (const policies::Gene& gene : genes) {
    std::vector<policies::Genes> longer;
    for (const policies::Genes& begun : all)
      for (int level = 0; level < static_cast<int>(gene.levels.size()); ++level) {
        longer.push_back(begun);
        longer.back().push_back(level);
      }
    all = std::move(longer);
  }
  return all;
}

constexpr int kNasEpochs = 200, kNasBatch = 256;  // Dong and Yang, ICLR 2020, section 2.3

/// "cell-" and the operations of the edges by number, in kNasOpNames' and kNasEdges' order.
std::optional<std::pair<std::string, std::string>> cell_plan_job(const workloads::Dataset& data, const policies::Genes& genes) {
  const auto network = workloads::nas_cell_network(policies::cell_of(genes), data.classes);
  if (!network) return std::nullopt;
  const std::string name = fmt::format("cell-{}", fmt::join(genes, ""));
  return std::pair(
      name, fmt::format("{{\"name\": \"{}\", \"dataset\": \"{}\", \"epochs\": {}, \"batch_size\": {}, \"network\": {}}}\n", name,
                        data.name, kNasEpochs, kNasBatch, traces::layers_json(*network)));
}

/// Of a column of accuracies, as the benchmark has them; null: it has other images than our data sets.
const workloads::Dataset* dataset_of(const std::string& accuracy) {
  if (accuracy.starts_with("acc_c10_")) return &workloads::dataset("cifar10");
  return accuracy.starts_with("acc_c100_") ? &workloads::dataset("cifar100") : nullptr;
}

/// A column "titan_rtx_256_ms" is of device "titan_rtx_256".
SpaceChoice read_cells(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  const sim::JsonValue file = *in.child("cells");
  traces::CellColumns columns{.accuracy = in.text("accuracy", std::string("acc_c10_200ep")), .latency = {}};
  std::vector<std::string> devices;
  for (const sim::JsonValue value : in.list("devices")) {
    devices.emplace_back(sim::read_text(value, mistakes));
    columns.latency.push_back(devices.back() + "_ms");
  }
  if (const auto list = in.required("devices", "columns of latencies, without their ending _ms"); list && devices.empty())
    list->refuse("at least one", mistakes);
  in.finish();
  const std::string path = paths.resolve(file, mistakes, kHowToGetAccuracies);
  if (path.empty() || devices.empty() || columns.accuracy.empty()) return {};
  std::vector<NamedSpace> spaces;
  try {
    traces::CellTable table = traces::read_cell_table(path, columns);
    traces::ImportReport report{.file = path, .sha256 = sim::sha256_of_file(path)};
    report.rows = report.jobs = static_cast<std::int64_t>(workloads::kNasCells);
    add_input(report, file.text(), scenario);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      auto space = std::make_shared<policies::CellSpace>(table.accuracy, std::move(table.latency_s[d]));
      std::vector<policies::Genes> all = every_candidate(space->genes());
      spaces.push_back({.name = devices[d], .space = std::move(space), .all = std::move(all)});
      if (const workloads::Dataset* data = dataset_of(columns.accuracy))
        spaces.back().plan_job = [data](const policies::Genes& genes) { return cell_plan_job(*data, genes); };
    }
  } catch (const sim::InputError& error) {
    add_at(file, error, mistakes);
    return {};
  }
  return {.goals = {SearchGoal::accuracy, SearchGoal::latency}, .make = [spaces](Scenario&) { return spaces; }};
}

/// Levels of some genes, in every combination.
struct LevelLists {
  std::vector<std::string> names;
  std::vector<std::vector<int>> levels;
};

constexpr std::size_t kMostArchitectures = 20000;

std::vector<policies::Gene> genes_of(const LevelLists& lists) {
  std::vector<policies::Gene> genes;
  for (std::size_t i = 0; i < lists.names.size(); ++i) {
    genes.push_back({.name = lists.names[i], .levels = {}});
    for (const int level : lists.levels[i]) genes.back().levels.push_back(std::to_string(level));
  }
  return genes;
}

/// What a family of architectures is: its networks, and what their training is like.
struct Family {
  LevelLists lists;
  const workloads::ConvergenceParameters* like = nullptr;
  workloads::Structure (*structure)(const std::vector<int>& levels) = nullptr;
  double (*accuracy)(const std::vector<int>& levels) = nullptr;
};

Family read_cnn_family(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  Family family{
      .lists = {.names = {"layers", "filters", "kernel", "image"}, .levels = {}},
      .like = workloads::find_convergence("resnet18", "cifar10"),
      .structure = [](const std::vector<int>& l) -> workloads::Structure {
        return workloads::residual_cnn(l[0], l[1], l[2], l[3]);
      },
      .accuracy =
          [](const std::vector<int>& l) { return 1 - workloads::cnn_error(workloads::residual_cnn(l[0], l[1], l[2], l[3])); }};
  family.lists.levels = {read_integers(in, "layers", sim::between(1, 200), {3, 6, 9, 12, 18, 27}, mistakes),
                         read_integers(in, "filters", sim::between(1, 1024), {8, 16, 24, 32, 48, 64}, mistakes),
                         read_integers(in, "kernel", sim::between(1, 11), {3, 5}, mistakes),
                         read_integers(in, "image", sim::between(8, 32), {16, 20, 24, 32}, mistakes)};
  for (const int kernel : family.lists.levels[2])
    if (kernel % 2 == 0) in.child("kernel")->refuse("odd numbers", mistakes);
  in.finish();
  return family;
}

Family read_rnn_family(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  Family family{
      .lists = {.names = {"layers", "hidden"}, .levels = {}},
      .like = workloads::find_convergence("rnnlm", "ptb"),
      .structure = [](const std::vector<int>& l) -> workloads::Structure { return workloads::lstm_language_model(l[0], l[1]); },
      .accuracy = [](const std::vector<int>& l) { return 1 - workloads::lstm_error(l[0], l[1]); }};
  family.lists.levels = {
      read_integers(in, "layers", sim::between(1, 8), {1, 2, 3, 4}, mistakes),
      read_integers(in, "hidden", sim::between(16, 8192), {128, 200, 320, 480, 650, 1000, 1500, 2048}, mistakes)};
  in.finish();
  return family;
}

/// The first genes are the family's.
std::vector<int> levels_of(const LevelLists& lists, const policies::Genes& genes) {
  std::vector<int> levels;
  for (std::size_t i = 0; i < lists.levels.size(); ++i) levels.push_back(lists.levels[i][static_cast<std::size_t>(genes[i])]);
  return levels;
}

/// Gives each combination a profile of the scenario.
policies::Architectures add_architectures(const Family& family, const std::string& kind, Scenario& scenario) {
  policies::Architectures made{.genes = genes_of(family.lists), .profiles = {}};
  const workloads::Dataset& data = workloads::dataset(family.like->dataset);
  for (const policies::Genes& genes : every_candidate(made.genes)) {
    const std::vector<int> levels = levels_of(family.lists, genes);
    const std::string name = fmt::format("{}-{}", kind, fmt::join(levels, "-"));
    made.profiles.push_back(scenario.profiles.intern(name, family.like->dataset));
    workloads::Network network =
        std::visit([](const auto& structure) { return make_network(structure); }, family.structure(levels));
    network.name = name;
    workloads::ProfileModelInputs inputs{.model = name, .dataset = family.like->dataset};
    inputs.graph = build_graph(network, {.stored_bytes_per_sample = data.bytes_per_sample});
    inputs.training_samples = data.training_samples;
    inputs.validation_samples = data.validation_samples;
    inputs.publication_batch = family.like->reference_batch;
    inputs.convergence = workloads::trained_to(*family.like, family.accuracy(levels));
    inputs.convergence->model = name;
    scenario.profile_models.add(std::move(inputs));
  }
  return made;
}

/// Pools by name; all where none is named.
std::vector<sim::PoolId> read_pools(sim::ObjectReader& in, std::string_view key, const sim::Cluster& cluster,
                                    sim::Mistakes& mistakes) {
  const std::vector<std::string> names = pool_names(cluster);
  std::vector<sim::PoolId> pools;
  for (const sim::JsonValue value : in.list(key)) {
    const std::string_view name = sim::read_text(value, mistakes);
    if (!name.empty() && known_name(value, name, names, "pool", mistakes))
      pools.push_back(static_cast<sim::PoolId>(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  if (pools.empty())
    for (std::size_t i = 0; i < names.size(); ++i) pools.push_back(static_cast<sim::PoolId>(i));
  return pools;
}

struct Chains {
  Family family;
  std::string kind;
  policies::TrainingResources resources;
  std::vector<sim::PoolId> deployed;
  double epochs = 1;
};

std::optional<std::pair<std::string, std::string>> plan_job(const Chains& chains, const policies::Genes& genes) {
  const std::vector<int> levels = levels_of(chains.family.lists, genes);
  const std::string name = fmt::format("{}-{}", chains.kind, fmt::join(levels, "-"));
  return std::pair(name,
                   fmt::format("{{\"name\": \"{}\", \"network\": {}, \"dataset\": \"{}\", \"epochs\": {}}}\n", name,
                               traces::to_json(chains.family.structure(levels)), chains.family.like->dataset, chains.epochs));
}

std::vector<NamedSpace> make_chains(const Chains& chains, Scenario& scenario) {
  policies::Architectures architectures = add_architectures(chains.family, chains.kind, scenario);
  architectures.epochs = chains.epochs;
  std::vector<NamedSpace> spaces;
  for (const sim::PoolId pool : chains.deployed)
    spaces.push_back({.name = scenario.cluster.pools[static_cast<std::size_t>(pool)].name,
                      .space = std::make_shared<policies::ChainSpace>(
                          policies::ChainSpace::Inputs{.cluster = &scenario.cluster,
                                                       .costs = &scenario.costs,
                                                       .models = &scenario.profile_models,
                                                       .architectures = architectures,
                                                       .resources = chains.resources,
                                                       .deployed_on = &sim::worker_device(scenario.cluster, pool)}),
                      .all = {},
                      .plan_job = [chains](const policies::Genes& genes) { return plan_job(chains, genes); }});
  return spaces;
}

SpaceChoice read_chains(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto cnn = in.child("cnn"), rnn = in.child("rnn");
  const std::size_t before = mistakes.size();
  Family family;
  if (cnn) family = read_cnn_family(*cnn, mistakes);
  if (rnn) family = read_rnn_family(*rnn, mistakes);
  const policies::TrainingResources resources{
      .pools = read_pools(in, "pools", scenario.cluster, mistakes),
      .workers = read_integers(in, "workers", sim::between(1, 1024), {1, 2, 4}, mistakes),
      .batches = read_integers(in, "batch", sim::between(1, 65536), {32, 64, 128, 256, 512}, mistakes)};
  const std::vector<sim::PoolId> deployed = read_pools(in, "deploy", scenario.cluster, mistakes);
  const double epochs =
      static_cast<double>(in.integer("epochs", sim::between(1, 10000), std::llround(family.like->reference_epochs)));
  in.finish();
  std::size_t combinations = 1;
  for (const std::vector<int>& levels : family.lists.levels) combinations *= levels.size();
  if (combinations > kMostArchitectures) in.value().refuse(fmt::format("at most {} architectures", kMostArchitectures), mistakes);
  if (combinations * resources.pools.size() * resources.workers.size() * resources.batches.size() < 2)
    in.value().refuse("at least two candidates", mistakes);
  if (cnn && rnn) in.value().refuse("exactly one of cells, cnn and rnn", mistakes);
  if (scenario.cluster.pools.empty()) in.value().refuse("a \"cluster\" to train on beside the study", mistakes);
  if (mistakes.size() > before || scenario.cluster.pools.empty()) return {};
  return {.goals = {SearchGoal::accuracy, SearchGoal::latency, SearchGoal::memory, SearchGoal::training_time, SearchGoal::cost,
                    SearchGoal::energy},
          .trains = true,
          .make = [chains = Chains{.family = family,
                                   .kind = cnn ? "cnn" : "rnn",
                                   .resources = resources,
                                   .deployed = deployed,
                                   .epochs = epochs}](Scenario& of) { return make_chains(chains, of); }};
}

}  // namespace

SpaceChoice read_search_space(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::Mistakes told_later;
  sim::ObjectReader kind(value, told_later), in(value, mistakes);
  if (kind.child("cells")) return read_cells(in, paths, scenario, mistakes);
  if (kind.child("cnn") || kind.child("rnn")) return read_chains(in, scenario, mistakes);
  if (value.is_object()) value.refuse("exactly one of cells, cnn and rnn", mistakes);
  return {};
}

}  // namespace rehearse::scenarios
