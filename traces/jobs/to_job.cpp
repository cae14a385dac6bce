#include "traces/jobs/to_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <numeric>
#include <set>
#include <vector>

#include "sim/base/memory.hpp"
#include "sim/io/file.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/jobs/trace_stream.hpp"

namespace rehearse::traces {

namespace {

template <class Names, class NameIn>
int index_of(const std::string& name, const Names& names, NameIn name_in) {
  if (name.empty()) return -1;
  const auto at = std::find_if(names.begin(), names.end(), [&](const auto& one) { return name_in(one) == name; });
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

const std::string& itself(const std::string& name) { return name; }
const std::string& name_of_model(const KnownModel& model) { return model.name; }
const std::string& name_of_recipe(const KnownRecipe& recipe) { return recipe.name; }

const workloads::MeasuredSteps* measured_type(const std::string& name, const workloads::JobTypes& types) {
  const auto found = types.find(name);
  return found == types.end() ? nullptr : found->second.get();
}

/// The first where nothing is given.
template <class Enum>
Enum chosen(const std::string& word, std::span<const std::string> words) {
  return static_cast<Enum>(std::max(index_of(word, words, itself), 0));
}

template <class Enum>
const std::string& word(std::span<const std::string> words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}

sim::Work work_of(const sim::Job& job) {
  if (job.steps > 0) return sim::Work::steps;
  return job.epochs > 0 || job.has_target() ? sim::Work::train : sim::Work::rigid;
}

/// A number that both kinds of jobs have as it stands.
struct SharedNumber {
  double TraceJob::*given;
  double sim::Job::*number;
};

std::vector<SharedNumber> find_shared_numbers() {
  std::vector<SharedNumber> numbers;
  for (const JobField& field : job_fields())
    if (field.in_job != nullptr) numbers.push_back({std::get<double TraceJob::*>(field.member), field.in_job});
  return numbers;
}

const std::vector<SharedNumber>& shared_numbers() {
  static const std::vector<SharedNumber> numbers = find_shared_numbers();
  return numbers;
}

/// One of several pools in a text: its name, or its name, a colon and its speed.
std::optional<sim::PoolSpeed> pool_of(const std::string& text, const std::vector<std::string>& pools) {
  sim::PoolSpeed found{.pool = index_of(text, pools, itself)};
  if (found.pool >= 0) return found;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  found.pool = index_of(text.substr(0, colon), pools, itself);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, found.speed);
  if (found.pool < 0 || error != std::errc{} || rest != end || !kSpeeds.contains(found.speed)) return std::nullopt;
  return found;
}

/// Empty when one of them is none, or is named twice.
std::vector<sim::PoolSpeed> several_pools(const std::string& text, const std::vector<std::string>& pools) {
  std::vector<sim::PoolSpeed> found;
  for (const std::string& one : split_names(text)) {
    const std::optional<sim::PoolSpeed> pool = pool_of(one, pools);
    const auto is_same = [&](const sim::PoolSpeed& other) { return pool && other.pool == pool->pool; };
    if (!pool || std::any_of(found.begin(), found.end(), is_same)) return {};
    found.push_back(*pool);
  }
  return found;
}

}  // namespace

LookedUp look_up(const TraceJob& job, const TraceOptions& scenario) {
  return {.model = index_of(job.model, scenario.models, name_of_model),
          .dataset = index_of(job.dataset, scenario.datasets, itself),
          .pool = index_of(job.pool, scenario.pools, itself),
          .recipe = index_of(job.recipe, scenario.recipes, name_of_recipe),
          .pools = job.pool.find_first_of(";:") == std::string::npos || index_of(job.pool, scenario.pools, itself) >= 0
                       ? std::vector<sim::PoolSpeed>()
                       : several_pools(job.pool, scenario.pools),
          .job_type = measured_type(job.job_type, scenario.job_types)};
}

std::vector<int> named_pools(const LookedUp& found) {
  std::vector<int> pools;
  for (const sim::PoolSpeed& one : found.pools) pools.push_back(one.pool);
  if (found.pool >= 0) pools.push_back(found.pool);
  return pools;
}

std::optional<JobMistake> nodes_mistake(const TraceJob& job) {
  if (!is_given(job.nodes)) return std::nullopt;
  if (!is_given(job.duration_s)) return JobMistake{.column = "nodes", .expected = "nothing without duration_s"};
  const double gpus = is_given(job.gpus) ? job.gpus : 1;
  if (std::fmod(gpus, job.nodes) == 0) return std::nullopt;
  return JobMistake{.column = "nodes", .expected = "a number that divides its gpus"};
}

std::optional<JobMistake> pool_mistake(const TraceJob& job, const LookedUp& found) {
  const auto has_speed = [](const sim::PoolSpeed& one) { return one.speed != 1; };
  if (is_given(job.duration_s) || std::none_of(found.pools.begin(), found.pools.end(), has_speed)) return std::nullopt;
  return JobMistake{.column = "pool", .expected = "pools without a speed: only a job with duration_s has one on each"};
}

std::vector<const JobField*> not_found(const TraceJob& job, const LookedUp& found) {
  std::vector<const JobField*> fields;
  if (!job.model.empty() && found.model < 0) fields.push_back(find_job_field("model"));
  if (!job.job_type.empty() && found.job_type == nullptr) fields.push_back(find_job_field("job_type"));
  if (!job.dataset.empty() && found.dataset < 0) fields.push_back(find_job_field("dataset"));
  if (!job.pool.empty() && found.pool < 0 && found.pools.empty()) fields.push_back(find_job_field("pool"));
  if (!job.recipe.empty() && found.recipe < 0) fields.push_back(find_job_field("recipe"));
  return fields;
}

std::optional<NotMeasured> not_measured(const TraceJob& job, const LookedUp& found) {
  if (found.job_type == nullptr) return std::nullopt;
  const std::string where = job.pool.empty() ? "in a pool of the cluster" : "in its pool";
  std::vector<workloads::MeasuredSteps::Setting> settings = found.job_type->settings(job.batch_size, found.pool);
  if (!found.pools.empty())
    std::erase_if(settings, [&](const workloads::MeasuredSteps::Setting& setting) {
      return std::none_of(found.pools.begin(), found.pools.end(), [&](const auto& one) { return one.pool == setting.pool; });
    });
  if (settings.empty()) {
    const std::vector<int> batches = found.job_type->batches(found.pool);
    return NotMeasured{.column = "batch_size",
                       .value = job.batch_size,
                       .expected = batches.empty() ? fmt::format("a job_type of which something was measured {}", where)
                                                   : fmt::format("a batch that was measured of this job_type {}: {}", where,
                                                                 fmt::join(batches, ", "))};
  }
  std::set<int> workers;
  for (const auto& setting : settings) workers.insert(setting.workers);
  if (!is_given(job.gpus) || workers.contains(static_cast<int>(job.gpus))) return std::nullopt;
  return NotMeasured{
      .column = "gpus",
      .value = job.gpus,
      .expected = fmt::format("a number that was measured of this job_type and batch {}: {}", where, fmt::join(workers, ", "))};
}

std::vector<std::string> known_names(NameOf kind, const TraceOptions& scenario) {
  if (kind == NameOf::dataset) return scenario.datasets;
  if (kind == NameOf::pool) return scenario.pools;
  std::vector<std::string> names;
  if (kind == NameOf::job_type)
    for (const auto& [name, type] : scenario.job_types) names.push_back(name);
  if (kind == NameOf::model)
    for (const KnownModel& model : scenario.models) names.push_back(model.name);
  if (kind == NameOf::recipe)
    for (const KnownRecipe& recipe : scenario.recipes) names.push_back(recipe.name);
  return names;
}

sim::Job to_job(const TraceJob& from, const LookedUp& found, const TraceOptions& scenario, workloads::ProfileTable& profiles) {
  sim::Job job{.name = from.job_id, .user = from.user, .submit_s = from.submit_s};
  if (is_given(from.target_accuracy)) job.readings = scenario.readings;
  for (const auto& [given, number] : shared_numbers())
    if (is_given(from.*given)) job.*number = from.*given;
  if (is_given(from.measured_s)) job.duration_s = from.measured_s;
  if (is_given(from.gpus)) job.gpus = static_cast<int>(from.gpus);
  if (is_given(from.gpu_fraction) && from.gpu_fraction < 1) {
    job.gpus = std::max(job.gpus, 1);
    job.gpu_fraction = from.gpu_fraction;
  }
  job.work = work_of(job);
  job.pool = found.pool;
  job.pools = found.pools;
  if (is_given(from.nodes) && job.work == sim::Work::rigid) job.nodes = static_cast<int>(from.nodes);
  job.objective = chosen<sim::Objective>(from.objective, objective_names());
  job.stop = chosen<sim::Stop>(from.stop, stop_names());
  job.on_deadline = chosen<sim::OnDeadline>(from.on_deadline, on_deadline_names());
  job.after = from.after;
  job.after_failed = chosen<sim::AfterFailed>(from.after_failed, after_failed_names());
  if (found.job_type != nullptr) job.profile = profiles.intern(from.job_type, "");
  if (found.model < 0) return job;
  const KnownModel& model = scenario.models[static_cast<std::size_t>(found.model)];
  job.profile =
      profiles.intern(model.name, from.dataset.empty() ? model.dataset : from.dataset,
                      from.precision.empty() ? scenario.precision : chosen<sim::Precision>(from.precision, precision_names()),
                      from.lr_rule.empty() && found.recipe >= 0 ? scenario.recipes[static_cast<std::size_t>(found.recipe)].lr_rule
                                                                : chosen<sim::LrRule>(from.lr_rule, lr_rule_names()),
                      is_given(from.max_accumulation) ? static_cast<int>(from.max_accumulation) : 1, from.recipe);
  return job;
}

TraceJob to_trace_job(const sim::Job& job, const std::vector<std::string>& pools) {
  static const sim::Job nothing;
  TraceJob plain{.job_id = job.name, .user = job.user, .after = job.after, .submit_s = job.submit_s};
  for (const auto& [given, number] : shared_numbers()) {
    const bool is_default = job.*number == nothing.*number || job.*number != job.*number;
    if (!is_default) plain.*given = job.*number;
  }
  if (job.gpus > 0) plain.gpus = job.gpus;
  if (job.gpu_fraction != 1) plain.gpu_fraction = job.gpu_fraction;
  if (job.nodes > 0) plain.nodes = job.nodes;
  if (job.pool >= 0) plain.pool = pools[static_cast<std::size_t>(job.pool)];
  for (const sim::PoolSpeed& one : job.pools) {
    if (!plain.pool.empty()) plain.pool += ";";
    plain.pool += pools[static_cast<std::size_t>(one.pool)];
    if (one.speed != 1 || job.pools.size() == 1) plain.pool += fmt::format(":{}", one.speed);
  }
  plain.objective = word(objective_names(), job.objective);
  plain.stop = word(stop_names(), job.stop);
  plain.on_deadline = word(on_deadline_names(), job.on_deadline);
  plain.after_failed = word(after_failed_names(), job.after_failed);
  if (job.profile == nullptr) return plain;
  if (job.profile->dataset.empty()) {
    plain.job_type = job.profile->model;
    return plain;
  }
  plain.model = job.profile->model;
  plain.dataset = job.profile->dataset;
  plain.precision = word(precision_names(), job.profile->precision);
  plain.lr_rule = word(lr_rule_names(), job.profile->lr_rule);
  plain.recipe = job.profile->recipe;
  if (job.profile->max_accumulation > 1) plain.max_accumulation = job.profile->max_accumulation;
  return plain;
}

namespace {

/// Lines of the file as it stands: as many jobs, or a few less, of a compressed file more. To make room for them at once.
std::size_t count_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 18);
  std::size_t lines = 0;
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    lines += static_cast<std::size_t>(std::count(buffer.begin(), buffer.begin() + file.gcount(), '\n'));
  return lines;
}

}  // namespace

