#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/studies/search_parts.hpp"
#include "experiments/studies/study.hpp"
#include "report/statistics.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::scenarios {

namespace {

using policies::Evaluation;
using policies::Measures;
using policies::SearchGoal;

using sim::kNan;
constexpr double kGood = 0.95;                            ///< of the reference's hypervolume
constexpr std::string_view kYardstick = "random-search";  ///< that the others are compared with

std::vector<double> volumes(const SearchQuestion& question, const SpaceOutcome& outcome, std::size_t method) {
  std::vector<double> all;
  for (const std::vector<Evaluation>& search : outcome.searches[method])
    all.push_back(relative_volume(question, outcome.reference, search));
  return all;
}

/// Over the reference's front, the share whose objectives this search has found.
double found_share(const SearchQuestion& question, const SearchReference& reference, std::span<const Evaluation> search) {
  const std::vector<policies::Objectives> found = full_objectives(search, question.goals);
  const std::set<policies::Objectives> distinct(found.begin(), found.end());
  const auto hits = std::count_if(reference.front.begin(), reference.front.end(),
                                  [&](const Found& one) { return distinct.count(one.objectives) > 0; });
  return static_cast<double>(hits) / static_cast<double>(reference.front.size());
}

/// Medians count searches that never come to it as infinite.
struct ToReach {
  double reached = 0;  ///< share of the searches
  double evaluations = 0, gpu_hours = 0;
};
ToReach to_reach(const SearchQuestion& question, const SpaceOutcome& outcome, std::size_t method) {
  std::vector<double> evaluations, hours;
  double reached = 0;
  for (const std::vector<Evaluation>& search : outcome.searches[method]) {
    const Evaluation* first = first_to_reach(question, outcome.reference, search, kGood);
    evaluations.push_back(first != nullptr ? first->evaluations : 1e300);
    hours.push_back(first != nullptr ? first->gpu_hours : 1e300);
    reached += first != nullptr ? 1 : 0;
  }
  const auto median = [](const std::vector<double>& values) {
    const double middle = report::quantile(values, 0.5);
    return middle < 1e299 ? middle : kNan;
  };
  return {.reached = reached / static_cast<double>(evaluations.size()),
          .evaluations = median(evaluations),
          .gpu_hours = std::isnan(hours[0]) ? kNan : median(hours)};
}

/// Of a list of counts 1, 2, 5, 10, ... those below, and the last.
std::vector<std::size_t> checkpoints(std::size_t last) {
  std::vector<std::size_t> counts;
  for (std::size_t power = 1; power < last; power *= 10)
    for (const std::size_t digit : {1, 2, 5})
      if (digit * power < last) counts.push_back(digit * power);
  if (last > 0) counts.push_back(last);
  return counts;
}

std::vector<report::Cell> measures_row(const Measures& m) {
  return {m.accuracy, m.latency_s, m.memory_bytes, m.training_s, m.cost_usd, m.energy_j};
}

std::string finders(const SearchQuestion& question, const SpaceOutcome& outcome, const Found& one) {
  std::string names;
  for (std::size_t m = 0; m < question.methods.size(); ++m) {
    const auto& searches = outcome.searches[m];
    const auto has = [&](const std::vector<Evaluation>& search) {
      return std::any_of(search.begin(), search.end(),
                         [&](const Evaluation& e) { return e.trial.share == 1 && e.trial.genes == one.genes; });
    };
    if (std::any_of(searches.begin(), searches.end(), has)) names += (names.empty() ? "" : " ") + question.methods[m];
  }
  return names;
}

std::map<std::string, policies::Genes> names_of_front(const SpaceOutcome& outcome) {
  std::map<std::string, policies::Genes> names;
  for (const Found& one : outcome.reference.front) names.emplace(outcome.space->space->name(one.genes), one.genes);
  return names;
}

}  // namespace

