#include "experiments/sweep/findings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "experiments/run/chance.hpp"
#include "report/comparison.hpp"
#include "report/plots/kinds.hpp"
#include "report/plots/run_gnuplot.hpp"
#include "report/verdict_words.hpp"
#include "report/xml_text.hpp"
#include "scenarios/read/study_kinds.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

std::string with_interval(const report::Estimate& e) {
  if (std::isnan(e.ci95_low)) return sim::figure(e.mean);
  return fmt::format("{} [{}, {}]", sim::figure(e.mean), sim::figure(e.ci95_low), sim::figure(e.ci95_high));
}

/// As `run` shows times.
std::string time_with_interval(const report::Estimate& e) {
  const auto words = [](double seconds) { return report::text_of(report::Shown::duration, seconds); };
  if (std::isnan(e.ci95_low)) return words(e.mean);
  return fmt::format("{} [{}, {}]", words(e.mean), words(e.ci95_low), words(e.ci95_high));
}

std::string words(const report::Statement& statement, bool of_queues) {
  switch (statement.outcome) {
    case report::Outcome::cheapest:
      return of_queues ? "shortest" : "cheapest";
    case report::Outcome::reference:
      return of_queues ? "nobody is shorter" : "nobody is cheaper";
    case report::Outcome::level:
      return fmt::format("level with {}", statement.reference);
    case report::Outcome::undecided:
      return "undecided";
    case report::Outcome::nobody_keeps:
      return of_queues ? "all others finish fewer jobs" : "nobody else kept limits";
    case report::Outcome::one_repetition:
      return "unknown";
    default:
      return "no verdict";
  }
}

/// On the drawn jobs, and in new worlds where that differs.
std::string decided(const report::RunVerdict& verdict, bool of_queues) {
  std::string text = words(verdict.drawn, of_queues);
  if (verdict.is_example()) return text + ", an example";
  if (!verdict.agrees()) text += "; in new worlds " + words(verdict.new_worlds, of_queues);
  return text;
}

/// A run's figures stand for its jobs: all of them alike, but for rounding, is no chance. Undefined ones are null in both.
bool is_alike(const SweepFigures& a, const SweepFigures& b) {
  return report::is_same_figure(a.broken_share, b.broken_share) && report::is_same_figure(a.jobs_completed, b.jobs_completed) &&
         report::is_same_figure(a.cost_usd, b.cost_usd) && report::is_same_figure(a.effective_cost_usd, b.effective_cost_usd) &&
         report::is_same_figure(a.jct_mean_s, b.jct_mean_s) && report::is_same_figure(a.jct_p95_s, b.jct_p95_s) &&
         report::is_same_figure(a.makespan_s, b.makespan_s) && report::is_same_figure(a.energy_kwh, b.energy_kwh);
}

/// As the point's policies ran; one of which a run did not end well has none. Of queues by completion times, as `run` judges them
/// (report::judge_completion): who finishes fewer jobs than the reference in any repetition is not compared.
report::VerdictInput verdict_input(const std::vector<SweepFigures>& rows, const Scenario& scenario, bool of_queues) {
  const report::VerdictTerms terms = verdict_terms(scenario);
  report::VerdictInput input{.policies = {},
                             .reference = terms.reference,
                             .mean = of_queues ? report::Mean::arithmetic : report::Mean::geometric,
                             .is_exact = terms.is_exact,
                             .unit_share = of_queues ? 0 : terms.unit_share,
                             .has_limits = terms.has_limits,
                             .limits_margin = terms.limits_margin};
  const auto of_policy = [&](const std::string& name) {
    std::vector<const SweepFigures*> own;
    for (const SweepFigures& row : rows)
      if (row.policy == name) own.push_back(&row);
    return own;
  };
  const std::vector<const SweepFigures*> reference = of_policy(terms.reference);
  const auto finishes_fewer = [&](const std::vector<const SweepFigures*>& own) {
    if (reference.size() != own.size()) return true;
    for (std::size_t r = 0; r < own.size(); ++r)
      if (own[r]->jobs_completed < reference[r]->jobs_completed) return true;
    return false;
  };
  for (const policies::PolicySpec& spec : scenario.policies) {
    report::VerdictPolicy policy{.name = spec.name, .is_yardstick = is_yardstick(spec), .repetitions = {}};
    const std::vector<const SweepFigures*> own = of_policy(spec.name);
    policy.is_as_reference =
        spec.name != terms.reference && std::equal(own.begin(), own.end(), reference.begin(), reference.end(),
                                                   [](const SweepFigures* a, const SweepFigures* b) { return is_alike(*a, *b); });
    for (const SweepFigures* row : own) {
      const double fewer = row->jobs > 0 ? (finishes_fewer(own) ? 1.0 : 0.0) : sim::kNan;
      policy.repetitions.push_back(of_queues ? report::VerdictFigures{fewer, row->jct_mean_s, row->jobs}
                                             : report::VerdictFigures{row->broken_share, row->effective_cost_usd, row->jobs});
    }
    if (policy.repetitions.size() != static_cast<std::size_t>(scenario.repetitions)) policy.repetitions.clear();
    input.policies.push_back(std::move(policy));
  }
  return input;
}

