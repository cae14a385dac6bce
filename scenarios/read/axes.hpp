// Values of a scenario that a sweep varies: {"sweep": [values]} or {"sweep": {"from", "to", "steps", "scale"}}.
#pragma once

#include <string>
#include <vector>

#include "sim/io/json.hpp"

namespace rehearse::scenarios {

struct SweepAxis {
  std::string pointer;              ///< of the value, RFC 6901
  std::string file;                 ///< that it stands in: the scenario's, or "--set"
  sim::JsonValue sweep;             ///< the list or the range; good as long as its document
  std::vector<std::string> values;  ///< JSON, one at least, all different

  /// A mistake at the value of this position: in its file, with its place in the list or the range.
  sim::Mistake mistake_at(std::size_t value) const;
};

inline constexpr int kMostSweepSteps = 1'000'000;

/// In the document's order. What is wrong with a sweep is added to the mistakes; it is then left out or has fewer values.
std::vector<SweepAxis> read_axes(sim::JsonValue root, sim::Mistakes& mistakes);

/// Throws InputError, with a mistake at each sweep, when there is one.
void refuse_sweeps(sim::JsonValue root);

}  // namespace rehearse::scenarios
