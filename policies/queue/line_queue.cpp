#include "policies/queue/line_queue.hpp"

#include <algorithm>
#include <utility>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

namespace {

/// Numbers among equals: those that run are below it, those that wait above, the first to join at the front of the upper half.
constexpr std::uint64_t kWaiting = std::uint64_t{1} << 62, kBack = kWaiting + (kWaiting >> 1);

/// Free devices on nodes that hold nothing else.
int whole_nodes(const sim::Nodes& nodes) {
  const int per_node = nodes.devices_per_node();
  return (nodes.free_devices() - nodes.unusable_for(per_node)) / per_node;
}

}  // namespace

bool fits_on_fewest(const sim::Nodes& nodes, int devices) {
  const int per_node = nodes.devices_per_node(), rest = devices % per_node;
  const int whole = whole_nodes(nodes) - devices / per_node;
  if (whole < 0) return false;
  // The rest on another whole node, or on one that has fewer devices free, but enough.
  return rest == 0 || whole > 0 || nodes.unusable_for(per_node) > nodes.unusable_for(rest);
}

void WaitingJobs::put(const sim::Configuration& wanted, const Item& item) {
  remove(item.slot);
  const auto alike = [&](const Demand& d) {
    return all_alike_ || (d.fraction == wanted.share.fraction && d.groups == wanted.groups);
  };
  auto demand = std::find_if(demands_.begin(), demands_.end(), alike);
  if (demand == demands_.end()) {
    demands_.push_back({.groups = wanted.groups, .fraction = wanted.share.fraction});
    demand = std::prev(demands_.end());
  }
  if (seats_.size() <= item.slot) seats_.resize(item.slot + 1);
  seats_[item.slot] = {.demand = static_cast<int>(demand - demands_.begin()), .at = demand->jobs.insert(item).first};
  ++size_;
}

void WaitingJobs::remove(sim::JobSlot slot) {
  if (!contains(slot)) return;
  Seat& seat = seats_[slot];
  Demand& demand = demands_[static_cast<std::size_t>(seat.demand)];
  if (demand.next == seat.at)
    demand.next = demand.jobs.erase(seat.at);
  else
    demand.jobs.erase(seat.at);
  seat = {};
  --size_;
}

void WaitingJobs::move(sim::JobSlot slot, double key, std::uint64_t number) {
  Seat& seat = seats_[slot];
  Demand& demand = demands_[static_cast<std::size_t>(seat.demand)];
  if (demand.next == seat.at)
    demand.next = demand.jobs.erase(seat.at);
  else
    demand.jobs.erase(seat.at);
  seat.at = demand.jobs.insert({key, number, slot}).first;
}

void WaitingJobs::begin() {
  for (Demand& demand : demands_) demand.next = demand.jobs.begin();
}

WaitingJobs::Demand* WaitingJobs::next() {
  Demand* first = nullptr;
  for (Demand& demand : demands_)
    if (demand.next != demand.jobs.end() && (first == nullptr || *demand.next < *first->next)) first = &demand;
  return first;
}

bool LineQueue::somebody_waits() const {
  return std::any_of(lines_.begin(), lines_.end(), [](const Line& line) { return !line.waiting.empty(); });
}

/// Among equals, as it waits or runs now.
std::uint64_t LineQueue::number_of(const sim::QueueJob& job, sim::JobSlot slot) {
  Seat& seat = seats_[slot];
  if (seat.arrival != job.number) seat = {.arrival = job.number};
  switch (options_.order) {
    case TieOrder::service:
      return seat.served != kUnset ? seat.served : kWaiting + job.number;
    case TieOrder::running_first: {
      const bool waits = job.service.state == sim::JobState::queued;
      if (seat.place == kUnset)
        seat.place = waits ? kBack + backs_++ : runs_++;
      else if (waits && seat.place < kWaiting)
        seat.place = kBack - ++fronts_;  // it ran: before all that have waited longer
      return seat.place;
    }
    default:
      return job.number;
  }
}

void LineQueue::let_go(sim::JobSlot slot) {
  std::erase(line_of(slot).coming, slot);
  std::erase(line_of(slot).parts_coming, slot);
}

void LineQueue::leave(sim::JobSlot slot) {
  several_pools_.remove(slot);
  line_of(slot).waiting.remove(slot);
  line_of(slot).running.remove(slot);
}

