// One table says what can be said of a job (traces/jobs/job_fields.cpp). What is written by hand elsewhere is compared with it
// here; with REHEARSE_UPDATE set, the files are written again instead.
#include "traces/jobs/job_fields.hpp"

#include <set>

#include "experiments/process/messages.hpp"
#include "tests/scenarios/generated_text.hpp"
#include "tests/scenarios/loading.hpp"
#include "traces/jobs/native_rows.hpp"
#include "traces/jobs/to_job.hpp"
#include "workloads/training/convergence.hpp"

namespace {

using namespace rehearse;
using nlohmann::ordered_json;
using traces::JobField;
using traces::TraceJob;
using Names = std::vector<std::string>;

ordered_json schema_of(const JobField& field) {
  ordered_json schema = ordered_json::object();
  schema["description"] = plain(field.meaning);
  if (field.names == traces::NameOf::pool) {
    schema["$ref"] = "#/$defs/pools_of_job";
  } else if (std::holds_alternative<Names TraceJob::*>(field.member)) {
    schema["type"] = "array";
    schema["items"]["$ref"] = "#/$defs/text";
  } else if (field.choices != nullptr) {
    for (const std::string& word : field.choices()) schema["enum"].push_back(word);
  } else if (std::holds_alternative<std::string TraceJob::*>(field.member)) {
    schema["$ref"] = "#/$defs/text";
  } else {
    add_number(schema, field.range, field.whole);
  }
  return schema;
}

std::string values_of(const JobField& field) {
  if (std::holds_alternative<Names TraceJob::*>(field.member)) return "list of names; in CSV separated by `;`";
  if (field.choices != nullptr) return fmt::format("`{}`", fmt::join(field.choices(), "`, `"));
  if (field.names != traces::NameOf::anything) return fmt::format("name of a {}", field.name);
  if (std::holds_alternative<std::string TraceJob::*>(field.member)) return "text";
  const std::string text = ::values_of(field.range, field.whole);
  return field.unit.empty() ? text : fmt::format("{} {}", text, field.unit);
}

/// The columns of docs/reference/scenario.md.
std::string row_of(const JobField& field) {
  const std::string fallback = field.choices != nullptr ? fmt::format("`{}`", field.choices()[0]) : std::string(field.fallback);
  return fmt::format("| `{}`{} | {} | {} | {} |\n", field.name, field.is_in(traces::kJson) ? "" : " (CSV alone)",
                     values_of(field), fallback, field.meaning);
}

/// A value that is no default and keeps the limits of every field: 1, one half, the last of several words.
ordered_json some_value(const JobField& field) {
  const workloads::ConvergenceParameters& modelled = workloads::convergence_table()[0];
  if (field.name == "model") return modelled.model;
  if (field.name == "dataset") return modelled.dataset;
  if (field.name == "pool") return "second";
  if (field.name == "recipe") return "lars-smoothing";
  if (field.name == "job_type") return "a, type";
  if (std::holds_alternative<Names TraceJob::*>(field.member)) return ordered_json::array({"first"});
  if (field.choices != nullptr) return field.choices().back();
  if (std::holds_alternative<std::string TraceJob::*>(field.member)) return "a, text";
  if (field.name == "readings" || field.name == "max_accumulation") return 3;  // one is what a job has that says nothing
  return field.whole ? ordered_json(1) : ordered_json(0.5);
}

/// All that can be said beside one kind of work; a job_type is instead of a model and what is said of one.
ordered_json job_with(const std::string& name, std::set<std::string_view> work) {
  static const std::set<std::string_view> kModel{"model", "dataset", "precision", "lr_rule", "recipe", "max_accumulation"};
  std::set<std::string_view> works{"duration_s", "nodes", "steps", "epochs", "target_accuracy", "stop", "job_type"};
  works.insert(kModel.begin(), kModel.end());
  if (!work.contains("job_type")) work.insert(kModel.begin(), kModel.end());
  ordered_json job = ordered_json::object();
  job["job_id"] = name;
  for (const JobField& field : traces::job_fields())
    if (field.is_in(traces::kJson) && field.name != "job_id" && (!works.contains(field.name) || work.contains(field.name)))
      job[std::string(field.name)] = some_value(field);
  return job;
}

/// The same as a native CSV.
std::string csv_of(const ordered_json& job) {
  std::string header, row;
  for (const auto& [key, value] : job.items()) {
    header += (header.empty() ? "" : ",") + key;
    row += (row.empty() ? "" : ",") + (value.is_array()    ? value[0].get<std::string>()
                                       : value.is_string() ? "\"" + value.get<std::string>() + "\""
                                                           : value.dump());
  }
  return header + "\n" + row + "\n";
}

}  // namespace

