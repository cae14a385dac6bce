// What a scenario compares, by what its policies differ in: the one place that decides it.
#pragma once

#include "report/metric_fields.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// In `switching`: stopping and starting again take rigid jobs time too.
inline constexpr const char* kRigidJobsSwitch = "rigid_jobs";
inline constexpr const char* kSwitchingPreset = "preset";

/// A queue study: the policies share `configure`, or all jobs are rigid, or the queues differ. A configuration study: jobs that
/// are not rigid, under policies that differ in `configure`, `place` or `threads`, or under one policy alone. A node-failure
/// study: something happens to nodes, or jobs write periodic checkpoints.
report::StudyKinds kinds_of(const Scenario& scenario);

/// Says once which policies stop rigid jobs at no cost, where the scenario does not say whether that is meant.
void warn_of_free_preemption(sim::ObjectReader& in, Scenario& scenario);

/// Says that rigid jobs crowd one pool while another has room, since each goes to the first that could hold it.
void warn_of_crowded_pool(Scenario& scenario);

/// Counts rigid jobs whose time limit ends them: it is below their duration, or leaves no time beyond it for this scenario's
/// checkpoints, or for starting again after a preemption that takes time.
void warn_of_tight_time_limits(Scenario& scenario);

}  // namespace rehearse::scenarios