/// Puts the job where its state says.
void LineQueue::settle(const sim::QueueView& view, sim::JobSlot slot) {
  const sim::QueueJob& job = view.jobs[slot];
  if (job.service.state != sim::JobState::checkpointing) let_go(slot);
  leave(slot);
  const sim::Configuration& configuration = configuration_of(view, slot);
  by_node_ = by_node_ || configuration.needs_nodes();
  line_of_slot_[slot] = options_.one_line ? 0 : configuration.groups.front().pool;
  if (job.service.state == sim::JobState::queued) {
    const double key = waiting_key(view, slot);
    line_of(slot).waiting.put(configuration, {key, number_of(job, slot), slot});
    if (!options_.one_line && entries_to_start(*view.cluster, job).size() > 1)
      several_pools_.put(slot, key, number_of(job, slot));
  } else if (job.service.state == sim::JobState::running) {
    // Of those that run an order is kept only where somebody asks for it.
    if (!preempts() && options_.order == TieOrder::arrival) return;
    const double key = running_key(view, slot);
    line_of(slot).running.put(slot, key, number_of(job, slot));
  }
}

void LineQueue::read(const sim::QueueView& view) {
  while (lines_.size() < (options_.one_line ? 1 : view.cluster->pools.size()))
    lines_.push_back({.waiting = WaitingJobs(options_.overtaking == Overtaking::strict)});
  if (line_of_slot_.size() < view.jobs.size()) {
    line_of_slot_.resize(view.jobs.size(), 0);
    seats_.resize(view.jobs.size());
  }
  for (const std::span<const sim::JobSlot> slots : {view.queued, view.started, view.changed})
    for (const sim::JobSlot slot : slots)
      if (view.jobs[slot].service.state < sim::JobState::finished) settle(view, slot);
  for (const sim::JobSlot slot : view.ended) {
    let_go(slot);
    leave(slot);
    forget(view, slot);
    seats_[slot] = {};
  }
}

void LineQueue::move(sim::JobSlot slot, double key) {
  if (options_.order == TieOrder::running_first) {
    Line& line = line_of(slot);
    if (!line.waiting.contains(slot) && !line.running.contains(slot)) return;
    seats_[slot].place = kBack + backs_++;
    moved_.push_back(slot);
  }
  change_key(slot, key);
}

void LineQueue::change_key(sim::JobSlot slot, double key) {
  if (slot >= line_of_slot_.size() || lines_.empty()) return;
  Line& line = line_of(slot);
  const Seat& seat = seats_[slot];
  const std::uint64_t number = options_.order == TieOrder::running_first ? seat.place
                               : options_.order == TieOrder::arrival     ? seat.arrival
                               : seat.served != kUnset                   ? seat.served
                                                                         : kWaiting + seat.arrival;
  if (line.waiting.contains(slot)) line.waiting.move(slot, key, number);
  if (several_pools_.contains(slot)) several_pools_.put(slot, key, number);
  if (line.running.contains(slot)) line.running.put(slot, key, number);
}

/// Those that changed their place while they ran, and run on, are now the last of those that run.
void LineQueue::seat_the_moved() {
  for (const sim::JobSlot slot : moved_) {
    OrderedQueue& running = line_of(slot).running;
    if (!running.contains(slot)) continue;
    seats_[slot].place = runs_++;
    running.put(slot, running.key_of(slot), seats_[slot].place);
  }
  moved_.clear();
}

/// What there is for the line's jobs once those that were preempted have let go, beyond what waiting jobs are owed of that.
sim::FreeDevices LineQueue::free_soon(const Line& line, sim::PoolId pool, const sim::QueueView& view) const {
  sim::FreeDevices free = free_;
  for (const std::vector<sim::JobSlot>* slots : {&line.coming, &line.parts_coming})
    for (const sim::JobSlot slot : *slots) free.give_back(view, slot, pool);
  if (free.is_by_node())
    free.take(pool, owed_nodes_);
  else
    free.take(pool, owed_, options_.placement);
  return free;
}

