// Threads of operations on many-core CPUs: planners and strategies against the recommended setting, model by model.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "experiments/studies/studies.hpp"
#include "experiments/studies/threads_case.hpp"
#include "report/statistics.hpp"
#include "workloads/tensorflow/tensorflow.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

using policies::StrategyPlanner;
using policies::ThreadStrategies;

constexpr ThreadStrategies kAll{.own_counts = true, .type_counts = true, .co_run = true, .spare_threads = true};
constexpr ThreadStrategies kWithoutOwn{.type_counts = true, .co_run = true, .spare_threads = true};

struct ThreadsParameters {
  std::vector<int> strides;
  double noise = 0.05;
  /// exp(N(0, 0.47)) is 40 % off in the mean, as counters that take turns are (Banerjee et al., BayesPerf, ASPLOS 2021,
  /// abstract).
  double counter_noise = 0.47;
  std::vector<double> factors;
  bool tensorflow = false;  ///< operations are TensorFlow's
};

ThreadOutcome outcome_of(const ThreadCase& one, const std::string& name, const policies::ThreadPlanner& planner) {
  policies::StepBench bench = one.bench(name);
  const sim::CpuPlan plan = planner.plan(bench);
  return {.strategy = name, .step_s = one.step_s(plan), .profiling_steps = bench.steps(), .profiling_s = bench.profiled_s()};
}

/// Of one machine, what was learned from all models but the one at hand.
std::shared_ptr<const policies::CurveRegression> regression_for(const std::deque<ThreadCase>& cases, const ThreadCase& one) {
  policies::CurveExamples examples;
  int models = 0;
  for (const ThreadCase& other : cases) {
    if (other.machine != one.machine || other.model == one.model) continue;
    policies::StepBench bench = other.bench("examples");
    examples.add(bench, models++);
  }
  if (models < 2) return nullptr;
  return std::make_shared<const policies::CurveRegression>(examples, one.step.machine.cores);
}

struct Tables {
  report::Table strategies = strategies_table(), estimators = estimators_table(), classes = classes_table(),
                shapes = shapes_table(), anchors = anchors_table(), curves = curves_table();
};

/// With the time steps of a zoo model's recurrent layers as operations of their own, as TensorFlow runs them: they are what runs
/// side by side.
sim::OpGraph graph_of(const workloads::ProfileModel& model, bool tensorflow) {
  if (tensorflow) return workloads::computing_operations(workloads::zoo_tensorflow_graph(model.model, model.dataset));
  const bool recurrent = std::any_of(model.graph.ops.begin(), model.graph.ops.end(),
                                     [](const sim::Op& op) { return op.kind == sim::OpKind::rnn && op.repeats > 1; });
  const auto zoo = workloads::zoo();
  const bool in_zoo = std::any_of(zoo.begin(), zoo.end(), [&](const auto& entry) { return entry.name == model.model; });
  return recurrent && in_zoo ? workloads::zoo_graph(model.model, model.dataset, true) : model.graph;
}

class ThreadsStudy final : public Study {
 public:
  explicit ThreadsStudy(ThreadsParameters parameters) : parameters_(std::move(parameters)) {}

  StudyResult run(Scenario& scenario, const RunOptions&, const ResultsFolder& folder) const override {
    const std::deque<ThreadCase> cases = cases_of(scenario, {}, 0);
    Tables tables;
    for (const sim::Pool& pool : scenario.cluster.pools) {
      const sim::Device& cpu = cpu_of(scenario, pool);
      add_anchor_rows(pool.name, cpu, tables.anchors);
    }
    StudyResult result;
    for (const ThreadCase& one : cases) add_case(cases, one, tables, folder, result.figures);
    for (report::Table* table :
         {&tables.shapes, &tables.anchors, &tables.curves, &tables.estimators, &tables.classes, &tables.strategies})
      result.tables.push_back(std::move(*table));
    result.tables.push_back(gains_table(repeated(scenario, result.tables.back())));
    result.tables.push_back(sensitivity(scenario));
    result.notes.emplace_back(
        fmt::format("Strategies from hill climbing at stride {}, noise {:g}: of the recommended setting and all combinations of "
                    "them that whose profiling steps are quickest, but for those \"as given\". \"all\": S1 to S4, or a uniform "
                    "setting where one is quicker.",
                    parameters_.strides.back(), parameters_.noise));
    return result;
  }

