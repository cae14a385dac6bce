#include "report/repetition_row.hpp"

#include <algorithm>
#include <cmath>

#include "report/metric_fields.hpp"
#include "report/table.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

std::string csv_number(double value) { return std::isfinite(value) ? json_number(value) : std::string(); }

}  // namespace

std::string repetitions_csv(const std::vector<PolicyResult>& results, const std::vector<SummaryRow>& rows) {
  std::string text = "policy,repetition";
  for (const MetricField& field : all_metric_fields())
    if (field.source != MetricSource::policies) (text += ',') += field.name;
  text += ",step_evaluations\n";
  for (std::size_t p = 0; p < rows.size(); ++p) {
    if (!rows[p].ok) continue;
    for (std::size_t r = 0; r < results[p].repetitions.size(); ++r) {
      text += fmt::format("{},{}", sim::csv_text(rows[p].policy), r);
      for (const MetricField& field : all_metric_fields()) {
        if (field.source == MetricSource::policies) continue;
        const auto& fields = rows[p].fields;
        const auto at = std::find_if(fields.begin(), fields.end(), [&](const SummaryField& f) { return f.name == field.name; });
        text += "," + (at == fields.end() ? std::string() : csv_number(at->by_repetition[r]));
      }
      text += "," + csv_number(results[p].repetitions[r].metrics.step_evaluations) + "\n";
    }
  }
  return text;
}

}  // namespace rehearse::report
