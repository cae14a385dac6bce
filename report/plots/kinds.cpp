#include "report/plots/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "report/metric_fields.hpp"
#include "report/run_recorder.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace fs = std::filesystem;

std::string file_of(const std::string& results, const std::string& name, const std::string& study) {
  if (!fs::is_directory(results)) return results;
  if (!fs::exists(results + "/" + name)) {
    const std::string how = how_to_write(name);
    throw sim::InputError({.file = results,
                           .expected = study.empty() ? fmt::format("results of a run, with {}", name)
                                                     : fmt::format("results of the study {}, with {}", study, name),
                           .found = how.empty() ? "a folder without it" : fmt::format("a folder without it ({})", how)});
  }
  return results + "/" + name;
}

std::string series_name(const PlotRequest& request, std::size_t results, const std::string& name) {
  if (request.results.size() < 2) return name;
  const fs::path path = fs::path(request.results[results]).lexically_normal();
  const std::string folder = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.empty() ? folder : fmt::format("{} ({})", name, folder);
}

namespace {

struct PolicyEstimate {
  std::string policy;
  double mean, low, high;
};

std::vector<std::string> quantities_of(const sim::JsonValue& policy) {
  std::vector<std::string> names;
  for (const sim::JsonMember member : policy.members())
    if (member.value.is_object()) names.emplace_back(member.key.text());
  return names;
}

/// The first column of what the results are about: what a policy saves, or how much faster jobs are done.
std::string main_quantity(const std::string& path) {
  const sim::JsonDocument document = sim::read_json_file(path);
  std::vector<std::string> kinds;
  for (const sim::JsonMember member : document.root().members())
    if (member.key.text() == "kinds" && member.value.is_array())
      for (const sim::JsonValue kind : member.value.elements())
        if (kind.is_string()) kinds.emplace_back(kind.text());
  return study_kinds_of(kinds).configuration ? "effective_saving_percent" : "jct_speedup";
}

std::vector<PolicyEstimate> read_estimates(const std::string& path, const std::string& field) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  std::vector<PolicyEstimate> estimates;
  const auto number = [&](sim::ObjectReader& of, const char* key) {
    const auto value = of.child(key);
    return value && value->is_number() ? value->number() : std::numeric_limits<double>::quiet_NaN();
  };
  for (const sim::JsonValue value : in.list("policies")) {
    sim::ObjectReader row(value, mistakes);
    const std::string policy = row.text("policy");
    if (row.text("status", std::string("ok")) != "ok") continue;
    const auto of_field = row.child(field);
    if (!of_field) {
      sim::Mistake mistake = value.mistake(fmt::format("a quantity of summary.json called \"{}\"", field));
      mistake.found = "none";
      mistake.nearest = sim::nearest_name(field, quantities_of(value));
      throw sim::InputError(mistake);
    }
    sim::ObjectReader quantity(*of_field, mistakes);
    estimates.push_back({policy, number(quantity, "mean"), number(quantity, "ci95_low"), number(quantity, "ci95_high")});
  }
  mistakes.throw_if_any();
  return estimates;
}

std::optional<sim::JsonValue> member_of(const sim::JsonValue& object, std::string_view key) {
  if (!object.is_object()) return std::nullopt;
  for (const sim::JsonMember member : object.members())
    if (member.key.text() == key) return member.value;
  return std::nullopt;
}

std::string text_of_member(const sim::JsonValue& object, std::string_view key) {
  const auto value = member_of(object, key);
  return value && value->is_string() ? std::string(value->text()) : std::string();
}