report::Table search_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes) {
  report::Table table{.name = "search",
                      .title = "Hypervolume over the reference front's, mean over searches",
                      .columns = {{"space", "space"},
                                  {"front_points", "front", "{:g}"},
                                  {"method", "method"},
                                  {"evaluations", "evaluations", "{:g}"},
                                  {"gpu_hours", "GPU hours", "{:.4g}"},
                                  {"hypervolume", "hypervolume", "{:.4f}"},
                                  {"hypervolume_ci95_low", ""},
                                  {"hypervolume_ci95_high", ""},
                                  {"hypervolume_min", "least", "{:.4f}"},
                                  {"reached_95_fraction", ">= 0.95", "{:.2f}"},
                                  {"evaluations_to_95", "evaluations to 0.95", "{:g}"},
                                  {"gpu_hours_to_95", "GPU hours", "{:.4g}"},
                                  {"front_found_fraction", "front found", "{:.2f}"},
                                  {"over_random", "over random", "{:+.4f}"},
                                  {"over_random_ci95_low", "from", "{:+.4f}"},
                                  {"over_random_ci95_high", "to", "{:+.4f}"}}};
  const auto yardstick = std::find(question.methods.begin(), question.methods.end(), kYardstick);
  for (const SpaceOutcome& outcome : outcomes) {
    if (outcome.reference.front.empty()) continue;
    std::vector<double> others;
    if (yardstick != question.methods.end())
      others = volumes(question, outcome, static_cast<std::size_t>(yardstick - question.methods.begin()));
    for (std::size_t m = 0; m < question.methods.size(); ++m) {
      const std::vector<double> own = volumes(question, outcome, m);
      const report::Estimate mean = report::estimate(own);
      const ToReach good = to_reach(question, outcome, m);
      std::vector<double> used, hours, found, differences;
      for (std::size_t r = 0; r < own.size(); ++r) {
        const std::vector<Evaluation>& search = outcome.searches[m][r];
        used.push_back(search.empty() ? 0 : search.back().evaluations);
        hours.push_back(search.empty() ? 0 : search.back().gpu_hours);
        found.push_back(found_share(question, outcome.reference, search));
        if (!others.empty()) differences.push_back(own[r] - others[r]);
      }
      report::Estimate over = report::estimate(differences);
      if (question.methods[m] == kYardstick) over = {kNan, kNan, kNan};
      table.rows.push_back({outcome.space->name, static_cast<double>(outcome.reference.front.size()), question.methods[m],
                            report::mean(used), report::mean(hours), mean.mean, mean.ci95_low, mean.ci95_high,
                            *std::min_element(own.begin(), own.end()), good.reached, good.evaluations, good.gpu_hours,
                            report::mean(found), over.mean, over.ci95_low, over.ci95_high});
    }
  }
  return table;
}

report::Table front_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes) {
  report::Table table{.name = "search-front",
                      .title = {},
                      .columns = {{"space", ""},
                                  {"candidate", ""},
                                  {"accuracy", ""},
                                  {"latency_s", ""},
                                  {"memory_bytes", ""},
                                  {"training_s", ""},
                                  {"cost_usd", ""},
                                  {"energy_j", ""},
                                  {"knee", ""},
                                  {"found_by", ""}}};
  for (const SpaceOutcome& outcome : outcomes)
    for (std::size_t i = 0; i < outcome.reference.front.size(); ++i) {
      const Found& one = outcome.reference.front[i];
      std::vector<report::Cell> row{outcome.space->name, outcome.space->space->name(one.genes)};
      for (report::Cell& cell : measures_row(one.measures)) row.push_back(std::move(cell));
      row.emplace_back(std::string(i == outcome.reference.knee ? "true" : "false"));
      row.emplace_back(finders(question, outcome, one));
      table.rows.push_back(std::move(row));
    }
  return table;
}

report::Table progress_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes) {
  report::Table table{
      .name = "search-progress",
      .title = {},
      .columns = {
          {"space", ""}, {"method", ""}, {"repetition", ""}, {"evaluations", ""}, {"gpu_hours", ""}, {"hypervolume", ""}}};
  for (const SpaceOutcome& outcome : outcomes)
    for (std::size_t m = 0; m < question.methods.size(); ++m)
      for (std::size_t r = 0; r < outcome.searches[m].size(); ++r) {
        const std::vector<Evaluation>& search = outcome.searches[m][r];
        for (const std::size_t count : checkpoints(search.size()))
          table.rows.push_back({outcome.space->name, question.methods[m], static_cast<double>(r), search[count - 1].evaluations,
                                search[count - 1].gpu_hours,
                                relative_volume(question, outcome.reference, std::span(search).first(count))});
      }
  return table;
}

