#include "experiments/sweep/row.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "report/comparison.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

const std::vector<std::string> kStatuses{"ok", "failed", "killed", "invalid", "bug"};
constexpr std::size_t kReasonCharacters = 700;  // at most 3500 bytes of UTF-8 or escapes: the line fits a pipe's buffer of 4096

std::string number_or_null(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "null"; }

}  // namespace

std::string_view name_of(RunStatus status) { return kStatuses[static_cast<std::size_t>(status)]; }

std::string to_line(const SweepRow& row) {
  std::string line = fmt::format(R"({{"key": "{}", "status": "{}", "run_s": {}, "cpu_s": {}, "decision_time_s": {})", row.key,
                                 name_of(row.status), row.run_s, row.cpu_s, row.decision_time_s);
  if (row.status != RunStatus::ok) {
    line += ", \"reason\": " + sim::json_string(sim::printable(row.reason, kReasonCharacters));
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
    if (mistakes.empty()) return row;
  } catch (const sim::InputError&) {  // torn, or not ours
  }
  return {};
}

}  // namespace rehearse::scenarios
