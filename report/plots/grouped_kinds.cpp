// Figures of any table of runs, by columns that the user names: of repetitions.csv, of a sweep's rows, of a CSV file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "report/metric_fields.hpp"
#include "report/plots/kinds.hpp"
#include "report/statistics.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

constexpr double kWideRatio = 10;  ///< from this ratio on an axis of values is logarithmic

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

std::string chosen(const std::string& wish, const std::string& otherwise) { return wish.empty() ? otherwise : wish; }

/// The `i`th swept column, where the user names none.
std::string swept_column(const PlotRequest& request, const std::string& wish, std::size_t i, const std::string& option) {
  if (!wish.empty()) return wish;
  if (i < request.swept.size()) return request.swept[i];
  throw sim::InputError({.file = option,
                         .expected = "a column of the file (the database of a sweep has the swept ones for it)",
                         .found = request.results.front()});
}

/// Rows, and of each the number that is drawn, or what the reference policy's is held against.
struct Observed {
  PlotRows rows;
  std::vector<double> values;
  std::vector<double> references;      ///< the reference policy's number of the same pair; empty: numbers are drawn as they are
  Mean mean = Mean::arithmetic;        ///< of ratios
  mutable bool has_lone_runs = false;  ///< some estimate was of one number

  bool are_ratios() const { return !references.empty(); }
  Estimate of(const std::vector<std::size_t>& which) const {
    std::vector<double> some, others;
    for (const std::size_t r : which) {
      some.push_back(values[r]);
      if (are_ratios()) others.push_back(references[r]);
    }
    Estimate e = are_ratios() ? ratio_of_means(others, some, mean) : estimate(some);
    if (!std::isnan(e.ci95_low) && !std::isnan(e.ci95_high)) return e;
    has_lone_runs = true;
    e.ci95_low = e.ci95_high = e.mean;
    return e;
  }
};

/// What two policies are paired by: everything of a row that is not of the policy.
std::string pair_of(const PlotRows& rows, std::size_t row, const std::vector<std::string>& columns) {
  std::string key;
  for (const std::string& column : columns) key += rows.text(row, column) + "\x1f";
  return key;
}

/// The reference policy's number for each row, and the row's own; NaN in both where there is no such ratio.
void pair_up(Observed& observed, const std::string& value, const PlotRequest& request, const std::vector<std::string>& pairing) {
  const PlotRows& rows = observed.rows;
  const std::vector<std::string> policies = rows.values("policy");
  if (!contains(policies, request.relative_to))
    throw sim::InputError({.file = "--relative-to",
                           .expected = "a policy of " + request.results.front(),
                           .found = sim::shown(request.relative_to),
                           .nearest = sim::nearest_name(request.relative_to, policies)});
  std::map<std::string, double> reference;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows.text(r, "policy") == request.relative_to &&
        !reference.emplace(pair_of(rows, r, pairing), rows.number(r, value)).second)
      throw sim::InputError(
          {.file = request.results.front(),
           .expected = fmt::format("one row of {} to pair each row with (--where leaves others out)", request.relative_to),
           .found = "several in a repetition"});
  observed.mean = value.ends_with("_usd") ? Mean::geometric : Mean::arithmetic;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto at = reference.find(pair_of(rows, r, pairing));
    double &own = observed.values.emplace_back(rows.number(r, value)),
           &other = observed.references.emplace_back(at == reference.end() ? std::nan("") : at->second);
    if (const double ratio = other / own; !std::isfinite(ratio) || !(ratio > 0)) own = other = std::nan("");
  }
}