 private:
  static const sim::Device& cpu_of(const Scenario& scenario, const sim::Pool& pool) {
    const sim::Instance& instance = scenario.cluster.instances[static_cast<std::size_t>(pool.instance)];
    return scenario.cluster.devices[static_cast<std::size_t>(instance.cpu)];
  }

  /// The strategies' tables of all repetitions, which differ in what profiling measures; `first` is that of the first.
  std::vector<report::Table> repeated(const Scenario& scenario, const report::Table& first) const {
    std::vector<report::Table> tables{first};
    for (int repetition = 1; repetition < scenario.repetitions; ++repetition) {
      const std::deque<ThreadCase> cases = cases_of(scenario, {}, repetition);
      report::Table& table = tables.emplace_back(strategies_table());
      for (const ThreadCase& one : cases) {
        const double recommended_s = add_strategies(one, regression_for(cases, one), table);
        add_bounds(one, recommended_s, table);
      }
    }
    return tables;
  }

  std::deque<ThreadCase> cases_of(const Scenario& scenario, const workloads::Sensitivity& sensitivity, int repetition) const {
    std::deque<ThreadCase> cases;
    for (const sim::Pool& pool : scenario.cluster.pools)
      for (const sim::Job& job : scenario.jobs) {
        const workloads::ProfileModel& model = scenario.profile_models.of(*job.profile);
        const sim::Device& cpu = cpu_of(scenario, pool);
        const auto graph = std::make_shared<const sim::OpGraph>(graph_of(model, parameters_.tensorflow));
        cases.push_back({.machine = pool.name,
                         .job = job.name,
                         .model = model.model,
                         .graph = graph,
                         .cpu = &cpu,
                         .batch = job.batch_size,
                         .steps = job.steps,
                         .seed = scenario.seed,
                         .repetition = repetition,
                         .noise = parameters_.noise,
                         .counter_noise = parameters_.counter_noise,
                         .step = workloads::cpu_step_model(*graph, cpu, job.batch_size, sensitivity)});
      }
    return cases;
  }

  StrategyPlanner climbing(const ThreadStrategies& strategies,
                           StrategyPlanner::Use use = StrategyPlanner::Use::if_quicker) const {
    return {std::make_unique<policies::HillClimbing>(parameters_.strides.back()), strategies, use};
  }

  void add_case(const std::deque<ThreadCase>& cases, const ThreadCase& one, Tables& tables, const ResultsFolder& folder,
                std::vector<report::NamedFigure>& figures) const {
    const auto truth = policies::exact_belief(one.step);
    const auto regression = regression_for(cases, one);
    add_shape_row(one, *truth, tables.shapes);
    add_curves(one, *truth, tables.curves);
    std::vector<sim::CpuBelief> believed;
    for (const int stride : parameters_.strides)
      believed = {
          estimated(one, fmt::format("hill climbing, stride {}", stride), policies::HillClimbing(stride), *truth, tables)};
    estimated(one, "exhaustive", policies::ExhaustiveProbes(), *truth, tables);
    if (regression) believed.push_back(estimated(one, "regression", policies::CounterRegression(regression), *truth, tables));

    const double recommended_s = add_strategies(one, regression, tables.strategies);
    policies::StepBench bench = one.bench("all");
    const sim::CpuPlan plan = climbing(kAll, StrategyPlanner::Use::or_uniform).plan(bench);
    add_class_rows(one, *truth, believed, plan, tables.classes);
    add_bounds(one, recommended_s, tables.strategies);
    sim::CpuTimeline timeline;
    one.step_s(plan, &timeline);
    const std::string name = file_name(one.machine + "-" + one.job);
    figures.push_back({"threads-" + name, threads_figure(one, *truth, plan)});
    figures.push_back({"cores-" + name, gantt_figure(one, timeline)});
    folder.write("timeline-" + name + ".json", timeline_text(one, timeline));
  }

  static sim::CpuBelief estimated(const ThreadCase& one, const std::string& name, const policies::CurveEstimator& estimator,
                                  const sim::CpuBelief& truth, Tables& tables) {
    policies::StepBench bench = one.bench(name);
    sim::CpuBelief belief = estimator.estimate(bench);
    add_estimator_row(one, name, bench, truth, belief, tables.estimators);
    return belief;
  }