/// A study's table that says what policies save, row by row.
class SavingsTable {
 public:
  SavingsTable(const std::string& path, const sim::JsonValue& root, const std::string& wanted) {
    const auto saving = member_of(root, "saving"), tables = member_of(root, "tables");
    const std::string name = saving ? text_of_member(*saving, "table") : std::string();
    field_ = wanted.empty() && saving ? text_of_member(*saving, "column") : wanted;
    const auto rows = tables ? member_of(*tables, name) : std::nullopt;
    if (!rows || !rows->is_array())
      throw sim::InputError(
          {.file = path,
           .expected = "results of a run, or of a study that says what policies save (plot bars draws any table "
                       "of a study: FOLDER/TABLE.csv with --x and --y)",
           .found = fmt::format("those of the study {}, with {}", text_of_member(root, "study"), names_in(tables))});
    for (const sim::JsonValue row : rows->elements())
      if (row.is_object()) rows_.push_back(row);
    if (!rows_.empty())
      for (const sim::JsonMember member : rows_.front().members()) columns_.emplace_back(member.key.text());
    if (!rows_.empty() && std::find(columns_.begin(), columns_.end(), field_) == columns_.end())
      throw sim::InputError({.file = "--y",
                             .expected = fmt::format("a column of {}.csv", name),
                             .found = sim::shown(field_),
                             .nearest = sim::nearest_name(field_, columns_)});
  }

  const std::string& field() const { return field_; }

  /// Bars are named by the texts that tell the rows apart; of numbers that do, the middle one is drawn.
  std::vector<PolicyEstimate> estimates(std::string& note) {
    std::vector<std::string> texts;
    for (std::size_t c = 0; c < key_columns(); ++c)
      if (is_number(columns_[c]))
        keep_middle(columns_[c], note);
      else
        texts.push_back(columns_[c]);
    std::vector<PolicyEstimate> found;
    for (const sim::JsonValue& row : rows_) {
      std::string name;
      for (const std::string& column : texts) name += (name.empty() ? "" : ", ") + text_of_member(row, column);
      found.push_back({name, number(row, field_), number(row, field_ + "_ci95_low"), number(row, field_ + "_ci95_high")});
    }
    return found;
  }

 private:
  static std::string names_in(const std::optional<sim::JsonValue>& tables) {
    std::string names;
    if (tables && tables->is_object())
      for (const sim::JsonMember member : tables->members())
        names += fmt::format("{}{}.csv", names.empty() ? "" : ", ", member.key.text());
    return names.empty() ? "no table" : names;
  }
  static double number(const sim::JsonValue& row, const std::string& column) {
    const auto value = member_of(row, column);
    return value && value->is_number() ? value->number() : std::numeric_limits<double>::quiet_NaN();
  }
  static std::string shown_cell(const sim::JsonValue& row, const std::string& column) {
    const auto value = member_of(row, column);
    return !value ? "" : value->is_string() ? std::string(value->text()) : fmt::format("{}", number(row, column));
  }
  bool is_number(const std::string& column) const {
    return std::none_of(rows_.begin(), rows_.end(), [&](const sim::JsonValue& row) {
      const auto value = member_of(row, column);
      return value && value->is_string();
    });
  }
  /// The fewest first columns that tell all rows apart.
  std::size_t key_columns() const {
    for (std::size_t key = 1; key < columns_.size(); ++key) {
      std::set<std::string> seen;
      const bool apart = std::all_of(rows_.begin(), rows_.end(), [&](const sim::JsonValue& row) {
        std::string text;
        for (std::size_t c = 0; c < key; ++c) text += shown_cell(row, columns_[c]) + "\x1f";
        return seen.insert(text).second;
      });
      if (apart) return key;
    }
    return columns_.size();
  }
  void keep_middle(const std::string& column, std::string& note) {
    std::set<double> values;
    for (const sim::JsonValue& row : rows_) values.insert(number(row, column));
    if (values.size() < 2) return;
    const double kept = *std::next(values.begin(), static_cast<std::ptrdiff_t>(values.size() / 2));
    std::erase_if(rows_, [&](const sim::JsonValue& row) { return number(row, column) != kept; });
    note += fmt::format("{}{}={:.6g}", note.empty() ? "" : ", ", column, kept);
  }

  std::string field_;
  std::vector<std::string> columns_;
  std::vector<sim::JsonValue> rows_;
};