/// Numbers with six digits, texts without their quotes.
std::string shown_value(const std::string& json) {
  const sim::JsonDocument document = sim::parse_json(json, {});
  if (document.root().is_string()) return std::string(document.root().text());
  return document.root().is_number() ? fmt::format("{:.6g}", document.root().number()) : json;
}

std::vector<report::Cell> shown_row(const SweepPlan& plan, std::size_t point, const report::VerdictInput& input, bool of_queues) {
  const report::RunVerdict verdict = report::judge_twice(input);
  std::vector<report::Cell> row;
  for (const std::string& value : plan.values_at(point)) row.emplace_back(shown_value(value));
  const bool is_reference_left = verdict.drawn.outcome == report::Outcome::nobody_keeps;
  const std::string best = is_reference_left ? input.reference : verdict.drawn.best;
  const auto policy = std::find_if(input.policies.begin(), input.policies.end(), [&](const auto& p) { return p.name == best; });
  report::Estimate cost{.mean = sim::kNan, .ci95_low = sim::kNan, .ci95_high = sim::kNan}, saving = cost;
  if (policy != input.policies.end()) {
    std::vector<double> costs;
    for (const report::VerdictFigures& figures : policy->repetitions) costs.push_back(figures.effective_cost_usd);
    cost = report::estimate(costs);
  }
  if (const report::PolicyVerdict* of_best = verdict.drawn.find(best)) saving = report::cheaper_than_reference(verdict, *of_best);
  row.insert(row.end(), {best.empty() ? "-" : best, of_queues ? time_with_interval(cost) : with_interval(cost),
                         with_interval(saving), decided(verdict, of_queues)});
  return row;
}

struct Picture {
  std::string name, caption;
};

/// What the rows can show; kinds without points are left out.
std::vector<report::NamedFigure> figures_of(const SweepPlan& plan, const std::string& rows, std::vector<Picture>& pictures) {
  constexpr std::size_t kMostPolicies = 6;
  const bool of_queues = report::is_of_queues(kinds_of(plan.first()));
  std::vector<report::NamedFigure> figures;
  report::PlotRequest request{.results = {rows}, .where = {}, .x = {}, .y = {}, .by = {}, .higher = {}};
  for (const SweepAxis& axis : plan.axes()) request.swept.push_back(axis.pointer);
  const auto add = [&](report::Figure figure, const std::string& caption) {
    if (!has_points(figure)) return;
    const std::string name = fmt::format("figure-{}", figures.size() + 1);
    pictures.push_back({name, figure.note.empty() ? caption : fmt::format("{} ({})", caption, figure.note)});
    figures.push_back({name, std::move(figure)});
  };
  for (const SweepAxis& axis : plan.axes()) {
    request.x = axis.pointer;
    request.y = of_queues ? "jct_mean_s" : "";
    if (axis.values.size() > 1)
      add(report::line(request),
          fmt::format("{} over {}, mean and 95 % interval", of_queues ? "Mean completion time" : "Effective cost", axis.pointer));
  }
  if (plan.axes().size() < 2) return figures;
  request.x = plan.axes()[0].pointer;
  request.y = plan.axes()[1].pointer;
  if (of_queues) request.value = "jct_mean_s";
  std::size_t shown = 0;
  for (const policies::PolicySpec& spec : plan.first().policies) {
    if ((!of_queues && spec.name == plan.first().baseline) || ++shown > kMostPolicies) continue;
    request.where = {{"policy", spec.name}};
    try {
      add(report::heat(request), of_queues ? fmt::format("Mean completion time of {}, s", spec.name)
                                           : fmt::format("What {} saves against {}, %", spec.name, plan.first().baseline));
    } catch (const sim::InputError&) {  // none of its runs has ended well
    }
  }
  return figures;
}