  /// Returns recommended's step.
  double add_strategies(const ThreadCase& one, const std::shared_ptr<const policies::CurveRegression>& regression,
                        report::Table& table) const {
    const ThreadOutcome recommended = outcome_of(one, "recommended", policies::RecommendedPlanner());
    const auto add = [&](const ThreadOutcome& outcome) { add_strategy_row(one, recommended.step_s, outcome, table); };
    add(recommended);
    add(outcome_of(one, "default", policies::DefaultPlanner()));
    add(outcome_of(one, "manual-best", policies::ManualBestPlanner()));
    for (const ThreadStrategies& strategies : policies::all_thread_strategies())
      add(outcome_of(one, to_string(strategies), climbing(strategies)));
    add(outcome_of(one, "S1, as given", climbing({.own_counts = true}, StrategyPlanner::Use::as_given)));
    add(outcome_of(one, "S2, as given", climbing({.type_counts = true}, StrategyPlanner::Use::as_given)));
    const auto if_quicker = StrategyPlanner::Use::if_quicker;
    add(outcome_of(one, "S1, exhaustive",
                   StrategyPlanner(std::make_unique<policies::ExhaustiveProbes>(), {.own_counts = true}, if_quicker)));
    if (regression)
      add(outcome_of(one, "regression, S2+S3+S4",
                     StrategyPlanner(std::make_unique<policies::CounterRegression>(regression), kWithoutOwn, if_quicker)));
    add(outcome_of(one, "all", climbing(kAll, StrategyPlanner::Use::or_uniform)));
    return recommended.step_s;
  }

  static void add_bounds(const ThreadCase& one, double recommended_s, report::Table& table) {
    add_strategy_row(one, recommended_s, {.strategy = "list schedule", .step_s = one.step_s(policies::list_schedule(one.step))},
                     table);
    add_strategy_row(one, recommended_s, {.strategy = "lower bound", .step_s = policies::thread_lower_bound_s(one.step)}, table);
  }

  /// Gains by machine and strategy over the models, of the strategies' tables of all repetitions.
  static report::Table gains_table(const std::vector<report::Table>& repetitions) {
    report::Table table{.name = "threads-gains",
                        .title = "Gain over recommended over the models, %; intervals of the mean over repetitions",
                        .columns = {{"machine", "machine"},
                                    {"strategy", "strategy"},
                                    {"gain_percent_mean", "mean", "{:.1f}"},
                                    {"gain_percent_ci95_low", "95 % from", "{:.1f}"},
                                    {"gain_percent_ci95_high", "to", "{:.1f}"},
                                    {"gain_percent_min", "least", "{:.1f}"},
                                    {"gain_percent_max", "most", "{:.1f}"},
                                    {"gain_charged_percent_mean", "with profiling, mean", "{:.1f}"}}};
    std::set<std::pair<std::string, std::string>> seen;
    for (const auto& row : repetitions.front().rows) {
      const std::string &machine = std::get<std::string>(row[0]), &strategy = std::get<std::string>(row[2]);
      if (!seen.emplace(machine, strategy).second) continue;
      std::vector<double> means, charged, gains;
      for (const report::Table& repetition : repetitions) {
        std::vector<double> of_models, of_models_charged;
        for (const auto& other : repetition.rows) {
          if (std::get<std::string>(other[0]) != machine || std::get<std::string>(other[2]) != strategy) continue;
          of_models.push_back(std::get<double>(other[4]));
          of_models_charged.push_back(std::get<double>(other[7]));
        }
        gains.insert(gains.end(), of_models.begin(), of_models.end());
        means.push_back(report::mean(of_models));
        charged.push_back(report::mean(of_models_charged));
      }
      const report::Estimate mean = report::estimate(means);
      table.rows.push_back({machine, strategy, mean.mean, mean.ci95_low, mean.ci95_high,
                            *std::min_element(gains.begin(), gains.end()), *std::max_element(gains.begin(), gains.end()),
                            report::estimate(charged).mean});
    }
    return table;
  }

