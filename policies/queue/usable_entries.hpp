// What the disciplines that choose among a job's menu entries make of it.
#pragma once

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

/// An entry of one pool that could ever fit, and that is expected to keep the job's limits if any is.
bool is_usable(const sim::Cluster& cluster, const sim::QueueJob& job, int entry);

/// Seconds that the job still needs with the entry as predicted, at least 1; a day when nothing is predicted.
double expected_remaining_s(const sim::QueueJob& job, int entry, double now_s);

inline const sim::Configuration& configuration_of(const sim::QueueJob& job, int entry) {
  return job.menu.ranked[static_cast<std::size_t>(entry)].configuration;
}

}  // namespace rehearse::policies
