// How far a stage is at a date: training at a speed that may change, with a checkpoint after each interval of training. In closed
// form from change to change, so that checkpoints are no events.
#pragma once

#include <cstdint>

#include "sim/jobs/checkpoints.hpp"

namespace rehearse::sim {

/// Where a stage stands. Course seconds are those of StageCourse: training at full speed. The others are as they passed.
struct StageReading {
  double done_s = 0;              ///< course seconds trained
  double trained_s = 0;           ///< that they took
  double saved_s = 0;             ///< course seconds in the last whole checkpoint of this stage
  double saved_trained_s = 0;     ///< that those took
  double writing_s = 0;           ///< spent on periodic checkpoints, begun ones included
  std::uint64_t checkpoints = 0;  ///< whole ones
};

/// Seconds of periodic checkpoints before so many seconds of a course are trained.
double writing_before(const CheckpointTimes& times, double course_s);

class StageClock {
 public:
  StageClock() = default;
  /// A stage whose first step is at `begin_s` and whose course takes `length_s` at full speed. The last checkpoint is the last
  /// one before the end.
  StageClock(double begin_s, double length_s, const CheckpointTimes& checkpoints, double speed = 1);
  /// From now on `speed` course seconds are trained in a second; positive. Writing is as fast as before.
  void set_speed(double now_s, double speed);
  double speed() const { return speed_; }
  /// `now_s` must not be before the last change of speed.
  StageReading at(double now_s) const;
  /// All of the course, as it stands at end_s().
  StageReading whole() const;
  /// Date of the end, not on the grid of dates.
  double end_s() const;
  /// Course seconds trained in a second, on average from the last change of speed to the end: speed and writing.
  double mean_speed() const;

 private:
  double left_s() const;  // from since_s_ to the end
  double since_s_ = 0;    // last change of speed
  StageReading base_;     // then
  double length_s_ = 0;
  CheckpointTimes times_;
  double speed_ = 1;
  double written_s_ = 0;   // of a checkpoint begun, at since_s_
  std::uint64_t all_ = 0;  // checkpoints of the whole stage
};

}  // namespace rehearse::sim
