// The names in the `after` of jobs: each must be a job's, and nobody may wait for himself, not even through others.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

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
        refuse(j, "after of job \"" + jobs[j].name + "\": the name of another job of the list or of its traces, not \"" + name + "\"");
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

}  // namespace rehearse::scenarios
