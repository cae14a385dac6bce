// Validation of every answer of a policy. Throws PolicyError naming what is wrong; the replay adds policy, job and time.
#pragma once

#include "sim/replay/decisions.hpp"
#include "sim/jobs/models.hpp"

namespace rehearse::sim {

/// `trained_epochs` of the job so far: stages end later.
void validate_menu(const Cluster& cluster, const Job& job, const Menu& menu, double trained_epochs = 0);
void validate_step_plan(const OpGraph& graph, int workers_on_node, const StepPlan& plan);
void validate_thread_plan(const OpGraph& graph, const Device& cpu, const ThreadPlan& plan);

/// The nodes a queue names for a start must be as many devices as the entry wants, in range, each node once.
void validate_layout(const Cluster& cluster, const Configuration& configuration, const Layout& layout);

}  // namespace rehearse::sim
