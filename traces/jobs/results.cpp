#include "traces/jobs/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/native_rows.hpp"

namespace rehearse::traces {

namespace {

std::string paje_string(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '_' : c;
  return text + '"';
}

struct Event {
  double time_s;
  std::string line;  ///< without its date: "{kind} {date} {rest}"
  int kind;
};

constexpr std::string_view kPajeHeader = R"(%EventDef PajeDefineContainerType 0
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%       Alias string
%       Type string
%       Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
%       Alias string
%       Type string
%       Name string
%       Color color
%EndEventDef
%EventDef PajeDefineEntityValue 3
%       Alias string
%       Type string
%       Name string
%       Color color
%EndEventDef
%EventDef PajeCreateContainer 4
%       Time date
%       Alias string
%       Type string
%       Container string
%       Name string
%EndEventDef
%EventDef PajeDestroyContainer 5
%       Time date
%       Type string
%       Name string
%EndEventDef
%EventDef PajeSetState 6
%       Time date
%       Type string
%       Container string
%       Value string
%EndEventDef
%EventDef PajeSetVariable 7
%       Time date
%       Type string
%       Container string
%       Value double
%EndEventDef
%EventDef PajeAddVariable 8
%       Time date
%       Type string
%       Container string
%       Value double
%EndEventDef
%EventDef PajeSubVariable 9
%       Time date
%       Type string
%       Container string
%       Value double
%EndEventDef
0 CLUSTER 0 cluster
0 POOL CLUSTER pool
0 JOB CLUSTER job
1 STATE JOB state
2 BUSY POOL "busy workers" "0 0.45 0.7"
3 QUEUED STATE queued "0.9 0.6 0"
3 RUNNING STATE running "0 0.6 0.5"
4 0 c CLUSTER 0 cluster
)";

}  // namespace

std::vector<ResultRow> read_results(const std::string& path, const std::string& policy, std::int64_t repetition) {
  sim::CsvReader reader(
      path, {.required = {"policy", "repetition", "job", "submit_s", "start_s", "end_s", "state", "reason", "pool", "workers"}});
  std::vector<ResultRow> rows;
  std::vector<std::string> policies;
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = reader.next()) {
    const std::string name(row->text("policy"));
    if (policies.empty() || policies.back() != name) policies.push_back(name);
    const bool wanted = name == (policy.empty() ? policies.front() : policy) && row->integer("repetition") == repetition;
    ResultRow result;
    if (wanted) {
      result = {.job = std::string(row->text("job")),
                .state = std::string(row->text("state")),
                .reason = std::string(row->text("reason")),
                .pool = std::string(row->text("pool")),
                .submit_s = row->date("submit_s"),
                .start_s = row->date("start_s", kNotGiven),
                .end_s = row->date("end_s"),
                .workers = static_cast<int>(row->integer("workers", sim::between(0, 1e6), 0))};
    }
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (wanted) rows.push_back(std::move(result));
  }
  mistakes.throw_if_any();
  if (rows.empty())
    throw sim::InputError(
        {.file = sim::printable(path, 4096),
         .expected = fmt::format("jobs of repetition {} under one of the policies {}", repetition, fmt::join(policies, ", ")),
         .found = sim::shown(policy),
         .nearest = sim::nearest_name(policy, policies)});
  return rows;
}

std::string batsim_jobs_csv(std::span<const ResultRow> rows) {
  std::string text =
      "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,starting_"
      "time,"
      "execution_time,finish_time,waiting_time,turnaround_time,stretch,consumed_energy,allocated_resources,metadata\n";
  for (const ResultRow& row : rows) {
    const bool finished = row.state == "finished";
    TraceJob name{.job_id = row.job};
    append_native_row(text, name, {find_job_field("job_id")});
    text.pop_back();
    const auto out = std::back_inserter(text);
    fmt::format_to(out, ",rehearse,,{},{},,{},{},", row.submit_s, row.workers > 0 ? fmt::format("{}", row.workers) : "",
                   finished ? 1 : 0,
                   finished        ? "COMPLETED_SUCCESSFULLY"
                   : row.started() ? "COMPLETED_KILLED"
                                   : "REJECTED");
    if (row.started()) {
      const double run_s = row.end_s - row.start_s, stay_s = row.end_s - row.submit_s;
      fmt::format_to(out, "{},{},{},{},{},{}", row.start_s, run_s, row.end_s, row.start_s - row.submit_s, stay_s,
                     run_s > 0 ? fmt::format("{}", stay_s / run_s) : "");
    } else {
      text += ",,,,,";
    }
    text += ",,,\n";
  }
  return text;
}

std::string paje_trace(std::span<const ResultRow> rows) {
  std::string text(kPajeHeader);
  const auto out = std::back_inserter(text);
  std::map<std::string, std::string> pools;
  for (const ResultRow& row : rows)
    if (row.started() && pools.emplace(row.pool, fmt::format("p{}", pools.size())).second)
      fmt::format_to(out, "4 0 {0} POOL c {1}\n7 0 BUSY {0} 0\n", pools[row.pool], paje_string(row.pool));
  std::vector<Event> events;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ResultRow& row = rows[i];
    const std::string job = fmt::format("j{}", i);
    events.push_back({row.submit_s, fmt::format("{} JOB c {}", job, paje_string(row.job)), 4});
    events.push_back({row.submit_s, fmt::format("STATE {} QUEUED", job), 6});
    if (row.started()) {
      events.push_back({row.start_s, fmt::format("STATE {} RUNNING", job), 6});
      events.push_back({row.start_s, fmt::format("BUSY {} {}", pools[row.pool], row.workers), 8});
      events.push_back({row.end_s, fmt::format("BUSY {} {}", pools[row.pool], row.workers), 9});
    }
    events.push_back({row.end_s, fmt::format("JOB {}", job), 5});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time_s < b.time_s; });
  for (const Event& event : events) fmt::format_to(out, "{} {} {}\n", event.kind, event.time_s, event.line);
  const double end_s = events.empty() ? 0 : events.back().time_s;
  for (const auto& [name, alias] : pools) fmt::format_to(out, "5 {} POOL {}\n", end_s, alias);
  fmt::format_to(out, "5 {} CLUSTER c\n", end_s);
  return text;
}

std::span<const ResultFormat> result_formats() {
  static constexpr ResultFormat kFormats[] = {{"batsim-jobs", "Batsim's jobs.csv", batsim_jobs_csv},
                                              {"paje", "a Paje trace of jobs and busy workers", paje_trace}};
  return kFormats;
}

}  // namespace rehearse::traces