/// Those without whom there is room all the same need not go: a later one let go of more, or others stay on its device. The first
/// in order stay. `without`: what there is without them, `free`: with what all of them hold.
void LineQueue::spare(const sim::Configuration& wanted, const sim::FreeDevices& without, const sim::QueueView& view,
                      sim::FreeDevices free) {
  const sim::Group& group = wanted.groups.front();
  for (std::size_t i = victims_.size(); i-- > 0;) {
    const bool part = free.holds_part(view.jobs[victims_[i]]);
    sim::FreeDevices before = part ? std::exchange(free, without) : sim::FreeDevices();
    if (part)
      for (std::size_t j = 0; j < victims_.size(); ++j) {
        if (j != i) free.give_back(view, victims_[j], group.pool);
      }
    else
      free.take_again(view, victims_[i], group.pool);
    if (free.fits(wanted, group))
      victims_.erase(victims_.begin() + static_cast<std::ptrdiff_t>(i));
    else if (part)
      free = std::move(before);
    else
      free.give_back(view, victims_[i], group.pool);
  }
}

/// Adds to `soon` what they will let go of.
void LineQueue::preempt_for(const Item& head, Line& line, sim::FreeDevices& soon, const sim::QueueView& view) {
  const sim::Configuration& wanted = configuration_of(view, head.slot);
  const sim::Group& group = wanted.groups.front();
  if (soon.fits(wanted, group) || line.running.empty() || !beats(view, head, *std::prev(line.running.end()))) return;
  sim::FreeDevices free = soon;
  victims_.clear();
  bool enough = false;
  for (auto last = line.running.end(); !enough && last != line.running.begin();) {
    --last;
    if (!beats(view, head, *last)) break;
    victims_.push_back(last->slot);
    free.give_back(view, last->slot, group.pool);
    enough = free.fits(wanted, group);
  }
  if (!enough) return;
  spare(wanted, soon, view, std::move(free));
  for (const sim::JobSlot slot : victims_) {
    stopped_.push_back(line.running.item_of(slot));
    line.running.remove(slot);
    soon.give_back(view, slot, group.pool);
    (free_.holds_part(view.jobs[slot]) ? line.parts_coming : line.coming).push_back(slot);
  }
}

/// What is free now, and then what is let go, is nobody else's.
void LineQueue::keep_for(sim::JobSlot slot, const Line& line, const sim::QueueView& view) {
  if (claims_.empty()) unkept_ = free_;
  claims_.push_back(slot);
  const sim::Configuration& wanted = configuration_of(view, slot);
  const sim::Group& first = wanted.groups.front();
  kept_by_node_ = kept_by_node_ || free_.is_by_node();
  const auto take_free = [&](const sim::Group& group) {
    const int most = free_.is_by_node() ? free_.nodes(group.pool).free_devices() : group.workers;
    const int free = std::min({group.workers, most, std::max(0, free_.of(group.pool))});
    free_.take(group.pool, free, options_.placement);
    return free;
  };
  if (first.nodes > 0 && free_.is_by_node()) {
    const int devices = first.workers_per_node();
    const int ready =
        std::min({first.nodes, free_.nodes(first.pool).nodes_with(devices), std::max(0, free_.of(first.pool)) / devices});
    free_.take({.groups = {{.pool = first.pool, .workers = ready * devices, .nodes = ready}}}, options_.placement);
    const int owed = first.nodes - ready;
    sim::FreeDevices soon = free_soon(line, first.pool, view);
    if (owed > 0 && soon.take({.groups = {{.pool = first.pool, .workers = owed * devices, .nodes = owed}}}, options_.placement))
      for (sim::NodeShare share : soon.taken().front()) {
        const sim::NodeShare now{.node = share.node,
                                 .devices = std::min(share.devices, free_.nodes(first.pool).free_on(share.node))};
        free_.take(first.pool, {&now, 1});
        share.devices -= now.devices;
        owed_nodes_.push_back(share);
      }
  } else {
    const int owed = first.workers - take_free(first);
    owed_ += owed;
    if (free_.is_by_node() && owed > 0)
      for (const sim::NodeShare& share : free_soon(line, first.pool, view).take(first.pool, owed, options_.placement))
        owed_nodes_.push_back(share);
  }
  for (std::size_t g = 1; g < wanted.groups.size(); ++g) take_free(wanted.groups[g]);
}

