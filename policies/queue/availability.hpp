// The free devices of a pool over the time to come, as far as it is planned: a step function, from which reservations are taken.
#pragma once

#include <vector>

namespace rehearse::policies {

class Availability {
 public:
  /// From `now_s` on so many are free; what was planned is forgotten.
  void reset(double now_s, int free);
  /// Forgets what lies before.
  void advance(double now_s);
  int free_now() const { return steps_.front().free; }
  /// `devices` more (or fewer) from one date to another, which may be infinite. Dates before the last `advance` count from there.
  void add(double from_s, double to_s, int devices);
  /// The first date, from `from_s` on, at which so many are free for so long; infinite when there is none.
  double earliest(double from_s, double for_s, int devices) const;

 private:
  struct Step {
    double from_s;
    int free;  ///< until the next step; of the last for ever
  };
  std::size_t cut(double date_s);
  void join(std::size_t step);
  std::vector<Step> steps_{{0, 0}};
};

}  // namespace rehearse::policies
