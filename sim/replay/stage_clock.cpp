#include "sim/replay/stage_clock.hpp"

#include <algorithm>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

void StageClock::set_speed(double now_s, double speed) {
  check(speed > 0 && speed <= 1, "a course passes at a part of its full speed", now_s);
  if (speed == this->speed()) return;
  const Turn turn{.after_s = now_s - began_s_, .done_s = done_at(now_s), .speed = speed};
  if (!turns_.empty() && turns_.back().after_s == turn.after_s)
    turns_.back() = turn;
  else
    turns_.push_back(turn);
}

double StageClock::done_at(double now_s) const {
  const double after_s = now_s - began_s_;
  return turns_.empty() ? after_s : turns_.back().done_s + (after_s - turns_.back().after_s) * turns_.back().speed;
}

double StageClock::after(double course_s) const {
  const auto next =
      std::upper_bound(turns_.begin(), turns_.end(), course_s, [](double done_s, const Turn& t) { return done_s < t.done_s; });
  if (next == turns_.begin()) return course_s;
  const Turn& turn = *(next - 1);
  return turn.after_s + (course_s - turn.done_s) / turn.speed;
}

}  // namespace rehearse::sim
