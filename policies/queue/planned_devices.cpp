#include "policies/queue/planned_devices.hpp"

#include <algorithm>
#include <bit>

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
