#include "policies/queue/matching.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr std::size_t kNobody = ~std::size_t{0};

/// The Hungarian method, a row at a time (Kuhn 1955; Jonker and Volgenant 1987). Of a device's places those that are taken are
/// the last ones, and of the others only the one before them is looked at: all further ones cost more.
class PlaceMatching {
 public:
  PlaceMatching(const std::vector<std::vector<double>>& seconds, const std::vector<MatchedDevice>& devices)
      : seconds_(seconds), devices_(devices), potential_(seconds.size(), 0.0), taken_(devices.size(), 0) {
    for (std::size_t device = 0; device < devices.size(); ++device) open(device);
  }

  void add(std::size_t job) {
    for (Place& place : places_) {
      place.distance = sim::kNever;
      place.reached = false;
      place.from = kNobody;
    }
    std::size_t at = kNobody, of = job;
    do {
      const std::size_t next = nearest(at, of);
      sim::check(next != kNobody && places_[next].distance < sim::kNever, "a job that is matched can run on some device");
      advance(job, places_[next].distance);
      places_[next].reached = true;
      at = next;
      of = places_[at].job;
    } while (of != kNobody);
    open(places_[at].device);
    while (at != kNobody) {
      const std::size_t from = places_[at].from;
      places_[at].job = from == kNobody ? job : places_[from].job;
      at = from;
    }
  }

  std::vector<MatchedPlace> places() const {
    std::vector<MatchedPlace> of_job(seconds_.size());
    for (const Place& place : places_)  // one place of each device is free
      if (place.job != kNobody) of_job[place.job] = {place.device, taken_[place.device] - 1 - place.from_end};
    return of_job;
  }

 private:
  struct Place {
    std::size_t device;
    int from_end;  // 1: the last
    std::size_t job = kNobody;
    double potential = 0;
    double distance = 0;         // of this search
    std::size_t from = kNobody;  // the place before it on the way
    bool reached = false;
  };

  void open(std::size_t device) { places_.push_back({.device = device, .from_end = ++taken_[device]}); }

  double cost(std::size_t job, const Place& place) const {
    const MatchedDevice& device = devices_[place.device];
    return device.free_in_s + place.from_end * seconds_[job][device.pool];
  }

  /// Of the places that were not reached; looks at those that the job of the last one could take instead.
  std::size_t nearest(std::size_t at, std::size_t of) {
    std::size_t best = kNobody;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      Place& place = places_[p];
      if (place.reached) continue;
      const double distance = cost(of, place) - potential_[of] - place.potential;
      if (distance < place.distance) {
        place.distance = distance;
        place.from = at;
      }
      if (best == kNobody || place.distance < places_[best].distance) best = p;
    }
    return best;
  }

  void advance(std::size_t job, double by) {
    potential_[job] += by;
    for (Place& place : places_) {
      if (place.reached) {
        potential_[place.job] += by;
        place.potential -= by;
      } else {
        place.distance -= by;
      }
    }
  }

  const std::vector<std::vector<double>>& seconds_;
  const std::vector<MatchedDevice>& devices_;
  std::vector<double> potential_;  // of jobs
  std::vector<int> taken_;         // by device: places, the free one included
  std::vector<Place> places_;
};

}  // namespace

std::vector<MatchedPlace> least_completion_sum(const std::vector<std::vector<double>>& seconds,
                                               const std::vector<MatchedDevice>& devices) {
  PlaceMatching matching(seconds, devices);
  for (std::size_t job = 0; job < seconds.size(); ++job) matching.add(job);
  return matching.places();
}

/// True when it did.
bool Matching::plan_if_it_fits(const sim::QueueView& view, sim::JobSlot slot, int entry) {
  if (entry < 0 || !plan_.fits(slot, configuration_of(view.jobs[slot], entry))) return false;
  plan_.set(view, slot, entry);
  return true;
}

