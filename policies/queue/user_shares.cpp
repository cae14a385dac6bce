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

constexpr sim::Placement kFewestNodes = sim::Placement::consolidated;

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
    if (book == Book::leaving && sign > 0) leaving_.push_back(slot);
    if (book == Book::leaving && sign < 0) std::erase(leaving_, slot);
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
  by_node_ = by_node_ || (entry.groups.front().nodes > 0 && view.held != nullptr);
  const auto number = static_cast<double>(job.number);
  entry.place = {.key = waits ? number : -service.held_since_s, .tie = waits ? 0 : -number, .slot = slot};
  move(slot, waits                                      ? Book::waiting
             : service.state == sim::JobState::starting ? Book::starting
             : service.state == sim::JobState::running  ? Book::running
                                                        : Book::leaving);
}

/// What the job holds becomes free.
void UserShares::release(const sim::QueueView& view, sim::JobSlot slot, sim::FreeDevices& free) const {
  const std::vector<sim::Group>& groups = entries_[slot].groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto is_same = [&](const sim::Group& other) { return other.pool == groups[g].pool; };
    if (std::none_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(g), is_same))
      free.give_back(view, slot, groups[g].pool);
  }
}

/// Those without whom there is room all the same run on: a later one let go of more. Whom it hit last stays first.
void UserShares::spare(const sim::QueueView& view, const sim::Configuration& wanted, const Pass& pass,
                       std::vector<sim::JobSlot>& victims) {
  for (std::size_t v = victims.size(); v-- > 0;) {
    sim::FreeDevices soon = pass.soon;
    for (std::size_t other = 0; other < victims.size(); ++other)
      if (other != v) release(view, victims[other], soon);
    if (!soon.take(wanted, kFewestNodes)) continue;
    move(victims[v], Book::running);
    victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(v));
  }
}

/// Can devices come free so that the job fits, and every user who loses some still has more than this one? Then preempts.
bool UserShares::make_room(const sim::QueueView& view, int claimant, const sim::Configuration& wanted, Pass& pass,
                           sim::QueueAnswer& answer) {
  const double least = share(users_[static_cast<std::size_t>(claimant)]);
  std::vector<sim::JobSlot> victims;
  sim::FreeDevices soon = pass.soon;
  bool enough = true;
  for (const sim::Group& group : wanted.groups) {
    const std::size_t p = pool_of(group);
    if (soon.fits(wanted, group)) continue;
    const int asked = group.workers - soon.of(group.pool);
    enough = asked < pass.failed_need[p];
    while (enough && !soon.fits(wanted, group)) {
      User* richest = nullptr;
      for (User& user : users_)
        if (!user.running[p].empty() && (richest == nullptr || share(user) > share(*richest))) richest = &user;
      if (richest == nullptr) break;
      const sim::JobSlot victim = richest->running[p].begin()->slot;
      move(victim, Book::leaving);
      victims.push_back(victim);
      if (share(*richest) <= least) break;
      soon.give_back(view, victim, group.pool);
    }
    enough = enough && soon.fits(wanted, group);
    if (enough) continue;
    if (group.nodes == 0) pass.failed_need[p] = std::min(pass.failed_need[p], asked);
    break;
  }
  if (enough) spare(view, wanted, pass, victims);
  for (const sim::JobSlot victim : victims) {
    if (!enough) {
      move(victim, Book::running);
      continue;
    }
    answer.preempts.push_back(victim);
    release(view, victim, pass.soon);
  }
  return enough;
}

/// Its devices are free. Where some are kept on certain nodes, the answer says on which it starts.
void UserShares::start(const sim::QueueView& view, sim::JobSlot slot, Pass& pass, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Configuration& wanted = configuration_of(job, job.first_fitting_entry);
  pass.free.take(wanted, kFewestNodes);
  answer.starts.push_back({.job = slot, .entry = job.first_fitting_entry});
  if (pass.kept_by_node) answer.starts.back().nodes = pass.free.taken();
  for (sim::FreeDevices* others : {&pass.soon, &pass.unkept}) {
    if (others == &pass.unkept && pass.promised.empty()) continue;
    for (std::size_t g = 0; g < wanted.groups.size(); ++g) {
      const sim::Group& group = wanted.groups[g];
      if (pass.free.is_by_node())
        others->take(group.pool, pass.free.taken()[g]);
      else
        others->take(group.pool, group.workers, kFewestNodes);
    }
  }
  move(slot, Book::starting);
}