/// The same for a job of several parts, which may find room on devices that others have. `soon`: what there will be.
void LineQueue::keep_for_parts(const sim::Configuration& wanted, const Line& line, sim::FreeDevices soon,
                               const sim::QueueView& view) {
  const sim::PoolId pool = wanted.groups.front().pool;
  const int before = soon.of(pool);
  soon.take(wanted, options_.placement);
  const int opened = before - soon.of(pool), free = std::min(opened, std::max(0, free_.of(pool)));
  free_.take(pool, free, options_.placement);
  owed_ += opened - free;
  kept_by_node_ = kept_by_node_ || free_.is_by_node();
  if (free_.is_by_node() && opened > free)
    for (const sim::NodeShare& share : free_soon(line, pool, view).take(pool, opened - free, options_.placement))
      owed_nodes_.push_back(share);
}

/// Do all that wait for what is let go find room without what this job holds?
bool LineQueue::find_room_without(sim::JobSlot victim, const Line& line, const sim::QueueView& view) {
  const sim::PoolId pool = configuration_of(view, victim).groups.front().pool;
  sim::FreeDevices free = unkept_;
  for (const sim::JobSlot slot : line.coming)
    if (slot != victim) free.give_back(view, slot, pool);
  return std::all_of(claims_.begin(), claims_.end(),
                     [&](sim::JobSlot slot) { return free.take(configuration_of(view, slot), options_.placement); });
}

/// A running job whose devices none of the waiting jobs needs, once all of these were looked at, runs on: the first in order
/// before the others.
void LineQueue::spare_unneeded(Line& line, const sim::QueueView& view) {
  std::vector<Item> in_order = stopped_;
  std::sort(in_order.begin(), in_order.end());
  for (const Item& item : in_order) {
    if (!find_room_without(item.slot, line, view)) continue;
    let_go(item.slot);
    line.running.put(item.slot, item.key, item.number);
    std::erase_if(stopped_, [&](const Item& other) { return other.slot == item.slot; });
  }
}

void LineQueue::stop_victims(sim::QueueAnswer& answer) {
  for (const Item& item : stopped_) {
    answer.preempts.push_back(item.slot);
    if (options_.order == TieOrder::running_first && seats_[item.slot].place < kWaiting)
      seats_[item.slot].place = kBack - ++fronts_;
  }
}

/// Are there the fewest nodes that could ever hold the job, or is it tired of waiting for them?
bool LineQueue::has_nodes(const sim::QueueView& view, const sim::QueueJob& job, const sim::Configuration& wanted) {
  if (!options_.fewest_nodes || wanted.share.is_part() || wanted.needs_nodes()) return true;
  const double tired_s = job.queued_since_s + options_.patience_s;
  if (view.now_s >= tired_s) return true;
  const std::span<const sim::Nodes> nodes = nodes_.empty() ? view.nodes : std::span<const sim::Nodes>(nodes_);
  if (std::all_of(wanted.groups.begin(), wanted.groups.end(), [&](const sim::Group& group) {
        return fits_on_fewest(free_.is_by_node() ? free_.nodes(group.pool) : nodes[static_cast<std::size_t>(group.pool)],
                              group.workers);
      }))
    return true;
  out_of_patience_s_ = std::min(out_of_patience_s_, tired_s);
  return false;
}

void LineQueue::take_nodes(const sim::QueueView& view, const sim::Configuration& wanted) {
  if (!options_.fewest_nodes || free_.is_by_node()) return;
  if (nodes_.empty()) nodes_.assign(view.nodes.begin(), view.nodes.end());
  std::vector<sim::NodeShare> taken;
  for (const sim::Group& group : wanted.groups) {
    sim::Nodes& nodes = nodes_[static_cast<std::size_t>(group.pool)];
    nodes.take(options_.placement, std::min(group.workers, nodes.free_devices()), taken);
  }
}

void LineQueue::start(const sim::QueueView& view, sim::JobSlot slot, int entry, sim::QueueAnswer& answer) {
  answer.starts.push_back({.job = slot, .entry = entry, .placement = options_.placement, .shares = true});
  if (kept_by_node_) answer.starts.back().nodes = free_.taken();
  const sim::Configuration& wanted = sim::configuration_of(view.jobs[slot], entry);
  if (!claims_.empty() && free_.is_by_node())
    unkept_.take(wanted.groups.front().pool, free_.taken().front());
  else if (!claims_.empty())
    unkept_.take(wanted, options_.placement);
  take_nodes(view, wanted);
  line_of(slot).waiting.remove(slot);
  several_pools_.remove(slot);
  Seat& seat = seats_[slot];
  if (seat.served == kUnset) seat.served = services_++;
  if (options_.order == TieOrder::running_first) seat.place = runs_++;
  starts(view, slot);
}