/// Bars of each results folder side by side, a group for each policy.
Figure savings(const PlotRequest& request) {
  Figure figure{.x = {.slanted_tics = true}, .y = {}, .series = {}};
  std::string field = request.y;
  std::vector<std::string> policies;
  const double width = 0.8 / static_cast<double>(request.results.size());
  for (std::size_t i = 0; i < request.results.size(); ++i) {
    const std::string path = file_of(request.results[i], "summary.json");
    const sim::JsonDocument document = sim::read_json_file(path);
    std::vector<PolicyEstimate> estimates;
    if (!text_of_member(document.root(), "study").empty()) {
      SavingsTable table(path, document.root(), field);
      field = table.field();
      estimates = table.estimates(figure.note);
    } else {
      if (field.empty()) field = main_quantity(path);
      estimates = read_estimates(path, field);
    }
    Series& series = figure.series.emplace_back(Series{.name = series_name(request, i, ""), .style = Style::bars, .rows = {}});
    for (const PolicyEstimate& e : estimates) {
      auto at = std::find(policies.begin(), policies.end(), e.policy);
      if (at == policies.end()) at = policies.insert(at, e.policy);
      const auto group = static_cast<double>(at - policies.begin());
      const double x = group + width * (static_cast<double>(i) + 0.5) - 0.4;
      figure.has_lone_runs = figure.has_lone_runs || (std::isnan(e.low) && std::isfinite(e.mean));
      series.rows.push_back({x, e.mean, std::isnan(e.low) ? e.mean : e.low, std::isnan(e.high) ? e.mean : e.high});
    }
  }
  figure.y.label = axis_label(field);
  figure.bar_width = 0.9 * width;
  for (std::size_t p = 0; p < policies.size(); ++p) figure.x.tics.emplace_back(static_cast<double>(p), policies[p]);
  figure.x.low = -0.6;
  figure.x.high = static_cast<double>(policies.size()) - 0.4;
  figure.series.push_back({.name = {}, .style = Style::guide, .rows = {{*figure.x.low, 0}, {*figure.x.high, 0}}});
  return figure;
}

/// At most so many steps of a distribution are drawn.
constexpr std::size_t kSteps = 500;

/// Of jobs' completion times, or of any column's numbers.
Figure cdf(const PlotRequest& request) {
  const bool of_jobs = request.x.empty();
  if (of_jobs && !request.swept.empty())
    throw sim::InputError({.file = "--x", .expected = "a column of the sweep's rows", .found = request.results.front()});
  const std::string by = request.by.empty() ? "policy" : request.by;
  Figure figure{.x = {.label = of_jobs ? "completion time, min" : axis_label(request.x), .logarithmic = true},
                .y = {.label = request.swept.empty() ? "part of all jobs" : "part of all runs", .low = 0.0, .high = 1.0},
                .series = {}};
  std::vector<std::string> columns{by};
  if (of_jobs)
    columns.insert(columns.end(), {"state", "submit_s", "end_s"});
  else if (request.x != by)
    columns.push_back(request.x);
  const auto number_of = [&](const PlotRows& rows, std::size_t r) {
    if (!of_jobs) return rows.number(r, request.x);
    const double taken = (rows.date(r, "end_s") - rows.date(r, "submit_s")) / 60;
    return rows.text(r, "state") == "finished" ? taken : std::numeric_limits<double>::quiet_NaN();
  };
  for (std::size_t i = 0; i < request.results.size(); ++i) {
    const PlotRows rows(file_of(request.results[i], "jobs.csv"), columns, request.where);
    for (const std::string& group : rows.values(by)) {
      std::vector<double> numbers;
      std::size_t all = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows.text(r, by) != group) continue;
        ++all;  // one that failed never completes: its line ends below 1
        const double number = number_of(rows, r);
        if (of_jobs ? number > 0 : std::isfinite(number)) numbers.push_back(number);
      }
      std::sort(numbers.begin(), numbers.end());
      figure.x.logarithmic = figure.x.logarithmic && (numbers.empty() || numbers.front() > 0);
      Series series{.name = series_name(request, i, group), .style = Style::steps, .rows = {}};
      const std::size_t stride = std::max<std::size_t>(1, numbers.size() / kSteps);
      for (std::size_t j = 0; j < numbers.size(); ++j)
        if (j % stride == 0 || j + 1 == numbers.size())
          series.rows.push_back({numbers[j], static_cast<double>(j + 1) / static_cast<double>(all)});
      figure.series.push_back(std::move(series));
    }
  }
  return figure;
}

