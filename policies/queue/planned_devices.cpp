#include "policies/queue/planned_devices.hpp"

#include <algorithm>
#include <bit>

#include "policies/queue/durations.hpp"

namespace rehearse::policies {

void Availability::reset(double now_s, int free) {
  begins_s_.assign(1, now_s);
  free_.assign(1, free);
}

/// The step that the date lies in; the first one if it lies before all. Binary search without branches, which nothing predicts.
std::size_t Availability::step_at(double date_s) const {
  if (date_s <= begins_s_.front()) return 0;
  std::size_t step = 0;
  for (std::size_t steps = begins_s_.size(); steps > 1; steps -= steps / 2)
    step += begins_s_[step + steps / 2] <= date_s ? steps / 2 : 0;
  return step;
}

void Availability::advance(double now_s) {
  const auto past = static_cast<std::ptrdiff_t>(step_at(now_s));
  begins_s_.erase(begins_s_.begin(), begins_s_.begin() + past);
  free_.erase(free_.begin(), free_.begin() + past);
  begins_s_.front() = now_s;
}

/// The index of a step that begins at the date, which is not before the first; made if there was none.
std::size_t Availability::cut(double date_s) {
  const std::size_t before = step_at(date_s);
  if (begins_s_[before] == date_s) return before;
  const auto after = static_cast<std::ptrdiff_t>(before + 1);
  begins_s_.insert(begins_s_.begin() + after, date_s);
  free_.insert(free_.begin() + after, free_[before]);
  return before + 1;
}

void Availability::add(double from_s, double to_s, int devices) {
  from_s = std::max(from_s, begins_s_.front());
  if (from_s >= to_s) return;
  const std::size_t first = cut(from_s);
  const std::size_t end = to_s == kInfinity ? free_.size() : cut(to_s);
  for (std::size_t s = first; s < end; ++s) free_[s] += devices;
  // What is no step any more goes: else every reservation that was moved would leave two behind.
  if (end < free_.size()) join(end);
  join(first);
}

void Availability::join(std::size_t step) {
  if (step == 0 || free_[step] != free_[step - 1]) return;
  begins_s_.erase(begins_s_.begin() + static_cast<std::ptrdiff_t>(step));
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(step));
}

double Availability::earliest(double from_s, const Need& need, double before_s) const {
  const std::size_t steps = free_.size();
  const int devices = need.devices;
  for (std::size_t s = step_at(from_s);; ++s) {
    while (s < steps && free_[s] < devices) ++s;
    if (s == steps) return kInfinity;
    const double start_s = std::max(from_s, begins_s_[s]);
    if (start_s >= before_s) return kInfinity;
    const double end_s = std::min(start_s + need.for_s, need.has_from_s);
    do ++s;
    while (s < steps && begins_s_[s] < end_s && free_[s] >= devices);
    if (s == steps || begins_s_[s] >= end_s) return start_s;
  }
}

int Availability::fewest(double from_s, double for_s) const {
  std::size_t step = step_at(from_s);
  int fewest = free_[step];
  for (++step; step < free_.size() && begins_s_[step] < from_s + for_s; ++step) fewest = std::min(fewest, free_[step]);
  return fewest;
}

double Availability::changes_after(double date_s) const {
  const auto next = std::upper_bound(begins_s_.begin(), begins_s_.end(), date_s);
  return next == begins_s_.end() ? kInfinity : *next;
}

void NodeAvailability::reset(double now_s, const std::vector<int>& free) {
  of_node_.resize(free.size());
  for (std::size_t node = 0; node < free.size(); ++node) of_node_[node].reset(now_s, free[node]);
}

void NodeAvailability::advance(double now_s) {
  for (Availability& node : of_node_) node.advance(now_s);
}

void NodeAvailability::add(double from_s, double to_s, std::span<const sim::NodeShare> shares, int sign) {
  for (const sim::NodeShare& share : shares)
    of_node_[static_cast<std::size_t>(share.node)].add(from_s, to_s, sign * share.devices);
}

