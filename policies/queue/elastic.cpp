#include "policies/queue/elastic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

namespace {

/// A change of a job's choice.
struct Change {
  double gain;  // a unit of the cluster
  std::size_t job;
  int to;
  /// The largest gain is the top; ties go to the first job, then to its first choice.
  bool operator<(const Change& other) const {
    return gain != other.gain ? gain < other.gain : job != other.job ? job > other.job : to > other.to;
  }
};

class Allocation {
 public:
  Allocation(const std::vector<int>& capacity, ElasticGain gain, double power)
      : capacity_(capacity), left_(capacity), gain_(gain), power_(power), closed_(capacity.size()) {}

  /// One that keeps what it has whatever the others get.
  void keep(int pool, int devices) {
    int& left = left_[static_cast<std::size_t>(pool)];
    if (devices > left) return;  // as of those that are added: a job may have taken other devices at a stage's end
    left -= devices;
    ++kept_;
  }

  /// Gives the job its smallest choice. Jobs that run come first. It must outlive the allocation.
  void add(const ElasticJob& job) {
    const std::size_t j = jobs_.size();
    jobs_.push_back({.told = &job});
    int smallest = -1;
    for (int c = 0; c < static_cast<int>(job.choices.size()); ++c) {
      const ElasticChoice& choice = of(j, c);
      if (choice.devices > left_[pool(choice)]) continue;
      // Who runs stays in his pool: all who run find room.
      if (job.current >= 0 ? choice.pool != of(j, job.current).pool : closed_[pool(choice)] != 0) continue;
      if (smallest < 0 || size(choice) < size(of(j, smallest)) ||
          (size(choice) == size(of(j, smallest)) && choice.remaining_s < of(j, smallest).remaining_s))
        smallest = c;
    }
    if (smallest >= 0)
      choose(j, smallest);
    else if (job.current < 0)
      for (const ElasticChoice& choice : job.choices) closed_[pool(choice)] = 1;
  }

  /// Nobody who waits finds room any more.
  bool is_closed() const { return std::find(closed_.begin(), closed_.end(), 0) == closed_.end(); }

  /// Of a job's changes only the best stands in the heap of all; the next one takes its place when it does not fit. Where none of
  /// those that are left fits, none will: only a change lets go of devices. That is looked for after as many in a row that did
  /// not fit as there are jobs.
  void grow() {
    running_ = kept_ + std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.chosen >= 0; });
    for (std::size_t j = 0; j < jobs_.size(); ++j) offer(j);
    std::size_t refused = 0;
    while (!changes_.empty()) {
      const Change change = changes_.top();
      changes_.pop();
      jobs_[change.job].offered = -1;
      if (fits(change.job, change.to)) {
        choose(change.job, change.to);
        offer(change.job);
        refused = 0;
      } else {
        offer_next(change.job);
        if (++refused % jobs_.size() == 0 && !any_fits()) return;
      }
    }
  }

  /// Switching costs time: who gains little keeps what he has.
  void stay(double switch_s) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const int current = jobs_[j].told->current, chosen = jobs_[j].chosen;
      if (current < 0 || chosen < 0 || current == chosen || !fits(j, current)) continue;
      if (of(j, current).remaining_s - of(j, chosen).remaining_s <= switch_s) choose(j, current);
    }
  }

  int chosen(std::size_t job) const { return jobs_[job].chosen; }

 private:
  struct Job {
    const ElasticJob* told = nullptr;
    int chosen = -1;
    double worth = 0;                 // of a second saved; 0: not reckoned yet
    int offered = -1;                 // the choice that stands in the heap of all; -1: none
    std::vector<Change> offers = {};  // behind it, in no order: they are few
  };
  static std::size_t pool(const ElasticChoice& choice) { return static_cast<std::size_t>(choice.pool); }
  const ElasticChoice& of(std::size_t job, int choice) const {
    return jobs_[job].told->choices[static_cast<std::size_t>(choice)];
  }
  /// The part of its pool that it takes: what makes devices of scarce pools dearer.
  double size(const ElasticChoice& choice) const { return static_cast<double>(choice.devices) / capacity_[pool(choice)]; }

  bool fits(std::size_t job, int to) const {
    const ElasticChoice& next = of(job, to);
    int room = left_[pool(next)];
    const int chosen = jobs_[job].chosen;
    if (chosen >= 0 && of(job, chosen).pool == next.pool) room += of(job, chosen).devices;
    return next.devices <= room;
  }

  void choose(std::size_t job, int to) {
    int& chosen = jobs_[job].chosen;
    if (chosen >= 0) left_[pool(of(job, chosen))] += of(job, chosen).devices;
    chosen = to;
    left_[pool(of(job, to))] -= of(job, to).devices;
  }

  /// Remaining seconds with an equal part of a pool: the largest choice that is not more, else the smallest one.
  double fair_s(const ElasticJob& job) const {
    const double part = 1 / static_cast<double>(running_);
    const ElasticChoice* fair = nullptr;
    for (const ElasticChoice& choice : job.choices) {
      const bool within = size(choice) <= part, best_within = fair != nullptr && size(*fair) <= part;
      const bool larger = fair == nullptr || size(choice) > size(*fair);
      if (fair == nullptr || (within && (!best_within || larger)) || (!within && !best_within && !larger)) fair = &choice;
    }
    return fair->remaining_s;
  }

  double value(const Job& job, const ElasticChoice& now, const ElasticChoice& next) const {
    if (power_ == 1) return (now.remaining_s - next.remaining_s) * job.worth;
    return std::pow(now.remaining_s * job.worth, power_) - std::pow(next.remaining_s * job.worth, power_);
  }

  void offer(std::size_t j) {
    Job& job = jobs_[j];
    job.offers.clear();
    if (job.chosen < 0) return;
    const ElasticChoice& now = of(j, job.chosen);
    if (job.worth == 0) job.worth = gain_ == ElasticGain::speedup ? 1 / fair_s(*job.told) : 1;
    const double now_size = size(now);
    for (int c = 0; c < static_cast<int>(job.told->choices.size()); ++c) {
      const ElasticChoice& next = of(j, c);
      const double saved_s = now.remaining_s - next.remaining_s;
      constexpr double kNoMore = 1e-9;  // a change that takes nothing more comes before all that do
      if (saved_s > 0) job.offers.push_back({value(job, now, next) / std::max(kNoMore, size(next) - now_size), j, c});
    }
    offer_next(j);
  }

  void offer_next(std::size_t j) {
    std::vector<Change>& offers = jobs_[j].offers;
    if (offers.empty()) return;
    const auto best = std::max_element(offers.begin(), offers.end());
    jobs_[j].offered = best->to;
    changes_.push(*best);
    *best = offers.back();
    offers.pop_back();
  }

  bool any_fits() const {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = jobs_[j];
      if (job.offered >= 0 && fits(j, job.offered)) return true;
      if (std::ranges::any_of(job.offers, [&](const Change& change) { return fits(j, change.to); })) return true;
    }
    return false;
  }

  const std::vector<int>& capacity_;
  std::vector<int> left_;
  ElasticGain gain_;
  double power_;
  std::vector<char> closed_;  // by pool: to those who wait
  std::vector<Job> jobs_;
  std::ptrdiff_t kept_ = 0, running_ = 0;
  std::priority_queue<Change> changes_;
};

}  // namespace

