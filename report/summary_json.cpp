#include "report/comparison.hpp"
#include "report/row_writer.hpp"
#include "report/table.hpp"
#include "sim/base/version.hpp"

namespace rehearse::report {

namespace {

std::string json_estimate(const Estimate& e) {
  return fmt::format(R"({{"mean": {}, "ci95_low": {}, "ci95_high": {}}})", json_number(e.mean), json_number(e.ci95_low),
                     json_number(e.ci95_high));
}

std::string json_reasons(const std::vector<InputReport::Reason>& reasons) {
  std::string text;
  for (const InputReport::Reason& reason : reasons)
    text += fmt::format(R"({}{{"reason": {}, "rows": {}, "first_lines": [{}]}})", text.empty() ? "" : ", ",
                        json_string(reason.reason), reason.rows, fmt::join(reason.first_lines, ", "));
  return "[" + text + "]";
}

std::string json_inputs(const std::vector<InputReport>& inputs) {
  std::string text;
  for (const InputReport& input : inputs) {
    text += fmt::format(
        "{}\n    {{\"path\": {}, \"sha256\": {}, \"rows\": {}, \"jobs\": {},\n     \"dropped\": {}, \"repaired\": {}, \"notes\": "
        "[",
        text.empty() ? "" : ",", json_string(input.path), json_string(input.sha256), input.rows, input.jobs,
        json_reasons(input.dropped), json_reasons(input.repaired));
    for (std::size_t n = 0; n < input.notes.size(); ++n) text += (n == 0 ? "" : ", ") + json_string(input.notes[n]);
    text += "]}";
  }
  return "[" + text + "]";
}

}  // namespace

std::string summary_json(const Summary& s) {
  std::string text = fmt::format(
      "{{\n  \"scenario\": {},\n  \"version\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"baseline\": {},\n  "
      "\"origin_s\": {},\n  \"inputs\": "
      "{},\n",
      json_string(s.scenario), json_string(sim::program_version()), s.seed, s.repetitions, json_string(s.baseline),
      json_number(s.origin_s), json_inputs(s.inputs));
  if (s.measure)
    text += fmt::format("  \"measure\": {{\"warmup_s\": {}, \"until_s\": {}}},\n", json_number(s.measure->warmup_s),
                        json_number(s.measure->until_s));
  text += "  \"pools\": [";
  for (std::size_t p = 0; p < s.pools.size(); ++p)
    text += fmt::format(
        "{}\n    {{\"pool\": {}, \"instance\": {}, \"nodes\": {}, \"devices_per_node\": {}, \"price_usd_per_hour\": {}}}",
        p == 0 ? "" : ",", json_string(s.pools[p].name), json_string(s.pools[p].instance), s.pools[p].nodes,
        s.pools[p].devices_per_node, json_number(s.pools[p].price_usd_per_hour));
  text += "],\n  \"policies\": [";
  for (std::size_t r = 0; r < s.rows.size(); ++r) {
    const SummaryRow& row = s.rows[r];
    text += fmt::format("{}\n    {{\"policy\": {}, \"status\": \"{}\"", r == 0 ? "" : ",", json_string(row.policy),
                        row.ok ? "ok" : "failed");
    if (!row.ok) text += fmt::format(", \"reason\": {}", json_string(row.reason));
    for (const SummaryField& field : row.fields)
      text += fmt::format(",\n     \"{}\": {}", field.name, json_estimate(field.value));
    text += "}";
  }
  return text + "\n  ]\n}\n";
}

std::string study_json(const StudySummary& s) {
  std::string text = fmt::format(
      "{{\n  \"scenario\": {},\n  \"version\": {},\n  \"study\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"inputs\": "
      "{},\n  \"notes\": [",
      json_string(s.scenario), json_string(sim::program_version()), json_string(s.study), s.seed, s.repetitions,
      json_inputs(s.inputs));
  for (std::size_t n = 0; n < s.notes.size(); ++n) text += (n == 0 ? "" : ", ") + json_string(s.notes[n]);
  text += "],\n  \"tables\": {";
  bool first = true;
  for (const Table& table : s.tables) {
    if (table.name.empty()) continue;
    text += fmt::format("{}\n    {}: {}", first ? "" : ",", json_string(table.name), table_json(table));
    first = false;
  }
  return text + "\n  }\n}\n";
}

std::string timing_json(const Summary& s) {
  std::string text = "{\"policies\": [";
  for (std::size_t r = 0; r < s.rows.size(); ++r) {
    const SummaryRow& row = s.rows[r];
    text += fmt::format("{}\n  {{\"policy\": {}, \"decision_time_s\": {}, \"run_cpu_s\": {}, \"max_rss_bytes\": {}}}",
                        r == 0 ? "" : ",", json_string(row.policy), json_number(row.decision_time_s), json_number(row.run_cpu_s),
                        json_number(row.max_rss_bytes));
  }
  return text + "\n]}\n";
}

}  // namespace rehearse::report