std::string html_table(const report::Table& table) {
  std::string html = "<table>\n<tr>";
  for (const report::Column& column : table.columns) html += fmt::format("<th>{}</th>", report::xml_text(column.heading));
  html += "</tr>\n";
  for (const std::vector<report::Cell>& row : table.rows) {
    html += "<tr>";
    for (const report::Cell& cell : row)
      html += fmt::format("<td>{}</td>", std::holds_alternative<std::string>(cell) ? report::xml_text(std::get<std::string>(cell))
                                                                                   : sim::figure(std::get<double>(cell)));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

/// Without what may stand before its root only in a file of its own.
std::string inline_svg(const std::string& file) {
  const std::string text = sim::read_file(file, std::size_t{1} << 28);
  const std::size_t root = text.find("<svg");
  return root == text.npos ? std::string() : text.substr(root);
}

}  // namespace

report::Table best_by_point(const SweepPlan& plan, const SweepDatabase& database) {
  report::Table table{.name = {}, .title = "Best at each point, with 95 % intervals:", .columns = {}, .rows = {}};
  for (const SweepAxis& axis : plan.axes()) table.columns.push_back({axis.pointer, axis.pointer});
  const bool of_queues = report::is_of_queues(kinds_of(plan.first()));
  const std::string& reference = plan.first().reference;
  table.columns.push_back({"best", "best"});
  if (of_queues) {
    table.columns.push_back({"jct_mean_s", "mean JCT"});
    table.columns.push_back({"shorter_than_reference_percent", fmt::format("shorter than {}, %", reference)});
  } else {
    table.columns.push_back({"effective_cost_usd", "effective cost, $"});
    table.columns.push_back({"cheaper_than_reference_percent", fmt::format("saving on {}, %", reference)});
  }
  table.columns.push_back({"verdict", "verdict"});
  std::map<std::size_t, std::vector<SweepFigures>> points;
  for (SweepFigures& row : database.figures(kMostShownPoints)) points[row.point].push_back(std::move(row));
  for (const auto& [point, rows] : points) {
    try {
      table.rows.push_back(shown_row(plan, point, verdict_input(rows, *plan.load(point), of_queues), of_queues));
    } catch (const sim::InputError&) {  // its rows say that it is invalid
    }
  }
  return table;
}

std::string write_sweep_page(const std::string& path, const SweepPlan& plan, const SweepDatabase& database,
                             const report::Table& table) {
  // What a kill leaves should not lie in the user's folder; beside the file only where there is no right to anywhere else.
  std::error_code none;
  const bool may_write = ::access(fs::temp_directory_path(none).c_str(), W_OK) == 0;
  const sim::ScratchFolder scratch(may_write ? sim::temporary_stem("rehearse_sweep")
                                             : (fs::path(path).parent_path() / ".rehearse_sweep").string());
  const std::string rows = scratch.path() + "/rows.csv";
  database.write_csv(rows);
  std::vector<Picture> pictures;
  const std::string left_out = draw_figures(figures_of(plan, rows, pictures), scratch.path());
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>body{{font:15px/1.5 "
      "sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}}table{{border-collapse:collapse}}"
      "td,th{{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:left}}figure{{margin:2em 0}}svg{{max-width:100%;"
      "height:auto}}</style></head><body>\n<h1>{0}</h1>\n<p>{1} points; seed and all else are in the database.</p>\n",
      report::xml_text(plan.name()), plan.points());
  if (plan.points() > kMostShownPoints) html += fmt::format("<p>The table has the first {} points.</p>\n", kMostShownPoints);
  html += html_table(table);
  for (const Picture& picture : pictures) {
    const std::string file = scratch.path() + "/" + picture.name + ".svg";
    if (fs::exists(file))
      html +=
          fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", inline_svg(file), report::xml_text(picture.caption));
  }
  if (!left_out.empty()) html += fmt::format("<p>{}</p>\n", report::xml_text(left_out));
  sim::write_file(path, html + "</body></html>\n");
  return left_out;
}

}  // namespace rehearse::scenarios