/// The rows with these columns; of swept columns that the figure does not show, one value is kept and told of.
Observed observe(const PlotRequest& request, const std::string& value, std::vector<std::string> shown, std::string& note) {
  std::vector<std::string> columns = shown, pairing = request.swept;
  columns.push_back(value);
  columns.insert(columns.end(), request.swept.begin(), request.swept.end());
  if (!request.relative_to.empty()) {
    for (const std::string& column : shown)
      if (!column.empty() && column != "policy" && !contains(pairing, column)) pairing.push_back(column);
    if (!contains(pairing, "repetition")) pairing.emplace_back("repetition");
    columns.insert(columns.end(), {"policy", "repetition"});
  }
  std::vector<std::string> each;
  for (const std::string& column : columns)
    if (!column.empty() && !contains(each, column)) each.push_back(column);
  Observed observed{
      .rows = PlotRows(file_of(request.results.front(), "repetitions.csv"), each, request.where), .values = {}, .references = {}};
  for (const std::string& column : request.swept)
    if (!contains(shown, column)) observed.rows.keep_one(column, note);
  if (!request.relative_to.empty())
    pair_up(observed, value, request, pairing);
  else
    for (std::size_t r = 0; r < observed.rows.size(); ++r) observed.values.push_back(observed.rows.number(r, value));
  return observed;
}

std::string value_label(const PlotRequest& request, const std::string& value) {
  if (request.relative_to.empty()) return axis_label(value);
  if (value.starts_with("jct_")) return "speed-up over " + request.relative_to;
  const std::string label = axis_label(value);
  return fmt::format("{}: {} / own", label.substr(0, label.find(',')), request.relative_to);
}

/// Values of a column in the order in which an axis has them: numbers ascending, texts as they come.
struct Scale {
  std::vector<std::string> names;
  std::vector<double> places;
  bool are_numbers = true;
  double place(const std::string& name) const {
    return places[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  }
};

Scale scale_of(const PlotRows& rows, const std::string& column) {
  Scale scale{.names = rows.values(column), .places = {}};
  std::map<std::string, double> numbers;
  for (std::size_t r = 0; r < rows.size(); ++r) numbers[rows.text(r, column)] = rows.number(r, column);
  for (const auto& [name, number] : numbers) scale.are_numbers = scale.are_numbers && std::isfinite(number);
  if (scale.are_numbers)
    std::stable_sort(scale.names.begin(), scale.names.end(),
                     [&](const std::string& a, const std::string& b) { return numbers[a] < numbers[b]; });
  for (std::size_t i = 0; i < scale.names.size(); ++i)
    scale.places.push_back(scale.are_numbers ? numbers[scale.names[i]] : static_cast<double>(i));
  return scale;
}

/// Rows of each pair of values.
std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> cells_of(const PlotRows& rows, const std::string& a,
                                                                                 const std::string& b) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> cells;
  for (std::size_t r = 0; r < rows.size(); ++r)
    cells[{a.empty() ? "" : rows.text(r, a), b.empty() ? "" : rows.text(r, b)}].push_back(r);
  return cells;
}

bool is_better_high(const std::string& column) {
  const MetricField* field = find_metric_field(column);
  return column == "effective_saving_percent" || (field != nullptr && field->better == Better::higher);
}

/// A whole number of categories at the x axis.
void name_groups(Figure& figure, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) figure.x.tics.emplace_back(static_cast<double>(i), names[i]);
  figure.x.low = -0.6;
  figure.x.high = static_cast<double>(names.size()) - 0.4;
}

std::vector<std::string> groups_of(const PlotRows& rows, const std::string& by) {
  return by.empty() ? std::vector<std::string>{""} : scale_of(rows, by).names;
}

}  // namespace

std::string axis_label(const std::string& column) {
  if (column == "effective_saving_percent") return "saving, %";
  if (const MetricField* known = find_metric_field(column); known != nullptr && !known->heading.empty()) {
    const std::string heading(known->heading);
    return known->unit == "1" || heading.find(',') != std::string::npos ? heading : fmt::format("{}, {}", heading, known->unit);
  }
  constexpr std::pair<std::string_view, std::string_view> kUnits[] = {
      {"_s", "s"}, {"_usd", "$"}, {"_percent", "%"}, {"_kwh", "kWh"}, {"_bytes", "bytes"}, {"_j", "J"}, {"_w", "W"}, {"_h", "h"}};
  std::string text = column.substr(column.rfind('/') + 1), unit;  // of a pointer its last key
  for (const auto& [ending, name] : kUnits)
    if (text.ends_with(ending)) {
      text.resize(text.size() - ending.size());
      unit = ", " + std::string(name);
      break;
    }
  std::replace(text.begin(), text.end(), '_', ' ');
  return text + unit;
}

