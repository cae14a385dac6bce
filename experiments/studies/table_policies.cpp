#include "experiments/studies/table_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/harness/across_tasks.hpp"
#include "policies/harness/table_choice.hpp"
#include "sim/base/random.hpp"

namespace rehearse::scenarios {

namespace {

using namespace policies;

std::size_t share_of(double fraction, std::size_t count) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(fraction * static_cast<double>(count))));
}

/// The fewest with which a run of the task goes to its end: what a probe is told to be asked for.
double epochs_to_the_end(const RunTable& table, std::size_t task) {
  double fewest = std::nan("");
  for (std::size_t option = 0; option < table.options().size(); ++option)
    if (const TableOutcome* outcome = table.outcome(task, option); outcome != nullptr && !outcome->censored)
      for (const PastRun& run : outcome->runs) fewest = std::fmin(fewest, run.epochs);
  return std::isnan(fewest) ? 1 : fewest;
}

/// The thesis regresses on all past runs, and asks the regression alone.
bool is_the_thesis_as_it_was(const StrategyChoice& choice) {
  const auto features = choice.parameters.find("features");
  return features != choice.parameters.end() && features->second == ParameterValue(std::string("thesis"));
}

TableFreedom freedom_of(Frozen frozen) {
  return frozen == Frozen::batch       ? TableFreedom::resources
         : frozen == Frozen::resources ? TableFreedom::batch
                                       : TableFreedom::everything;
}

}  // namespace

MeasuredCells shared_history(const RunTable& table, const TableHistory& history) {
  MeasuredCells measured(table);
  for (std::size_t task = 0; task < table.tasks().size(); ++task) {
    std::vector<std::size_t> order;
    for (std::size_t option = 0; option < table.options().size(); ++option)
      if (table.outcome(task, option) != nullptr) order.push_back(option);
    const TableTask& t = table.tasks()[task];
    sim::Random random(
        sim::stream_key(history.seed, static_cast<std::uint64_t>(history.repetition), "measured-runs",
                        fmt::format("history {} {} {} {} {:g} {:g}", t.model, t.dataset, static_cast<int>(t.precision),
                                    static_cast<int>(t.lr_rule), t.samples, t.learning_rate) +
                            (t.recipe.empty() ? "" : " " + t.recipe) +
                            (t.target_accuracy > 0 ? fmt::format(" to {:g}", t.target_accuracy) : "")));
    random.shuffle(std::span(order));
    order.resize(std::min(order.size(), share_of(history.fraction, table.options().size())));
    for (const std::size_t option : order) measured.add(task, option);
  }
  return measured;
}

TablePolicy::TablePolicy(const PolicySpec& spec)
    : spec_(spec), entry_(find_strategy(configure_strategies(), spec.configure.name)) {
  const std::string& name = spec.configure.name;
  if (name == "oracle") {
    kind_ = Kind::oracle;
  } else if (name == "median-feasible") {
    kind_ = Kind::median_feasible;
  } else if (name == "random-feasible") {
    kind_ = Kind::random_feasible;
  } else if (name == "manual") {
    kind_ = Kind::manual;
  } else {
    std::shared_ptr<const Configure> made;
    if (entry_ != nullptr && entry_->make != nullptr)
      made = entry_->make(Parameters(entry_->parameters, spec.configure.parameters));
    learned_ = std::dynamic_pointer_cast<const FromHistory>(made);
    if (learned_ == nullptr)
      throw sim::InputError(
          sim::Mistake{.expected = "configure strategies that can choose from a table", .found = fmt::format("\"{}\"", name)});
    learning_ = learning_of(*entry_, spec.configure.parameters);
  }
}

bool TablePolicy::takes_targets() const {
  if (kind_ != Kind::learned) return true;
  const bool is_shared =
      learning_.probing == Probing::random || (learning_.probing == Probing::own && entry_->make_probes == nullptr);
  return is_shared && !learning_.table.foresees;
}

TableChoice TablePolicy::by_rule(const TableQuestion& question, const TableHistory& history, std::size_t job) const {
  const TableJob& asked = question.jobs[job];
  if (kind_ == Kind::manual)
    return question.table->outcome(asked.task, question.fixed_option) ? TableChoice(question.fixed_option) : std::nullopt;
  const std::vector<std::size_t> feasible = feasible_options(*question.table, asked);
  if (feasible.empty()) return std::nullopt;
  if (kind_ == Kind::oracle) return feasible.front();
  if (kind_ == Kind::median_feasible) return feasible[(feasible.size() - 1) / 2];
  sim::Random random(stream_key(history, fmt::format("{} {}", spec_.configure.name, job)));
  return feasible[random.below(feasible.size())];
}

MeasuredCells TablePolicy::past_runs(const TableQuestion& question, const TableHistory& history) const {
  const RunTable& table = *question.table;
  if (history.fraction >= 1) return shared_history(table, history);
  if (learning_.probing == Probing::active) return active_probes(question, history);
  if (searches()) return own_probes(question, history);
  return shared_history(table, history);
}

bool TablePolicy::searches() const { return learning_.probing == Probing::own && entry_->make_probes != nullptr; }

std::uint64_t TablePolicy::stream_key(const TableHistory& history, const std::string& entity) const {
  return sim::stream_key(spec_.policy_seed.value_or(history.policy_seed), static_cast<std::uint64_t>(history.repetition),
                         "measured-runs", entity);
}

