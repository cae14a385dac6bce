// Software that trains: what it makes of devices of which only the data sheet is known. A plain value, as devices are; the data
// lives in sim/cluster/catalogue/stacks.json.
#pragma once

#include <string>

#include "sim/cluster/cluster.hpp"

namespace rehearse::sim {

struct Stack {
  std::string name;
  double time_factor = 1;  ///< of a GPU's computation; the next four in the place of Efficiency's
  double launch_s = Efficiency{}.launch_s;
  double host_s_per_op = Efficiency{}.host_s_per_op;
  double step_overhead_s = Efficiency{}.step_overhead_s;
  double fast_forms = Efficiency{}.fast_forms;
  double overlap = Instance{}.overlap;    ///< in the place of an instance's that nobody has said
  Precision precision = Precision::fp32;  ///< of jobs that name none
  std::string source;
};

/// A GPU that nobody has measured, as the stack uses it. Any other device as it is: one that was measured (Device::stack, or
/// corrections) has the software of those measurements, and stacks say nothing of CPUs.
Device on_stack(Device device, const Stack& stack);

}  // namespace rehearse::sim
