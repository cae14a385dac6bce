// Placement methods side by side: what a training step takes where each of them puts its operations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "experiments/run/map_processes.hpp"
#include "experiments/studies/placement_cases.hpp"
#include "experiments/studies/placement_orderings.hpp"
#include "experiments/studies/studies.hpp"
#include "scenarios/read/agent_file.hpp"
#include "scenarios/read/read_strategy.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::string_view kHowToGetGraphs =
    "take it from the GitHub repositories msr-fiddle/dnn-partitioning or msr-fiddle/pipedream";
using sim::kNan;

struct PlacementParameters {
  std::vector<GraphChoice> graphs;
  std::vector<MachineChoice> machines;
  std::vector<MethodChoice> methods;
  std::vector<Objective> objectives;
  std::int64_t evaluations = 2000;
  int sampling_processes = 1;
};

/// A graph on a machine, and what every method made of it.
struct CaseFigures {
  CaseChoice choice;
  std::string machine;
  int ops, groups, colocated;
  double lower_bound_s;
  std::vector<PlacementFigures> of_method;
};

class PlacementStudy final : public Study {
 public:
  explicit PlacementStudy(PlacementParameters parameters) : parameters_(std::move(parameters)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    std::vector<PlacementCase> placed;
    std::vector<CaseFigures> cases;
    for (const CaseChoice& choice : choices()) {
      const PlacementCase& made = placed.emplace_back(make_case(scenario, choice));
      const bool is_timed = choice.objective == Objective::makespan;
      cases.push_back({choice,
                       machine_of(choice),
                       made.graph.ops(),
                       made.groups.count,
                       made.colocated,
                       is_timed ? sim::seconds_of(sim::lower_bound(made.graph, made.machine, made.host.has_value())) : kNan,
                       {}});
    }
    const std::size_t methods = parameters_.methods.size();
    const auto work = [&](int task) {
      const auto c = static_cast<std::size_t>(task) / methods, m = static_cast<std::size_t>(task) % methods;
      const MethodChoice& method = parameters_.methods[m];
      const std::uint64_t key = sim::stream_key(scenario.policy_seed, 0, "place " + method.name, name_of(cases[c].choice));
      return to_text(place({&placed[c], &method, parameters_.evaluations, key, parameters_.sampling_processes}));
    };
    const std::vector<std::string> texts =
        map_processes(static_cast<int>(cases.size() * methods), processes_of(options), folder, work,
                      {.wanted = options.progress, .one_task = "placement", .one_part = "placement"});
    for (std::size_t i = 0; i < texts.size(); ++i) cases[i / methods].of_method.push_back(figures_of(texts[i]));
    for (std::size_t c = 0; c < cases.size(); ++c) draw_best(cases[c], placed[c], folder);
    StudyResult result = tables_of(cases);
    if (report::Table orderings = orderings_table(paper_answers(cases)); !orderings.rows.empty())
      result.tables.push_back(std::move(orderings));
    for (std::string& note : largest_batches(scenario)) result.notes.push_back(std::move(note));
    return result;
  }

  std::vector<NamedCase> cases(const Scenario& scenario) const {
    std::vector<NamedCase> cases;
    for (const CaseChoice& choice : choices()) cases.push_back({name_of(choice), make_case(scenario, choice)});
    return cases;
  }

 private:
  static const std::string& machine_of(const CaseChoice& choice) {
    static const std::string kOwn = "its own";
    return choice.machine != nullptr ? choice.machine->name : kOwn;
  }
  static std::string name_of(const CaseChoice& choice) { return choice.graph->name + " on " + machine_of(choice); }

  std::vector<CaseChoice> choices() const {
    std::vector<CaseChoice> choices;
    for (const GraphChoice& graph : parameters_.graphs)
      for (const Objective objective : parameters_.objectives) {
        if (graph.plans_devices()) choices.push_back({&graph, nullptr, objective});
        for (const MachineChoice& machine : parameters_.machines)
          if (!graph.plans_devices()) choices.push_back({&graph, &machine, objective});
      }
    return choices;
  }

