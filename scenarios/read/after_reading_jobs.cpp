// The names in the `after` of jobs: each must be a job's, and nobody may wait for himself, not even through others.
//
// Arrival blocks drawn anew for each repetition: the block bootstrap (Kuensch, Annals of Statistics 17(3), 1989) with blocks that
// do not overlap, so that what arrives within a day (its peak, its bursts) stays together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "traces/jobs/job_list.hpp"

namespace rehearse::scenarios {

namespace {

constexpr double kLongestBlock_s = 366 * 24 * sim::kSecondsPerHour;

/// Of jobs by date: the first of each block, and their number at the end.
std::vector<std::size_t> block_starts(const std::vector<sim::Job>& jobs, double block_s) {
  std::vector<std::size_t> starts;
  const double first_s = jobs.front().submit_s;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    while (jobs[j].submit_s - first_s >= static_cast<double>(starts.size()) * block_s) starts.push_back(j);
  starts.push_back(jobs.size());
  return starts;
}

report::InputReport::Reason reason_of(const traces::ImportReason& from) {
  report::InputReport::Reason reason{.reason = from.column.empty() ? from.expected : from.column + ": " + from.expected,
                                     .rows = static_cast<std::uint64_t>(from.rows),
                                     .also = static_cast<std::uint64_t>(from.also)};
  for (const traces::ImportExample& example : from.examples) {
    reason.first_lines.push_back(example.line);
    if (reason.first_lines.size() == 1 && !example.found.empty()) reason.reason += ", found " + example.found;
    if (reason.first_lines.size() == 1 && !example.nearest.empty())
      reason.reason += fmt::format(" (did you mean \"{}\"?)", example.nearest);
  }
  return reason;
}

}  // namespace

void check_dependencies(const Scenario& scenario, const std::function<void(std::size_t job, std::string expected)>& refuse) {
  const std::vector<sim::Job>& jobs = scenario.jobs;
  if (std::none_of(jobs.begin(), jobs.end(), [](const sim::Job& job) { return !job.after.empty(); })) return;
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t j = 0; j < jobs.size(); ++j) index_of.emplace(jobs[j].name, j);
  // Kahn 1962: jobs that wait for nobody are taken away, until none is left or those that are wait in a circle.
  std::vector<std::vector<std::size_t>> waiters(jobs.size());
  std::vector<std::size_t> waits_for(jobs.size(), 0), free;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (const std::string& name : jobs[j].after) {
      const auto known = index_of.find(name);
      if (known == index_of.end()) {
        refuse(j, "after of job \"" + jobs[j].name + "\": the name of another job of the list or of its traces, not \"" + name +
                      "\"");
        continue;
      }
      waiters[known->second].push_back(j);
      ++waits_for[j];
    }
    if (waits_for[j] == 0) free.push_back(j);
  }
  for (std::size_t i = 0; i < free.size(); ++i)
    for (const std::size_t waiter : waiters[free[i]])
      if (--waits_for[waiter] == 0) free.push_back(waiter);
  for (std::size_t j = 0; j < jobs.size(); ++j)
    if (waits_for[j] > 0) refuse(j, "after: jobs that do not wait for \"" + jobs[j].name + "\" in turn");
}

void mark_awaited(std::vector<sim::Job>& jobs) {
  std::unordered_set<std::string_view> awaited;
  for (const sim::Job& job : jobs)
    for (const std::string& name : job.after) awaited.insert(name);
  if (awaited.empty()) return;
  for (sim::Job& job : jobs) job.is_awaited = awaited.contains(job.name);
}

void read_resampling(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kResample{"none", "blocks"};
  Resampling& rules = scenario.resampling;
  rules.blocks = in.choice("resample", kResample, 0) == 1;
  rules.block_s = in.number("resample_block_s", sim::between(sim::kSecondsPerHour, kLongestBlock_s), rules.block_s);
  if (!rules.blocks && in.has("resample_block_s"))
    in.child("resample_block_s")->refuse("\"resample\": \"blocks\" beside it", mistakes);
  if (!rules.blocks || scenario.jobs.empty()) return;
  const auto refuse = [&](std::string expected) { in.child("resample")->refuse(std::move(expected), mistakes); };
  const auto waits = [](const sim::Job& job) { return !job.after.empty(); };
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(), waits))
    refuse("no jobs that wait for others: a block may be drawn without the one that they wait for");
  const double span_s = scenario.jobs.back().submit_s - scenario.jobs.front().submit_s;
  if (span_s < rules.block_s)
    refuse(fmt::format("jobs over more than one block: these arrive within {:.6g} s, and resample_block_s is {:.6g}", span_s,
                       rules.block_s));
}

std::vector<sim::Job> resampled(const std::vector<sim::Job>& jobs, double block_s, std::uint64_t seed, int repetition) {
  if (jobs.empty()) return {};
  const std::vector<std::size_t> starts = block_starts(jobs, block_s);
  const std::size_t blocks = starts.size() - 1;
  sim::Random random(sim::stream_key(seed, static_cast<std::uint64_t>(repetition), "resample", "blocks"));
  std::vector<sim::Job> drawn;
  for (std::size_t place = 0; place < blocks || drawn.empty(); ++place) {  // on, should all be blocks without a job
    const std::size_t block = random.below(blocks);
    const double later_s = (static_cast<double>(place) - static_cast<double>(block)) * block_s;
    for (std::size_t j = starts[block]; j < starts[block + 1]; ++j) {
      sim::Job job = jobs[j];
      job.name += fmt::format("@{}", place);
      job.submit_s = sim::on_date_grid(job.submit_s + later_s);
      drawn.push_back(std::move(job));
    }
  }
  traces::sort_by_date(drawn);
  return drawn;
}

void add_input(const traces::ImportReport& from, std::string_view as_written, Scenario& scenario) {
  report::InputReport out{.path = std::string(as_written),
                          .sha256 = from.sha256,
                          .rows = static_cast<std::uint64_t>(from.rows),
                          .jobs = static_cast<std::uint64_t>(from.jobs)};
  for (const traces::ImportReason& reason : from.dropped) out.dropped.push_back(reason_of(reason));
  for (const traces::ImportReason& reason : from.repaired) out.repaired.push_back(reason_of(reason));
  if (std::string hours = gpu_hours(from); !hours.empty()) out.notes.push_back(std::move(hours));
  out.notes.insert(out.notes.end(), from.notes.begin(), from.notes.end());
  scenario.sha256_of_file[out.path] = out.sha256;
  scenario.inputs.push_back(std::move(out));
}

}  // namespace rehearse::scenarios
