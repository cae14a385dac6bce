// Architectures searched for several objectives at once: methods side by side on a space of candidates, over and over from
// different seeds.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/run/map_processes.hpp"
#include "experiments/studies/search_parts.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/search/methods.hpp"
#include "scenarios/read/read_strategy.hpp"
#include "sim/base/random.hpp"

namespace rehearse::scenarios {

namespace {

using policies::SearchGoal;

struct SearchMethodChoice {
  std::string name;
  const policies::SearchEntry* entry = nullptr;
  std::map<std::string, policies::ParameterValue> parameters;
};

struct SearchParameters {
  SearchQuestion question;
  SpaceChoice space;
  std::vector<SearchMethodChoice> methods;
  policies::SearchBudget budget;
  SearchTargets targets;
  std::optional<policies::SearchJobsSettings> workload;  ///< on the cluster, under each policy; none: on its own
};

/// Which search a number is: spaces, then arms (methods, for each of them policies), then repetitions.
struct SearchTask {
  std::size_t space, arm;
  int repetition;
};

class SearchStudy final : public Study {
 public:
  explicit SearchStudy(SearchParameters parameters) : parameters_(std::move(parameters)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const SearchQuestion question = question_of(scenario);
    const std::vector<NamedSpace> spaces = parameters_.space.make(scenario);
    const std::size_t arms = question.methods.size();
    const auto repetitions = static_cast<std::size_t>(scenario.repetitions);
    const auto task_of = [&](std::size_t i) {
      return SearchTask{i / (arms * repetitions), i / repetitions % arms, static_cast<int>(i % repetitions)};
    };
    const std::size_t tasks = spaces.size() * arms * repetitions;
    const auto work = [&](int task) { return to_text(search(scenario, spaces, task_of(static_cast<std::size_t>(task)))); };
    const std::vector<std::string> texts =
        map_processes(static_cast<int>(tasks), processes_of(options), folder, work,
                      {.wanted = options.progress, .one_task = "search", .one_part = "search"});
    std::vector<SpaceOutcome> outcomes;
    for (const NamedSpace& space : spaces) {
      outcomes.push_back({.space = &space});
      outcomes.back().searches.resize(arms);
    }
    std::vector<std::vector<std::vector<ClusterFigures>>> figures(outcomes.size(),
                                                                  std::vector<std::vector<ClusterFigures>>(arms));
    for (std::size_t i = 0; i < tasks; ++i) {
      ClusterOutcome outcome = cluster_outcome_of(texts[i]);
      outcomes[task_of(i).space].searches[task_of(i).arm].push_back(std::move(outcome.evaluations));
      figures[task_of(i).space][task_of(i).arm].push_back(outcome.figures);
    }
    for (SpaceOutcome& outcome : outcomes) outcome.reference = reference_of(question, outcome);
    write_plan_jobs(outcomes, folder);
    StudyResult result = result_of(question, outcomes);
    std::vector<std::vector<ArmFigures>> compared;
    for (std::size_t s = 0; parameters_.workload && s < outcomes.size(); ++s)
      compared.push_back(compare_arms(question, outcomes[s], figures[s]));
    if (parameters_.workload) result.tables.push_back(cluster_table(question, outcomes, figures, compared));
    result.tables.push_back(targets_table(question, parameters_.targets, outcomes, compared));
    return result;
  }

 private:
  /// On a cluster "METHOD / POLICY" in the methods' place.
  SearchQuestion question_of(const Scenario& scenario) const {
    SearchQuestion question = parameters_.question;
    for (const SearchMethodChoice& method : parameters_.methods) {
      if (!parameters_.workload) question.methods.push_back(method.name);
      for (std::size_t p = 0; parameters_.workload && p < scenario.policies.size(); ++p)
        question.methods.push_back(method.name + " / " + scenario.policies[p].name);
    }
    return question;
  }

  /// On its own the figures of a cluster stay 0.
  ClusterOutcome search(const Scenario& scenario, const std::vector<NamedSpace>& spaces, const SearchTask& task) const {
    const NamedSpace& named = spaces[task.space];
    const std::size_t policies = parameters_.workload ? scenario.policies.size() : 1;
    const SearchMethodChoice& choice = parameters_.methods[task.arm / policies];
    const std::uint64_t key =
        sim::stream_key(scenario.policy_seed, static_cast<std::uint64_t>(task.repetition), "search " + choice.name, named.name);
    const std::vector<SearchGoal>& goals = parameters_.question.goals;
    const auto method = choice.entry->make(policies::Parameters(choice.entry->parameters, choice.parameters),
                                           policies::setup_of(*named.space, goals.size(), key));
    if (!parameters_.workload)
      return {.figures = {}, .evaluations = policies::run_search(*named.space, *method, goals, parameters_.budget)};
    return search_on_cluster(scenario,
                             {.space = static_cast<const policies::ChainSpace*>(named.space.get()),
                              .goals = goals,
                              .policy = &scenario.policies[task.arm % policies],
                              .settings = *parameters_.workload,
                              .repetition = task.repetition},
                             *method);
  }

  static StudyResult result_of(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes) {
    StudyResult result;
    result.figures = search_figures(question, outcomes);
    result.tables = {search_table(question, outcomes), front_table(question, outcomes), progress_table(question, outcomes)};
    for (report::Table& table : change_tables(outcomes)) result.tables.push_back(std::move(table));
    for (const SpaceOutcome& outcome : outcomes)
      if (!outcome.reference.front.empty()) result.notes.push_back(knee_note(outcome));
    return result;
  }

