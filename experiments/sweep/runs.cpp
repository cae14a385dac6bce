#include "experiments/sweep/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "experiments/load.hpp"
#include "report/comparison.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

/// The number that JSON is; NaN when it is something else.
double number_of(const std::string& json) {
  double number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  return error == std::errc{} && end == json.data() + json.size() ? number : std::nan("");
}

/// The values of an axis that are to be loaded to know that all can be, but for the first: see SweepPlan.
std::set<std::size_t> telling_values(const SweepAxis& axis) {
  std::set<std::size_t> telling;
  std::vector<double> numbers;
  for (const std::string& value : axis.values) numbers.push_back(number_of(value));
  const bool all_numbers = std::none_of(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); });
  if (all_numbers) {
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
    const auto broken = std::find_if(numbers.begin(), numbers.end(), [](double x) { return x != std::floor(x); });
    for (const auto& it : {least, greatest, broken})
      if (it != numbers.end()) telling.insert(static_cast<std::size_t>(it - numbers.begin()));
  } else {
    for (std::size_t v = 0; v < axis.values.size(); ++v) telling.insert(v);
  }
  telling.erase(0);
  return telling;
}

sim::JsonDocument with_overrides(const std::string& path, const LoadOptions& options) {
  sim::JsonDocument document = sim::read_json_file(path);
  for (const Override& change : options.overrides) document.set(change.pointer, change.value);
  return document;
}

std::string policy_name(sim::JsonValue entry) {
  if (entry.is_string()) return std::string(entry.text());
  for (const sim::JsonMember member : entry.members())
    if (member.key.text() == "name" && member.value.is_string()) return std::string(member.value.text());
  return {};
}

/// A mistake in a value that a sweep has put in its place is one in the sweep.
void place_in_sweep(sim::Mistake& mistake, const SweepAxis& axis, std::size_t value) {
  if (mistake.file != axis.file || mistake.line != 0 || !mistake.pointer.starts_with(axis.pointer)) return;
  const std::string rest = mistake.pointer.substr(axis.pointer.size());
  if (!rest.empty() && rest.front() != '/') return;
  const sim::Mistake at = axis.mistake_at(value);
  mistake.line = at.line;
  mistake.column = at.column;
  mistake.pointer = at.pointer + rest;
}

std::string key_of(std::string_view text) { return sim::sha256_of_text(text).substr(0, 32); }

const std::vector<std::string> kStatuses{"ok", "failed", "killed", "invalid", "bug"};
constexpr std::size_t kReasonCharacters = 700;  // at most 3500 bytes of UTF-8 or escapes: the line fits a pipe's buffer of 4096

std::string number_or_null(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

}  // namespace

SweepPlan::SweepPlan(std::string path, const LoadOptions& options, std::size_t limit)
    : path_(std::move(path)), options_(options), limit_(limit), base_(with_overrides(path_, options)) {
  options_.overrides.clear();
  sim::Mistakes mistakes;
  axes_ = read_axes(base_.root(), mistakes);
  mistakes.throw_if_any();
  double runs = 1;
  for (const SweepAxis& axis : axes_) runs *= static_cast<double>(axis.values.size());
  if (runs > static_cast<double>(limit_)) refuse_size(runs);
  first_ = load(0);
  if (!axes_.empty()) refuse_study();
  runs *= static_cast<double>(first_->policies.size()) * first_->repetitions;
  if (runs > static_cast<double>(limit_)) refuse_size(runs);
  check_values();
}

void SweepPlan::refuse_study() const {
  if (!first_->study_name.empty())
    throw sim::InputError({.file = path_,
                           .pointer = "/study",
                           .expected = "a scenario without a study to sweep",
                           .found = "\"" + first_->study_name + "\""});
}

void SweepPlan::refuse_size(double runs) const {
  throw sim::InputError(
      {.file = path_, .expected = fmt::format("at most {} runs (--limit)", limit_), .found = fmt::format("{:.0f}", runs)});
}

void SweepPlan::check_values() {
  sim::Mistakes mistakes;
  std::set<std::string> said;
  sha256_of_file_ = first_->sha256_of_file;
  std::vector<std::size_t> choice(axes_.size(), 0);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    for (const std::size_t value : telling_values(axes_[a])) {
      choice[a] = value;
      try {
        const auto scenario = load(choice);
        sha256_of_file_.insert(scenario->sha256_of_file.begin(), scenario->sha256_of_file.end());
      } catch (const sim::InputError& error) {
        for (const sim::Mistake& mistake : error.mistakes())
          if (said.insert(to_string(mistake)).second) mistakes.add(mistake);
      }
    }
    choice[a] = 0;
  }
  mistakes.throw_if_any();
}

const std::string& SweepPlan::program() {
  static const std::string sha256 = sim::sha256_of_file("/proc/self/exe");  // the file that runs, also when it was replaced
  return sha256;
}

std::size_t SweepPlan::points() const {
  std::size_t points = 1;
  for (const SweepAxis& axis : axes_) points *= axis.values.size();
  return points;
}

std::vector<std::size_t> SweepPlan::choice_at(std::size_t point) const {
  std::vector<std::size_t> choice(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0; point /= axes_[a].values.size()) choice[a] = point % axes_[a].values.size();
  return choice;
}

std::vector<std::string> SweepPlan::values_at(std::size_t point) const {
  const std::vector<std::size_t> choice = choice_at(point);
  std::vector<std::string> values;
  for (std::size_t a = 0; a < axes_.size(); ++a) values.push_back(axes_[a].values[choice[a]]);
  return values;
}

sim::JsonDocument SweepPlan::document_at(const std::vector<std::size_t>& choice) const {
  sim::JsonDocument document = base_.copy();
  for (std::size_t a = 0; a < axes_.size(); ++a) document.set(axes_[a].pointer, axes_[a].values[choice[a]], axes_[a].file);
  return document;
}

