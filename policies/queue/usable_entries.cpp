#include "policies/queue/usable_entries.hpp"

#include <algorithm>
#include <cmath>

#include "sim/money/costs.hpp"

namespace rehearse::policies {

bool is_usable(const sim::Cluster& cluster, const sim::QueueJob& job, int entry) {
  const sim::Choice& choice = job.menu.ranked[static_cast<std::size_t>(entry)];
  return choice.configuration.groups.size() == 1 && (choice.predicted.feasible || !job.menu.feasible) &&
         sim::could_ever_fit(cluster, choice.configuration);
}

double expected_remaining_s(const sim::QueueJob& job, int entry, double now_s) {
  constexpr double kUnknown_s = 86400, kLeast_s = 1;
  const double predicted_s = job.predicted_remaining_s(entry, now_s);
  return std::isfinite(predicted_s) ? std::max(predicted_s, kLeast_s) : kUnknown_s;
}

}  // namespace rehearse::policies