  report::Table sensitivity(const Scenario& scenario) const {
    report::Table table{.name = "threads-sensitivity",
                        .title = "Mean gain over recommended against parts of the model, %",
                        .columns = {{"machine", "machine"},
                                    {"part", "part"},
                                    {"factor", "times", "{:g}"},
                                    {"s1_gain_percent", "S1", "{:.1f}"},
                                    {"s2_gain_percent", "S2", "{:.1f}"},
                                    {"s2_s3_gain_percent", "S2+S3", "{:.1f}"},
                                    {"all_gain_percent", "all", "{:.1f}"}}};
    struct Part {
      const char* name;
      void (*set)(workloads::Sensitivity&, double);
    };
    constexpr Part kParts[] = {{"per-thread overhead", [](workloads::Sensitivity& s, double f) { s.factors.per_thread = f; }},
                               {"partial results", [](workloads::Sensitivity& s, double f) { s.factors.partial_results = f; }},
                               {"re-threading", [](workloads::Sensitivity& s, double f) { s.rethreading = f; }},
                               {"SMT yield", [](workloads::Sensitivity& s, double f) { s.smt_gain = f; }}};
    for (const sim::Pool& pool : scenario.cluster.pools)
      for (const Part& part : kParts)
        for (const double factor : parameters_.factors) {
          workloads::Sensitivity sensitivity;
          part.set(sensitivity, factor);
          add_sensitivity_row(cases_of(scenario, sensitivity, 0), pool.name, part.name, factor, table);
        }
    return table;
  }

  void add_sensitivity_row(const std::deque<ThreadCase>& cases, const std::string& machine, const char* part, double factor,
                           report::Table& table) const {
    std::vector<double> s1, s2, s3, all;
    for (const ThreadCase& one : cases) {
      if (one.machine != machine) continue;
      const double recommended_s = outcome_of(one, "recommended", policies::RecommendedPlanner()).step_s;
      const auto gain = [&](const std::string& name, const StrategyPlanner& planner) {
        return 100 * (recommended_s / outcome_of(one, name, planner).step_s - 1);
      };
      s1.push_back(gain("S1", climbing({.own_counts = true})));
      s2.push_back(gain("S2", climbing({.type_counts = true})));
      s3.push_back(gain("S2+S3", climbing({.type_counts = true, .co_run = true})));
      all.push_back(gain("all", climbing(kAll, StrategyPlanner::Use::or_uniform)));
    }
    table.rows.push_back(
        {machine, std::string(part), factor, report::mean(s1), report::mean(s2), report::mean(s3), report::mean(all)});
  }

  const ThreadsParameters parameters_;
};

}  // namespace

std::unique_ptr<StudyParameters> read_threads(sim::ObjectReader& in, const Paths&, Scenario& scenario, sim::Mistakes& mistakes) {
  ThreadsParameters p;
  p.strides = read_integers(in, "strides", sim::between(1, 1e3), {2, 4}, mistakes);
  p.noise = in.number("noise", sim::between(0, 1), p.noise);
  p.counter_noise = in.number("counter_noise", sim::between(0, 1), p.counter_noise);
  static const std::vector<std::string> kOperations{"layers", "tensorflow"};
  p.tensorflow = in.choice("granularity", kOperations, 0) == 1;
  p.factors = read_numbers(in, "factors", sim::between(0, 1e3), {0.5, 1, 2}, mistakes);
  for (const sim::Job& job : scenario.jobs)
    if (job.work != sim::Work::steps || job.batch_size <= 0) {
      in.value().refuse("\"jobs\" of a model, each with \"steps\" and a \"batch_size\"", mistakes);
      break;
    }
  const auto zoo = workloads::zoo();
  for (const sim::Job& job : scenario.jobs)
    if (p.tensorflow && job.profile != nullptr &&
        std::none_of(zoo.begin(), zoo.end(), [&](const auto& entry) { return entry.name == job.profile->model; })) {
      in.value().refuse("models of the zoo in TensorFlow's operations", mistakes);
      break;
    }
  if (!scenario.generators.empty()) in.value().refuse("\"jobs\" without generators", mistakes);
  for (std::size_t pool = 0; pool < scenario.cluster.pools.size(); ++pool) {
    const sim::Instance* instance = instance_or_null(scenario.cluster, static_cast<sim::PoolId>(pool));
    if (instance == nullptr || instance->gpus.empty()) continue;
    in.value().refuse("pools of nodes without GPUs", mistakes);
    break;
  }
  return std::make_unique<ThreadsStudy>(std::move(p));
}

}  // namespace rehearse::scenarios
