// What the HTML report shows of a run beyond its summary: the first repetition's jobs, decisions, stages and nodes, and what is
// counted over all repetitions.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include "report/html_report.hpp"
#include "report/outcome.hpp"
#include "report/packed_table.hpp"
#include "report/row_writer.hpp"
#include "report/statistics.hpp"
#include "sim/io/json.hpp"

namespace rehearse::report {

namespace {

// Rows of a file that go into the report, of all policies together: what keeps it below 5 MB. Where a run has more jobs than
// kManyJobs, a part of them stands for all, and what is left is made in a third of the time.
constexpr std::size_t kManyJobs = 10'000;
constexpr std::size_t kJobRows = 60'000, kNodeRows = 60'000, kDecisionRows = 30'000, kStageRows = 20'000,
                      kPredictionRows = 20'000;
constexpr std::size_t kShareOfMany = 3;         ///< of these numbers, one in so many
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

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

/// The first repetition's jobs, and which of them go into the report when not all do.
class ReportJobs {
 public:
  struct Job {
    double submit_s = 0;
    std::uint32_t rows = 0;  ///< of jobs.csv: policies
    std::int32_t model = -1;
    std::uint32_t by_submission = 0;  ///< its place among all
    std::uint32_t in_sample = 0;      ///< its place in an order of which every beginning is spread evenly over the dates
  };

  Job& of(std::string_view name) {
    const auto at = numbers_.find(name);
    if (at != numbers_.end()) return jobs_[at->second];
    numbers_.emplace(name, jobs_.size());
    Job& job = jobs_.emplace_back();
    job.by_submission = job.in_sample = static_cast<std::uint32_t>(jobs_.size() - 1);  // until sort(), and of unlisted ones
    return job;
  }
  void set_model(Job& job, std::string_view model) {
    if (job.model >= 0) return;
    const auto at = std::find(models_.begin(), models_.end(), model);
    job.model = static_cast<std::int32_t>(at - models_.begin());
    if (at == models_.end()) models_.emplace_back(model);
  }
  std::string_view model_of(const Job& job) const {
    return job.model < 0 ? std::string_view() : models_[static_cast<std::size_t>(job.model)];
  }

  /// When all are listed.
  void sort() {
    std::vector<std::uint32_t> order(jobs_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return jobs_[a].submit_s < jobs_[b].submit_s; });
    for (std::uint32_t place = 0; place < order.size(); ++place) jobs_[order[place]].by_submission = place;
    // The sequence of van der Corput: 0, 1/2, 1/4, 3/4, 1/8, ... of the jobs by submission.
    const std::uint32_t whole = std::bit_ceil(std::max(1u, static_cast<std::uint32_t>(order.size())));
    std::uint32_t next = 0;
    for (std::uint32_t i = 0, reversed = 0; i < whole; ++i) {
      if (reversed < order.size()) jobs_[order[reversed]].in_sample = next++;
      std::uint32_t bit = whole >> 1;
      for (; (reversed & bit) != 0; bit >>= 1) reversed ^= bit;
      reversed |= bit;
    }
    std::vector<std::uint32_t> rows(jobs_.size());
    for (const Job& job : jobs_) rows[job.in_sample] = job.rows;
    listed_ = longest(rows, most(kJobRows));
  }

  /// So many rows of a file at most.
  std::size_t most(std::size_t rows) const { return jobs_.size() > kManyJobs ? rows / kShareOfMany : rows; }
  std::size_t size() const { return jobs_.size(); }
  /// How many of the sample are in the report's list.
  std::size_t listed() const { return listed_; }
  /// The longest beginning of an order whose rows are at most so many.
  static std::size_t longest(const std::vector<std::uint32_t>& rows, std::size_t most) {
    std::size_t sum = 0, count = 0;
    while (count < rows.size() && (sum += rows[count]) <= most) ++count;
    return count;
  }

