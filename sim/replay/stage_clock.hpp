// How far a stage's course has come by the clock: as fast as the clock, until jobs that share a network slow each other down.
#pragma once

#include <vector>

namespace rehearse::sim {

class StageClock {
 public:
  /// At full speed.
  void begin(double now_s) {
    began_s_ = now_s;
    turns_.clear();
  }
  /// Seconds of the course a second, in (0, 1]; `now_s` is not before the last change.
  void set_speed(double now_s, double speed);
  double speed() const { return turns_.empty() ? 1 : turns_.back().speed; }
  /// Seconds of the course that are done.
  double done_at(double now_s) const;
  /// Seconds by the clock, from the beginning, after which so much of the course is done; beyond the last change at its speed.
  double after(double course_s) const;
  /// Seconds by the clock for each second of the course, on average until so much of it is done.
  double stretch(double course_s) const { return course_s > 0 ? after(course_s) / course_s : 1; }

 private:
  struct Turn {
    double after_s, done_s, speed;
  };
  double began_s_ = 0;
  std::vector<Turn> turns_;  // changes of speed; empty: full speed, and exactly the clock's seconds
};

}  // namespace rehearse::sim
