#include "report/job_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "report/run_recorder.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

constexpr double kSame = 1e-6;  ///< recorded results are rounded to seven digits

using JobKey = std::pair<int, std::string>;  ///< repetition, job

struct JobRow {
  std::string state, pool;
  double submit_s = 0, end_s = 0, workers = 0, batch_size = 0;
  double cost_usd = 0, effective_cost_usd = 0, energy_j = 0;
  bool breaks_limit = false;
};

struct DecisionRow {
  JobKey job;
  double time_s = 0;
  std::string decision, pool;
  double rank = 0, workers = 0, batch_size = 0, predicted_cost_usd = 0;
};

struct MetricPart {
  std::string_view metric, unit;
  double (*of)(const JobRow&);
};

constexpr MetricPart kParts[] = {
    {"effective_cost_usd", "$", [](const JobRow& job) { return job.effective_cost_usd; }},
    {"cost_usd", "$", [](const JobRow& job) { return job.cost_usd; }},
    {"jct_mean_s", "s", [](const JobRow& job) { return job.end_s - job.submit_s; }},
    {"energy_kwh", "J", [](const JobRow& job) { return job.energy_j; }},
    {"limits_broken", "broken limits", [](const JobRow& job) { return job.breaks_limit ? 1.0 : 0.0; }},
};

const MetricPart& part_of(std::string_view metric) {
  const auto at = std::find_if(std::begin(kParts), std::end(kParts), [&](const MetricPart& p) { return p.metric == metric; });
  return at == std::end(kParts) ? kParts[0] : *at;
}

bool same(double a, double b) { return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)); }

bool same(const JobRow& a, const JobRow& b) {
  return a.state == b.state && a.pool == b.pool && a.workers == b.workers && a.batch_size == b.batch_size &&
         same(a.end_s, b.end_s) && same(a.cost_usd, b.cost_usd) && same(a.effective_cost_usd, b.effective_cost_usd) &&
         same(a.energy_j, b.energy_j);
}

bool same(const DecisionRow& a, const DecisionRow& b) {
  return a.job == b.job && a.decision == b.decision && a.rank == b.rank && a.pool == b.pool && a.workers == b.workers &&
         a.batch_size == b.batch_size && same(a.time_s, b.time_s);
}

/// The rows of one policy.
template <class Take>
void for_rows(const std::string& path, std::string_view policy, sim::CsvColumns columns, Take&& take) {
  for (const char* column : {"policy", "repetition", "job"}) columns.required.emplace_back(column);
  sim::CsvReader file(path, columns);
  while (sim::CsvRow* row = file.next()) {
    if (row->text("policy") == policy)
      take(JobKey(static_cast<int>(row->integer("repetition", sim::between(0, 1e6))), row->text("job")), *row);
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
  }
}

using Jobs = std::map<JobKey, JobRow>;

Jobs read_jobs(const std::string& folder, std::string_view policy) {
  Jobs jobs;
  for_rows(
      folder + "/jobs.csv", policy,
      {.required = {"state", "pool", "submit_s", "end_s", "workers", "batch_size", "cost_usd", "effective_cost_usd", "energy_j"},
       .optional = {"deadline_met", "accuracy_met", "cost_limit_met"}},
      [&](const JobKey& key, sim::CsvRow& row) {
        JobRow& job = jobs[key];
        job.state = row.text("state");
        job.pool = row.text("pool");
        const std::pair<const char*, double JobRow::*> numbers[] = {{"workers", &JobRow::workers},
                                                                    {"batch_size", &JobRow::batch_size},
                                                                    {"cost_usd", &JobRow::cost_usd},
                                                                    {"effective_cost_usd", &JobRow::effective_cost_usd},
                                                                    {"energy_j", &JobRow::energy_j}};
        for (const auto& [column, member] : numbers) job.*member = row.number(column, {}, 0.0);
        job.submit_s = row.date("submit_s", 0.0);
        job.end_s = row.date("end_s", 0.0);
        job.breaks_limit = job.state == "failed";
        for (const char* column : {"deadline_met", "accuracy_met", "cost_limit_met"})
          job.breaks_limit = job.breaks_limit || row.text(column) == "false";
      });
  return jobs;
}

/// Where a file is in one of the two folders only, or in none.
bool has_both(const std::string& recorded_folder, const std::string& now_folder, const std::string& file,
              std::vector<std::string>& notes) {
  for (const std::string& folder : {recorded_folder, now_folder}) {
    if (std::filesystem::exists(folder + "/" + file)) continue;
    notes.push_back(fmt::format("which {} changed is not known: {} has no {} ({})", file == "jobs.csv" ? "jobs" : "decisions",
                                folder, file, how_to_write(file)));
    return false;
  }
  return true;
}