Figure deadlines(const PlotRequest& request) {
  Figure figure{.x = {.label = "deadline, h", .logarithmic = true}, .y = {.label = "cost, $", .logarithmic = true}, .series = {}};
  PlotRows rows(file_of(request.results.front(), "frontier.csv", "frontier"),
                {"policy", "job", "target_accuracy", "deadline_s", "cost_usd", "kept_fraction"}, request.where);
  rows.keep_one("job", figure.note);
  const std::vector<std::string> floors = rows.values("target_accuracy");
  rows.keep_one("target_accuracy", figure.note, floors[floors.size() / 2]);
  for (const std::string& policy : rows.values("policy")) {
    Series series{.name = policy, .style = Style::line_points, .rows = {}};
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows.text(r, "policy") == policy && rows.number(r, "kept_fraction") == 1)
        series.rows.push_back({rows.number(r, "deadline_s") / 3600, rows.number(r, "cost_usd")});
    figure.series.push_back(std::move(series));
  }
  return figure;
}

Figure learning(const PlotRequest& request) {
  Figure figure{
      .x = {.label = "past runs of each model and instance", .logarithmic = true}, .y = {.label = "saving, %"}, .series = {}};
  PlotRows rows(file_of(request.results.front(), "learning.csv", "learning-curve"),
                {"policy", "model_error", "runs", "saving_percent", "saving_percent_ci95_low", "saving_percent_ci95_high"},
                request.where);
  const std::vector<std::string> policies = rows.values("policy"), model_errors = rows.values("model_error");
  double shift = 1;  // so that whiskers stand side by side
  for (const std::string& policy : policies)
    for (const std::string& error : model_errors) {
      Series series{.name = model_errors.size() > 1 ? fmt::format("{}, error {}", policy, error) : policy,
                    .style = Style::error_line,
                    .rows = {}};
      bool always_zero = true;  // the baseline
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows.text(r, "policy") != policy || rows.text(r, "model_error") != error) continue;
        const double mean = rows.number(r, "saving_percent"), low = rows.number(r, "saving_percent_ci95_low"),
                     high = rows.number(r, "saving_percent_ci95_high");
        always_zero = always_zero && mean == 0;
        series.rows.push_back(
            {shift * rows.number(r, "runs"), mean, std::isnan(low) ? mean : low, std::isnan(high) ? mean : high});
      }
      if (always_zero) continue;
      figure.series.push_back(std::move(series));
      shift *= 1.04;
    }
  return figure;
}

Figure threads(const PlotRequest& request) {
  Figure figure{.x = {.label = "threads"}, .y = {.label = "time / time at the best", .low = 0.9, .high = 3.0}, .series = {}};
  PlotRows rows(file_of(request.results.front(), "threads-curves.csv", "threads"),
                {"machine", "model", "operation", "threads", "seconds"}, request.where);
  rows.keep_one("machine", figure.note);
  rows.keep_one("model", figure.note);
  for (const std::string& operation : rows.values("operation")) {
    Series series{.name = operation, .style = Style::line, .rows = {}};
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows.text(r, "operation") == operation) best = std::min(best, rows.number(r, "seconds"));
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows.text(r, "operation") == operation)
        series.rows.push_back({rows.number(r, "threads"), rows.number(r, "seconds") / best});
    figure.series.push_back(std::move(series));
  }
  return figure;
}

std::string kinds_with(bool PlotOptions::*option) {
  std::string names;
  for (const PlotKind& kind : plot_kinds())
    if (kind.takes.*option) names += (names.empty() ? "" : ", ") + kind.name;
  return names;
}

}  // namespace

namespace {

/// As the summaries beside the results name them; a file alone has none.
std::vector<std::string> yardsticks_of(const PlotRequest& request) {
  std::vector<std::string> names;
  for (const std::string& results : request.results) {
    const std::string path = (fs::is_directory(results) ? fs::path(results) : fs::path(results).parent_path()) / "summary.json";
    if (!fs::exists(path)) continue;
    const sim::JsonDocument document = sim::read_json_file(path);
    for (const sim::JsonMember& member : document.root().members()) {
      if (member.key.text() != "yardsticks" || !member.value.is_array()) continue;
      for (const sim::JsonValue name : member.value.elements())
        if (name.is_string()) names.emplace_back(name.text());
    }
  }
  return names;
}

}  // namespace

