#include "sim/jobs/sharing.hpp"

namespace rehearse::sim {

double SharingRules::slowdown(const Job& job, const Job& other, int pool) const {
  if (job.profile != nullptr && other.profile != nullptr) {
    const bool are_types = job.profile->dataset.empty() && other.profile->dataset.empty();
    for (const int where : {are_types ? pool : kAnyPool, kAnyPool}) {
      const auto found = slowdowns_.find({job.profile->model, other.profile->model, where});
      if (found != slowdowns_.end()) return found->second;
    }
  }
  return job.work == Work::rigid ? 1 : default_slowdown;
}

}  // namespace rehearse::sim
