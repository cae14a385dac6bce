#include "policies/queue/job_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/money/costs.hpp"

namespace rehearse::policies {

std::vector<int> pool_sizes(const sim::Cluster& cluster) {
  std::vector<int> sizes;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p)
    sizes.push_back(cluster.pools[p].nodes * sim::workers_per_node(cluster, static_cast<sim::PoolId>(p)));
  return sizes;
}

std::vector<int> entries_to_start(const sim::Cluster& cluster, const sim::QueueJob& job) {
  std::vector<int> entries{job.first_fitting_entry};
  if (job.job.pools.size() < 2 || job.job.work != sim::Work::rigid) return entries;
  for (int entry = job.first_fitting_entry + 1; entry < static_cast<int>(job.menu.ranked.size()); ++entry)
    if (sim::could_ever_fit(cluster, configuration_of(job, entry))) entries.push_back(entry);
  return entries;
}

void JobPlan::release(sim::JobSlot slot) {
  Entry& entry = entries_[slot];
  for (const sim::Group& group : entry.groups) left_[static_cast<std::size_t>(group.pool)] += group.workers;
  entry.groups.clear();
  entry.planned = -1;
}

void JobPlan::set(const sim::QueueView& view, sim::JobSlot slot, int planned) {
  const sim::QueueJob& job = view.jobs[slot];
  release(slot);
  Entry& entry = entries_[slot];
  entry.planned = planned;
  if (planned >= 0) entry.groups = configuration_of(job, planned).groups;
  for (const sim::Group& group : entry.groups) {
    left_[static_cast<std::size_t>(group.pool)] -= group.workers;
    by_node_ = by_node_ || group.nodes > 0;
  }
  (planned >= 0 ? unplanned_ : planned_).remove(slot);
  (planned >= 0 ? planned_ : unplanned_).put(slot, 0, job.number);
  open_.put(slot, 0, job.number);
}

bool JobPlan::fits(sim::JobSlot slot, const sim::Configuration& configuration) const {
  return std::all_of(configuration.groups.begin(), configuration.groups.end(), [&](const sim::Group& group) {
    int room = left_[static_cast<std::size_t>(group.pool)];
    for (const sim::Group& own : entries_[slot].groups)
      if (own.pool == group.pool) room += own.workers;
    return configuration.workers_of(group.pool) <= room;
  });
}

/// Has the job's menu, which may be another one now, what is planned for it?
bool JobPlan::is_of_menu(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::QueueJob& job = view.jobs[slot];
  const Entry& entry = entries_[slot];
  return entry.planned >= 0 && static_cast<std::size_t>(entry.planned) < job.menu.ranked.size() &&
         configuration_of(job, entry.planned).groups == entry.groups;
}

/// At the end of a stage `configure` may have given the job another menu and other devices: the plan is then what it does.
void JobPlan::follow(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  const Entry& entry = entries_[slot];
  if (job.service.state != sim::JobState::starting && job.service.state != sim::JobState::running) return;
  if (entry.planned >= 0 ? !is_of_menu(view, slot) : job.service.entry >= 0 && !open_.contains(slot))
    set(view, slot, job.service.entry);
}

void JobPlan::update(const sim::QueueView& view) {
  if (left_.empty()) left_ = pool_sizes(*view.cluster);
  for (const sim::JobSlot slot : view.queued) {
    if (entries_.size() <= slot) entries_.resize(slot + 1);
    // Of what it had before it lost its devices, another menu may say something else.
    if (planned_.contains(slot) && !is_of_menu(view, slot)) set(view, slot, -1);
    (planned_.contains(slot) ? open_ : unplanned_).put(slot, 0, view.jobs[slot].number);
  }
  for (const auto slots : {view.started, view.changed})
    for (const sim::JobSlot slot : slots) follow(view, slot);
  for (const sim::JobSlot slot : view.ended) {
    if (slot >= entries_.size()) continue;
    release(slot);
    planned_.remove(slot);
    unplanned_.remove(slot);
    open_.remove(slot);
  }
}

/// One step of a job towards its plan. True when it is there.
bool JobPlan::settle(const sim::QueueView& view, sim::JobSlot slot, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  const Entry& entry = entries_[slot];
  switch (job.service.state) {
    case sim::JobState::queued: {
      if (entry.planned < 0) return true;
      if (!free_.take(configuration_of(job, entry.planned), sim::Placement::consolidated)) return false;
      answer.starts.push_back({.job = slot, .entry = entry.planned});
      return true;
    }
    case sim::JobState::starting:
      return job.service.entry == entry.planned;
    case sim::JobState::running:
      if (job.service.entry == entry.planned) return true;
      if (entry.planned < 0)
        answer.preempts.push_back(slot);
      else
        answer.resizes.push_back({.job = slot, .entry = entry.planned});
      return false;
    default:
      return false;
  }
}

void JobPlan::act(const sim::QueueView& view, sim::QueueAnswer& answer) {
  free_.reset_whole(view, by_node_ && !open_.empty());
  std::vector<sim::JobSlot> there;
  for (const OrderedQueue::Item& item : open_)
    if (settle(view, item.slot, answer)) there.push_back(item.slot);
  for (const sim::JobSlot slot : there) open_.remove(slot);
}

bool is_usable(const sim::Cluster& cluster, const sim::QueueJob& job, int entry) {
  const sim::Choice& choice = job.menu.ranked[static_cast<std::size_t>(entry)];
  return choice.configuration.groups.size() == 1 && (choice.predicted.feasible || !job.menu.feasible) &&
         sim::could_ever_fit(cluster, choice.configuration);
}

double expected_remaining_s(const sim::QueueJob& job, int entry, const sim::WorkLeft& left) {
  constexpr double kUnknown_s = 86400, kLeast_s = 1;
  const double predicted_s = job.predicted_remaining_s(entry, left);
  return std::isfinite(predicted_s) ? std::max(predicted_s, kLeast_s) : kUnknown_s;
}

}  // namespace rehearse::policies