std::vector<DecisionRow> read_decisions(const std::string& folder, std::string_view policy) {
  std::vector<DecisionRow> decisions;
  for_rows(folder + "/decisions.csv", policy,
           {.required = {"time_s", "decision", "rank", "pool", "workers", "batch_size", "predicted_cost_usd"}, .optional = {}},
           [&](const JobKey& key, sim::CsvRow& row) {
             DecisionRow d{.job = key,
                           .time_s = row.date("time_s"),
                           .decision = std::string(row.text("decision")),
                           .pool = std::string(row.text("pool")),
                           .rank = row.number("rank", {}, 0.0),
                           .workers = row.number("workers", {}, 0.0),
                           .batch_size = row.number("batch_size", {}, 0.0),
                           .predicted_cost_usd = row.number("predicted_cost_usd", {}, 0.0)};
             if (d.decision == "start" || d.rank == 0) decisions.push_back(std::move(d));
           });
  return decisions;
}

std::string resources(const std::string& pool, double workers, double batch_size) {
  return fmt::format("{} x {}{}", workers, pool, batch_size > 0 ? fmt::format(", batch {}", batch_size) : "");
}

std::string told(const JobRow& job) {
  return fmt::format("{}; {}{} {:.6g} s after submission", resources(job.pool, job.workers, job.batch_size), job.state,
                     job.breaks_limit && job.state != "failed" ? " with a broken limit" : "", job.end_s - job.submit_s);
}

std::string told(const DecisionRow& d) {
  return fmt::format("at {:.7g} s {} {}{}", d.time_s, d.decision, resources(d.pool, d.workers, d.batch_size),
                     d.predicted_cost_usd > 0 ? fmt::format(", predicted ${:.4g}", d.predicted_cost_usd) : "");
}

/// The first decision that is another, among those that `counts` lets through.
template <class Counts>
std::optional<DecisionChange> first_change(const std::vector<DecisionRow>& recorded, const std::vector<DecisionRow>& now,
                                           Counts&& counts) {
  const auto next = [&](const std::vector<DecisionRow>& rows, std::size_t from) {
    while (from < rows.size() && !counts(rows[from])) ++from;
    return from;
  };
  for (std::size_t a = next(recorded, 0), b = next(now, 0); a < recorded.size() || b < now.size();
       a = next(recorded, a + 1), b = next(now, b + 1)) {
    const DecisionRow* old = a < recorded.size() ? &recorded[a] : nullptr;
    const DecisionRow* young = b < now.size() ? &now[b] : nullptr;
    if (old != nullptr && young != nullptr && same(*old, *young)) continue;
    const JobKey& job = young != nullptr ? young->job : old->job;
    const auto line = [&](const DecisionRow* d) {
      if (d == nullptr) return std::string();
      return d->job == job ? told(*d) : fmt::format("{} {}", d->job.second, told(*d));
    };
    return DecisionChange{.repetition = job.first, .job = job.second, .recorded = line(old), .now = line(young)};
  }
  return {};
}

}  // namespace

JobChanges changes_of(const std::string& recorded_folder, const std::string& now_folder, std::string_view policy,
                      std::string_view metric, std::size_t count) {
  const MetricPart& part = part_of(metric);
  JobChanges changes{.unit = part.unit};
  if (!has_both(recorded_folder, now_folder, "jobs.csv", changes.notes)) return changes;
  const Jobs recorded = read_jobs(recorded_folder, policy), now = read_jobs(now_folder, policy);
  std::set<int> jobs_now;
  for (const auto& [key, job] : now) jobs_now.insert(key.first);
  for (const auto& [key, old] : recorded) {
    if (!jobs_now.contains(key.first)) continue;  // that repetition's jobs were not written
    ++changes.jobs;
    const auto at = now.find(key);
    if (at == now.end() || same(old, at->second)) continue;
    ++changes.changed;
    changes.worst.push_back({.repetition = key.first,
                             .job = key.second,
                             .recorded = part.of(old),
                             .now = part.of(at->second),
                             .recorded_run = told(old),
                             .now_run = told(at->second)});
  }
  std::erase_if(changes.worst, [](const JobChange& job) { return !(job.now > job.recorded); });
  std::stable_sort(changes.worst.begin(), changes.worst.end(),
                   [](const JobChange& a, const JobChange& b) { return a.now - a.recorded > b.now - b.recorded; });
  if (changes.worst.size() > count) changes.worst.resize(count);
  if (changes.worst.empty() || !has_both(recorded_folder, now_folder, "decisions.csv", changes.notes)) return changes;
  const std::vector<DecisionRow> old = read_decisions(recorded_folder, policy), young = read_decisions(now_folder, policy);
  const auto is_in = [](const std::vector<DecisionRow>& rows, int repetition) {
    return std::any_of(rows.begin(), rows.end(), [&](const DecisionRow& d) { return d.job.first == repetition; });
  };
  const auto is_known = [&](int repetition) { return is_in(old, repetition) && is_in(young, repetition); };
  for (JobChange& job : changes.worst)
    if (is_known(job.repetition))
      job.decision = first_change(old, young, [&](const DecisionRow& d) { return d.job == JobKey(job.repetition, job.job); });
  const int repetition = changes.worst.front().repetition;
  if (!is_known(repetition)) {
    changes.notes.push_back(
        fmt::format("which decisions of repetition {} changed is not known: decisions.csv of one of the two has "
                    "none of it ({})",
                    repetition, how_to_write("decisions.csv")));
    return changes;
  }
  changes.first = first_change(old, young, [&](const DecisionRow& d) { return d.job.first == repetition; });
  return changes;
}

}  // namespace rehearse::report