/// Means with 95 % intervals over a column's values. Series stand a little beside each other, so that whiskers can be told apart.
Figure line(const PlotRequest& request) {
  const std::string x = swept_column(request, request.x, 0, "--x"), y = chosen(request.y, "effective_cost_usd"),
                    by = chosen(request.by, "policy");
  Figure figure{.x = {.label = axis_label(x)}, .y = {.label = value_label(request, y)}, .series = {}};
  const Observed observed = observe(request, y, {x, by}, figure.note);
  const Scale scale = scale_of(observed.rows, x);
  const double low = scale.places.front(), high = scale.places.back();
  figure.x.logarithmic = scale.are_numbers && low > 0 && high > kWideRatio * low;
  if (!scale.are_numbers) name_groups(figure, scale.names);
  const auto cells = cells_of(observed.rows, by, x);
  const std::vector<std::string> groups = observed.rows.values(by);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double beside = 0.008 * (static_cast<double>(g) - 0.5 * static_cast<double>(groups.size() - 1));
    Series series{.name = groups[g], .style = Style::error_line, .rows = {}};
    for (const std::string& value : scale.names) {
      const auto at = cells.find({groups[g], value});
      if (at == cells.end()) continue;
      const Estimate e = observed.of(at->second);
      const double place = scale.place(value);
      series.rows.push_back(
          {figure.x.logarithmic ? place * std::pow(high / low, beside) : place + beside * (high > low ? high - low : 1), e.mean,
           e.ci95_low, e.ci95_high});
    }
    figure.series.push_back(std::move(series));
  }
  figure.has_lone_runs = observed.has_lone_runs;
  return figure;
}

/// Means over two columns' values, for one policy.
Figure heat(const PlotRequest& request) {
  const std::string x = swept_column(request, request.x, 0, "--x"), y = swept_column(request, request.y, 1, "--y");
  const std::string value = chosen(
      request.value, request.swept.empty() || !request.relative_to.empty() ? "effective_cost_usd" : "effective_saving_percent");
  std::string note;
  PlotRequest one = request;
  std::vector<std::string> shown{x, y};
  const bool by_policy = x != "policy" && y != "policy";
  if (by_policy) {
    // Of a sweep the baseline, which comes first, saves nothing on itself: the last policy is drawn unless another is asked for.
    const PlotRows policies(file_of(request.results.front(), "repetitions.csv"), {"policy"}, request.where);
    const std::vector<std::string> names = policies.values("policy");
    if (names.size() > 1) {
      if (request.relative_to.empty()) one.where.emplace_back("policy", names.back());
      note = "policy=" + names.back();
    }
    shown.emplace_back("policy");
  }
  Observed observed = observe(one, value, shown, note);
  if (by_policy && !request.relative_to.empty()) {  // the reference was needed until here
    const std::vector<std::string> names = observed.rows.values("policy");
    for (std::size_t r = 0; r < observed.rows.size(); ++r)
      if (observed.rows.text(r, "policy") != names.back()) observed.values[r] = std::nan("");
  }
  const Scale columns = scale_of(observed.rows, x), rows = scale_of(observed.rows, y);
  const auto cells = cells_of(observed.rows, y, x);
  HeatMap map{.title = {},
              .column_heading = axis_label(x),
              .rows = {},
              .columns = {},
              .values = {},
              .barred = {},
              .row_heading = axis_label(y),
              .is_linear = true,
              .higher_is_better = !request.relative_to.empty() || is_better_high(value)};
  const auto tic = [](const Scale& scale, const std::string& name) {
    return scale.are_numbers ? fmt::format("{:.4g}", scale.place(name)) : name;
  };
  for (const std::string& column : columns.names) map.columns.push_back(tic(columns, column));
  for (const std::string& row : std::vector<std::string>(rows.names.rbegin(), rows.names.rend())) {
    map.rows.push_back(tic(rows, row));
    map.values.emplace_back();
    map.barred.emplace_back(columns.names.size(), false);
    for (const std::string& column : columns.names) {
      const auto at = cells.find({row, column});
      map.values.back().push_back(at == cells.end() ? std::nan("") : observed.of(at->second).mean);
    }
  }
  Figure figure = heat_map_figure(map);
  figure.height_in = std::max(figure.height_in, 1.5);  // room for the rows' heading
  figure.cells_label = value_label(request, value);
  figure.note = fmt::format("{}{}{}", figure.cells_label, note.empty() ? "" : ", ", note);
  return figure;
}