namespace {

/// Rigid jobs that no schedule can end as soon as the file would without waiting, though no device ever idled: said in a note.
void tell_overload(const ClusterLimits& cluster, JobList& list) {
  const double devices = std::accumulate(cluster.pool_gpus.begin(), cluster.pool_gpus.end(), 0.0);
  double work_device_s = 0, begin_s = sim::kNever, end_s = 0;
  for (const sim::Job& job : list.jobs) {
    if (job.work != sim::Work::rigid) continue;
    work_device_s += job.gpus * job.gpu_fraction * job.duration_s;
    begin_s = std::min(begin_s, job.submit_s);
    end_s = std::max(end_s, job.submit_s + job.duration_s);
  }
  const double part = work_device_s / (devices * (end_s - begin_s));
  if (devices > 0 && part > 1)
    list.report.notes.push_back(fmt::format(
        "above capacity: rigid jobs are {:.4g} times the work of the cluster's {:.0f} devices from the first submission to the "
        "last end, if nobody waited",
        part, devices));
}

}  // namespace

JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles) {
  const TraceReaderEntry& entry = trace_reader(format);
  sim::require_regular(path);
  TraceStream stream(entry, path, {.scenario = &options}, known_names(NameOf::model, options));
  JobList list;
  sim::reserve_table(list.jobs, count_lines(path));
  std::int64_t batches_set_aside = 0;
  while (const TraceJob* job = stream.next()) {
    list.jobs.push_back(to_job(*job, stream.looked_up(), options, profiles));
    if (list.jobs.back().batch_size > 0 && list.jobs.back().work != sim::Work::steps) ++batches_set_aside;
  }
  list.report = stream.report();
  if (batches_set_aside > 0)
    list.report.notes.push_back(fmt::format(
        "batch_size of {} jobs is only what their manual configuration uses: it binds beside steps alone", batches_set_aside));
  list.report.sha256 = sim::sha256_of_file(path);
  if (list.jobs.empty()) refuse_all(list.report);
  finish(list, options.keep_origin);
  tell_overload(options.cluster, list);
  return list;
}

}  // namespace rehearse::traces
