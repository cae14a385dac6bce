#include "policies/queue/availability.hpp"

#include <algorithm>
#include <limits>

namespace rehearse::policies {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void Availability::reset(double now_s, int free) { steps_.assign(1, {now_s, free}); }

void Availability::advance(double now_s) {
  std::size_t past = 0;
  while (past + 1 < steps_.size() && steps_[past + 1].from_s <= now_s) ++past;
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(past));
  steps_.front().from_s = now_s;
}

/// The index of a step that begins at the date, which is not before the first; made if there was none.
std::size_t Availability::cut(double date_s) {
  auto after = std::upper_bound(steps_.begin(), steps_.end(), date_s, [](double date, const Step& s) { return date < s.from_s; });
  const auto before = after - 1;
  if (before->from_s == date_s) return static_cast<std::size_t>(before - steps_.begin());
  after = steps_.insert(after, {date_s, before->free});
  return static_cast<std::size_t>(after - steps_.begin());
}

void Availability::add(double from_s, double to_s, int devices) {
  from_s = std::max(from_s, steps_.front().from_s);
  if (from_s >= to_s) return;
  const std::size_t first = cut(from_s);
  const std::size_t end = to_s == kInfinity ? steps_.size() : cut(to_s);
  for (std::size_t s = first; s < end; ++s) steps_[s].free += devices;
  // What is no step any more goes: else every reservation that was moved would leave two behind.
  if (end < steps_.size()) join(end);
  join(first);
}

void Availability::join(std::size_t step) {
  if (step > 0 && steps_[step].free == steps_[step - 1].free) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(step));
}

double Availability::earliest(double from_s, double for_s, int devices) const {
  double start_s = std::max(from_s, steps_.front().from_s);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const double end_s = s + 1 < steps_.size() ? steps_[s + 1].from_s : kInfinity;
    if (end_s <= start_s) continue;
    if (steps_[s].free < devices)
      start_s = end_s;
    else if (start_s + for_s <= end_s)
      return start_s;
  }
  return kInfinity;
}

}  // namespace rehearse::policies