/// By arrival. Jobs without an entry of one pool start when there is room, be it the last device of somebody before them: without
/// plans those are looked at again then.
std::vector<Matching::Waiting> Matching::first_waiting(const sim::QueueView& view) {
  const std::vector<int>& left = plan_.left();
  std::size_t free = 0;
  for (const int devices : left) free += static_cast<std::size_t>(std::max(0, devices));
  const auto share = static_cast<std::size_t>(parameters_.share * static_cast<double>(plan_.unplanned().size()));
  const std::size_t most = std::max(free, std::min(share, static_cast<std::size_t>(parameters_.most)));
  std::vector<Waiting> first;
  bool is_less_free = false;
  for (auto next = plan_.unplanned().begin(); next != plan_.unplanned().end() && first.size() < most;) {
    const sim::JobSlot slot = (next++)->slot;  // a plan takes it out of the list
    const sim::QueueJob& job = view.jobs[slot];
    Waiting waiting{.slot = slot, .entries = std::vector<int>(left.size(), -1)};
    bool stands_somewhere = false, can_be_matched = parameters_.plans;
    for (int entry = static_cast<int>(job.menu.ranked.size()); entry-- > 0;) {
      if (!is_usable(*view.cluster, job, entry)) continue;
      const auto pool = static_cast<std::size_t>(configuration_of(job, entry).groups.front().pool);
      waiting.entries[pool] = entry;
      stands_somewhere = true;
      can_be_matched = can_be_matched || left[pool] > 0;
    }
    if (!stands_somewhere)
      is_less_free = plan_if_it_fits(view, slot, job.first_fitting_entry) || is_less_free;
    else if (can_be_matched)
      first.push_back(std::move(waiting));
  }
  return is_less_free && !parameters_.plans ? first_waiting(view) : first;
}

/// Those that come free first: of each pool as many as there are jobs are enough.
std::vector<MatchedDevice> Matching::devices(const sim::QueueView& view, std::size_t jobs) const {
  std::vector<std::vector<double>> free_in_s(plan_.left().size());
  for (std::size_t pool = 0; pool < free_in_s.size(); ++pool)
    free_in_s[pool].assign(std::min(jobs, static_cast<std::size_t>(std::max(0, plan_.left()[pool]))), 0.0);
  if (parameters_.plans)
    for (const OrderedQueue::Item& item : plan_.planned()) {
      const double remaining_s = expected_remaining_s(view.jobs[item.slot], plan_.of(item.slot), view.now_s);
      for (const sim::Group& group : plan_.groups_of(item.slot))
        free_in_s[static_cast<std::size_t>(group.pool)].insert(free_in_s[static_cast<std::size_t>(group.pool)].end(),
                                                               static_cast<std::size_t>(group.workers), remaining_s);
    }
  std::vector<MatchedDevice> all;
  for (std::size_t pool = 0; pool < free_in_s.size(); ++pool) {
    std::sort(free_in_s[pool].begin(), free_in_s[pool].end());
    for (std::size_t d = 0; d < std::min(jobs, free_in_s[pool].size()); ++d)
      all.push_back({.pool = pool, .free_in_s = free_in_s[pool][d]});
  }
  return all;
}

void Matching::match(const sim::QueueView& view) {
  const std::vector<Waiting> waiting = first_waiting(view);
  std::vector<std::vector<double>> seconds;
  for (const Waiting& one : waiting) {
    const sim::QueueJob& job = view.jobs[one.slot];
    const sim::WorkLeft left = job.left_at(view.now_s);
    std::vector<double>& of = seconds.emplace_back();
    for (const int entry : one.entries)
      of.push_back(entry < 0 ? sim::kNever : expected_remaining_s(job, entry, left) * configuration_of(job, entry).workers());
  }
  const std::vector<MatchedDevice> all = devices(view, waiting.size());
  const std::vector<MatchedPlace> places = least_completion_sum(seconds, all);
  std::vector<bool> is_kept(plan_.left().size(), false);  // the pool's devices, for a job that needs more than are free
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const MatchedDevice& device = all[places[i].device];
    if (places[i].before > 0 || device.free_in_s > 0 || is_kept[device.pool]) continue;
    is_kept[device.pool] = !plan_if_it_fits(view, waiting[i].slot, waiting[i].entries[device.pool]);
  }
}

void Matching::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  plan_.update(view);
  // Nothing else makes another matching better: what was planned stays.
  const bool is_new = !view.queued.empty() || !view.ended.empty();
  const bool is_any_free = std::any_of(plan_.left().begin(), plan_.left().end(), [](int left) { return left > 0; });
  if (is_new && is_any_free && !plan_.unplanned().empty()) match(view);
  plan_.act(view, answer);
}

}  // namespace rehearse::policies
