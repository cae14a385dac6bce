#include "policies/queue/elastic.hpp"

#include <algorithm>
#include <numeric>

#include "policies/queue/usable_entries.hpp"

namespace rehearse::policies {

/// Of each pool and number of devices the entry of the shortest predicted time; the one that the job has stays in.
void Elastic::meet(const sim::QueueView& view, sim::JobSlot slot) {
  if (menus_.size() <= slot) menus_.resize(slot + 1);
  const sim::QueueJob& job = view.jobs[slot];
  std::vector<ElasticChoice>& menu = menus_[slot];
  menu.clear();
  for (int entry = 0; entry < static_cast<int>(job.menu.ranked.size()); ++entry) {
    if (!is_usable(*view.cluster, job, entry)) continue;
    const sim::Group& group = configuration_of(job, entry).groups.front();
    const double time_s = job.menu.ranked[static_cast<std::size_t>(entry)].predicted.time_s;
    const ElasticChoice choice{.entry = entry, .pool = group.pool, .devices = group.workers, .remaining_s = time_s};
    const auto alike = std::find_if(menu.begin(), menu.end(), [&](const ElasticChoice& other) {
      return other.pool == choice.pool && other.devices == choice.devices;
    });
    if (alike == menu.end())
      menu.push_back(choice);
    else if (alike->entry != plan_.of(slot) && (choice.remaining_s < alike->remaining_s || entry == plan_.of(slot)))
      *alike = choice;
  }
}

ElasticJob Elastic::elastic(const sim::QueueView& view, sim::JobSlot slot) const {
  ElasticJob job{.choices = menus_[slot]};
  for (std::size_t c = 0; c < job.choices.size(); ++c) {
    job.choices[c].remaining_s = expected_remaining_s(view.jobs[slot], job.choices[c].entry, view.now_s);
    if (job.choices[c].entry == plan_.of(slot)) job.current = static_cast<int>(c);
  }
  return job;
}

void Elastic::round(const sim::QueueView& view) {
  std::vector<sim::JobSlot> slots;
  std::vector<ElasticJob> jobs;
  std::vector<int> capacity = capacity_;
  for (const OrderedQueue::Item& item : plan_.planned()) {
    ElasticJob job = elastic(view, item.slot);
    if (job.current < 0) {  // it runs what no round would give it
      for (const sim::Group& group : configuration_of(view.jobs[item.slot], plan_.of(item.slot)).groups)
        capacity[static_cast<std::size_t>(group.pool)] -= group.workers;
      continue;
    }
    slots.push_back(item.slot);
    jobs.push_back(std::move(job));
  }
  // Each takes a device at least: more cannot join.
  const long joining = std::accumulate(capacity.begin(), capacity.end(), 0L) - static_cast<long>(jobs.size());
  long joined = 0;
  for (const OrderedQueue::Item& item : plan_.unplanned()) {
    if (joined++ >= joining) break;
    slots.push_back(item.slot);
    jobs.push_back(elastic(view, item.slot));
  }
  const std::vector<int> chosen = elastic_allocation(jobs, capacity, parameters_.gain, parameters_.switch_s);
  for (std::size_t j = 0; j < jobs.size(); ++j)
    if (chosen[j] >= 0 && chosen[j] != jobs[j].current)
      plan_.set(view, slots[j], jobs[j].choices[static_cast<std::size_t>(chosen[j])].entry);
}

/// The smallest entry that fits into what is left of the pools that are open, -1: none.
int Elastic::smallest(const sim::QueueView& view, sim::JobSlot slot, const std::vector<char>& closed) const {
  int found = -1, devices = 0;
  const auto consider = [&](int entry) {
    const sim::Configuration& c = configuration_of(view.jobs[slot], entry);
    const bool open = std::all_of(c.groups.begin(), c.groups.end(),
                                  [&](const sim::Group& group) { return closed[static_cast<std::size_t>(group.pool)] == 0; });
    if (!open || !plan_.fits(slot, c) || (found >= 0 && c.workers() >= devices)) return;
    found = entry;
    devices = c.workers();
  };
  for (const ElasticChoice& choice : menus_[slot]) consider(choice.entry);
  if (menus_[slot].empty()) consider(view.jobs[slot].first_fitting_entry);
  return found;
}

void Elastic::fill(const sim::QueueView& view) {
  std::vector<char> closed(capacity_.size());
  for (std::size_t p = 0; p < closed.size(); ++p) closed[p] = plan_.left()[p] <= 0;
  for (auto next = plan_.unplanned().begin(); next != plan_.unplanned().end();) {
    if (std::find(closed.begin(), closed.end(), 0) == closed.end()) return;
    const sim::JobSlot slot = (next++)->slot;  // a plan takes it out of the list
    const int entry = smallest(view, slot, closed);
    if (entry >= 0) plan_.set(view, slot, entry);
    // Nobody overtakes: who finds nothing closes his pools.
    else
      for (const ElasticChoice& choice : menus_[slot]) closed[static_cast<std::size_t>(choice.pool)] = 1;
  }
}

void Elastic::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  if (capacity_.empty()) capacity_ = pool_sizes(*view.cluster);
  plan_.update(view);
  for (const auto slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots)
      if (view.jobs[slot].service.state != sim::JobState::finished && view.jobs[slot].service.state != sim::JobState::failed)
        meet(view, slot);
  if (view.now_s >= next_round_s_) {
    round(view);
    next_round_s_ = view.now_s + parameters_.round_s;
  }
  fill(view);
  plan_.act(view, answer);
  if (!plan_.empty()) answer.wake_at_s = next_round_s_;
}

}  // namespace rehearse::policies