Figure figure_of(const PlotKind& kind, const PlotRequest& request) {
  Figure figure = kind.make(request);
  mark_yardsticks(figure, yardsticks_of(request));
  return figure;
}

void check_request(const PlotKind& kind, const PlotRequest& request) {
  sim::Mistakes mistakes;
  const auto refuse = [&](bool given, bool PlotOptions::*option, const std::string& name) {
    if (given && !(kind.takes.*option))
      mistakes.add({.file = name, .expected = "a kind that takes that (" + kinds_with(option) + ")", .found = kind.name});
  };
  refuse(!request.where.empty(), &PlotOptions::where, "--where");
  refuse(!request.x.empty(), &PlotOptions::x, "--x");
  refuse(!request.y.empty(), &PlotOptions::y, "--y");
  refuse(!request.by.empty(), &PlotOptions::by, "--by");
  refuse(!request.higher.empty(), &PlotOptions::higher, "--higher");
  refuse(!request.value.empty(), &PlotOptions::value, "--value");
  refuse(!request.relative_to.empty(), &PlotOptions::relative_to, "--relative-to");
  refuse(request.results.size() > 1, &PlotOptions::several, "several folders of results");
  refuse(!request.swept.empty(), &PlotOptions::rows, "the database of a sweep");
  mistakes.throw_if_any();
}

const std::vector<PlotKind>& plot_kinds() {
  static const std::vector<PlotKind> kinds{
      {"savings",
       "bars with confidence intervals, of summary.json: savings, of a queue study speed-ups; --y for another of its quantities",
       savings,
       {.where = false, .y = true, .several = true}},
      {"line",
       "means with 95 % intervals over a column: --x (of a sweep: what was swept first), --y, --by",
       line,
       {.x = true, .y = true, .by = true, .relative_to = true, .rows = true}},
      {"heat",
       "means over two columns --x and --y, coloured by --value, for one policy",
       heat,
       {.x = true, .y = true, .value = true, .relative_to = true, .rows = true}},
      {"bars",
       "means with 95 % intervals, of repetitions.csv or a sweep: --x (policy), --y (jct_mean_s), --by; with --relative-to a "
       "policy speed-ups over it",
       bars,
       {.x = true, .y = true, .by = true, .relative_to = true, .rows = true}},
      {"tradeoff",
       "two means with 95 % intervals by policy: --x (jct_mean_s), --y (effective_cost_usd), --by",
       tradeoff,
       {.x = true, .y = true, .by = true, .rows = true}},
      {"cdf",
       "distribution of the jobs' completion times, of jobs.csv; --x and --by for other columns",
       cdf,
       {.x = true, .by = true, .several = true, .rows = true}},
      {"choices", "what part of the jobs ran with each --by (pool), of jobs.csv", choices, {.x = true, .by = true}},
      {"deadlines", "cost against the deadline by policy, of the study frontier", deadlines},
      {"gantt", "jobs over time, waiting and on which pool, of jobs.csv and stages.csv", gantt},
      {"queue", "waiting jobs over time by policy, of utilization.csv", queue_length, {.y = true, .by = true}},
      {"utilization", "busy devices of each pool over time, of utilization.csv", utilization, {.y = true, .by = true}},
      {"learning", "saving against past runs, of the study learning-curve", learning},
      {"threads", "time of operations against their threads, of the study threads", threads},
      {"pareto",
       "points and their Pareto front, of any CSV with --x and --y (default: frontier.csv's time_s, cost_usd)",
       pareto,
       {.x = true, .y = true, .by = true, .higher = true}},
      {"speedup",
       "speed-up against devices by pool at one batch size, of the study characterise (over a policy: bars --relative-to)",
       speedup},
      {"errors",
       "predicted against measured, of predictions.csv or of validate --rows",
       errors,
       {.x = true, .y = true, .by = true}},
  };
  return kinds;
}

}  // namespace rehearse::report