/// Means with 95 % intervals, a group of bars for each value of x.
Figure bars(const PlotRequest& request) {
  const std::string x = chosen(request.x, "policy"), y = chosen(request.y, "jct_mean_s");
  const std::string by = !request.by.empty() || request.swept.empty() || x != "policy" ? request.by : request.swept.front();
  Figure figure{.x = {.slanted_tics = true}, .y = {.label = value_label(request, y)}, .series = {}};
  const Observed observed = observe(request, y, {x, by}, figure.note);
  const Scale scale = scale_of(observed.rows, x);
  const auto cells = cells_of(observed.rows, by, x);
  const std::vector<std::string> groups = groups_of(observed.rows, by);
  const double width = 0.8 / static_cast<double>(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string name = by.empty() || by == "policy" ? groups[g] : fmt::format("{} {}", axis_label(by), groups[g]);
    Series series{.name = name, .style = Style::bars, .rows = {}};
    for (std::size_t i = 0; i < scale.names.size(); ++i) {
      const auto at = cells.find({groups[g], scale.names[i]});
      if (at == cells.end()) continue;
      const Estimate e = observed.of(at->second);
      series.rows.push_back(
          {static_cast<double>(i) + width * (static_cast<double>(g) + 0.5) - 0.4, e.mean, e.ci95_low, e.ci95_high});
    }
    figure.series.push_back(std::move(series));
  }
  figure.bar_width = 0.9 * width;
  name_groups(figure, scale.names);
  figure.y.low = 0.0;  // or below, where whiskers reach there
  const double level = observed.are_ratios() ? 1 : 0;
  figure.series.push_back({.name = {}, .style = Style::guide, .rows = {{*figure.x.low, level}, {*figure.x.high, level}}});
  figure.has_lone_runs = observed.has_lone_runs;
  return figure;
}

/// Means of two columns with their 95 % intervals, a cross for each value of `by`.
Figure tradeoff(const PlotRequest& request) {
  const std::string x = chosen(request.x, "jct_mean_s"), y = chosen(request.y, "effective_cost_usd"),
                    by = chosen(request.by, "policy");
  Figure figure{.x = {.label = axis_label(x)}, .y = {.label = axis_label(y)}, .series = {}};
  const Observed observed = observe(request, y, {x, by}, figure.note);
  double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {0, 0};
  for (const auto& [cell, which] : cells_of(observed.rows, by, {})) {
    std::vector<double> at_x;
    for (const std::size_t r : which) at_x.push_back(observed.rows.number(r, x));
    Estimate e = estimate(at_x);
    if (std::isnan(e.ci95_low)) e.ci95_low = e.ci95_high = e.mean;
    const Estimate f = observed.of(which);
    figure.series.push_back({.name = cell.first,
                             .style = Style::cross,
                             .rows = {{e.mean, f.mean, e.ci95_low, e.ci95_high, f.ci95_low, f.ci95_high}}});
    low[0] = std::min(low[0], e.ci95_low), high[0] = std::max(high[0], e.ci95_high);
    low[1] = std::min(low[1], f.ci95_low), high[1] = std::max(high[1], f.ci95_high);
  }
  const std::vector<std::string> order = observed.rows.values(by);
  std::sort(figure.series.begin(), figure.series.end(), [&](const Series& a, const Series& b) {
    return std::find(order.begin(), order.end(), a.name) < std::find(order.begin(), order.end(), b.name);
  });
  figure.x.logarithmic = low[0] > 0 && high[0] > kWideRatio * low[0];
  figure.y.logarithmic = low[1] > 0 && high[1] > kWideRatio * low[1];
  figure.has_lone_runs = observed.has_lone_runs;
  return figure;
}

