// A job from its arrival to its end, as the replay keeps it beside what the queue sees (QueueJob).
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/meter.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::sim {

struct LiveJob {
  bool in_use = false;
  JobState state = JobState::queued;
  Progress progress;   ///< at the beginning of the stage
  int entry = -1;      ///< of the menu, running or to be started next
  int resize_to = -1;  ///< entry to start with after the checkpoint; -1: back to the queue
  /// At the end of a stage: the menu that `configure` answered, until the devices of the old one's entry are let go.
  std::unique_ptr<Menu> next_menu;
  Layout layout;
  std::vector<Plans> plans;
  StageCourse course;
  int stages = 0;               ///< ended
  double batch_before = 0;      ///< global, of the last of them
  std::vector<StageSeen> seen;  ///< at the ends of stages at which `configure` was asked again
  double first_start_s = kUnset;
  double stage_start_s = 0;  ///< devices taken
  double running_since_s = 0;
  StageClock clock;         ///< of the course
  double held_since_s = 0;  ///< of the current holdings
  double cut_after_s = 0;   ///< seconds of the course done when a checkpoint was begun
  double boot_s = 0;        ///< of the nodes that it took, before its start-up
  std::vector<Holding> holdings;
  JobMeter meter;
  CostParts cost;
  int preemptions = 0, reconfigurations = 0;
  EventHandle phase_end;  ///< of starting, running or checkpointing
  EventHandle deadline;
};

}  // namespace rehearse::sim