NodeAvailability::Found NodeAvailability::earliest(double from_s, double for_s, const sim::Group& group, double before_s) const {
  for (double start_s = from_s; start_s < before_s; start_s = next_start_s(start_s, for_s, group)) {
    std::vector<sim::NodeShare> nodes = group.nodes > 0 ? even(start_s, for_s, group) : any(start_s, for_s, group.workers);
    if (!nodes.empty()) return {.start_s = start_s, .nodes = std::move(nodes)};
  }
  return {};
}

/// The next date that is worth a look: one by which as many nodes have been ready, each alone; else one at which something
/// changes.
double NodeAvailability::next_start_s(double date_s, double for_s, const sim::Group& group) const {
  std::vector<double> dates;
  for (const Availability& node : of_node_)
    dates.push_back(group.nodes > 0 ? node.earliest(date_s, {.for_s = for_s, .devices = group.workers_per_node()})
                                    : node.changes_after(date_s));
  const auto nth = static_cast<std::size_t>(std::max(1, group.nodes)) - 1;
  if (nth >= dates.size()) return Availability::kInfinity;
  std::nth_element(dates.begin(), dates.begin() + static_cast<std::ptrdiff_t>(nth), dates.end());
  return dates[nth];
}

std::vector<sim::NodeShare> NodeAvailability::even(double start_s, double for_s, const sim::Group& group) const {
  std::vector<std::pair<int, int>> ready;  // free, node
  const int devices = group.workers_per_node();
  for (std::size_t node = 0; node < of_node_.size(); ++node)
    if (const int free = of_node_[node].fewest(start_s, for_s); free >= devices) ready.emplace_back(free, static_cast<int>(node));
  std::vector<sim::NodeShare> shares;
  if (ready.size() < static_cast<std::size_t>(group.nodes)) return shares;
  std::partial_sort(ready.begin(), ready.begin() + group.nodes, ready.end());
  for (int n = 0; n < group.nodes; ++n) shares.push_back({.node = ready[static_cast<std::size_t>(n)].second, .devices = devices});
  return shares;
}

/// On the fewest nodes: the emptiest first, the rest on the fullest that holds it.
std::vector<sim::NodeShare> NodeAvailability::any(double start_s, double for_s, int devices) const {
  std::vector<int> free;
  int sum = 0;
  for (const Availability& node : of_node_) sum += free.emplace_back(std::max(0, node.fewest(start_s, for_s)));
  std::vector<sim::NodeShare> shares;
  if (sum < devices) return shares;
  while (devices > 0) {
    const auto better = [devices](int a, int b) {
      const bool a_does = a >= devices, b_does = b >= devices;
      return a_does != b_does ? a_does : a_does ? a < b : a > b;
    };
    const auto best = std::min_element(free.begin(), free.end(), better);
    const int taken = std::min(devices, *best);
    shares.push_back({.node = static_cast<int>(best - free.begin()), .devices = taken});
    devices -= taken;
    *best = 0;
  }
  return shares;
}

void PoolAvailability::reset(double now_s, int free, const sim::Nodes* nodes) {
  is_by_node_ = nodes != nullptr;
  if (!is_by_node_) {
    counted_.reset(now_s, free);
    return;
  }
  std::vector<int> on_node;
  for (int node = 0; node < nodes->node_count(); ++node) on_node.push_back(nodes->free_on(node));
  by_node_.reset(now_s, on_node);
}

void PoolAvailability::advance(double now_s) {
  if (is_by_node_)
    by_node_.advance(now_s);
  else
    counted_.advance(now_s);
}

