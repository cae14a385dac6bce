#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>

#include "experiments/studies/search_parts.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

namespace {

using policies::Evaluation;
using policies::Measures;

/// Every candidate that was trained in full and fits, once.
std::vector<Found> candidates_of(const SearchQuestion& question, const SpaceOutcome& outcome) {
  std::vector<Found> found;
  const auto add = [&](const policies::Genes& genes, const Measures& measures) {
    if (measures.fits)
      found.push_back({.genes = genes, .measures = measures, .objectives = objectives_of(measures, question.goals)});
  };
  for (const policies::Genes& genes : outcome.space->all) add(genes, outcome.space->space->measure(genes, 1));
  if (!found.empty()) return found;
  std::set<policies::Genes> seen;
  for (const auto& of_method : outcome.searches)
    for (const std::vector<Evaluation>& search : of_method)
      for (const Evaluation& evaluation : search)
        if (evaluation.trial.share == 1 && seen.insert(evaluation.trial.genes).second)
          add(evaluation.trial.genes, evaluation.measures);
  return found;
}

std::vector<policies::Objectives> objectives_of_all(std::span<const Found> found) {
  std::vector<policies::Objectives> points;
  for (const Found& one : found) points.push_back(one.objectives);
  return points;
}

/// Among the points that are nowhere worse than `worst`; without any among all.
std::size_t knee_of(const std::vector<policies::Objectives>& front, const policies::Objectives& worst) {
  std::vector<policies::Objectives> inside;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < front.size(); ++i) {
    bool is_inside = true;
    for (std::size_t k = 0; k < worst.size(); ++k) is_inside &= front[i][k] <= worst[k];
    if (!is_inside) continue;
    inside.push_back(front[i]);
    places.push_back(i);
  }
  return inside.empty() ? policies::knee_point(front) : places[policies::knee_point(inside)];
}

using sim::kNan;

/// A figure, and where it is from.
struct Measured {
  double value = kNan;
  double accuracy = kNan;  ///< of the candidate
  std::string of = {}, against = {};
};

enum class Asked { at_least, at_most };

std::vector<report::Cell> row(const SpaceOutcome& outcome, const std::string& target, double asked, Asked how,
                              const Measured& measured) {
  const bool met = how == Asked::at_least ? measured.value >= asked : measured.value <= asked;
  const std::string answer = std::isnan(measured.value) ? "not measured" : met ? "yes" : "no";
  return {outcome.space->name, target, asked, measured.value, answer, measured.accuracy, measured.of, measured.against};
}

std::string name_of(const SpaceOutcome& outcome, const Found& one) { return outcome.space->space->name(one.genes); }

Measured measured_at(const SpaceOutcome& outcome, const Found& one, double value) {
  return {.value = value, .accuracy = one.measures.accuracy, .of = name_of(outcome, one)};
}

/// Of equally accurate ones that with the least of the measure.
const Found& most_accurate(const SearchReference& reference, double Measures::*measure) {
  return *std::min_element(reference.front.begin(), reference.front.end(), [&](const Found& a, const Found& b) {
    const double more = a.measures.accuracy - b.measures.accuracy;
    return more > 0 || (more == 0 && a.measures.*measure < b.measures.*measure);
  });
}

/// The least of those that are accurate enough; where none is, of the most accurate.
Measured latency(const SpaceOutcome& outcome, double accuracy) {
  const Found* least = nullptr;
  for (const Found& one : outcome.reference.front)
    if (one.measures.accuracy >= accuracy && (least == nullptr || one.measures.latency_s < least->measures.latency_s))
      least = &one;
  if (least == nullptr) least = &most_accurate(outcome.reference, &Measures::latency_s);
  return measured_at(outcome, *least, least->measures.latency_s);
}

Measured accuracy_within(const SpaceOutcome& outcome, double latency_s) {
  const Found* best = nullptr;
  for (const Found& one : outcome.reference.front)
    if (one.measures.latency_s <= latency_s && (best == nullptr || one.measures.accuracy > best->measures.accuracy)) best = &one;
  return best == nullptr ? Measured{} : measured_at(outcome, *best, best->measures.accuracy);
}

/// The knee against the most accurate. The field is missing (NaN) where the space does not know it.
Measured saved_at_knee(const SpaceOutcome& outcome, double Measures::*measure) {
  const Found& knee = outcome.reference.front[outcome.reference.knee];
  const Found& best = most_accurate(outcome.reference, measure);
  Measured saved = measured_at(outcome, knee, 100 * (1 - knee.measures.*measure / (best.measures.*measure)));
  if (std::isnan(saved.value)) return {};
  saved.against = name_of(outcome, best);
  return saved;
}

/// Of the arms behind the first one.
template <class Better>
Measured best_arm(const SearchQuestion& question, const std::vector<ArmFigures>& arms, double ArmFigures::*figure,
                  Better better) {
  Measured best;
  for (std::size_t arm = 1; arm < arms.size(); ++arm) {
    const double value = arms[arm].*figure;
    if (!std::isnan(value) && (std::isnan(best.value) || better(value, best.value)))
      best = {.value = value, .of = question.methods[arm], .against = question.methods[0]};
  }
  return best;
}

}  // namespace

double read_number(std::istringstream& in) {
  std::string word;
  in >> word;
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  sim::check(error == std::errc() && end == word.data() + word.size(), "a search's evaluations came back whole");
  return number;
}

std::string to_text(const std::vector<Evaluation>& evaluations) {
  std::string text;
  for (const Evaluation& e : evaluations) {
    const Measures& m = e.measures;
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", e.trial.genes.size(), fmt::join(e.trial.genes, " "),
                        e.trial.share, m.accuracy, m.latency_s, m.memory_bytes, m.training_s, m.cost_usd, m.energy_j, m.gpu_hours,
                        m.fits ? 1 : 0, e.share_before, e.evaluations, e.gpu_hours, e.time_s);
  }
  return text;
}

