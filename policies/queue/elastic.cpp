#include "policies/queue/elastic.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "policies/queue/job_plan.hpp"

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

namespace {

/// A change of a job's choice; out of date when the job has made another one since.
struct Change {
  double gain;  // a unit of the cluster
  std::size_t job;
  int to;
  int version;
  /// The largest gain is the top; ties go to the first job, then to its first choice.
  bool operator<(const Change& other) const {
    return gain != other.gain ? gain < other.gain : job != other.job ? job > other.job : to > other.to;
  }
};

class Allocation {
 public:
  Allocation(const std::vector<ElasticJob>& jobs, const std::vector<int>& capacity, ElasticGain gain)
      : jobs_(jobs), capacity_(capacity), left_(capacity), gain_(gain), chosen_(jobs.size(), -1), versions_(jobs.size()) {}

  void begin() {
    std::vector<bool> closed(capacity_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      int smallest = -1;
      for (int c = 0; c < static_cast<int>(jobs_[j].choices.size()); ++c) {
        const ElasticChoice& choice = of(j, c);
        if (choice.devices > left_[pool(choice)]) continue;
        // Who runs stays in his pool: all who run find room.
        if (jobs_[j].current >= 0 ? choice.pool != of(j, jobs_[j].current).pool : closed[pool(choice)]) continue;
        if (smallest < 0 || size(choice) < size(of(j, smallest)) ||
            (size(choice) == size(of(j, smallest)) && choice.remaining_s < of(j, smallest).remaining_s))
          smallest = c;
      }
      if (smallest >= 0)
        choose(j, smallest);
      else if (jobs_[j].current < 0)
        for (const ElasticChoice& choice : jobs_[j].choices) closed[pool(choice)] = true;
    }
  }

  void grow() {
    const auto running = static_cast<double>(std::count_if(chosen_.begin(), chosen_.end(), [](int c) { return c >= 0; }));
    for (std::size_t j = 0; j < jobs_.size(); ++j) offer(j, running);
    while (!changes_.empty()) {
      const Change change = changes_.top();
      changes_.pop();
      if (change.version != versions_[change.job] || !fits(change.job, change.to)) continue;
      choose(change.job, change.to);
      offer(change.job, running);
    }
  }

  /// Switching costs time: who gains little keeps what he has.
  void stay(double switch_s) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const int current = jobs_[j].current, chosen = chosen_[j];
      if (current < 0 || chosen < 0 || current == chosen || !fits(j, current)) continue;
      if (of(j, current).remaining_s - of(j, chosen).remaining_s <= switch_s) choose(j, current);
    }
  }

  std::vector<int> chosen() && { return std::move(chosen_); }

 private:
  static std::size_t pool(const ElasticChoice& choice) { return static_cast<std::size_t>(choice.pool); }
  const ElasticChoice& of(std::size_t job, int choice) const { return jobs_[job].choices[static_cast<std::size_t>(choice)]; }
  /// The part of its pool that it takes: what makes devices of scarce pools dearer.
  double size(const ElasticChoice& choice) const { return static_cast<double>(choice.devices) / capacity_[pool(choice)]; }

  bool fits(std::size_t job, int to) const {
    const ElasticChoice& next = of(job, to);
    int room = left_[pool(next)];
    if (chosen_[job] >= 0 && of(job, chosen_[job]).pool == next.pool) room += of(job, chosen_[job]).devices;
    return next.devices <= room;
  }

  void choose(std::size_t job, int to) {
    if (chosen_[job] >= 0) left_[pool(of(job, chosen_[job]))] += of(job, chosen_[job]).devices;
    chosen_[job] = to;
    left_[pool(of(job, to))] -= of(job, to).devices;
    ++versions_[job];
  }

  /// Remaining seconds with an equal part of a pool: the largest choice that is not more, else the smallest one.
  double fair_s(std::size_t job, double running) const {
    const ElasticChoice* fair = nullptr;
    for (const ElasticChoice& choice : jobs_[job].choices) {
      const bool within = size(choice) <= 1 / running, best_within = fair != nullptr && size(*fair) <= 1 / running;
      const bool larger = fair == nullptr || size(choice) > size(*fair);
      if (fair == nullptr || (within && (!best_within || larger)) || (!within && !best_within && !larger)) fair = &choice;
    }
    return fair->remaining_s;
  }

  void offer(std::size_t job, double running) {
    if (chosen_[job] < 0) return;
    const ElasticChoice& now = of(job, chosen_[job]);
    const double worth = gain_ == ElasticGain::speedup ? 1 / fair_s(job, running) : 1;
    for (int c = 0; c < static_cast<int>(jobs_[job].choices.size()); ++c) {
      const ElasticChoice& next = of(job, c);
      const double saved_s = now.remaining_s - next.remaining_s;
      constexpr double kNoMore = 1e-9;  // a change that takes nothing more comes before all that do
      if (saved_s > 0) changes_.push({saved_s * worth / std::max(kNoMore, size(next) - size(now)), job, c, versions_[job]});
    }
  }

  const std::vector<ElasticJob>& jobs_;
  const std::vector<int>& capacity_;
  std::vector<int> left_;
  ElasticGain gain_;
  std::vector<int> chosen_, versions_;
  std::priority_queue<Change> changes_;
};

}  // namespace

std::vector<int> elastic_allocation(const std::vector<ElasticJob>& jobs, const std::vector<int>& capacity, ElasticGain gain,
                                    double switch_s) {
  Allocation allocation(jobs, capacity, gain);
  allocation.begin();
  allocation.grow();
  allocation.stay(switch_s);
  return std::move(allocation).chosen();
}

}  // namespace rehearse::policies