TEST_CASE("the schema's job is that of the table of fields") {
  std::string wanted;
  for (const JobField& field : traces::job_fields())
    if (field.is_in(traces::kJson))
      wanted += fmt::format("{}        \"{}\": {}", wanted.empty() ? "" : ",\n", field.name, on_one_line(schema_of(field)));
  compare_or_update("scenarios/schema/scenario.schema.json",
                    "    \"job\": {\n      \"type\": \"object\",\n      \"properties\": {\n", "\n      },\n", wanted);
}

TEST_CASE("the documentation's keys of a job are those of the table of fields") {
  std::string wanted, told_to_no_process;
  for (const JobField& field : traces::job_fields()) {
    wanted += row_of(field);
    if (field.is_in(traces::kJson) && !field.is_in(traces::kProcess))
      told_to_no_process += fmt::format("{}`{}`", told_to_no_process.empty() ? "" : ", ", field.name);
  }
  compare_or_update(
      "docs/reference/scenario.md",
      "These keys are also the columns of the native CSV.\n\n| key | values | default | meaning |\n|---|---|---|---|\n",
      "\nA job's work is exactly one of:", wanted);
  compare_or_update("docs/reference/protocol.md", "A `job` has the [scenario's keys](scenario.md#a-job) but ", ", without those",
                    told_to_no_process);
}

TEST_CASE("every field of a job means the same in JSON, in CSV and to a process") {
  using Work = std::set<std::string_view>;
  std::set<std::string_view> seen;
  for (const Work& work :
       {Work{"duration_s", "nodes"}, Work{"steps"}, Work{"epochs", "target_accuracy", "stop"}, Work{"steps", "job_type"}}) {
    const TemporaryFolder folder;
    folder.write("table.csv", "job_type,workers,batch,steps_per_s\n\"a, type\",1,1,2\n");
    const ordered_json job = job_with("json", work);
    folder.write("jobs.csv", csv_of(job_with("csv", work)));
    ordered_json scenario = ordered_json::parse(
        R"({"name": "n", "policies": ["manual"], "throughputs": "table.csv",
            "cluster": {"pools": [{"name": "only", "instance": "p3.2xlarge", "nodes": 2},
                                  {"name": "second", "instance": "p3.2xlarge", "nodes": 2}]},
            "jobs": [{"job_id": "first", "gpus": 1, "duration_s": 1}, {"trace": "jobs.csv", "keep_origin": true}]})");
    scenario["jobs"].push_back(job);
    const auto loaded = scenarios::load_scenario(folder.write("s.json", scenario.dump()), {});
    REQUIRE(loaded->jobs.size() == 3);
    const TraceJob csv = traces::to_trace_job(loaded->jobs[1], {"only", "second"});
    TraceJob json = traces::to_trace_job(loaded->jobs[2], {"only", "second"});
    CHECK(csv.job_id == "csv");
    CHECK(json.job_id == "json");
    json.job_id = "csv";
    scenarios::JsonLine told;
    write_job(loaded->jobs[2], loaded->cluster, told);
    const ordered_json message = ordered_json::parse(told.line());
    for (const JobField& field : traces::job_fields()) {
      if (!job.contains(field.name)) continue;
      INFO(field.name);
      seen.insert(field.name);
      CHECK(traces::is_given(json, field));
      std::string from_csv, from_json;
      append_native_row(from_csv, csv, {&field});
      append_native_row(from_json, json, {&field});
      CHECK(from_csv == from_json);
      CHECK(message.contains(field.name) == field.is_in(traces::kProcess));
      if (message.contains(field.name)) CHECK(message.at(std::string(field.name)) == job.at(std::string(field.name)));
    }
  }
  for (const JobField& field : traces::job_fields()) CHECK(seen.contains(field.name) == field.is_in(traces::kJson));
}
