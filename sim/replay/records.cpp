#include "sim/replay/records.hpp"

namespace rehearse::sim {

double StageRecord::date_of(double course_s) const {
  return running_since_s + course_s / speed + writing_before(checkpoints, course_s);
}

}  // namespace rehearse::sim
