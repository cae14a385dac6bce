// What the HTML report shows of a run beyond its summary: the first repetition's jobs, decisions, stages and nodes, and what is
// counted over all repetitions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "report/html_report.hpp"
#include "report/outcome.hpp"
#include "report/packed_table.hpp"
#include "report/row_writer.hpp"
#include "report/statistics.hpp"
#include "sim/io/json.hpp"

namespace rehearse::report {

namespace {

// Rows of a file that go into the report, of all policies together: what keeps 50,000 jobs below 5 MB.
constexpr std::size_t kJobRows = 60'000, kNodeRows = 60'000, kDecisionRows = 30'000, kStageRows = 20'000,
                      kPredictionRows = 20'000;
constexpr std::size_t kQuantiles = 201;         ///< of a distribution
constexpr std::size_t kUtilizationSteps = 400;  ///< of a pool over time

constexpr auto kText = Packing::text;
constexpr auto kNumber = Packing::number;
constexpr auto kDate = Packing::date;

struct DetailFile {
  std::string key, name;
  std::size_t most_rows;
  std::vector<PackedColumn> columns;
};

const std::vector<DetailFile>& detail_files() {
  static const std::vector<DetailFile> files{
      {"jobs",
       "jobs.csv",
       kJobRows,
       {{"policy"},
        {"job"},
        {"user"},
        {"model"},
        {"dataset"},
        {"submit_s", kDate},
        {"start_s", kDate},
        {"end_s", kDate},
        {"state"},
        {"reason"},
        {"pool"},
        {"workers", kNumber},
        {"batch_size", kNumber},
        {"epochs", kNumber},
        {"deadline_s", kNumber},
        {"deadline_met"},
        {"target_accuracy", kNumber},
        {"accuracy", kNumber},
        {"accuracy_met"},
        {"cost_usd", kNumber},
        {"effective_cost_usd", kNumber},
        {"energy_j", kNumber},
        {"preemptions", kNumber},
        {"reconfigurations", kNumber},
        {"cost_limit_usd", kNumber},
        {"cost_limit_met"}}},
      {"nodes",
       "nodes.csv",
       kNodeRows,
       {{"policy"}, {"job"}, {"pool"}, {"node", kNumber}, {"devices", kNumber}, {"start_s", kDate}, {"end_s", kDate}}},
      {"decisions",
       "decisions.csv",
       kDecisionRows,
       {{"policy"},
        {"time_s", kDate},
        {"job"},
        {"decision"},
        {"rank", kNumber},
        {"pool"},
        {"workers", kNumber},
        {"batch_size", kNumber},
        {"learning_rate", kNumber},
        {"predicted_time_s", kNumber},
        {"predicted_accuracy", kNumber},
        {"predicted_cost_usd", kNumber},
        {"feasible"},
        {"extrapolated"},
        {"note"}}},
      {"stages",
       "stages.csv",
       kStageRows,
       {{"policy"},
        {"job"},
        {"stage", kNumber},
        {"pool"},
        {"workers", kNumber},
        {"batch_size", kNumber},
        {"learning_rate", kNumber},
        {"start_s", kDate},
        {"end_s", kDate},
        {"step_s", kNumber},
        {"accuracy", kNumber},
        {"cost_usd", kNumber},
        {"switch_cost_usd", kNumber}}},
      {"predictions",
       "predictions.csv",
       kPredictionRows,
       {{"policy"}, {"job"}, {"quantity"}, {"predicted", kNumber}, {"actual", kNumber}}},
  };
  return files;
}

bool is_first_repetition(sim::CsvRow& row) { return !row.has("repetition") || row.text("repetition") == "0"; }

/// Names of the first repetition's jobs, by submission.
std::vector<std::string> jobs_by_submission(const std::string& folder) {
  std::unordered_set<std::string> seen;
  std::vector<std::pair<double, std::string>> jobs;
  for_each_row(folder + "/jobs.csv", {.required = {"job"}, .optional = {"repetition", "submit_s"}}, [&](sim::CsvRow& row) {
    if (!is_first_repetition(row)) return;
    if (seen.emplace(row.text("job")).second)
      jobs.emplace_back(row.maybe_number("submit_s").value_or(0), std::string(row.text("job")));
  });
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [submit_s, name] : jobs) names.push_back(std::move(name));
  return names;
}

struct Kept {
  std::unordered_set<std::string> jobs;  ///< only looked up
  std::size_t rows = 0;                  ///< of the first repetition in the file, those left out included
};

/// The jobs submitted first whose rows are at most `most_rows` together.
Kept first_jobs(const std::string& path, const std::vector<std::string>& by_submission, std::size_t most_rows) {
  Kept kept;
  std::unordered_map<std::string, std::size_t> rows_of;
  for_each_row(path, {.required = {"job"}, .optional = {"repetition"}}, [&](sim::CsvRow& row) {
    if (!is_first_repetition(row)) return;
    ++rows_of[std::string(row.text("job"))];
    ++kept.rows;
  });
  std::size_t rows = 0;
  for (const std::string& job : by_submission) {
    rows += rows_of[job];
    if (rows > most_rows) break;
    kept.jobs.insert(job);
  }
  return kept;
}

std::string file_json(const std::string& folder, const DetailFile& file, const std::vector<std::string>& by_submission) {
  const std::string path = folder + "/" + file.name;
  if (!std::filesystem::exists(path)) return "null";
  const Kept kept = first_jobs(path, by_submission, file.most_rows);
  const auto table = pack_csv(path, file.columns, [&](sim::CsvRow& row) {
    return is_first_repetition(row) && kept.jobs.contains(std::string(row.text("job")));
  });
  return fmt::format(R"({{"all_rows":{},"table":{}}})", kept.rows, table->json());
}

MeasureWindow measure_window(const std::string& folder) {
  MeasureWindow window;
  const sim::JsonDocument document = sim::read_json_file(folder + "/summary.json");
  for (const sim::JsonMember& member : document.root().members()) {
    if (member.key.text() != "measure") continue;
    for (const sim::JsonMember& bound : member.value.members()) {
      if (!bound.value.is_number()) continue;
      (bound.key.text() == "warmup_s" ? window.warmup_s : window.until_s) = bound.value.number();
    }
  }
  return window;
}

/// How a job ended, in one word or two; the parts of a bar.
std::string fate(sim::CsvRow& row) {
  if (row.text("state") == "failed") return "failed: " + std::string(row.text("reason"));
  const bool late = row.text("deadline_met") == "false", inaccurate = row.text("accuracy_met") == "false";
  if (late && inaccurate) return "late and inaccurate";
  if (late) return "late";
  if (inaccurate) return "inaccurate";
  return row.text("cost_limit_met") == "false" ? "too dear" : "limits kept";
}

/// Of one policy, over all repetitions.
struct Counted {
  std::vector<double> completion_s, waiting_s, cost_usd;  ///< of finished jobs; waiting and cost of all
  std::map<std::string, std::size_t> fates;
};

std::string quantiles_json(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::string json;
  const std::size_t points = std::min(values.size(), kQuantiles);
  for (std::size_t i = 0; i < points; ++i) {
    const double p = points > 1 ? static_cast<double>(i) / static_cast<double>(points - 1) : 0;
    const double at = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    json += fmt::format("{}{:.6g}", json.empty() ? "" : ",",
                        values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]));
  }
  return fmt::format(R"({{"count":{},"values":[{}]}})", values.size(), json);
}

