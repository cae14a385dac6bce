#include "policies/queue/user_shares.hpp"

#include <algorithm>
#include <limits>

#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

/// The smallest share first; ties go by first appearance.
struct Turn {
  double share;
  int user;
  bool operator>(const Turn& other) const { return share != other.share ? share > other.share : user > other.user; }
};

/// Of a line in one decision: its head gets what is free and what is let go, or nothing yet.
constexpr char kOpen = 0, kPromised = 1, kRefused = 2;

std::size_t pool_of(const sim::Group& group) { return static_cast<std::size_t>(group.pool); }

}  // namespace

int UserShares::user_of(const std::string& name) {
  const auto [found, fresh] = index_of_.try_emplace(name, static_cast<int>(users_.size()));
  if (fresh) {
    const auto weight = parameters_.weights.find(name);
    const std::size_t pools = capacity_.size();
    users_.push_back({.weight = weight == parameters_.weights.end() ? 1 : weight->second,
                      .held = std::vector<int>(pools),
                      .waiting = std::vector<std::set<Place>>(pools),
                      .running = std::vector<std::set<Place>>(pools)});
  }
  return found->second;
}

double UserShares::share(const User& user) const {
  double sum = 0, largest = 0;
  for (std::size_t p = 0; p < capacity_.size(); ++p) {
    const double part = user.held[p] / capacity_[p];
    sum += part;
    largest = std::max(largest, part);
  }
  return (parameters_.measure == ShareMeasure::dominant ? largest : sum / static_cast<double>(capacity_.size())) / user.weight;
}

/// Takes the job out of the book that it stands in, and into another one.
void UserShares::move(sim::JobSlot slot, Book to) {
  Entry& entry = entries_[slot];
  const auto count = [&entry](std::vector<int>& devices, int sign) {
    for (const sim::Group& group : entry.groups) devices[pool_of(group)] += sign * group.workers;
  };
  const auto enter = [&](Book book, int sign) {
    if (book == Book::none) return;
    User& user = users_[static_cast<std::size_t>(entry.user)];
    if (book == Book::leaving) count(leaving_, sign);
    if (book == Book::starting || book == Book::running) count(user.held, sign);
    if (book != Book::waiting && book != Book::running) return;
    std::set<Place>& places = (book == Book::waiting ? user.waiting : user.running)[pool_of(entry.groups.front())];
    if (sign > 0)
      places.insert(entry.place);
    else
      places.erase(entry.place);
  };
  enter(entry.book, -1);
  entry.book = to;
  enter(to, 1);
}

void UserShares::book(const sim::QueueView& view, sim::JobSlot slot) {
  if (entries_.size() <= slot) entries_.resize(slot + 1);
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Service& service = job.service;
  const bool waits = service.state == sim::JobState::queued;
  move(slot, Book::none);
  if (service.state == sim::JobState::finished || service.state == sim::JobState::failed) return;
  Entry& entry = entries_[slot];
  entry.user = user_of(job.job.user);
  entry.groups = job.menu.ranked[static_cast<std::size_t>(waits ? job.first_fitting_entry : service.entry)].configuration.groups;
  const auto number = static_cast<double>(job.number);
  entry.place = {.key = waits ? number : -service.held_since_s, .tie = waits ? 0 : -number, .slot = slot};
  move(slot, waits                                      ? Book::waiting
             : service.state == sim::JobState::starting ? Book::starting
             : service.state == sim::JobState::running  ? Book::running
                                                        : Book::leaving);
}

/// Those without whom there is room all the same run on: a later one let go of more. Whom it hit last stays first.
void UserShares::spare(const std::vector<sim::Group>& groups, const Pass& pass, std::vector<sim::JobSlot>& victims) {
  std::vector<int> spare(capacity_.size(), 0);
  for (std::size_t p = 0; p < spare.size(); ++p) spare[p] = pass.free[p] + pass.leaving[p];
  const auto count = [&](const std::vector<sim::Group>& of, int sign) {
    for (const sim::Group& group : of) spare[pool_of(group)] += sign * group.workers;
  };
  for (const sim::JobSlot victim : victims) count(entries_[victim].groups, 1);
  count(groups, -1);
  const auto has_room = [&] {
    return std::all_of(groups.begin(), groups.end(), [&](const sim::Group& group) { return spare[pool_of(group)] >= 0; });
  };
  for (std::size_t v = victims.size(); v-- > 0;) {
    const std::vector<sim::Group>& held = entries_[victims[v]].groups;
    count(held, -1);
    if (!has_room()) {
      count(held, 1);
      continue;
    }
    move(victims[v], Book::running);
    victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(v));
  }
}

/// Can devices come free so that the groups fit, and every user who loses some still has more than this one? Then preempts.
bool UserShares::make_room(int claimant, const std::vector<sim::Group>& groups, Pass& pass, sim::QueueAnswer& answer) {
  const double least = share(users_[static_cast<std::size_t>(claimant)]);
  std::vector<sim::JobSlot> victims;
  bool enough = true;
  for (const sim::Group& group : groups) {
    const std::size_t p = pool_of(group);
    int need = group.workers - pass.free[p] - pass.leaving[p];
    if (need <= 0) continue;
    enough = need < pass.failed_need[p];
    const int asked = need;
    while (enough && need > 0) {
      User* richest = nullptr;
      for (User& user : users_)
        if (!user.running[p].empty() && (richest == nullptr || share(user) > share(*richest))) richest = &user;
      if (richest == nullptr) break;
      const sim::JobSlot victim = richest->running[p].begin()->slot;
      move(victim, Book::leaving);
      victims.push_back(victim);
      if (share(*richest) <= least) break;
      for (const sim::Group& freed : entries_[victim].groups)
        if (pool_of(freed) == p) need -= freed.workers;
    }
    enough = enough && need <= 0;
    if (enough) continue;
    pass.failed_need[p] = std::min(pass.failed_need[p], asked);
    break;
  }
  if (enough) spare(groups, pass, victims);
  for (const sim::JobSlot victim : victims) {
    if (!enough) {
      move(victim, Book::running);
      continue;
    }
    answer.preempts.push_back(victim);
    for (const sim::Group& freed : entries_[victim].groups) pass.leaving[pool_of(freed)] += freed.workers;
  }
  return enough;
}

