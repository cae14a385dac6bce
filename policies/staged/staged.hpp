// What staged strategies share: where a job stands by what has been seen of it, and the menu at a stage's beginning.
#pragma once

#include "policies/configure/configure.hpp"
#include "policies/staged/stage_planner.hpp"

namespace rehearse::policies {

/// Where the job stands by these models after the stages seen: training by the models, time and money as they were measured. What
/// it holds points into `candidates` or, if it is none of them, into `seen`.
sim::Standing standing_after(const sim::Job& job, std::span<const sim::Configuration> candidates,
                             std::span<const sim::StageSeen> seen, const sim::StageRunner& runner);

/// Ends of the stages still to come.
std::vector<double> ends_after(std::span<const double> ends, std::span<const sim::StageSeen> seen);

/// `first` until the first of `ends`, then the other candidates as the belief ranks them for the whole job, for when it is not
/// free. `plan` says what is expected of the job when all goes on as planned.
sim::Menu staged_menu(const ConfigureView& view, const sim::Configuration& first, const StagePlan& plan,
                      std::span<const double> ends);

/// Epochs that a job with Stop::budget trains, whatever its stages are: those that the belief expects of the manual
/// configuration, or of the best candidate where manual's does not fit; the cap where nothing fits. Manual's for other jobs, whom
/// it does not bind.
double budget_epochs(const ConfigureView& view);

/// The first menu of a staged strategy whose job cannot be cut into stages (fixed steps): the belief's ranking.
sim::Menu believed_menu(const ConfigureView& view);

}  // namespace rehearse::policies
