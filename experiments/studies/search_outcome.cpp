#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "experiments/studies/search_parts.hpp"
#include "sim/base/errors.hpp"

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

}  // namespace rehearse::scenarios