bool PoolAvailability::is_free_now(int free, const sim::Nodes* nodes, std::span<const Booking* const> due) const {
  if (is_by_node_ != (nodes != nullptr)) return false;
  if (!is_by_node_) {
    int at_hand = counted_.free_now();
    for (const Booking* booking : due) at_hand += booking->devices;
    return at_hand == free;
  }
  std::vector<int> at_hand;
  for (int node = 0; node < nodes->node_count(); ++node) at_hand.push_back(by_node_.free_now(node) - nodes->free_on(node));
  for (const Booking* booking : due)
    for (const sim::NodeShare& share : booking->nodes) at_hand[static_cast<std::size_t>(share.node)] += share.devices;
  return std::all_of(at_hand.begin(), at_hand.end(), [](int more) { return more == 0; });
}

void PoolAvailability::add(const Booking& booking, int sign) {
  if (is_by_node_)
    by_node_.add(booking.start_s, booking.end_s, booking.nodes, sign);
  else
    counted_.add(booking.start_s, booking.end_s, sign * booking.devices);
}

double PoolAvailability::first_free_s(double from_s) const {
  return is_by_node_ ? from_s : counted_.earliest(from_s, {.for_s = 0, .devices = 1});
}

Booking PoolAvailability::find(double from_s, double for_s, const sim::Group& group, double before_s, const Booking* own) {
  Booking found{.devices = group.workers};
  if (is_by_node_) {
    if (own != nullptr) add(*own, 1);
    NodeAvailability::Found first = by_node_.earliest(from_s, for_s, group, before_s);
    if (own != nullptr) add(*own, -1);
    found.start_s = first.start_s;
    found.nodes = std::move(first.nodes);
  } else {
    const double has_from_s = own != nullptr ? own->start_s : Availability::kInfinity;
    found.start_s = counted_.earliest(from_s, {.for_s = for_s, .devices = group.workers, .has_from_s = has_from_s}, before_s);
  }
  found.end_s = found.start_s == Availability::kInfinity ? found.start_s : end_of(found.start_s, for_s);
  return found;
}

bool PoolAvailability::book(double from_s, double for_s, const sim::Group& group, double before_s, Booking& booking) {
  const bool has = booking.start_s != Availability::kInfinity;
  Booking found = find(from_s, for_s, group, before_s, has ? &booking : nullptr);
  if (found.start_s == Availability::kInfinity) return false;
  if (has) add(booking, 1);
  booking = std::move(found);
  add(booking, -1);
  return true;
}

void DeviceRow::insert(std::size_t device) {
  if (words_.size() <= device / 64) words_.resize(device / 64 + 1);
  words_[device / 64] |= std::uint64_t{1} << (device % 64);
}

void DeviceRow::erase(std::size_t device) {
  if (has(device)) words_[device / 64] &= ~(std::uint64_t{1} << (device % 64));
}

int DeviceRow::count() const {
  int sum = 0;
  for (const std::uint64_t word : words_) sum += std::popcount(word);
  return sum;
}

bool DeviceRow::meets(const DeviceRow& other) const {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w)
    if ((words_[w] & other.words_[w]) != 0) return true;
  return false;
}

void DeviceRow::add(const DeviceRow& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
}

void DeviceRow::remove(const DeviceRow& other) {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w) words_[w] &= ~other.words_[w];
}

DeviceRow DeviceRow::both(const DeviceRow& other) const {
  DeviceRow result;
  result.words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t w = 0; w < result.words_.size(); ++w) result.words_[w] = words_[w] & other.words_[w];
  return result;
}

DeviceRow DeviceRow::neighbours(int wanted) const {
  struct Stretch {
    std::size_t first;
    int length;
  };
  std::vector<Stretch> stretches;
  for (std::size_t device = 0; device < 64 * words_.size(); ++device) {
    if (!has(device)) continue;
    if (!stretches.empty() && stretches.back().first + static_cast<std::size_t>(stretches.back().length) == device)
      ++stretches.back().length;
    else
      stretches.push_back({device, 1});
  }
  DeviceRow taken;
  while (wanted > 0 && !stretches.empty()) {
    const auto better = [wanted](const Stretch& a, const Stretch& b) {
      const bool a_does = a.length >= wanted, b_does = b.length >= wanted;
      return a_does != b_does ? a_does : a_does ? a.length < b.length : a.length > b.length;
    };
    const auto best = std::min_element(stretches.begin(), stretches.end(), better);
    const int part = std::min(wanted, best->length);
    for (int i = 0; i < part; ++i) taken.insert(best->first + static_cast<std::size_t>(i));
    wanted -= part;
    stretches.erase(best);
  }
  return taken;
}