/// The first run of a task is the same for all strategies that probe actively.
MeasuredCells TablePolicy::active_probes(const TableQuestion& question, const TableHistory& history) const {
  const RunTable& table = *question.table;
  TaskSearch search{.wanted = learning_.table.all_limits ? question.jobs : question.typical,
                    .runs = share_of(history.fraction, table.options().size())};
  for (std::size_t task = 0; task < table.tasks().size(); ++task)
    search.random_keys.push_back(stream_key(history, fmt::format("active probes of {}", task)));
  TaskModel model(table, learning_.table.transfer, learning_.spread_factor);
  return probe_tasks(table, search, model);
}

MeasuredCells TablePolicy::own_probes(const TableQuestion& question, const TableHistory& history) const {
  const RunTable& table = *question.table;
  MeasuredCells measured(table);
  const auto chooser = entry_->make_probes(Parameters(entry_->parameters, spec_.configure.parameters));
  for (const TableJob& typical : question.typical) {
    const ProbeBudget budget{
        .runs = share_of(history.fraction, table.options().size()),
        .typical = typical,
        .epochs = epochs_to_the_end(table, typical.task),
        .random_key = stream_key(history, fmt::format("{} probes of {}", spec_.configure.name, typical.task))};
    probe_task(table, budget, *chooser, measured);
  }
  return measured;
}

TablePolicy::Answer TablePolicy::choose(const TableQuestion& question, const TableHistory& history) const {
  Answer answer{.measured = MeasuredCells(*question.table)};
  if (kind_ != Kind::learned) {
    for (std::size_t job = 0; job < question.jobs.size(); ++job) answer.choices.push_back(by_rule(question, history, job));
    return answer;
  }
  answer.measured = past_runs(question, history);
  if (learning_.table.foresees) {
    // Runs drawn at random are too few near the limits to tell which is better.
    const bool tells = learning_.probing == Probing::active || learning_.table.transfer != TaskTransfer::held_out;
    TaskModel model(*question.table, tells ? learning_.table.transfer : TaskTransfer::together, learning_.spread_factor);
    // In an order of chance, so that a run is foretold neither by its neighbours nor without the other tasks' runs.
    std::vector<std::size_t> order(question.table->options().size());
    std::iota(order.begin(), order.end(), 0);
    sim::Random(stream_key(history, "held-out order")).shuffle(std::span(order));
    for (const std::size_t option : order)
      for (std::size_t task = 0; task < question.table->tasks().size(); ++task)
        if (answer.measured.has(task, option) && question.table->outcome(task, option) != nullptr) model.see(task, option);
    for (const TableJob& job : question.jobs) answer.choices.push_back(cheapest_foreseen(*question.table, job, model));
    return answer;
  }
  TableLearner learner(*question.table, answer.measured, learned_->learner(), entry_->make_probes != nullptr);
  const LearnedChoice how{.measured = &answer.measured,
                          .trusts_measured = !is_the_thesis_as_it_was(spec_.configure),
                          .only_measured = learned_->use().only_measured,
                          .freedom = freedom_of(learned_->use().frozen),
                          .fixed_option = question.fixed_option};
  for (const TableJob& job : question.jobs) answer.choices.push_back(cheapest_learned(*question.table, job, learner, how));
  return answer;
}

namespace {

using policies::RunTable;
using policies::TableChoice;
using policies::TableJob;

/// What the choice cost, where it keeps the limits; else NaN.
double kept_usd(const RunTable& table, const TableJob& job, const TableChoice& choice) {
  const policies::TableOutcome* outcome = choice ? table.outcome(job.task, *choice) : nullptr;
  return outcome != nullptr && keeps_limits(*outcome, job.limits) ? outcome->cost_usd : std::nan("");
}

}  // namespace

ChoiceScore score(const RunTable& table, std::span<const TableJob> jobs, const TableChoices& choices) {
  double asked = 0, chosen = 0, violated = 0;
  std::vector<double> regrets;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<std::size_t> feasible = feasible_options(table, jobs[j]);
    for (const auto& of_repetition : choices) {
      const TableChoice& choice = of_repetition[j];
      ++asked;
      if (!choice) continue;
      ++chosen;
      const double usd = kept_usd(table, jobs[j], choice);
      if (std::isnan(usd))
        ++violated;
      else
        regrets.push_back(100 * (usd / table.outcome(jobs[j].task, feasible.front())->cost_usd - 1));
    }
  }
  return {.none = 100 * (1 - chosen / asked),
          .violated = 100 * violated / chosen,
          .regret_median = report::quantile(regrets, 0.5),
          .regret_p90 = report::quantile(regrets, 0.9)};
}

ChoiceSaving saving(const RunTable& table, std::span<const TableJob> jobs, const TableChoices& choices,
                    const TableChoices& reference, const SharedRuns& past_runs) {
  std::vector<double> savings;
  double compared = 0;
  for (std::size_t r = 0; r < choices.size(); ++r) {
    double usd = 0, reference_usd = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const double own = kept_usd(table, jobs[j], choices[r][j]), other = kept_usd(table, jobs[j], reference[r][j]);
      if (std::isnan(own) || std::isnan(other)) continue;
      usd += own + (past_runs.usd.empty() ? 0 : past_runs.usd[r][jobs[j].task] / past_runs.reuse_jobs);
      reference_usd += other;
      ++compared;
    }
    savings.push_back(reference_usd > 0 ? 100 * (1 - usd / reference_usd) : std::nan(""));
  }
  return {.percent = report::estimate(savings), .compared = 100 * compared / static_cast<double>(jobs.size() * choices.size())};
}

}  // namespace rehearse::scenarios
