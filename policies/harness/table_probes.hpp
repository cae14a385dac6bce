// A strategy that measures what it likes: its past runs of a table, one option after the other.
#pragma once

#include <cstdint>
#include <string>

#include "policies/learn/probing.hpp"
#include "policies/harness/table_choice.hpp"

namespace rehearse::policies {

struct ProbeBudget {
  std::size_t runs = 0;  ///< options of the task, at most
  TableJob typical;      ///< whose task it is, and which limits are searched for
  double epochs = 0;     ///< that a run to the end takes, where they are no choice
  std::uint64_t random_key = 0;
};

/// Adds to `measured` what `chooser` wants to see of the task. A run that was cut has been paid for like any other.
void probe_task(const RunTable& table, const ProbeBudget& budget, ProbeChooser& chooser, MeasuredCells& measured);

}  // namespace rehearse::policies
