#include <algorithm>

#include "policies/queue/backfill_queue.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

/// A job that has outrun what was believed may end at any time: now.
Easy::Reservation Easy::reserve(const Line& line, const Waiting& head, double now_s) const {
  int free = free_of(line);
  double start_s = now_s;
  for (const OrderedQueue::Item& release : line.releases) {
    const double date_s = std::max(release.key, now_s);
    if (free >= head.devices && date_s > start_s) break;  // all that end at the date count
    start_s = date_s;
    free += devices_of(release.slot);
  }
  return {free >= head.devices ? start_s : sim::kNever, free - head.devices};
}

void Easy::serve(Line& line, const sim::QueueView& view, sim::QueueAnswer& answer) {
  std::deque<Waiting>& waiting = line.waiting;
  std::size_t first = 0;
  for (; first < waiting.size() && fits_now(view, waiting[first]); ++first) start(line, waiting[first], view, answer);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(first));
  if (waiting.empty()) return;
  Reservation reservation = reserve(line, waiting.front(), view.now_s);
  line.head_start_s = reservation.start_s;
  const std::size_t last = std::min(waiting.size(), static_cast<std::size_t>(parameters().depth));
  std::size_t kept = 1;
  std::size_t w = 1;
  for (; w < last && free_of(line) > 0; ++w) {
    const Waiting& job = waiting[w];
    const bool in_time = job.need_s != sim::kNever && sim::on_date_grid(view.now_s + job.need_s) <= reservation.start_s;
    if ((in_time || job.devices <= reservation.left_over) && fits_now(view, job)) {
      start(line, job, view, answer);
      if (!in_time) reservation.left_over -= job.devices;
    } else {
      waiting[kept++] = job;
    }
  }
  waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(kept), waiting.begin() + static_cast<std::ptrdiff_t>(w));
}

}  // namespace rehearse::policies