std::vector<int> elastic_allocation(const std::vector<ElasticJob>& jobs, const std::vector<int>& capacity, ElasticGain gain,
                                    double switch_s, double power) {
  Allocation allocation(capacity, gain, power);
  for (const ElasticJob& job : jobs) allocation.add(job);
  allocation.grow();
  allocation.stay(switch_s);
  std::vector<int> chosen;
  for (std::size_t j = 0; j < jobs.size(); ++j) chosen.push_back(allocation.chosen(j));
  return chosen;
}

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

void Elastic::tell(const sim::QueueView& view, sim::JobSlot slot, ElasticJob& job) const {
  job.choices = menus_[slot];
  job.current = -1;
  const sim::WorkLeft left = view.jobs[slot].left_at(view.now_s);
  for (std::size_t c = 0; c < job.choices.size(); ++c) {
    job.choices[c].remaining_s = expected_remaining_s(view.jobs[slot], job.choices[c].entry, left);
    if (job.choices[c].entry == plan_.of(slot)) job.current = static_cast<int>(c);
  }
}

void Elastic::round(const sim::QueueView& view) {
  std::vector<sim::JobSlot> bids;
  std::vector<int> capacity = capacity_;
  long kept = 0;
  for (const OrderedQueue::Item& item : plan_.planned()) {
    const std::vector<ElasticChoice>& menu = menus_[item.slot];
    const int planned = plan_.of(item.slot);
    const auto runs = [planned](const ElasticChoice& choice) { return choice.entry == planned; };
    if (std::none_of(menu.begin(), menu.end(), runs)) {  // it runs what no round would give it
      for (const sim::Group& group : configuration_of(view.jobs[item.slot], planned).groups)
        capacity[static_cast<std::size_t>(group.pool)] -= group.workers;
    } else if (menu.size() > 1) {
      bids.push_back(item.slot);
    } else {
      ++kept;
    }
  }
  if (bids.empty() && plan_.unplanned().empty()) return;  // nobody could change
  Allocation allocation(capacity, parameters_.gain, parameters_.power);
  for (const OrderedQueue::Item& item : plan_.planned())
    if (const std::vector<ElasticChoice>& menu = menus_[item.slot]; menu.size() == 1 && menu[0].entry == plan_.of(item.slot))
      allocation.keep(menu[0].pool, menu[0].devices);
  const std::size_t running = bids.size();
  const auto bid = [&](std::size_t j) {
    if (told_.size() <= j) told_.emplace_back();
    tell(view, bids[j], told_[j]);
    allocation.add(told_[j]);
  };
  for (std::size_t j = 0; j < running; ++j) bid(j);
  // Each takes a device at least: more cannot join.
  const long joining = std::accumulate(capacity.begin(), capacity.end(), 0L) - static_cast<long>(running) - kept;
  long joined = 0;
  for (const OrderedQueue::Item& item : plan_.unplanned()) {
    if (joined++ >= joining || allocation.is_closed()) break;
    bids.push_back(item.slot);
    bid(bids.size() - 1);
  }
  allocation.grow();
  allocation.stay(parameters_.switch_s);
  for (std::size_t j = 0; j < bids.size(); ++j)
    if (const int chosen = allocation.chosen(j); chosen >= 0 && chosen != told_[j].current)
      plan_.set(view, bids[j], told_[j].choices[static_cast<std::size_t>(chosen)].entry);
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