/// Starts the first job that can of the user's lines; heads that wait for devices that are let go keep what is free for them.
bool UserShares::serve_user(int index, Pass& pass, const sim::QueueView& view, sim::QueueAnswer& answer) {
  User& user = users_[static_cast<std::size_t>(index)];
  for (std::size_t line = 0; line < capacity_.size(); ++line) {
    char& blocked = pass.blocked[static_cast<std::size_t>(index) * capacity_.size() + line];
    if (blocked != kOpen || user.waiting[line].empty()) continue;
    const sim::JobSlot slot = user.waiting[line].begin()->slot;
    const std::vector<sim::Group>& groups = entries_[slot].groups;
    const auto fit = [&](bool with_leaving) {
      return std::all_of(groups.begin(), groups.end(), [&](const sim::Group& group) {
        return group.workers <= pass.free[pool_of(group)] + (with_leaving ? pass.leaving[pool_of(group)] : 0);
      });
    };
    const bool starts = fit(false),
               promised = starts || fit(true) || (parameters_.preempt && make_room(index, groups, pass, answer));
    if (promised) {
      for (const sim::Group& group : groups) {
        const int from_free = std::min(group.workers, pass.free[pool_of(group)]);
        pass.free[pool_of(group)] -= from_free;
        pass.leaving[pool_of(group)] -= group.workers - from_free;
      }
    }
    if (starts) {
      answer.starts.push_back({.job = slot, .entry = view.jobs[slot].first_fitting_entry});
      move(slot, Book::starting);
      return true;
    }
    blocked = promised ? kPromised : kRefused;
  }
  return false;
}

/// Those whose devices nobody took, once all were served, run on: whom it hit last stays first.
void UserShares::spare_unneeded(Pass& pass, sim::QueueAnswer& answer) {
  for (std::size_t v = answer.preempts.size(); v-- > 0;) {
    const sim::JobSlot victim = answer.preempts[v];
    const std::vector<sim::Group>& held = entries_[victim].groups;
    std::vector<int> rest(capacity_.size());
    for (std::size_t p = 0; p < rest.size(); ++p) rest[p] = pass.free[p] + pass.leaving[p];
    for (const sim::Group& group : held) rest[pool_of(group)] -= group.workers;
    if (std::any_of(held.begin(), held.end(), [&](const sim::Group& group) { return rest[pool_of(group)] < 0; })) continue;
    for (const sim::Group& group : held) pass.leaving[pool_of(group)] -= group.workers;
    move(victim, Book::running);
    answer.preempts.erase(answer.preempts.begin() + static_cast<std::ptrdiff_t>(v));
  }
}

void UserShares::serve(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer) {
  std::vector<Turn> turns;
  for (std::size_t u = 0; u < users_.size(); ++u) {
    const auto& lines = users_[u].waiting;
    if (std::any_of(lines.begin(), lines.end(), [](const std::set<Place>& line) { return !line.empty(); }))
      turns.push_back({share(users_[u]), static_cast<int>(u)});
  }
  const std::greater<> later;
  std::make_heap(turns.begin(), turns.end(), later);
  while (!turns.empty()) {
    std::pop_heap(turns.begin(), turns.end(), later);
    const int user = turns.back().user;
    turns.pop_back();
    if (!serve_user(user, pass, view, answer)) continue;
    turns.push_back({share(users_[static_cast<std::size_t>(user)]), user});
    std::push_heap(turns.begin(), turns.end(), later);
  }
}

void UserShares::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  const std::size_t pools = view.free_devices.size();
  if (capacity_.empty()) {
    leaving_.resize(pools);
    for (std::size_t p = 0; p < pools; ++p)
      capacity_.push_back(static_cast<double>(view.cluster->pools[p].nodes) *
                          sim::workers_per_node(*view.cluster, static_cast<sim::PoolId>(p)));
    for (double& devices : capacity_) devices = std::max(devices, 1.0);  // of a partition without any of a pool
  }
  for (const auto slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots) book(view, slot);
  for (const sim::JobSlot slot : view.ended)
    if (slot < entries_.size()) move(slot, Book::none);
  Pass pass{.free = {view.free_devices.begin(), view.free_devices.end()},
            .leaving = leaving_,
            .failed_need = std::vector<int>(pools, std::numeric_limits<int>::max()),
            .blocked = std::vector<char>(users_.size() * pools)};
  const bool nothing_free = std::all_of(pass.free.begin(), pass.free.end(), [](int devices) { return devices == 0; });
  if (nothing_free && !parameters_.preempt) return;
  // What starts on devices that are free makes its user richer: others may now have a claim on the rest of what he holds.
  for (std::size_t started = 0, last = 0;; last = started) {
    serve(view, pass, answer);
    started = answer.starts.size();
    if (!parameters_.preempt || started == last) break;
    std::fill(pass.failed_need.begin(), pass.failed_need.end(), std::numeric_limits<int>::max());
    std::replace(pass.blocked.begin(), pass.blocked.end(), kRefused, kOpen);
  }
  if (answer.preempts.size() > 1) spare_unneeded(pass, answer);
}

}  // namespace rehearse::policies