  /// One for each architecture of a front.
  static void write_plan_jobs(const std::vector<SpaceOutcome>& outcomes, const ResultsFolder& folder) {
    std::map<std::string, std::string> jobs;
    for (const SpaceOutcome& outcome : outcomes)
      for (const Found& one : outcome.reference.front)
        if (const auto job = outcome.space->plan_job ? outcome.space->plan_job(one.genes) : std::nullopt) jobs.insert(*job);
    if (!jobs.empty()) folder.make_subfolder("candidates");
    for (const auto& [name, text] : jobs) folder.write("candidates/" + name + ".json", text);
  }

  static std::string knee_note(const SpaceOutcome& outcome) {
    const Found& knee = outcome.reference.front[outcome.reference.knee];
    return fmt::format("{}: the {} front has {} points; its knee, accuracy {:.4f} and latency {:.4g} s, is {}",
                       outcome.space->name, outcome.reference.is_exact ? "exact" : "best known", outcome.reference.front.size(),
                       knee.measures.accuracy, knee.measures.latency_s, outcome.space->space->name(knee.genes));
  }

  const SearchParameters parameters_;
};

std::vector<SearchGoal> read_goals(sim::ObjectReader& in, const SpaceChoice& space, sim::Mistakes& mistakes) {
  const std::vector<std::string> names(policies::kSearchGoalNames.begin(), policies::kSearchGoalNames.end());
  std::vector<SearchGoal> goals;
  const auto list = in.required("objectives", "a list of two to four objectives");
  const std::size_t before = mistakes.size();
  for (const sim::JsonValue value : in.list("objectives")) {
    const auto known = known_choice(value, names, mistakes);
    if (!known) continue;
    const auto goal = static_cast<SearchGoal>(*known);
    const bool is_known = space.goals.empty() || std::count(space.goals.begin(), space.goals.end(), goal) > 0;
    if (!is_known) value.refuse("an objective that the space knows", mistakes);
    if (std::count(goals.begin(), goals.end(), goal) > 0) refuse_again(value, value.text(), "each objective once", mistakes);
    goals.push_back(goal);
  }
  if (mistakes.size() == before && list && (goals.size() < 2 || goals.size() > 4))
    list->refuse("two to four objectives", mistakes);
  return goals;
}

std::vector<SearchMethodChoice> read_search_methods(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  std::vector<SearchMethodChoice> methods;
  const auto list = in.required("methods", "a list of search methods");
  if (list && list->is_array() && list->size() == 0) list->refuse("at least one", mistakes);
  for (const sim::JsonValue value : in.list("methods")) {
    policies::StrategyChoice named;
    read_strategy(value, policies::search_methods(), "search method", named, mistakes);
    const bool again = std::any_of(methods.begin(), methods.end(), [&](const auto& m) { return m.name == named.name; });
    if (again && !named.name.empty()) refuse_again(value, named.name, "each method once", mistakes);
    methods.push_back({.name = named.name,
                       .entry = policies::find_strategy(policies::search_methods(), named.name),
                       .parameters = std::move(named.parameters)});
  }
  return methods;
}

policies::SearchJobsSettings read_workload(sim::JsonValue value, const policies::SearchBudget& budget, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  policies::SearchJobsSettings settings;
  settings.user = in.text("user", settings.user);
  settings.submit_s = in.number("submit_s", sim::at_least(0), 0.0);
  settings.priority = in.number("priority", {}, 0.0);
  settings.adapts = in.boolean("adapt", settings.adapts);
  settings.budget = budget;
  in.finish();
  return settings;
}

void require_policies(sim::JsonValue value, const Scenario& scenario, sim::Mistakes& mistakes) {
  if (scenario.policies.empty()) value.refuse("\"policies\" whose queues the search's jobs stand in", mistakes);
  for (const policies::PolicySpec& policy : scenario.policies) {
    const auto* strategy = policies::find_strategy(policies::configure_strategies(), policy.configure.name);
    if (strategy != nullptr && policies::uses_history(*strategy, policy.configure.parameters))
      value.refuse("policies without past runs, other than \"" + policy.name + "\"", mistakes);
  }
  const auto takes_parts = [](const auto& jobs) { return jobs.gpu_fraction < 1; };
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(), takes_parts) ||
      std::any_of(scenario.generators.begin(), scenario.generators.end(), takes_parts))
    value.refuse("jobs that take whole devices: none with a gpu_fraction below 1", mistakes);
}

}  // namespace

std::unique_ptr<StudyParameters> read_search(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                             sim::Mistakes& mistakes) {
  SearchParameters p;
  if (const auto space = in.required("space", "what is searched")) p.space = read_search_space(*space, paths, scenario, mistakes);
  p.question.goals = read_goals(in, p.space, mistakes);
  p.methods = read_search_methods(in, mistakes);
  p.question.accuracy_above =
      in.maybe_number("accuracy_above", sim::between(0, 1)).value_or(std::numeric_limits<double>::quiet_NaN());
  p.budget.evaluations = static_cast<double>(in.integer("evaluations", sim::between(1, 1e6), 1000));
  const auto hours = in.maybe_number("gpu_hours", sim::above(0)), usd = in.maybe_number("cost_usd", sim::above(0));
  p.budget.gpu_hours = hours.value_or(sim::kNever);
  p.budget.usd = usd.value_or(sim::kNever);
  const bool is_table = !p.space.goals.empty() && !p.space.trains;
  if ((hours || usd) && is_table) in.value().refuse("no budget of training beside measured cells", mistakes);
  if (const auto targets = in.child("targets")) p.targets = read_search_targets(*targets, mistakes);
  if (const auto workload = in.child("workload")) {
    p.workload = read_workload(*workload, p.budget, mistakes);
    if (is_table) workload->refuse("a space whose candidates are trained: cnn or rnn", mistakes);
    require_policies(*workload, scenario, mistakes);
  }
  return std::make_unique<SearchStudy>(std::move(p));
}

}  // namespace rehearse::scenarios
