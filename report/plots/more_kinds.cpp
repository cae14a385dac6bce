#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "report/plots/kinds.hpp"
#include "report/statistics.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

constexpr double kDecade = 10;  ///< from this ratio on an axis of objectives is logarithmic

std::size_t index_in(const std::vector<std::string>& values, const std::string& value) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

void check_higher(const std::vector<std::string>& higher, const std::string& x, const std::string& y) {
  sim::Mistakes mistakes;
  const std::vector<std::string> axes{x, y};
  for (const std::string& column : higher)
    if (column != x && column != y)
      mistakes.add({.file = "--higher",
                    .expected = fmt::format("the column of an axis ({} or {})", x, y),
                    .found = sim::shown(column),
                    .nearest = sim::nearest_name(column, axes)});
  mistakes.throw_if_any();
}

}  // namespace

/// A row for each job, in order of start; stages by pool. Thin: submitted and waiting.
Figure gantt(const PlotRequest& request) {
  Figure figure{.x = {.label = "time, h"}, .y = {.label = "job, by start"}, .series = {}, .height_in = kTall_in};
  const std::string& results = request.results.front();
  PlotRows jobs(file_of(results, "jobs.csv"), {"policy", "repetition", "job", "submit_s", "start_s", "end_s", "pool"},
                request.where);
  jobs.keep_one("policy", figure.note);
  jobs.keep_one("repetition", figure.note);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t r = 0; r < jobs.size(); ++r)
    if (std::isfinite(jobs.date(r, "start_s"))) order.emplace_back(jobs.date(r, "start_s"), r);
  std::sort(order.begin(), order.end());
  std::map<std::string, double> lane;
  Series waiting{.name = "waiting", .style = Style::boxes, .rows = {}};
  for (const auto& [start_s, r] : order) {
    const double at = static_cast<double>(lane.size()) + 1;
    lane[jobs.text(r, "job")] = at;
    if (start_s > jobs.date(r, "submit_s"))
      waiting.rows.push_back({jobs.date(r, "submit_s") / 3600, start_s / 3600, at - 0.08, at + 0.08});
  }
  std::vector<Condition> same{{"policy", jobs.text(0, "policy")}, {"repetition", jobs.text(0, "repetition")}};
  const PlotRows stages(file_of(results, "stages.csv"), {"policy", "repetition", "job", "pool", "start_s", "end_s"}, same);
  const std::vector<std::string> pools = stages.values("pool");
  for (const std::string& pool : pools) {
    Series series{.name = pool, .style = Style::boxes, .rows = {}};
    for (std::size_t r = 0; r < stages.size(); ++r) {
      const auto at = lane.find(stages.text(r, "job"));
      if (at == lane.end() || stages.text(r, "pool") != pool) continue;
      series.rows.push_back(
          {stages.date(r, "start_s") / 3600, stages.date(r, "end_s") / 3600, at->second - 0.38, at->second + 0.38});
    }
    figure.series.push_back(std::move(series));
  }
  figure.series.push_back(std::move(waiting));
  figure.y.low = 0.0;
  figure.y.high = static_cast<double>(lane.size()) + 1;
  return figure;
}

/// Points by `by`, and the front of all of them as a staircase.
Figure pareto(const PlotRequest& request) {
  const std::string x = request.x.empty() ? "time_s" : request.x, y = request.y.empty() ? "cost_usd" : request.y;
  const bool own = request.x.empty() && request.y.empty() && request.by.empty();
  const std::string by = own ? "policy" : request.by;
  Figure figure{.x = {.label = axis_label(x)}, .y = {.label = axis_label(y)}, .series = {}};
  check_higher(request.higher, x, y);
  std::vector<std::string> columns{x, y};
  if (!by.empty()) columns.push_back(by);
  if (own) columns.insert(columns.end(), {"job", "target_accuracy"});
  PlotRows rows(file_of(request.results.front(), "frontier.csv", "frontier"), columns, request.where);
  if (own) {
    rows.keep_one("job", figure.note);
    const std::vector<std::string> floors = rows.values("target_accuracy");
    rows.keep_one("target_accuracy", figure.note, floors[floors.size() / 2]);
  }
  const auto is_higher = [&](const std::string& column) {
    return std::find(request.higher.begin(), request.higher.end(), column) != request.higher.end();
  };
  const double sign_x = is_higher(x) ? -1 : 1, sign_y = is_higher(y) ? -1 : 1;
  const std::vector<std::string> groups = by.empty() ? std::vector<std::string>{""} : rows.values(by);
  std::vector<Series> series;
  for (const std::string& group : groups) series.push_back({.name = group, .style = Style::points, .rows = {}});
  std::vector<std::pair<double, double>> points;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double at_x = rows.number(r, x), at_y = rows.number(r, y);
    if (std::isnan(at_x) || std::isnan(at_y)) continue;
    series[by.empty() ? 0 : index_in(groups, rows.text(r, by))].rows.push_back({at_x, at_y});
    points.emplace_back(sign_x * at_x, sign_y * at_y);
  }
  for (const auto& [axis, column] : {std::pair{&figure.x, x}, std::pair{&figure.y, y}}) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      low = std::min(low, rows.number(r, column));
      high = std::max(high, rows.number(r, column));
    }
    axis->logarithmic = low > 0 && high > kDecade * low;
  }
  std::sort(points.begin(), points.end());
  Series front{.name = "Pareto front", .style = Style::guide, .rows = {}};
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [at_x, at_y] : points) {
    if (at_y >= best) continue;
    if (!front.rows.empty()) front.rows.push_back({sign_x * at_x, sign_y * best});
    front.rows.push_back({sign_x * at_x, sign_y * at_y});
    best = at_y;
  }
  figure.series.push_back(std::move(front));
  figure.series.insert(figure.series.end(), series.begin(), series.end());
  return figure;
}