std::string counted_json(const std::string& folder) {
  const MeasureWindow window = measure_window(folder);
  std::map<std::string, Counted> policies;
  for_each_row(folder + "/jobs.csv",
               {.required = {"policy", "submit_s", "end_s", "state"},
                .optional = {"start_s", "reason", "cost_usd", "deadline_met", "accuracy_met", "cost_limit_met"}},
               [&](sim::CsvRow& row) {
                 const double submit_s = row.number("submit_s"), end_s = row.number("end_s");
                 if (!window.has(submit_s)) return;
                 Counted& counted = policies[std::string(row.text("policy"))];
                 ++counted.fates[fate(row)];
                 if (row.text("state") == "finished") counted.completion_s.push_back(end_s - submit_s);
                 if (const auto start_s = row.maybe_number("start_s")) counted.waiting_s.push_back(*start_s - submit_s);
                 if (const auto usd = row.maybe_number("cost_usd")) counted.cost_usd.push_back(*usd);
               });
  std::string json;
  for (auto& [policy, counted] : policies) {
    std::string fates;
    for (const auto& [name, jobs] : counted.fates)
      fates += fmt::format("{}{}:{}", fates.empty() ? "" : ",", json_string(name), jobs);
    json += fmt::format(R"({}{}:{{"fates":{{{}}},"completion_s":{},"waiting_s":{},"cost_usd":{}}})", json.empty() ? "" : ",",
                        json_string(policy), fates, quantiles_json(std::move(counted.completion_s)),
                        quantiles_json(std::move(counted.waiting_s)), quantiles_json(std::move(counted.cost_usd)));
  }
  return "{" + json + "}";
}

std::string utilization_json(const std::string& folder) {
  const std::string path = folder + "/utilization.csv";
  if (!std::filesystem::exists(path)) return "null";
  const std::vector<std::string> quantities{"busy_devices", "allocated_devices", "queued_jobs", "power_w"};
  std::vector<std::pair<std::string, std::string>> order;  // of policy and pool
  std::map<std::pair<std::string, std::string>, std::vector<StepSample<4>>> samples;
  for_each_row(path,
               {.required = {"policy", "time_s", "pool"},
                .optional = {"repetition", "busy_devices", "allocated_devices", "queued_jobs", "power_w"}},
               [&](sim::CsvRow& row) {
                 if (!is_first_repetition(row)) return;
                 const auto key = std::make_pair(std::string(row.text("policy")), std::string(row.text("pool")));
                 std::vector<StepSample<4>>& of_pool = samples[key];
                 if (of_pool.empty()) order.push_back(key);
                 StepSample<4>& sample = of_pool.emplace_back();
                 sample.time_s = row.number("time_s");
                 for (std::size_t q = 0; q < quantities.size(); ++q)
                   sample.values[q] = row.maybe_number(quantities[q]).value_or(0);
               });
  std::vector<PackedColumn> columns{{"policy"}, {"pool"}, {"time_s", kDate}};
  for (const std::string& quantity : quantities) columns.push_back({quantity, kNumber});
  PackedTable table(columns);
  for (const auto& key : order) {
    for (const StepSample<4>& sample : step_means(samples[key], kUtilizationSteps)) {
      table.add_text(key.first);
      table.add_text(key.second);
      table.add_number(sample.time_s);
      for (const double value : sample.values) table.add_number(value);
      table.end_row();
    }
  }
  return table.json();
}

}  // namespace

std::string run_details_json(const std::string& folder) {
  const std::vector<std::string> by_submission = jobs_by_submission(folder);
  std::string json = fmt::format(R"({{"counted":{},"utilization":{})", counted_json(folder), utilization_json(folder));
  for (const DetailFile& file : detail_files())
    json += fmt::format(",\"{}\":{}", file.key, file_json(folder, file, by_submission));
  return json + "}";
}

}  // namespace rehearse::report
