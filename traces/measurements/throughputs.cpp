#include "traces/measurements/throughputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

namespace {

using workloads::Throughput;

constexpr sim::NumberRange kThroughputs{.low = 1e-9, .high = 1e9};

/// What tells one measurement from all others.
using Setting = std::tuple<std::string, std::string, int, int, std::string>;
Setting setting_of(const Throughput& row) { return {row.job_type, row.pool, row.workers, row.batch, row.partner}; }

ThroughputRow read_row(sim::CsvRow& fields) {
  ThroughputRow row;
  row.line = fields.line();
  row.job_type = fields.text("job_type");
  row.pool = fields.text("pool");
  row.partner = fields.text("partner");
  row.workers = static_cast<int>(fields.integer("workers", kGpuCounts));
  row.batch = static_cast<int>(fields.integer("batch", kBatchSizes));
  row.steps_per_s = fields.number("steps_per_s", kThroughputs);
  if (!fields.mistakes().empty()) return row;
  if (row.job_type.empty()) fields.refuse("job_type", "the name of a type of jobs");
  if (row.batch % row.workers != 0)
    fields.refuse("batch", fmt::format("a global batch that {} workers can share evenly", row.workers));
  if (!row.partner.empty() && row.workers != 1) fields.refuse("workers", "1, as jobs of one GPU alone share it with a partner");
  return row;
}

}  // namespace

std::vector<ThroughputRow> read_native_throughputs(const std::string& path) {
  sim::CsvReader reader(
      path,
      {.required = {"job_type", "workers", "batch", "steps_per_s"}, .optional = {"pool", "partner"}, .others_allowed = false});
  sim::Mistakes mistakes;
  std::vector<ThroughputRow> rows;
  std::set<Setting> settings;
  while (sim::CsvRow* const fields = reader.next()) {
    ThroughputRow row = read_row(*fields);
    if (fields->mistakes().empty() && !settings.insert(setting_of(row)).second)
      fields->refuse("steps_per_s", "one row for each job_type, pool, workers, batch and partner");
    for (const sim::Mistake& mistake : fields->mistakes()) mistakes.add(mistake);
    rows.push_back(std::move(row));
  }
  if (rows.empty() && mistakes.empty())
    mistakes.add({.file = path, .line = 1, .expected = "at least one throughput", .found = "none"});
  mistakes.throw_if_any();
  return rows;
}

std::string throughput_header() { return "job_type,pool,workers,batch,steps_per_s,partner\n"; }

std::string throughput_row(const Throughput& row) {
  return fmt::format("{},{},{},{},{},{}\n", sim::csv_text(row.job_type), sim::csv_text(row.pool), row.workers, row.batch,
                     row.steps_per_s, sim::csv_text(row.partner));
}

// Others' tables. What cannot be used of them is counted and told.

namespace {

class Collected {
 public:
  /// Of several files' measurements of one setting the first counts.
  void add(Throughput row) {
    if (settings_.insert(setting_of(row)).second)
      list_.rows.push_back({std::move(row), 0});
    else
      leave_out("settings that were there already");
  }
  void leave_out(const std::string& reason) { ++left_out_[reason]; }
  ThroughputList finish(const std::string& file) {
    if (list_.rows.empty())
      throw sim::InputError(sim::Mistake{.file = file, .expected = "at least one throughput that can be used", .found = "none"});
    for (const auto& [reason, times] : left_out_) list_.notes.push_back(fmt::format("left out, {}: {}", reason, times));
    return std::move(list_);
  }