std::unique_ptr<Scenario> SweepPlan::load(std::size_t point) const { return load(choice_at(point)); }

std::unique_ptr<Scenario> SweepPlan::load(const std::vector<std::size_t>& choice) const {
  try {
    return load_scenario(document_at(choice), path_, options_);
  } catch (const sim::InputError& error) {
    std::vector<sim::Mistake> mistakes = error.mistakes();
    for (sim::Mistake& mistake : mistakes)
      for (std::size_t a = 0; a < axes_.size(); ++a) place_in_sweep(mistake, axes_[a], choice[a]);
    throw sim::InputError(std::move(mistakes), error.left_out());
  }
}

std::string SweepPlan::with_files(std::string text) const {
  std::string files;
  for (const auto& [file, sha256] : sha256_of_file_)
    if (text.find(sim::json_string(file)) != text.npos) files += fmt::format("{} {}\n", sha256, file);
  return text + files;
}

std::vector<PlannedRun> SweepPlan::runs_at(std::size_t point) const {
  const sim::JsonDocument document = document_at(choice_at(point));
  static const std::set<std::string_view> kNoPart{"$schema",     "name",   "description", "baseline",
                                                  "repetitions", "output", "sha256",      "policies"};
  std::string text = program() + "\n";
  std::vector<sim::JsonValue> policies;
  for (const sim::JsonMember member : document.root().members()) {
    if (member.key.text() == "policies")
      for (const sim::JsonValue entry : member.value.elements()) policies.push_back(entry);
    if (!kNoPart.contains(member.key.text()))
      text += fmt::format("{}: {}\n", sim::json_string(member.key.text()), member.value.json());
  }
  const auto is_option = [&](const std::string& file) {
    return std::find(options_.catalogues.begin(), options_.catalogues.end(), file) != options_.catalogues.end();
  };
  std::string of_options;
  for (const auto& [file, sha256] : sha256_of_file_)
    if (is_option(file)) of_options += fmt::format("{} {}\n", sha256, file);
  const std::string of_point = key_of(with_files(std::move(text)) + of_options);
  std::vector<PlannedRun> runs;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const std::string entry = with_files(policies[p].json() + "\n");
    for (int r = 0; r < first_->repetitions; ++r)
      runs.push_back({.point = point,
                      .policy = static_cast<int>(p),
                      .repetition = r,
                      .policy_name = policy_name(policies[p]),
                      .key = key_of(fmt::format("{}\n{}\n{}", of_point, entry, r))});
  }
  return runs;
}

std::vector<PlannedRun> SweepPlan::runs() const {
  std::vector<PlannedRun> all;
  for (std::size_t point = 0; point < points(); ++point) {
    for (PlannedRun& run : runs_at(point)) all.push_back(std::move(run));
    if (all.size() > limit_) refuse_size(static_cast<double>(all.size()));
  }
  return all;
}

std::string_view name_of(RunStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::optional<RunStatus> status_of_name(std::string_view name) {
  const auto at = std::find(kStatuses.begin(), kStatuses.end(), name);
  if (at == kStatuses.end()) return {};
  return static_cast<RunStatus>(at - kStatuses.begin());
}

std::string sum_of(const SweepRow& row) {
  std::string text = fmt::format("{}\n{}\n{}\n", row.key, name_of(row.status), row.reason);
  for (const double metric : row.metrics) text += number_or_null(metric + 0.0) + "\n";  // a database knows no negative zero
  return key_of(text);
}

std::string to_line(const SweepRow& given) {
  SweepRow row = given;
  row.reason = sim::printable(given.reason, kReasonCharacters);
  std::string line = fmt::format(R"({{"key": "{}", "status": "{}", "run_s": {}, "cpu_s": {}, "decision_time_s": {}, "sum": "{}")",
                                 row.key, name_of(row.status), row.run_s, row.cpu_s, row.decision_time_s, sum_of(row));
  if (row.status != RunStatus::ok) {
    line += ", \"reason\": " + sim::json_string(row.reason);
  } else {
    const std::vector<report::MetricField>& fields = report::metric_fields();
    for (std::size_t f = 0; f < fields.size(); ++f)
      line += fmt::format("{}\"{}\": {}", f == 0 ? ", \"metrics\": {" : ", ", fields[f].name, number_or_null(row.metrics[f]));
    line += '}';
  }
  return line + "}\n";
}

std::optional<SweepRow> row_of(std::string_view line) {
  if (!line.ends_with('\n')) return {};
  try {
    const sim::JsonDocument document = sim::parse_json(std::string(line), "a run's row");
    sim::Mistakes mistakes;
    sim::ObjectReader in(document.root(), mistakes);
    SweepRow row{
        .key = in.text("key"), .status = static_cast<RunStatus>(in.choice("status", kStatuses)), .reason = {}, .metrics = {}};
    row.run_s = in.number("run_s");
    row.cpu_s = in.number("cpu_s");
    row.decision_time_s = in.number("decision_time_s");
    if (row.status != RunStatus::ok) {
      row.reason = in.text("reason");
    } else if (const auto metrics = in.required("metrics", "an object")) {
      sim::ObjectReader of(*metrics, mistakes);
      for (const report::MetricField& field : report::metric_fields()) {
        const auto value = of.required(field.name, "a number or null");
        row.metrics.push_back(value && value->is_number() ? value->number() : std::numeric_limits<double>::quiet_NaN());
      }
    }
    if (mistakes.empty() && in.text("sum") == sum_of(row)) return row;
  } catch (const sim::InputError&) {  // torn, or not ours
  }
  return {};
}

}  // namespace rehearse::scenarios
