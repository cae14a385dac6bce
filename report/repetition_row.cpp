#include "report/repetition_row.hpp"

#include "report/metric_fields.hpp"
#include "report/row_writer.hpp"

namespace rehearse::report {

namespace {

template <class Visit>
void for_each_field(Visit&& visit) {
  for (const MetricField& field : kMetricFields) visit(field);
  for (const MetricField& field : kMeasuredFields) visit(field);
  for (const MetricField& field : kCarbonFields) visit(field);
}

std::string header() {
  std::string text = "policy,repetition";
  for_each_field([&](const MetricField& field) { (text += ',') += field.name; });
  return text + ",step_evaluations";
}

const std::string kHeader = header();

}  // namespace

const RecordFile kRepetitionsFile{"repetitions.csv", kHeader};

void write_repetition(const sim::OwnFolder& folder, const RepetitionRow& row, const RunMetrics& metrics) {
  RowWriter out(folder.file(kRepetitionsFile.name));
  out.line(kRepetitionsFile.header);
  out.text(row.policy).integer(row.repetition);
  for_each_field([&](const MetricField& field) { out.number(metrics.*field.value); });
  out.number(row.step_evaluations);
  out.end_row();
  out.close();
}

}  // namespace rehearse::report