 private:
  ThroughputList list_;
  std::set<Setting> settings_;
  std::map<std::string, std::int64_t> left_out_;
};

ThroughputList read_ours(const std::vector<std::string>& paths) {
  Collected all;
  for (const std::string& path : paths)
    for (ThroughputRow& row : read_native_throughputs(path)) all.add(std::move(row));
  return all.finish(paths.front());
}

/// "('ResNet-50 (batch size 16)', 2)": the type, with its batch for each worker, and the workers.
struct GavelKey {
  std::string type;
  int batch = 1, workers = 0;
};

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::optional<GavelKey> gavel_key(std::string_view text) {
  constexpr std::string_view kOpen = "('", kBetween = "', ", kBatch = " (batch size ";
  const std::size_t end = text.rfind(kBetween);
  if (!text.starts_with(kOpen) || !text.ends_with(')') || end == text.npos || end <= kOpen.size()) return std::nullopt;
  const std::size_t workers_at = end + kBetween.size();
  const auto workers = whole_number(text.substr(workers_at, text.size() - 1 - workers_at));
  if (!workers || *workers > kGpuCounts.high) return std::nullopt;
  GavelKey key{.type = std::string(text.substr(kOpen.size(), end - kOpen.size())), .workers = *workers};
  const std::size_t batch_at = key.type.rfind(kBatch);
  if (batch_at == key.type.npos) return key;
  if (!key.type.ends_with(')')) return std::nullopt;
  const std::size_t digits_at = batch_at + kBatch.size();
  const auto batch = whole_number(std::string_view(key.type).substr(digits_at, key.type.size() - 1 - digits_at));
  if (!batch || static_cast<double>(*batch) * *workers > kBatchSizes.high) return std::nullopt;
  key.batch = *batch;
  return key;
}

/// What the first of a pair did, or a job alone; 0 when it did not run.
double gavel_rate(sim::JsonValue value) {
  if (value.is_number()) return value.number();
  for (const sim::JsonValue first : value.elements()) return first.is_number() ? first.number() : 0;
  return 0;
}

void read_gavel_type(const std::string& pool, sim::JsonMember type, Collected& all) {
  const auto key = gavel_key(type.key.text());
  if (!key) return all.leave_out("keys that are not ('TYPE', workers)");
  for (const sim::JsonMember beside : type.value.members()) {
    const bool alone = beside.key.text() == "null";
    const auto partner = alone ? std::nullopt : gavel_key(beside.key.text());
    if (!alone && !partner) {
      all.leave_out("keys that are not ('TYPE', workers)");
    } else if (partner && (partner->workers != 1 || key->workers != 1)) {
      all.leave_out("pairs of jobs with several workers");
    } else if (const double sum_per_s = gavel_rate(beside.value); sum_per_s <= 0 || !kThroughputs.contains(sum_per_s)) {
      all.leave_out(alone ? "types that did not run on a device" : "pairs that did not run on a device");
    } else {
      // Mini-batches of all workers together: so many of them are one step.
      all.add({.job_type = key->type,
               .pool = pool,
               .workers = key->workers,
               .batch = key->batch * key->workers,
               .steps_per_s = sum_per_s / key->workers,
               .partner = partner ? partner->type : std::string()});
    }
  }
}

/// Gavel (Narayanan et al., OSDI 2020): mini-batches a second of types of jobs on devices, which become pools.
ThroughputList read_gavel_throughputs(const std::vector<std::string>& paths) {
  Collected all;
  for (const std::string& path : paths) {
    const sim::JsonDocument document = sim::read_json_file(path);
    for (const sim::JsonMember device : document.root().members()) {
      if (device.key.text().ends_with("_unconsolidated"))
        all.leave_out("devices whose workers are spread over nodes");
      else
        for (const sim::JsonMember type : device.value.members()) read_gavel_type(std::string(device.key.text()), type, all);
    }
  }
  ThroughputList list = all.finish(paths.front());
  list.notes.emplace_back("devices are taken for pools; a type that names no batch has one sample a worker");
  return list;
}

/// Without its folders and its ending.
std::string stem_of(std::string_view path) {
  path = path.substr(path.find_last_of('/') + 1);
  return std::string(path.substr(0, std::min(path.find('.'), path.size())));
}

/// The numbers of workers among a file's columns.
sim::CsvColumns elasticflow_columns() {
  sim::CsvColumns columns{.required = {"global_batch_size"}, .others_allowed = false};
  for (int workers = 1; workers <= 1024; workers *= 2) columns.optional.push_back(fmt::format("{}", workers));
  return columns;
}

/// ElasticFlow (Gu et al., ASPLOS 2023): a file for each type of job, with a row a global batch and a column a number of GPUs.
ThroughputList read_elasticflow_throughputs(const std::vector<std::string>& paths) {
  Collected all;
  sim::Mistakes mistakes;
  for (const std::string& path : paths) {
    const sim::CsvColumns columns = elasticflow_columns();
    sim::CsvReader reader(path, columns);
    while (sim::CsvRow* const fields = reader.next()) {
      const auto batch = static_cast<int>(fields->integer("global_batch_size", kBatchSizes));
      for (const std::string& column : columns.optional) {
        const int workers = *whole_number(column);
        if (!reader.has_column(column)) continue;
        if (!fields->has(column) || fields->text(column) == "nan") {
          all.leave_out("settings that were not measured");
          continue;
        }
        const double steps_per_s = fields->number(column, kThroughputs);
        if (fields->mistakes().empty() && batch % workers != 0)
          all.leave_out("batches that the workers cannot share evenly");
        else if (fields->mistakes().empty())
          all.add({.job_type = stem_of(path),
                   .pool = {},
                   .workers = workers,
                   .batch = batch,
                   .steps_per_s = steps_per_s,
                   .partner = {}});
      }
      for (const sim::Mistake& mistake : fields->mistakes()) mistakes.add(mistake);
    }
  }
  mistakes.throw_if_any();
  return all.finish(paths.front());
}

constexpr ThroughputFormat kFormats[] = {
    {"native", "our own CSV: job_type,pool,workers,batch,steps_per_s,partner", {}, read_ours},
    {"gavel", "Gavel's JSON of mini-batches a second by device and type of job",
     "get scheduler/simulation_throughputs.json of the GitHub repository stanford-futuredata/gavel", read_gavel_throughputs},
    {"elasticflow", "ElasticFlow's CSV files, one for each model",
     "get ElasticFlow/scheduler/throughputs_A100 of the GitHub repository pkusys/ElasticFlow", read_elasticflow_throughputs},
};

}  // namespace

std::span<const ThroughputFormat> throughput_formats() { return kFormats; }

}  // namespace rehearse::traces
