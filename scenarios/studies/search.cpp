#include "scenarios/studies/search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/search/methods.hpp"
#include "scenarios/map_processes.hpp"
#include "scenarios/read_strategy.hpp"
#include "scenarios/studies/search_outcome.hpp"
#include "sim/base/random.hpp"

namespace rehearse::scenarios {

namespace {

using policies::Goal;

struct SearchMethodChoice {
  std::string name;
  const policies::SearchEntry* entry = nullptr;
  std::map<std::string, policies::ParameterValue> parameters;
};

struct SearchParameters {
  SearchQuestion question;
  std::vector<NamedSpace> spaces;
  std::vector<SearchMethodChoice> methods;
  policies::SearchBudget budget;
};

/// Which search a number is: spaces, then methods, then repetitions.
struct SearchTask {
  std::size_t space, method;
  int repetition;
};

class SearchStudy final : public Study {
 public:
  explicit SearchStudy(SearchParameters parameters) : parameters_(std::move(parameters)) {}

  StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const override {
    const std::size_t methods = parameters_.methods.size();
    const auto repetitions = static_cast<std::size_t>(scenario.repetitions);
    const auto task_of = [&](std::size_t i) {
      return SearchTask{i / (methods * repetitions), i / repetitions % methods, static_cast<int>(i % repetitions)};
    };
    const std::size_t tasks = parameters_.spaces.size() * methods * repetitions;
    const std::vector<std::string> texts = map_processes(static_cast<int>(tasks), processes_of(options), folder, [&](int task) {
      return to_text(search(scenario, task_of(static_cast<std::size_t>(task))));
    });
    std::vector<SpaceOutcome> outcomes;
    for (const NamedSpace& space : parameters_.spaces) {
      outcomes.push_back({.space = &space});
      outcomes.back().searches.resize(methods);
    }
    for (std::size_t i = 0; i < tasks; ++i)
      outcomes[task_of(i).space].searches[task_of(i).method].push_back(evaluations_of(texts[i]));
    for (SpaceOutcome& outcome : outcomes) outcome.reference = reference_of(parameters_.question, outcome);
    return result_of(outcomes, folder);
  }

 private:
  std::vector<policies::Evaluation> search(const Scenario& scenario, const SearchTask& task) const {
    const NamedSpace& named = parameters_.spaces[task.space];
    const SearchMethodChoice& choice = parameters_.methods[task.method];
    const std::uint64_t key =
        sim::stream_key(scenario.policy_seed, static_cast<std::uint64_t>(task.repetition), "search " + choice.name, named.name);
    const std::vector<Goal>& goals = parameters_.question.goals;
    const auto method = choice.entry->make(policies::Parameters(choice.entry->parameters, choice.parameters),
                                           policies::setup_of(*named.space, goals.size(), key));
    return policies::run_search(*named.space, *method, goals, parameters_.budget);
  }

  StudyResult result_of(const std::vector<SpaceOutcome>& outcomes, const ResultsFolder& folder) const {
    const SearchQuestion& question = parameters_.question;
    draw_search(question, outcomes, folder);
    StudyResult result;
    result.tables = {search_table(question, outcomes), front_table(question, outcomes), progress_table(question, outcomes)};
    for (report::Table& table : change_tables(outcomes)) result.tables.push_back(std::move(table));
    for (const SpaceOutcome& outcome : outcomes)
      if (!outcome.reference.front.empty()) result.notes.push_back(knee_note(outcome));
    return result;
  }

  static std::string knee_note(const SpaceOutcome& outcome) {
    const Found& knee = outcome.reference.front[outcome.reference.knee];
    return fmt::format("{}: the {} front has {} points; its knee, accuracy {:.4f} and latency {:.4g} s, is {}",
                       outcome.space->name, outcome.reference.is_exact ? "exact" : "best known", outcome.reference.front.size(),
                       knee.measures.accuracy, knee.measures.latency_s, outcome.space->space->name(knee.genes));
  }

  const SearchParameters parameters_;
};

std::vector<Goal> read_goals(sim::ObjectReader& in, const std::vector<NamedSpace>& spaces, sim::Mistakes& mistakes) {
  const std::vector<std::string> names(policies::kGoalNames.begin(), policies::kGoalNames.end());
  std::vector<Goal> goals;
  const auto list = in.required("objectives", "a list of two to four objectives");
  for (const sim::JsonValue value : in.list("objectives")) {
    const auto goal = static_cast<Goal>(sim::read_choice(value, names, mistakes));
    const bool is_known = std::all_of(spaces.begin(), spaces.end(),
                                      [&](const NamedSpace& s) { return std::count(s.goals.begin(), s.goals.end(), goal) > 0; });
    if (!is_known) value.refuse("an objective that the space knows", mistakes);
    if (std::count(goals.begin(), goals.end(), goal) > 0) refuse_again(value, value.text(), "each objective once", mistakes);
    goals.push_back(goal);
  }
  if (list && list->is_array() && (goals.size() < 2 || goals.size() > 4)) list->refuse("two to four objectives", mistakes);
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

}  // namespace

std::unique_ptr<Study> read_search(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  SearchParameters p;
  if (const auto space = in.required("space", "what is searched"))
    p.spaces = read_search_spaces(*space, paths, scenario, mistakes);
  p.question.goals = read_goals(in, p.spaces, mistakes);
  p.methods = read_search_methods(in, mistakes);
  for (const SearchMethodChoice& method : p.methods) p.question.methods.push_back(method.name);
  p.question.accuracy_above =
      in.maybe_number("accuracy_above", sim::between(0, 1)).value_or(std::numeric_limits<double>::quiet_NaN());
  p.budget.evaluations = static_cast<double>(in.integer("evaluations", sim::between(1, 1e6), 1000));
  return std::make_unique<SearchStudy>(std::move(p));
}

}  // namespace rehearse::scenarios