std::vector<sim::NodeShare> DeviceRow::by_node(int per_node) const {
  std::vector<sim::NodeShare> shares;
  each([&](std::size_t device) {
    const int node = static_cast<int>(device) / per_node;
    if (shares.empty() || shares.back().node != node) shares.push_back({.node = node});
    ++shares.back().devices;
  });
  return shares;
}

std::optional<DeviceRow> DeviceRow::room_for(const sim::Group& group, int per_node) const {
  if (count() < group.workers) return std::nullopt;
  if (group.nodes == 0) return neighbours(group.workers);
  std::vector<sim::NodeShare> ready = by_node(per_node);
  std::erase_if(ready, [&](const sim::NodeShare& on) { return on.devices < group.workers_per_node(); });
  if (ready.size() < static_cast<std::size_t>(group.nodes)) return std::nullopt;
  std::ranges::stable_sort(ready, {}, &sim::NodeShare::devices);
  DeviceRow taken;
  for (std::size_t n = 0; n < static_cast<std::size_t>(group.nodes); ++n) {
    auto device = static_cast<std::size_t>(ready[n].node) * static_cast<std::size_t>(per_node);
    for (int left = group.workers_per_node(); left > 0; ++device) {
      if (!has(device)) continue;
      taken.insert(device);
      --left;
    }
  }
  return taken;
}

void Reservations::add(Reservation reservation) {
  const std::size_t last = all_.size();
  all_.push_back(std::move(reservation));
  const auto insert = [&](std::vector<std::size_t>& order, double Reservation::*date_s) {
    const auto before = [&](double at_s, std::size_t other) { return at_s < all_[other].*date_s; };
    order.insert(std::upper_bound(order.begin(), order.end(), all_[last].*date_s, before), last);
  };
  insert(by_start_, &Reservation::start_s);
  insert(by_end_, &Reservation::end_s);
}

void UnreservedDevices::move_to(double from_s) {
  const std::vector<Reservation>& all = reserved_.all_;
  const auto &by_start = reserved_.by_start_, &by_end = reserved_.by_end_;
  for (; entered_ < by_start.size() && all[by_start[entered_]].start_s <= from_s + for_s_; ++entered_)
    all[by_start[entered_]].devices.each([&](std::size_t device) {
      if (times_.size() <= device) times_.resize(device + 1);
      if (times_[device]++ > 0 || !of_.has(device)) return;
      devices_.erase(device);
      --count_;
    });
  // Who has ended had started, and has entered.
  for (; left_ < by_end.size() && all[by_end[left_]].end_s <= from_s; ++left_)
    all[by_end[left_]].devices.each([&](std::size_t device) {
      if (--times_[device] > 0 || !of_.has(device)) return;
      devices_.insert(device);
      ++count_;
    });
  while (next_start_ < by_start.size() && all[by_start[next_start_]].start_s <= from_s) ++next_start_;
}

double UnreservedDevices::next_s() const {
  const std::vector<Reservation>& all = reserved_.all_;
  const auto &by_start = reserved_.by_start_, &by_end = reserved_.by_end_;
  const double start_s = next_start_ < by_start.size() ? all[by_start[next_start_]].start_s : Availability::kInfinity;
  const double end_s = left_ < by_end.size() ? all[by_end[left_]].end_s : Availability::kInfinity;
  return std::min(start_s, end_s);
}

}  // namespace rehearse::policies