/// Of jobs.csv: which part of the jobs ran with each value, stacked.
Figure choices(const PlotRequest& request) {
  const std::string x = chosen(request.x, "policy"), by = chosen(request.by, "pool");
  Figure figure{.x = {.slanted_tics = true}, .y = {.label = "part of the jobs that ran", .low = 0.0, .high = 1.0}, .series = {}};
  std::vector<std::string> columns{"start_s"};
  for (const std::string& column : {x, by})
    if (!contains(columns, column)) columns.push_back(column);
  const PlotRows rows(file_of(request.results.front(), "jobs.csv"), columns, request.where);
  const std::vector<std::string> groups = rows.values(x);
  std::vector<double> started(groups.size(), 0), below(groups.size(), 0);
  const auto cells = cells_of(rows, by, x);
  const auto count = [&](const std::vector<std::size_t>& which) {
    return static_cast<double>(
        std::count_if(which.begin(), which.end(), [&](std::size_t r) { return std::isfinite(rows.date(r, "start_s")); }));
  };
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const auto& [cell, which] : cells)
      if (cell.second == groups[i]) started[i] += count(which);
  for (const std::string& choice : scale_of(rows, by).names) {
    Series series{
        .name = by == "pool" ? choice : fmt::format("{} {}", axis_label(by), choice), .style = Style::boxes, .rows = {}};
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto at = cells.find({choice, groups[i]});
      if (at == cells.end() || !(started[i] > 0)) continue;
      const double share = count(at->second) / started[i], place = static_cast<double>(i);
      if (!(share > 0)) continue;
      series.rows.push_back({place - 0.35, place + 0.35, below[i], below[i] + share});
      below[i] += share;
    }
    if (!series.rows.empty()) figure.series.push_back(std::move(series));
  }
  name_groups(figure, groups);
  return figure;
}

/// How the pools' numbers at one date make one: of the cluster each row has the same, shares have no sum.
double joined(const std::map<std::string, double>& of_pools, const std::string& column) {
  double sum = 0, largest = std::nan("");
  for (const auto& [pool, number] : of_pools) {
    sum += number;
    largest = std::fmax(largest, number);
  }
  return column == "queued_jobs" || column == "fragmentation" ? largest : sum;
}

/// Of utilization.csv over time. A date has a row of each pool for each decision made at it: the last one holds.
Figure over_time(const PlotRequest& request, const std::string& usual_y, const std::string& usual_by) {
  const std::string y = chosen(request.y, usual_y), by = chosen(request.by, usual_by);
  Figure figure{.x = {.label = "time, h"}, .y = {.label = axis_label(y), .low = 0.0}, .series = {}};
  std::vector<std::string> columns{"policy", "repetition", "time_s", "pool", y};
  if (!contains(columns, by)) columns.push_back(by);
  PlotRows rows(file_of(request.results.front(), "utilization.csv"), columns, request.where);
  for (const char* column : {"policy", "repetition"})
    if (by != column) rows.keep_one(column, figure.note);
  for (const std::string& group : rows.values(by)) {
    Series series{.name = group, .style = Style::steps, .rows = {}};
    std::map<std::string, double> now;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows.text(r, by) != group) continue;
      now[rows.text(r, "pool")] = rows.number(r, y);
      const double hours = rows.date(r, "time_s") / 3600;
      if (series.rows.empty() || series.rows.back()[0] != hours) series.rows.push_back({hours, 0});
      series.rows.back()[1] = joined(now, y);
    }
    const bool is_used = std::any_of(series.rows.begin(), series.rows.end(), [](const auto& row) { return row[1] > 0; });
    if (is_used) figure.series.push_back(std::move(series));
  }
  return figure;
}

Figure queue_length(const PlotRequest& request) { return over_time(request, "queued_jobs", "policy"); }
Figure utilization(const PlotRequest& request) { return over_time(request, "busy_devices", "pool"); }

}  // namespace rehearse::report