void LineQueue::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  const bool strict = options_.overtaking == Overtaking::strict;
  const bool claims_follow = !strict || (options_.claims_together && !options_.fewest_nodes);
  bool parts_open = true;  // nobody waits for the parts of devices that others let go of
  bool first = true, all_kept = true;
  owed_ = 0;
  owed_nodes_.clear();
  claims_.clear();
  stopped_.clear();
  line.waiting.begin();
  while (WaitingJobs::Demand* demand = line.waiting.next()) {
    const Item head = *demand->next;
    const sim::QueueJob& job = view.jobs[head.slot];
    const sim::Configuration& wanted = configuration_of(view, head.slot);
    const bool part = wanted.share.is_part();
    // Where devices are kept on certain nodes, a job that starts must name its own.
    const bool may_start = (first || !strict) && (!kept_by_node_ || (!part && wanted.groups.size() == 1));
    if (may_start && (parts_open || !part) && has_nodes(view, job, wanted) && free_.take(wanted, options_.placement)) {
      start(view, head.slot, entry_of(view, head.slot), answer);
      continue;
    }
    if (several_pools_.contains(head.slot) && start_elsewhere(view, head.slot, true, answer)) continue;
    if (std::exchange(first, false)) answer.heads.push_back(head.slot);
    bool kept = false;
    if (preempts() && parts_open) {
      const sim::Group& group = wanted.groups.front();
      sim::FreeDevices soon = free_soon(line, group.pool, view);
      const bool others_fit = std::all_of(wanted.groups.begin() + 1, wanted.groups.end(),
                                          [&](const sim::Group& other) { return soon.fits(wanted, other); });
      const std::size_t stopped = stopped_.size();
      if (strict || others_fit) preempt_for(head, line, soon, view);
      kept = claims_follow && others_fit && soon.fits(wanted, group);
      // One part takes no device but one that is let go; several may need free ones beside it.
      if (kept && !part) keep_for(head.slot, line, view);
      if (kept && wanted.share.parts > 1) keep_for_parts(wanted, line, soon, view);
      if (kept) parts_open = !part && line.parts_coming.empty();
      if (!kept && stopped_.size() > stopped) all_kept = false;
      if (kept || stopped_.size() > stopped) awaited_.push_back(head.slot);
    }
    if (strict && !kept) break;
    // Of those that need the same, the next may fit only where this one keeps devices, or needs more memory.
    if (kept || part)
      ++demand->next;
    else
      demand->next = demand->jobs.end();
  }
  if (options_.claims_together && parts_open && all_kept && stopped_.size() > 1) spare_unneeded(line, view);
  stop_victims(answer);
}

/// Starts a job that names several pools where its devices are free.
bool LineQueue::start_elsewhere(const sim::QueueView& view, sim::JobSlot slot, bool only_empty_lines, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  for (const int entry : entries_to_start(*view.cluster, job)) {
    const sim::Configuration& wanted = sim::configuration_of(job, entry);
    if (wanted.share.is_part()) return false;  // it goes where others are
    if (only_empty_lines && !lines_[static_cast<std::size_t>(wanted.groups.front().pool)].waiting.empty()) continue;
    if (!has_nodes(view, job, wanted) || !free_.take(wanted, options_.placement)) continue;
    start(view, slot, entry, answer);
    return true;
  }
  return false;
}

void LineQueue::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  read(view);
  prepare(view);
  free_.reset(view, by_node_ && view.held != nullptr && somebody_waits());
  kept_by_node_ = false;
  awaited_.clear();
  nodes_.clear();
  out_of_patience_s_ = sim::kNever;
  for (Line& line : lines_) serve(line, view, answer);
  const bool strict = options_.overtaking == Overtaking::strict;
  for (auto next = several_pools_.begin(); next != several_pools_.end();) {
    const sim::JobSlot slot = (next++)->slot;  // a start takes it out of the list
    if (std::find(awaited_.begin(), awaited_.end(), slot) == awaited_.end()) start_elsewhere(view, slot, strict, answer);
  }
  seat_the_moved();
  const double next_s = std::min(changes_at_s(view), out_of_patience_s_);
  if (next_s > view.now_s && next_s != sim::kNever && (next_s < wake_at_s_ || wake_at_s_ <= view.now_s))
    answer.wake_at_s = wake_at_s_ = next_s;
}

}  // namespace rehearse::policies