/// At one global batch: how many times the samples a second of the fewest devices.
Figure speedup(const PlotRequest& request) {
  Figure figure{.x = {.label = "devices", .logarithmic = true}, .y = {.label = "speed-up", .logarithmic = true}, .series = {}};
  PlotRows rows(
      file_of(request.results.front(), "grid.csv", "characterise (speed-ups of policies: plot bars --relative-to POLICY)"),
      {"job", "pool", "workers", "batch_size", "samples_per_s"}, request.where);
  rows.keep_one("job", figure.note);
  std::map<std::string, std::size_t> counts;
  for (std::size_t r = 0; r < rows.size(); ++r) ++counts[rows.text(r, "batch_size")];
  std::string usual;
  for (const std::string& batch : rows.values("batch_size"))
    if (usual.empty() || counts[batch] > counts[usual]) usual = batch;
  rows.keep_one("batch_size", figure.note, usual);
  double most = 1;
  for (const std::string& pool : rows.values("pool")) {
    Series series{.name = pool, .style = Style::line_points, .rows = {}};
    std::vector<std::pair<double, double>> rates;
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows.text(r, "pool") == pool) rates.emplace_back(rows.number(r, "workers"), rows.number(r, "samples_per_s"));
    std::sort(rates.begin(), rates.end());
    for (const auto& [workers, rate] : rates) {
      series.rows.push_back({workers, rate / rates.front().second * rates.front().first});
      most = std::max(most, workers);
    }
    figure.series.push_back(std::move(series));
  }
  for (double devices = 1; devices <= most; devices *= 2) figure.x.tics.emplace_back(devices, fmt::format("{}", devices));
  figure.series.insert(figure.series.begin(), Series{.name = "linear", .style = Style::guide, .rows = {{1, 1}, {most, most}}});
  return figure;
}

Figure errors(const PlotRequest& request) {
  const std::string& results = request.results.front();
  const bool is_run = std::filesystem::is_directory(results);
  const std::string x = !request.x.empty() ? request.x : is_run ? "actual" : "step_s";
  const std::string y = !request.y.empty() ? request.y : is_run ? "predicted" : "predicted_s";
  const std::string by = !request.by.empty() ? request.by : is_run ? "policy" : "device";
  Figure figure{.x = {.label = is_run ? "actual" : "measured, s", .logarithmic = true},
                .y = {.label = is_run ? "predicted" : "predicted, s", .logarithmic = true},
                .series = {}};
  std::vector<std::string> columns{x, y, by};
  if (is_run) columns.emplace_back("quantity");
  PlotRows rows(file_of(results, "predictions.csv"), columns, request.where);
  if (is_run) {
    rows.keep_one("quantity", figure.note, "time_s");
    const std::string quantity = rows.text(0, "quantity");
    figure.x.label = "actual " + axis_label(quantity);
    figure.y.label = "predicted " + axis_label(quantity);
  }
  double low = std::numeric_limits<double>::infinity(), high = 0;
  std::vector<Series> series;
  for (const std::string& group : rows.values(by)) {
    Series& one = series.emplace_back(Series{.name = group, .style = Style::points, .rows = {}});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double actual = rows.number(r, x), predicted = rows.number(r, y);
      if (rows.text(r, by) != group || !(actual > 0) || !(predicted > 0)) continue;
      one.rows.push_back({actual, predicted});
      low = std::min({low, actual, predicted});
      high = std::max({high, actual, predicted});
    }
  }
  figure.x.low = figure.y.low = low / 1.25;
  figure.x.high = figure.y.high = high * 1.25;
  for (const double factor : {1.0, 1.2, 1 / 1.2})
    figure.series.push_back({.name = factor == 1  ? "equal"
                                     : factor > 1 ? "20 % off"
                                                  : "",
                             .style = factor == 1 ? Style::guide : Style::dashed_guide,
                             .rows = {{low, factor * low}, {high, factor * high}}});
  figure.series.insert(figure.series.end(), series.begin(), series.end());
  return figure;
}

}  // namespace rehearse::report
