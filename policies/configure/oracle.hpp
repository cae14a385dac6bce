// The oracle: every candidate run alone in the true world, the best kept. What no policy can beat job by job; not a policy that
// anybody could use.
#pragma once

#include "policies/configure/configure.hpp"

namespace rehearse::policies {

class Oracle final : public OracleConfigure {
 public:
  sim::Menu configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) override;
};

}  // namespace rehearse::policies
