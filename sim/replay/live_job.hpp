// A job from its arrival to its end, as the replay keeps it beside what the queue sees (QueueJob).
#pragma once

#include <memory>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/money/meter.hpp"
#include "sim/replay/stage.hpp"
#include "sim/replay/stage_clock.hpp"

namespace rehearse::sim {

struct LiveJob {
  bool in_use = false;
  JobState state = JobState::queued;
  Progress progress;                              ///< at the beginning of the stage
  int entry = -1;                                 ///< of the menu, running or to be started next
  int resize_to = -1;                             ///< entry to start with after the checkpoint; -1: back to the queue
  Placement placement = Placement::consolidated;  ///< of a resize
  bool shares = false;                            ///< likewise: Start::shares
  /// At the end of a stage: the menu that `configure` answered, until the devices of the old one's entry are let go.
  std::unique_ptr<Menu> next_menu;
  Layout layout;
  std::vector<Plans> plans;
  StageCourse course;
  CheckpointTimes checkpoint_times;
  StageClock clock;         ///< while running
  StageReading cut;         ///< where the stage stood when its checkpoint was begun
  bool loses_work = false;  ///< since the last periodic checkpoint, with this preemption
  bool has_checkpoint = false;
  int stages = 0;               ///< ended
  double batch_before = 0;      ///< global, of the last of them
  std::vector<StageSeen> seen;  ///< at the ends of stages at which `configure` was asked again
  double first_start_s = kUnset;
  double stage_start_s = 0;  ///< devices taken
  double running_since_s = 0;
  double held_since_s = 0;  ///< of the current holdings
  double boot_s = 0;        ///< of the nodes that it took, before its start-up
  int start_phase = 0;      ///< the next one, while starting
  bool collects = false;    ///< its results: trained to the end, and still holds its devices
  std::vector<Holding> holdings;
  std::vector<NodeRent> rents;  ///< under node billing
  double stage_start_usd = 0;   ///< charged when the stage began
  JobMeter meter;
  CostParts cost;
  TimeParts time;
  std::uint64_t checkpoints = 0;
  int preemptions = 0, reconfigurations = 0;
  EventHandle phase_end;  ///< of starting, running or checkpointing
  EventHandle deadline, walltime;
  int restarts = 0;
  int waits_for = 0;    ///< jobs of `after` that have not ended
  double furthest = 0;  ///< of its work, ever, as far as it was looked at (ReplayRun::look_for_progress)
};

}  // namespace rehearse::sim