  /// Of placements that fit, the quickest one; of equal ones the first.
  static void draw_best(const CaseFigures& c, const PlacementCase& placed, const ResultsFolder& folder) {
    const auto rank = [](const PlacementFigures& f) { return std::tuple(!f.failure.empty(), f.missing_bytes, f.step_s); };
    const auto best =
        std::min_element(c.of_method.begin(), c.of_method.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    if (best == c.of_method.end() || !best->failure.empty()) return;
    write_pictures(folder, file_name(fmt::format("{}-{}-{}", c.choice.graph->name, c.machine, objective_of(c))), placed,
                   best->device_of_op);
  }

  /// A line for each model and kind of GPU.
  std::vector<std::string> largest_batches(const Scenario& scenario) const {
    std::vector<std::string> notes;
    std::set<std::pair<std::string, int>> told;
    for (const CaseChoice& choice : choices()) {
      if (choice.machine == nullptr || choice.machine->gpus == 0 || choice.graph->batch == 0) continue;
      const int pool = choice.machine->pool;
      const sim::Pool& of_cluster = scenario.cluster.pools[static_cast<std::size_t>(pool)];
      if (scenario.cluster.instances[static_cast<std::size_t>(of_cluster.instance)].gpus.empty() ||
          !told.insert({choice.graph->name, pool}).second)
        continue;
      notes.push_back(fmt::format("{}: a GPU of {} holds a step of at most {} samples.", choice.graph->name, of_cluster.name,
                                  largest_batch_on_a_gpu(scenario, choice)));
    }
    return notes;
  }

  static const std::string& objective_of(const CaseFigures& c) {
    return kObjectives[static_cast<std::size_t>(c.choice.objective)];
  }

  StudyResult tables_of(const std::vector<CaseFigures>& cases) const {
    StudyResult result;
    result.tables = {step_table(cases), progress_table(cases), placement_table(cases), search_table(cases)};
    result.notes.emplace_back(
        "Seconds a step by the reference timer, or of a pipeline's busiest device; !: does not fit in memory, -: the method has "
        "no answer.");
    for (const CaseFigures& c : cases)
      for (std::size_t m = 0; m < c.of_method.size(); ++m) {
        const PlacementFigures& f = c.of_method[m];
        const std::string& why = f.failure.empty() ? f.out_of_memory : f.failure;
        if (!why.empty())
          result.notes.push_back(fmt::format("{} on {}, {}, {}: {}", c.choice.graph->name, c.machine, objective_of(c),
                                             parameters_.methods[m].name, why));
      }
    return result;
  }

  /// Of cases that say under which assumption they count.
  std::vector<PaperAnswer> paper_answers(const std::vector<CaseFigures>& cases) const {
    std::vector<PaperAnswer> answers;
    for (const CaseFigures& c : cases) {
      const GraphChoice& graph = *c.choice.graph;
      if (c.choice.machine == nullptr || c.choice.objective != Objective::makespan || graph.assumption.empty()) continue;
      const std::string& of_machine = c.choice.machine->assumption;
      for (std::size_t m = 0; m < c.of_method.size(); ++m)
        if (const PlacementFigures& f = c.of_method[m]; f.failure.empty())
          answers.push_back({graph.assumption + (of_machine.empty() ? "" : ", " + of_machine), graph.model,
                             c.choice.machine->gpus, parameters_.methods[m].name, f.step_s, f.missing_bytes == 0});
    }
    return answers;
  }

  /// For the terminal: a row for each graph and machine, a column for each method.
  report::Table step_table(const std::vector<CaseFigures>& cases) const {
    report::Table table{
        .title = fmt::format("Seconds a training step; searching methods have {} evaluations", parameters_.evaluations),
        .columns = {{"graph", "graph"},
                    {"machine", "machine"},
                    {"objective", "objective"},
                    {"groups", "groups", "{:g}"},
                    {"lower_bound_s", "bound"}}};
    for (const MethodChoice& method : parameters_.methods) table.columns.push_back({.name = {}, .heading = method.name});
    for (const CaseFigures& c : cases) {
      table.rows.push_back({c.choice.graph->name, c.machine, objective_of(c), static_cast<double>(c.groups), c.lower_bound_s});
      for (const PlacementFigures& f : c.of_method)
        table.rows.back().emplace_back(f.failure.empty() ? fmt::format("{:.4g}{}", f.step_s, f.missing_bytes > 0 ? "!" : "")
                                                         : std::string("-"));
    }
    return table;
  }

  /// For the terminal: of a searching method, the best step after so many evaluations.
  report::Table progress_table(const std::vector<CaseFigures>& cases) const {
    const std::int64_t all = parameters_.evaluations;
    std::vector<std::int64_t> after{1, all / 100, all / 10, all / 2, all};
    after.erase(std::unique(after.begin(), after.end()), after.end());
    std::erase(after, 0);
    report::Table table{
        .title = "Best step so far, s, after so many evaluations; at the end over the lower bound",
        .columns = {{"graph", "graph"}, {"machine", "machine"}, {"objective", "objective"}, {"method", "method"}}};
    for (const std::int64_t n : after) table.columns.push_back({.name = {}, .heading = std::to_string(n)});
    table.columns.push_back({.name = {}, .heading = "/ bound"});
    for (const CaseFigures& c : cases)
      for (std::size_t m = 0; m < c.of_method.size(); ++m) {
        const std::vector<PlacementFigures::Point>& history = c.of_method[m].history;
        if (history.empty()) continue;
        table.rows.push_back({c.choice.graph->name, c.machine, objective_of(c), parameters_.methods[m].name});
        for (const std::int64_t n : after) {
          const auto next = std::find_if(history.begin(), history.end(), [&](const auto& p) { return p.evaluations > n; });
          table.rows.back().emplace_back(
              next == history.begin() ? std::string("-")
                                      : fmt::format("{:.4g}{}", std::prev(next)->step_s, std::prev(next)->fits ? "" : "!"));
        }
        table.rows.back().emplace_back(
            std::isnan(c.lower_bound_s) ? std::string("-") : fmt::format("{:.3f}", history.back().step_s / c.lower_bound_s));
      }
    return table;
  }

  report::Table placement_table(const std::vector<CaseFigures>& cases) const {
    report::Table table{.name = "placement",
                        .title = {},
                        .columns = {{"graph", ""},
                                    {"machine", ""},
                                    {"objective", ""},
                                    {"method", ""},
                                    {"batch", ""},
                                    {"ops", ""},
                                    {"colocation_groups", ""},
                                    {"groups", ""},
                                    {"step_s", ""},
                                    {"fits", ""},
                                    {"missing_bytes", ""},
                                    {"devices_used", ""},
                                    {"transferred_bytes", ""},
                                    {"evaluations", ""},
                                    {"lower_bound_s", ""},
                                    {"over_bound", ""}}};
    for (const CaseFigures& c : cases)
      for (std::size_t m = 0; m < c.of_method.size(); ++m) {
        const PlacementFigures& f = c.of_method[m];
        const bool ok = f.failure.empty();
        const auto number = [&](auto value) { return ok ? static_cast<double>(value) : kNan; };
        table.rows.push_back({c.choice.graph->name, c.machine, objective_of(c), parameters_.methods[m].name,
                              c.choice.graph->batch > 0 ? c.choice.graph->batch : kNan, static_cast<double>(c.ops),
                              static_cast<double>(c.colocated), static_cast<double>(c.groups), number(f.step_s),
                              std::string(!ok                    ? ""
                                          : f.missing_bytes == 0 ? "true"
                                                                 : "false"),
                              number(f.missing_bytes), number(f.devices_used), number(f.transferred_bytes), number(f.evaluations),
                              c.lower_bound_s, number(f.step_s / c.lower_bound_s)});
      }
    return table;
  }

  /// Quality against evaluations: a row for each improvement.
  report::Table search_table(const std::vector<CaseFigures>& cases) const {
    report::Table table{.name = "placement-search",
                        .title = {},
                        .columns = {{"graph", ""},
                                    {"machine", ""},
                                    {"objective", ""},
                                    {"method", ""},
                                    {"evaluations", ""},
                                    {"step_s", ""},
                                    {"fits", ""}}};
    for (const CaseFigures& c : cases)
      for (std::size_t m = 0; m < c.of_method.size(); ++m)
        for (const PlacementFigures::Point& point : c.of_method[m].history)
          table.rows.push_back({c.choice.graph->name, c.machine, objective_of(c), parameters_.methods[m].name,
                                static_cast<double>(point.evaluations), point.step_s,
                                std::string(point.fits ? "true" : "false")});
    return table;
  }

  const PlacementParameters parameters_;
};

/// Of a model: that it is one, and its defaults.
void complete_model(sim::JsonValue value, GraphChoice& choice, sim::Mistakes& mistakes) {
  try {
    choice.optimizer = workloads::zoo_entry(choice.model).optimizer;
    if (choice.dataset.empty() && choice.granularity == Granularity::layers)
      choice.dataset = workloads::zoo_entry(choice.model).dataset;
    if (choice.granularity == Granularity::tensorflow)
      workloads::tensorflow_graph(choice.model, choice.dataset, choice.shape);
    else
      workloads::zoo_graph(choice.model, choice.dataset);
  } catch (const sim::InputError& error) {
    add_at(value, error, mistakes);
  }
}

/// What belongs together.
void check_graph(sim::JsonValue value, const GraphChoice& choice, sim::Mistakes& mistakes) {
  const bool is_measured = !choice.file.empty() && choice.format != GraphFormat::native;
  if (choice.model.empty() == choice.file.empty()) value.refuse("exactly one of model and file", mistakes);
  if (is_measured != (choice.batch == 0))
    value.refuse(is_measured ? "no batch beside measured times" : "a batch, samples of the step", mistakes);
  if (!choice.split.empty() && !choice.plans_devices()) value.refuse("a split of a dnn-partitioning graph alone", mistakes);
  if (choice.gradient_sum != GraphChoice().gradient_sum && choice.batch == 0)
    value.refuse("gradients that are summed beside a model or a graph of our own", mistakes);
  if (choice.granularity == Granularity::tensorflow && choice.model.empty())
    value.refuse("a model in TensorFlow's operations", mistakes);
  if (choice.granularity == Granularity::tensorflow && choice.gradient_sum != GraphChoice().gradient_sum)
    value.refuse("no gradient_sum: TensorFlow's operations have sums of their own", mistakes);
  if (choice.granularity == Granularity::layers && choice.shape != workloads::SequenceShape())
    value.refuse("layers, hidden, steps and vocabulary in TensorFlow's operations", mistakes);
  if (choice.edge_cost_s != GraphChoice().edge_cost_s && !choice.plans_devices())
    value.refuse("costs of edges of a dnn-partitioning graph alone", mistakes);
}

GraphChoice read_graph(sim::JsonValue value, const Paths& paths, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  GraphChoice choice{.model = in.text("model", std::string())};
  // A name that resolves to no path is one mistake, not several.
  const auto path_of = [&](const char* key) {
    const std::string given = in.text(key, std::string());
    const std::string path = given.empty() ? given : paths.resolve(*in.child(key), mistakes, kHowToGetGraphs);
    return path.empty() ? given : path;
  };
  choice.file = path_of("file");
  choice.split = path_of("split");
  choice.format = static_cast<GraphFormat>(in.choice("format", kGraphFormats, 0));
  choice.gradient_sum = static_cast<workloads::GradientSum>(in.choice("gradient_sum", kGradientSums, 0));
  const bool edges_in_ms = in.choice("edge_costs", kEdgeCosts, 0) == 0;
  choice.edge_cost_s = edges_in_ms ? 1e-3 : 1;
  choice.name = in.text("name", choice.file.empty() ? choice.model : std::filesystem::path(choice.file).stem().string());
  choice.batch = in.maybe_number("batch", sim::between(1, 1e6)).value_or(0);
  choice.groups = static_cast<int>(in.maybe_integer("groups", sim::between(1, 4096)).value_or(0));
  choice.dataset = in.text("dataset", std::string());
  choice.granularity = static_cast<Granularity>(in.choice("granularity", kGranularities, 0));
  const auto size = [&](const char* key, int most) {
    return static_cast<int>(in.maybe_integer(key, sim::between(1, most)).value_or(0));
  };
  choice.shape = {size("layers", 64), size("hidden", 65536), size("steps", 1000), size("vocabulary", 10'000'000)};
  choice.assumption = in.text("assumption", std::string());
  in.finish();
  check_graph(value, choice, mistakes);
  if (!choice.model.empty()) complete_model(value, choice, mistakes);
  return choice;
}

MachineChoice read_machine(sim::JsonValue value, const sim::Cluster& cluster, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const std::string pool = in.text("pool");
  MachineChoice choice;
  const std::vector<std::string> names = pool_names(cluster);
  const bool known = !pool.empty() && known_name(*in.child("pool"), pool, names, "pool", mistakes);
  if (known) choice.pool = static_cast<int>(std::find(names.begin(), names.end(), pool) - names.begin());
  if (const auto gpus = in.maybe_integer("gpus", sim::between(0, 1024))) choice.gpus = static_cast<int>(*gpus);
  choice.name = in.text("name", choice.gpus < 0 ? pool : fmt::format("{} x {}", choice.gpus, pool));
  choice.host.factor = in.maybe_number("dispatch", sim::between(0.001, 1000)).value_or(1);
  choice.host.threads = static_cast<int>(in.maybe_integer("executors", sim::between(1, 1024)).value_or(0));
  choice.assumption = in.text("assumption", std::string());
  in.finish();
  const sim::Instance* instance = known ? instance_or_null(cluster, choice.pool) : nullptr;
  if (instance == nullptr) return choice;
  try {
    sim::machine_of(cluster, *instance, sim::wiring_of(*instance), {.gpus = choice.gpus});
  } catch (const sim::InputError& error) {
    add_at(value, error, mistakes);
  }
  return choice;
}

MethodChoice read_method(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  MethodChoice choice;
  policies::StrategyChoice named;
  read_strategy(value, policies::placement_methods(), "placement method", named, mistakes);
  choice.entry = policies::find_strategy(policies::placement_methods(), named.name);
  choice.name = named.name;
  if (choice.entry != nullptr && choice.entry->blueprint != nullptr)
    choice.network =
        read_agent(value, {.paths = paths, .scenario = scenario, .mistakes = mistakes}, named, choice.entry->blueprint());
  choice.parameters = std::move(named.parameters);
  return choice;
}

/// The elements of a list that must not be empty, each name once.
template <class Choice, class Read>
std::vector<Choice> read_choices(sim::ObjectReader& in, const char* key, sim::Mistakes& mistakes, Read&& read) {
  std::vector<Choice> choices;
  const auto list = in.child(key);
  if (list && list->is_array() && list->size() == 0) list->refuse("at least one", mistakes);
  for (const sim::JsonValue value : in.list(key)) {
    choices.push_back(read(value));
    const bool again =
        std::any_of(choices.begin(), choices.end() - 1, [&](const Choice& c) { return c.name == choices.back().name; });
    if (again && !choices.back().name.empty()) refuse_again(value, choices.back().name, "a name that is given once", mistakes);
  }
  return choices;
}

std::vector<Objective> read_objectives(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  std::vector<Objective> objectives;
  for (const sim::JsonValue value : in.list("objectives")) {
    const auto found = std::find(kObjectives.begin(), kObjectives.end(), sim::read_text(value, mistakes));
    const auto objective = static_cast<Objective>(found - kObjectives.begin());
    if (found == kObjectives.end() || std::find(objectives.begin(), objectives.end(), objective) != objectives.end())
      value.refuse(fmt::format("one of {}, each once", fmt::join(kObjectives, ", ")), mistakes);
    else
      objectives.push_back(objective);
  }
  if (objectives.empty()) objectives.push_back(Objective::makespan);
  return objectives;
}

}  // namespace