std::vector<Evaluation> evaluations_of(const std::string& text) {
  std::vector<Evaluation> evaluations;
  std::istringstream in(text);
  for (std::size_t genes = 0; in >> genes;) {
    Evaluation& e = evaluations.emplace_back();
    for (std::size_t i = 0; i < genes; ++i) e.trial.genes.push_back(static_cast<int>(read_number(in)));
    Measures& m = e.measures;
    for (double* field :
         {&e.trial.share, &m.accuracy, &m.latency_s, &m.memory_bytes, &m.training_s, &m.cost_usd, &m.energy_j, &m.gpu_hours})
      *field = read_number(in);
    m.fits = read_number(in) == 1;
    for (double* field : {&e.share_before, &e.evaluations, &e.gpu_hours, &e.time_s}) *field = read_number(in);
  }
  return evaluations;
}

SearchReference reference_of(const SearchQuestion& question, const SpaceOutcome& outcome) {
  const std::vector<Found> all = candidates_of(question, outcome);
  SearchReference reference{.is_exact = !outcome.space->all.empty()};
  for (const std::size_t i : policies::pareto_front(objectives_of_all(all))) reference.front.push_back(all[i]);
  if (reference.front.empty()) return reference;
  std::stable_sort(reference.front.begin(), reference.front.end(),
                   [](const Found& a, const Found& b) { return a.objectives > b.objectives; });
  const std::vector<policies::Objectives> points = objectives_of_all(reference.front);
  reference.worst = points[0];
  for (const policies::Objectives& point : points)
    for (std::size_t k = 0; k < point.size(); ++k) reference.worst[k] = std::max(reference.worst[k], point[k]);
  for (std::size_t k = 0; k < question.goals.size(); ++k)
    if (question.goals[k] == policies::SearchGoal::accuracy && !std::isnan(question.accuracy_above))
      reference.worst[k] = 1 - question.accuracy_above;
  reference.volume = policies::hypervolume(points, reference.worst);
  reference.knee = knee_of(points, reference.worst);
  return reference;
}

double relative_volume(const SearchQuestion& question, const SearchReference& reference,
                       std::span<const Evaluation> evaluations) {
  if (!(reference.volume > 0)) return 0;
  return policies::hypervolume(full_objectives(evaluations, question.goals), reference.worst) / reference.volume;
}

const Evaluation* first_to_reach(const SearchQuestion& question, const SearchReference& reference,
                                 std::span<const Evaluation> evaluations, double volume) {
  // More evaluations never have less volume.
  std::size_t low = 0, high = evaluations.size() + 1;  // too few; enough, or one too many to exist
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (relative_volume(question, reference, evaluations.first(middle)) >= volume ? high : low) = middle;
  }
  return high > evaluations.size() ? nullptr : &evaluations[high - 1];
}

SearchTargets read_search_targets(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  SearchTargets targets;
  targets.accuracy = in.number("accuracy", sim::between(0, 1), targets.accuracy);
  targets.latency_s = in.number("latency_s", sim::above(0), targets.latency_s);
  targets.memory_saved_percent = in.number("memory_saved_percent", sim::between(0, 100), targets.memory_saved_percent);
  targets.training_time_saved_percent =
      in.number("training_time_saved_percent", sim::between(0, 100), targets.training_time_saved_percent);
  targets.utilization_gain_percent = in.number("utilization_gain_percent", sim::at_least(0), targets.utilization_gain_percent);
  targets.search_h = in.number("search_h", sim::above(0), targets.search_h);
  in.finish();
  return targets;
}

report::Table targets_table(const SearchQuestion& question, const SearchTargets& asked, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<ArmFigures>>& arms) {
  report::Table table{.name = "search-targets",
                      .title = "What is asked of a search",
                      .columns = {{"space", "space"},
                                  {"target", "target"},
                                  {"asked", "asked"},
                                  {"measured", "measured"},
                                  {"met", "met"},
                                  {"accuracy", "accuracy", "{:.4f}"},
                                  {"of", "of"},
                                  {"against", ""}}};
  for (std::size_t s = 0; s < outcomes.size(); ++s) {
    const SpaceOutcome& outcome = outcomes[s];
    if (outcome.reference.front.empty()) continue;
    const auto add = [&](const std::string& target, double value, Asked how, const Measured& measured) {
      table.rows.push_back(row(outcome, target, value, how, measured));
    };
    const Found& best = most_accurate(outcome.reference, &Measures::latency_s);
    add("accuracy", asked.accuracy, Asked::at_least, measured_at(outcome, best, best.measures.accuracy));
    add("latency_s", asked.latency_s, Asked::at_most, latency(outcome, asked.accuracy));
    add("accuracy_within_latency", asked.accuracy, Asked::at_least, accuracy_within(outcome, asked.latency_s));
    add("memory_saved_percent", asked.memory_saved_percent, Asked::at_least, saved_at_knee(outcome, &Measures::memory_bytes));
    add("training_time_saved_percent", asked.training_time_saved_percent, Asked::at_least,
        saved_at_knee(outcome, &Measures::training_s));
    const std::vector<ArmFigures> of_space = arms.empty() ? std::vector<ArmFigures>() : arms[s];
    add("utilization_gain_percent", asked.utilization_gain_percent, Asked::at_least,
        best_arm(question, of_space, &ArmFigures::utilization_gain_percent, std::greater<>()));
    add("search_h", asked.search_h, Asked::at_most, best_arm(question, of_space, &ArmFigures::hours_to_same, std::less<>()));
  }
  return table;
}

}  // namespace rehearse::scenarios
