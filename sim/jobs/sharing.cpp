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

double SharingRules::mean_speed(const Job& job, int pool) const {
  double sum = 0;
  int others = 0;
  if (job.profile != nullptr) {
    const std::string& model = job.profile->model;
    const bool is_type = job.profile->dataset.empty();
    for (auto pair = slowdowns_.lower_bound({model, "", kAnyPool}); pair != slowdowns_.end(); ++pair) {
      const auto& [of, other, where] = pair->first;
      if (of != model) break;
      if (where != kAnyPool && (!is_type || where != pool)) continue;
      sum += 1 / pair->second;
      ++others;
    }
  }
  if (others > 0) return sum / others;
  return job.work == Work::rigid ? 1 : 1 / default_slowdown;
}

}  // namespace rehearse::sim