 private:
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> numbers_;  ///< only looked up
  std::deque<Job> jobs_;
  std::vector<std::string> models_;
  std::size_t listed_ = 0;
};

/// A file is read once: more rows than are wanted are packed, and those taken out again whose job does not fit any more.
std::string file_json(const std::string& folder, const DetailFile& file, ReportJobs& jobs) {
  const std::string path = folder + "/" + file.name;
  if (!std::filesystem::exists(path)) return "null";
  const bool is_nodes = file.key == "nodes";  // of the jobs submitted first, so that what is drawn has no holes
  const std::size_t most = jobs.most(file.most_rows);
  const std::size_t bound = is_nodes || jobs.listed() == 0 ? most : jobs.listed();
  std::vector<std::uint32_t> rows_at, place_of_row;
  std::size_t all_rows = 0;
  std::vector<PackedColumn> columns = file.columns;
  if (is_nodes) columns.push_back({"model"});
  PackedTable table(columns);
  sim::CsvColumns wanted{.required = {"job"}, .optional = {"repetition"}};
  for (const PackedColumn& column : file.columns)
    if (column.name != "job") wanted.optional.push_back(column.name);
  for_each_row(path, wanted, [&](sim::CsvRow& row) {
    const std::string_view name = row.text("job");
    if (!is_first_repetition(row)) return;
    ++all_rows;
    const ReportJobs::Job& job = jobs.of(name);
    const std::uint32_t place = is_nodes ? job.by_submission : job.in_sample;
    if (place >= bound) return;
    if (rows_at.size() <= place) rows_at.resize(place + 1);
    ++rows_at[place];
    place_of_row.push_back(place);
    for (const PackedColumn& column : file.columns) {
      if (column.packing == Packing::text)
        table.add_text(row.text(column.name));
      else if (column.packing == Packing::date && row.has(column.name))
        table.add_number(row.date(column.name));
      else
        table.add_number(row.maybe_number(column.name).value_or(std::nan("")));
    }
    if (is_nodes) table.add_text(jobs.model_of(job));
    table.end_row();
  });
  const std::size_t kept = ReportJobs::longest(rows_at, most);
  if (kept < rows_at.size()) table.keep([&](std::size_t row) { return place_of_row[row] < kept; });
  return fmt::format(R"({{"all_rows":{},"table":{}}})", all_rows, table.json());
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

/// How a job ended, in one word or two; the parts of a bar. Of one that did not fail.
std::string_view fate(sim::CsvRow& row) {
  const bool late = row.text("deadline_met") == "false", inaccurate = row.text("accuracy_met") == "false";
  if (late && inaccurate) return "late and inaccurate";
  if (late) return "late";
  if (inaccurate) return "inaccurate";
  return row.text("cost_limit_met") == "false" ? "too dear" : "limits kept";
}

/// Of one policy, over all repetitions.
struct Counted {
  std::vector<double> completion_s, waiting_s, cost_usd;  ///< of finished jobs; waiting and cost of all
  std::map<std::string, std::size_t, std::less<>> fates;

  void count(std::string_view fate) {
    const auto at = fates.find(fate);
    ++(at != fates.end() ? at : fates.emplace(fate, 0).first)->second;
  }
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

/// Of all repetitions; lists the first one's jobs on the way.
std::string counted_json(const std::string& folder, ReportJobs& jobs) {
  const MeasureWindow window = measure_window(folder);
  std::map<std::string, Counted, std::less<>> policies;
  Counted* counted = nullptr;
  std::string_view last;  // rows come policy by policy
  // Asked for in this order, in which they are found at once.
  for_each_row(folder + "/jobs.csv",
               {.required = {"policy", "submit_s", "end_s", "state"},
                .optional = {"reason", "deadline_met", "accuracy_met", "cost_limit_met", "start_s", "cost_usd", "repetition",
                             "job", "model"}},
               [&](sim::CsvRow& row) {
                 const std::string_view policy = row.text("policy");
                 if (counted == nullptr || policy != last) {
                   const auto at = policies.try_emplace(std::string(policy)).first;
                   counted = &at->second;
                   last = at->first;
                 }
                 const double submit_s = row.date("submit_s"), end_s = row.date("end_s");
                 if (window.has(submit_s)) {
                   const std::string_view state = row.text("state");
                   if (state == "failed")
                     counted->count("failed: " + std::string(row.text("reason")));
                   else
                     counted->count(fate(row));
                   if (state == "finished") counted->completion_s.push_back(end_s - submit_s);
                   if (row.has("start_s")) counted->waiting_s.push_back(row.date("start_s") - submit_s);
                   if (const auto usd = row.maybe_number("cost_usd")) counted->cost_usd.push_back(*usd);
                 }
                 if (!is_first_repetition(row)) return;
                 ReportJobs::Job& job = jobs.of(row.text("job"));
                 job.submit_s = submit_s;
                 ++job.rows;
                 jobs.set_model(job, row.text("model"));
               });
  jobs.sort();
  std::string json;
  for (auto& [policy, of_policy] : policies) {
    std::string fates;
    for (const auto& [name, count] : of_policy.fates)
      fates += fmt::format("{}{}:{}", fates.empty() ? "" : ",", json_string(name), count);
    json += fmt::format(R"({}{}:{{"fates":{{{}}},"completion_s":{},"waiting_s":{},"cost_usd":{}}})", json.empty() ? "" : ",",
                        json_string(policy), fates, quantiles_json(std::move(of_policy.completion_s)),
                        quantiles_json(std::move(of_policy.waiting_s)), quantiles_json(std::move(of_policy.cost_usd)));
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
                 const double time_s = row.date("time_s");  // of several decisions at one date the last holds
                 if (of_pool.empty() || of_pool.back().time_s != time_s) of_pool.push_back({.time_s = time_s});
                 StepSample<4>& sample = of_pool.back();
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
  ReportJobs jobs;
  std::string json = fmt::format(R"({{"counted":{},"utilization":{})", counted_json(folder, jobs), utilization_json(folder)),
              missing;
  json += fmt::format(R"(,"all_jobs":{},"sampled":{})", jobs.size(), jobs.listed() < jobs.size());
  const auto look = [&](const std::string& name) {
    if (!std::filesystem::exists(folder + "/" + name)) missing += (missing.empty() ? "" : ",") + json_string(name);
  };
  for (const DetailFile& file : detail_files()) {
    json += fmt::format(",\"{}\":{}", file.key, file_json(folder, file, jobs));
    look(file.name);
  }
  look("utilization.csv");
  return fmt::format(R"({},"missing":[{}]}})", json, missing);
}

}  // namespace rehearse::report