std::vector<report::Table> change_tables(const std::vector<SpaceOutcome>& outcomes) {
  report::Table counts{
      .name = {},
      .title = "What another device changes in the front",
      .columns = {
          {"from", "from"}, {"to", "to"}, {"stay", "stay", "{:g}"}, {"leave", "leave", "{:g}"}, {"enter", "enter", "{:g}"}}};
  report::Table changes{.name = "search-changes",
                        .title = {},
                        .columns = {{"from_space", ""}, {"to_space", ""}, {"change", ""}, {"candidate", ""}}};
  for (std::size_t a = 0; a < outcomes.size(); ++a)
    for (std::size_t b = a + 1; b < outcomes.size(); ++b) {
      const std::string &from = outcomes[a].space->name, &to = outcomes[b].space->name;
      const auto before = names_of_front(outcomes[a]), after = names_of_front(outcomes[b]);
      double leave = 0, enter = 0;
      for (const auto& [name, genes] : before)
        if (after.count(name) == 0) {
          changes.rows.push_back({from, to, std::string("leaves"), name});
          ++leave;
        }
      for (const auto& [name, genes] : after)
        if (before.count(name) == 0) {
          changes.rows.push_back({from, to, std::string("enters"), name});
          ++enter;
        }
      counts.rows.push_back({from, to, static_cast<double>(before.size()) - leave, leave, enter});
    }
  if (outcomes.size() < 2) return {};
  return {std::move(counts), std::move(changes)};
}

std::vector<report::NamedFigure> search_figures(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes) {
  const auto heading = [&](std::size_t k) {
    return question.goals[k] == SearchGoal::accuracy
               ? std::string("error")
               : std::string(policies::kSearchGoalNames[static_cast<std::size_t>(question.goals[k])]);
  };
  const auto figure_of = [](std::string title, std::string x, std::string y) {
    return report::Figure{.title = std::move(title),
                          .x = {.label = std::move(x), .logarithmic = true},
                          .y = {.label = std::move(y), .logarithmic = true},
                          .series = {},
                          .height_in = report::kTall_in};
  };
  std::vector<report::NamedFigure> figures;
  for (const SpaceOutcome& outcome : outcomes) {
    const std::string space = file_name(outcome.space->name);
    for (std::size_t k = 1; k < question.goals.size(); ++k) {
      report::Figure fronts = figure_of(fmt::format("{}: fronts", outcome.space->name), heading(k), heading(0));
      const auto add_line = [&](const std::string& name, std::vector<policies::Objectives> points) {
        std::sort(points.begin(), points.end());
        report::Series line{.name = name, .style = report::Style::line_points, .rows = {}};
        for (const policies::Objectives& point : points) line.rows.push_back({point[k], point[0]});
        fronts.series.push_back(std::move(line));
      };
      std::vector<policies::Objectives> reference;
      for (const Found& one : outcome.reference.front) reference.push_back(one.objectives);
      add_line(outcome.reference.is_exact ? "exact" : "best known", reference);
      for (std::size_t m = 0; m < question.methods.size(); ++m) {
        const std::vector<policies::Objectives> found = full_objectives(outcome.searches[m][0], question.goals);
        std::vector<policies::Objectives> best;
        for (const std::size_t i : policies::pareto_front(found)) best.push_back(found[i]);
        add_line(question.methods[m], std::move(best));
      }
      figures.push_back({fmt::format("front-{}-{}", space, heading(k)), std::move(fronts)});
    }
    report::Figure progress = figure_of(fmt::format("{}: hypervolume over the reference's, repetition 0", outcome.space->name),
                                        "evaluations", "hypervolume");
    for (std::size_t m = 0; m < question.methods.size(); ++m) {
      report::Series line{.name = question.methods[m], .style = report::Style::line_points, .rows = {}};
      const std::vector<Evaluation>& search = outcome.searches[m][0];
      for (const std::size_t count : checkpoints(search.size()))
        line.rows.push_back(
            {search[count - 1].evaluations, relative_volume(question, outcome.reference, std::span(search).first(count))});
      progress.series.push_back(std::move(line));
    }
    figures.push_back({fmt::format("hypervolume-{}", space), std::move(progress)});
  }
  return figures;
}

}  // namespace rehearse::scenarios