/// It gets what is free, and the rest of what is let go.
void UserShares::promise(const sim::QueueView& view, sim::JobSlot slot, Pass& pass) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Configuration& wanted = configuration_of(job, job.first_fitting_entry);
  if (pass.promised.empty()) pass.unkept = pass.free;
  pass.promised.push_back(slot);
  if (!pass.free.is_by_node()) {
    for (const sim::Group& group : wanted.groups) {
      pass.free.take(group.pool, std::min(group.workers, pass.free.of(group.pool)), kFewestNodes);
      pass.soon.take(group.pool, group.workers, kFewestNodes);
    }
    return;
  }
  pass.kept_by_node = true;
  for (const sim::Group& group : wanted.groups) {
    // Nodes that have enough free now; then those that will have.
    const int step = group.nodes > 0 ? group.workers_per_node() : 1;
    const sim::Nodes& nodes = pass.free.nodes(group.pool);
    const int there = group.nodes > 0 ? nodes.nodes_with(step) : nodes.free_devices();
    const int ready = std::min({group.workers / step, there, std::max(0, pass.free.of(group.pool)) / step});
    const auto part = [&](int of) {
      return sim::Configuration{.groups = {{.pool = group.pool, .workers = of * step, .nodes = group.nodes > 0 ? of : 0}}};
    };
    if (ready > 0 && pass.free.take(part(ready), kFewestNodes)) pass.soon.take(group.pool, pass.free.taken().front());
    if (ready == group.workers / step || !pass.soon.take(part(group.workers / step - ready), kFewestNodes)) continue;
    for (sim::NodeShare share : pass.soon.taken().front()) {
      share.devices = std::min(share.devices, nodes.free_on(share.node));
      pass.free.take(group.pool, {&share, 1});
    }
  }
}

/// Those whose devices nobody took, once all were served, run on: whom it hit last stays first.
void UserShares::spare_unneeded(const sim::QueueView& view, const Pass& pass, sim::QueueAnswer& answer) {
  for (std::size_t v = answer.preempts.size(); v-- > 0;) {
    const sim::JobSlot victim = answer.preempts[v];
    sim::FreeDevices free = pass.unkept;
    for (const sim::JobSlot slot : leaving_)
      if (slot != victim) release(view, slot, free);
    const bool is_room = std::all_of(pass.promised.begin(), pass.promised.end(), [&](sim::JobSlot slot) {
      return free.take(configuration_of(view.jobs[slot], view.jobs[slot].first_fitting_entry), kFewestNodes);
    });
    if (!is_room) continue;
    move(victim, Book::running);
    answer.preempts.erase(answer.preempts.begin() + static_cast<std::ptrdiff_t>(v));
  }
}

/// Starts the first job that can of the user's lines; heads that wait for devices that are let go keep what is free for them.
bool UserShares::serve_user(int index, Pass& pass, const sim::QueueView& view, sim::QueueAnswer& answer) {
  User& user = users_[static_cast<std::size_t>(index)];
  for (std::size_t line = 0; line < capacity_.size(); ++line) {
    char& blocked = pass.blocked[static_cast<std::size_t>(index) * capacity_.size() + line];
    if (blocked != kOpen || user.waiting[line].empty()) continue;
    const sim::JobSlot slot = user.waiting[line].begin()->slot;
    const sim::Configuration& wanted = configuration_of(view.jobs[slot], view.jobs[slot].first_fitting_entry);
    // Where devices are kept on certain nodes, a job that starts must name its own.
    const bool may_start = !pass.kept_by_node || (wanted.groups.size() == 1 && !wanted.share.is_part());
    if (may_start && pass.free.fits(wanted)) {
      start(view, slot, pass, answer);
      return true;
    }
    const bool promised = pass.soon.fits(wanted) || (parameters_.preempt && make_room(view, index, wanted, pass, answer));
    if (promised) promise(view, slot, pass);
    blocked = promised ? kPromised : kRefused;
  }
  return false;
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
    for (std::size_t p = 0; p < pools; ++p)
      capacity_.push_back(static_cast<double>(view.cluster->pools[p].nodes) *
                          sim::workers_per_node(*view.cluster, static_cast<sim::PoolId>(p)));
    for (double& devices : capacity_) devices = std::max(devices, 1.0);  // of a partition without any of a pool
  }
  for (const auto slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots) book(view, slot);
  for (const sim::JobSlot slot : view.ended)
    if (slot < entries_.size()) move(slot, Book::none);
  const auto is_none = [](int devices) { return devices == 0; };
  if (std::all_of(view.free_devices.begin(), view.free_devices.end(), is_none) && !parameters_.preempt) return;
  Pass pass;
  pass.failed_need.assign(pools, std::numeric_limits<int>::max());
  pass.blocked.resize(users_.size() * pools);
  pass.free.reset_whole(view, by_node_);
  pass.soon = pass.free;
  for (const sim::JobSlot slot : leaving_) release(view, slot, pass.soon);
  // What starts on devices that are free makes its user richer: others may now have a claim on the rest of what he holds.
  for (std::size_t started = 0, last = 0;; last = started) {
    serve(view, pass, answer);
    started = answer.starts.size();
    if (!parameters_.preempt || started == last) break;
    std::fill(pass.failed_need.begin(), pass.failed_need.end(), std::numeric_limits<int>::max());
    std::replace(pass.blocked.begin(), pass.blocked.end(), kRefused, kOpen);
  }
  if (answer.preempts.size() > 1) spare_unneeded(view, pass, answer);
}

}  // namespace rehearse::policies
