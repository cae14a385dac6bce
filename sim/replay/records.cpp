#include "sim/replay/records.hpp"

namespace rehearse::sim {

std::string_view name_of(JobEvent event) {
  switch (event) {
    case JobEvent::submitted:
      return "submitted";
    case JobEvent::rejected:
      return "rejected";
    case JobEvent::started:
      return "started";
    case JobEvent::preloading:
      return "preloading";
    case JobEvent::starting_up:
      return "starting_up";
    case JobEvent::restoring:
      return "restoring";
    case JobEvent::collecting:
      return "collecting";
    case JobEvent::running:
      return "running";
    case JobEvent::preempted:
      return "preempted";
    case JobEvent::resized:
      return "resized";
    case JobEvent::interrupted:
      return "interrupted";
    case JobEvent::released:
      return "released";
    case JobEvent::paused:
      return "paused";
    case JobEvent::resumed:
      return "resumed";
    case JobEvent::finished:
      return "finished";
    case JobEvent::failed:
      return "failed";
  }
  return "";
}

double StageRecord::date_of(double course_s) const {
  return running_since_s + course_s / speed + writing_before(checkpoints, course_s);
}

}  // namespace rehearse::sim
