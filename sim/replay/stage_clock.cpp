#include "sim/replay/stage_clock.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

double writing_before(const CheckpointTimes& times, double course_s) {
  return times.interval_s < course_s ? (std::ceil(course_s / times.interval_s) - 1) * times.write_s : 0;
}

StageClock::StageClock(double begin_s, double length_s, const CheckpointTimes& checkpoints, double speed)
    : since_s_(begin_s), length_s_(length_s), times_(checkpoints), speed_(speed) {
  check(times_.interval_s > 0 && speed > 0, "a stage without speed, or checkpoints without an interval", begin_s);
  if (times_.interval_s < length_s_)
    all_ = sim::whole<std::uint64_t>(std::ceil(length_s_ / times_.interval_s), "checkpoints of a stage") - 1;
}

StageReading StageClock::at(double now_s) const {
  StageReading r = base_;
  double left_s = now_s - since_s_;
  const auto train = [&](double course_s) {
    r.trained_s += (course_s - r.done_s) / speed_;
    r.done_s = course_s;
  };
  if (r.checkpoints < all_) {
    // To the end of the checkpoint under way or the next one, then over whole intervals with theirs.
    const double next_s = static_cast<double>(r.checkpoints + 1) * times_.interval_s;
    const double first_s = (next_s - r.done_s) / speed_ + times_.write_s - written_s_;
    if (left_s >= first_s) {
      left_s -= first_s;
      const double period_s = times_.interval_s / speed_ + times_.write_s;
      const auto more = sim::whole<std::uint64_t>(
          std::min(std::floor(left_s / period_s), static_cast<double>(all_ - r.checkpoints - 1)), "checkpoints of a stage");
      left_s -= static_cast<double>(more) * period_s;
      r.writing_s += times_.write_s * static_cast<double>(more + 1) - written_s_;
      r.checkpoints += more + 1;
      train(static_cast<double>(r.checkpoints) * times_.interval_s);
      r.saved_s = r.done_s;
      r.saved_trained_s = r.trained_s;
    }
  }
  const double stop_s = r.checkpoints < all_ ? static_cast<double>(r.checkpoints + 1) * times_.interval_s : length_s_;
  const double to_stop_s = (stop_s - r.done_s) / speed_;
  if (left_s < to_stop_s) {
    r.trained_s += left_s;
    r.done_s += left_s * speed_;
  } else {
    train(stop_s);
    if (r.checkpoints < all_) r.writing_s += left_s - to_stop_s;
  }
  return r;
}

void StageClock::set_speed(double now_s, double speed) {
  check(speed > 0, "a stage without speed", now_s);
  const StageReading now = at(now_s);
  // Of the checkpoint under way: all writing but that of whole ones.
  written_s_ = std::max(0.0, now.writing_s - static_cast<double>(now.checkpoints) * times_.write_s);
  base_ = now;
  since_s_ = now_s;
  speed_ = speed;
}

double StageClock::left_s() const {
  return (length_s_ - base_.done_s) / speed_ + static_cast<double>(all_ - base_.checkpoints) * times_.write_s - written_s_;
}

double StageClock::end_s() const { return since_s_ + left_s(); }

StageReading StageClock::whole() const {
  StageReading r = base_;
  r.trained_s += (length_s_ - r.done_s) / speed_;
  r.done_s = length_s_;
  r.writing_s += static_cast<double>(all_ - r.checkpoints) * times_.write_s - written_s_;
  if (all_ > r.checkpoints) {
    r.saved_s = static_cast<double>(all_) * times_.interval_s;
    r.saved_trained_s = r.trained_s - (r.done_s - r.saved_s) / speed_;
  }
  r.checkpoints = all_;
  return r;
}

double StageClock::mean_speed() const {
  const double seconds = left_s();
  return seconds > 0 ? (length_s_ - base_.done_s) / seconds : speed_;
}

}  // namespace rehearse::sim