std::unique_ptr<StudyParameters> read_placement(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                sim::Mistakes& mistakes) {
  PlacementParameters p;
  in.required("graphs", "a list of graphs");
  p.graphs = read_choices<GraphChoice>(in, "graphs", mistakes, [&](sim::JsonValue v) { return read_graph(v, paths, mistakes); });
  const bool all_plan = std::all_of(p.graphs.begin(), p.graphs.end(), [](const GraphChoice& g) { return g.plans_devices(); });
  if (!in.child("machines") && !all_plan) in.value().refuse("machines for graphs whose files plan for none", mistakes);
  p.machines = read_choices<MachineChoice>(in, "machines", mistakes,
                                           [&](sim::JsonValue v) { return read_machine(v, scenario.cluster, mistakes); });
  in.required("methods", "a list of placement methods");
  p.methods = read_choices<MethodChoice>(in, "methods", mistakes,
                                         [&](sim::JsonValue v) { return read_method(v, paths, scenario, mistakes); });
  if (std::any_of(p.graphs.begin(), p.graphs.end(), [](const GraphChoice& g) { return !g.split.empty(); }))
    p.methods.push_back({.name = "split", .entry = nullptr, .parameters = {}});
  p.objectives = read_objectives(in, mistakes);
  p.evaluations = in.integer("evaluations", sim::between(1, 1e9), p.evaluations);
  p.sampling_processes = static_cast<int>(in.integer("sampling_processes", sim::between(1, 256), p.sampling_processes));
  return std::make_unique<PlacementStudy>(std::move(p));
}

std::vector<NamedCase> placement_cases(const Scenario& scenario) {
  const auto* study = dynamic_cast<const PlacementStudy*>(scenario.study.get());
  if (study == nullptr)
    throw sim::InputError(
        sim::Mistake{.expected = "a scenario with a placement study, whose graphs are learnt on", .found = "none"});
  std::vector<NamedCase> cases = study->cases(scenario);
  for (const NamedCase& c : cases)
    if (c.placed.host)
      throw sim::InputError(
          sim::Mistake{.expected = "graphs of layers to learn on", .found = c.name + " in TensorFlow's operations"});
  return cases;
}

}  // namespace rehearse::scenarios
