#include "traces/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/read/csv.hpp"
#include "sim/replay/least_interval.hpp"
#include "traces/job_collector.hpp"
#include "traces/job_rules.hpp"

namespace rehearse::traces {

namespace {

struct Names {
  std::vector<std::string> models;
  std::span<const std::string> datasets, pools;
};

/// A row on its way to a job.
struct Draft {
  sim::CsvRow& row;
  const Names& names;
  sim::Job job;
  std::optional<std::size_t> model, dataset, precision, lr_rule;  ///< indices into their names
};

void read_number(Draft& draft, std::string_view column, const sim::NumberRange& range, double& field) {
  if (const std::optional<double> x = draft.row.maybe_number(column, range)) field = *x;
}

void read_integer(Draft& draft, std::string_view column, const sim::NumberRange& range, double& field) {
  if (const std::optional<std::int64_t> n = draft.row.maybe_integer(column, range)) field = static_cast<double>(*n);
}

/// The index of one of `names`; nothing for an empty field. `what` is a valid one; without it, the names themselves.
std::optional<std::size_t> read_name(Draft& draft, std::string_view column, std::span<const std::string> names,
                                     std::string_view what = {}) {
  if (!draft.row.has(column)) return std::nullopt;
  const auto name = std::find(names.begin(), names.end(), draft.row.text(column));
  if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
  draft.row.refuse(column, what.empty() ? fmt::format("{}", fmt::join(names, " or ")) : std::string(what));
  return std::nullopt;
}

template <class Enum>
void read_choice(Draft& draft, std::string_view column, std::span<const std::string> names, Enum& field) {
  if (const std::optional<std::size_t> index = read_name(draft, column, names)) field = static_cast<Enum>(*index);
}

constexpr sim::NumberRange kIntervals{.low = sim::kLeastCheckpointInterval_s, .high = kLastDate_s};

struct JobColumn {
  std::string_view name;
  void (*read)(Draft&);
};

constexpr std::size_t kRequired = 2;
constexpr JobColumn kJobColumns[] = {
    {"job_id", [](Draft& d) { d.job.name = d.row.text("job_id"); }},
    {"submit_s", [](Draft& d) { d.job.submit_s = d.row.number("submit_s", kDates); }},
    {"gpus", [](Draft& d) { d.job.gpus = static_cast<int>(d.row.maybe_integer("gpus", kGpuCounts).value_or(0)); }},
    {"gpu_fraction", [](Draft& d) { take_gpu_fraction(d.job, d.row.maybe_number("gpu_fraction", kGpuFractions).value_or(1)); }},
    {"duration_s", [](Draft& d) { read_number(d, "duration_s", kDurations, d.job.duration_s); }},
    {"model", [](Draft& d) { d.model = read_name(d, "model", d.names.models, "the name of a model"); }},
    {"dataset", [](Draft& d) { d.dataset = read_name(d, "dataset", d.names.datasets, "the name of a dataset"); }},
    {"batch_size", [](Draft& d) { read_integer(d, "batch_size", kBatchSizes, d.job.batch_size); }},
    {"epochs", [](Draft& d) { read_integer(d, "epochs", kEpochCounts, d.job.epochs); }},
    {"steps", [](Draft& d) { read_integer(d, "steps", kStepCounts, d.job.steps); }},
    {"target_accuracy", [](Draft& d) { read_number(d, "target_accuracy", kAccuracies, d.job.target_accuracy); }},
    {"deadline_s", [](Draft& d) { read_number(d, "deadline_s", kDurations, d.job.deadline_s); }},
    {"cost_limit_usd", [](Draft& d) { read_number(d, "cost_limit_usd", kMoney, d.job.cost_limit_usd); }},
    {"priority", [](Draft& d) { read_number(d, "priority", {}, d.job.priority); }},
    {"walltime_s", [](Draft& d) { read_number(d, "walltime_s", kDurations, d.job.walltime_s); }},
    {"user", [](Draft& d) { d.job.user = d.row.text("user"); }},
    {"pool",
     [](Draft& d) {
       if (const auto pool = read_name(d, "pool", d.names.pools, "the name of a pool")) d.job.pool = static_cast<int>(*pool);
     }},
    {"precision", [](Draft& d) { d.precision = read_name(d, "precision", precision_names()); }},
    {"lr_rule", [](Draft& d) { d.lr_rule = read_name(d, "lr_rule", lr_rule_names()); }},
    {"objective", [](Draft& d) { read_choice(d, "objective", objective_names(), d.job.objective); }},
    {"stop", [](Draft& d) { read_choice(d, "stop", stop_names(), d.job.stop); }},
    {"on_deadline", [](Draft& d) { read_choice(d, "on_deadline", on_deadline_names(), d.job.on_deadline); }},
    {"checkpoint_interval_s", [](Draft& d) { read_number(d, "checkpoint_interval_s", kIntervals, d.job.checkpoint_interval_s); }},
    {"checkpoint_write_s", [](Draft& d) { read_number(d, "checkpoint_write_s", kWriteTimes, d.job.checkpoint_write_s); }},
    {"after", [](Draft& d) { d.job.after = split_names(d.row.text("after")); }},
    {"after_failed", [](Draft& d) { read_choice(d, "after_failed", after_failed_names(), d.job.after_failed); }},
    // Known of a job and checked, but for no decision of the replay.
    {"gpu_type", [](Draft& d) { d.row.text("gpu_type"); }},
    {"cpus", [](Draft& d) { d.row.maybe_number("cpus", kCpuCounts); }},
    {"memory_bytes", [](Draft& d) { d.row.maybe_number("memory_bytes", kMemoryBytes); }},
    {"partition", [](Draft& d) { d.row.text("partition"); }},
    {"status", [](Draft& d) { d.row.text("status"); }},
};

sim::CsvColumns columns() {
  sim::CsvColumns wanted{.others_allowed = false};
  for (const JobColumn& column : kJobColumns)
    (wanted.required.size() < kRequired ? wanted.required : wanted.optional).emplace_back(column.name);
  return wanted;
}

/// What only the fields together show.
void check_whole(Draft& draft) {
  static const sim::Profile some;  // stands in until the job is kept, so that a dropped row leaves nothing in the table
  if (!draft.row.mistakes().empty()) return;
  if (!draft.model && (draft.dataset || draft.precision || draft.lr_rule))
    draft.row.refuse("model", "the model that dataset, precision or lr_rule is for");
  if (draft.model) draft.job.profile = &some;
  draft.job.work = work_of(draft.job);
  for (const JobMistake& mistake : job_mistakes(draft.job)) draft.row.refuse(mistake.column, std::string(mistake.expected));
}

const sim::Profile* profile_of(const Draft& draft, const TraceOptions& options, workloads::ProfileTable& profiles) {
  if (!draft.model) return nullptr;
  const KnownModel& model = options.models[*draft.model];
  return profiles.intern(model.name, draft.dataset ? options.datasets[*draft.dataset] : model.dataset,
                         static_cast<sim::Precision>(draft.precision.value_or(0)),
                         static_cast<sim::LrRule>(draft.lr_rule.value_or(0)));
}

}  // namespace

JobList read_native(const std::string& path, const TraceOptions& options, workloads::ProfileTable& profiles) {
  Names names{.datasets = options.datasets, .pools = options.pools};
  for (const KnownModel& model : options.models) names.models.push_back(model.name);
  JobCollector collector(path,
                         {{"model", names.models},
                          {"dataset", options.datasets},
                          {"pool", options.pools},
                          {"precision", precision_names()},
                          {"lr_rule", lr_rule_names()},
                          {"objective", objective_names()},
                          {"stop", stop_names()},
                          {"on_deadline", on_deadline_names()},
                          {"after_failed", after_failed_names()}},
                         options.cluster);
  sim::CsvReader reader(path, columns());
  std::vector<JobColumn> present;
  for (const JobColumn& column : kJobColumns)
    if (reader.has_column(column.name)) present.push_back(column);

  const bool has_gpu_type = reader.has_column("gpu_type");
  std::int64_t batches_set_aside = 0;
  while (sim::CsvRow* row = reader.next()) {
    Draft draft{.row = *row, .names = names};
    for (const JobColumn& column : present) column.read(draft);
    check_whole(draft);
    sim::Job* const job = collector.add(*row, std::move(draft.job), {.date = "submit_s", .gpus = "gpus"});
    if (job == nullptr) continue;
    job->profile = profile_of(draft, options, profiles);
    if (has_gpu_type && !row->text("gpu_type").empty() && !options.cluster.has_gpu_type(row->text("gpu_type")))
      collector.repaired(*row, "gpu_type", kUnknownGpuType);
    if (job->batch_size > 0 && job->work != sim::Work::steps) ++batches_set_aside;
  }
  if (batches_set_aside > 0)
    collector.note(fmt::format("batch_size of {} jobs is only what their manual configuration uses: it binds beside steps alone",
                               batches_set_aside));
  return collector.finish(options.keep_origin);
}

}  // namespace rehearse::traces
