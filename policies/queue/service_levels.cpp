#include "policies/queue/service_levels.hpp"

#include <algorithm>
#include <limits>

namespace rehearse::policies {

ServiceLevels::ServiceLevels(int levels, double first_device_s, double ratio) : begins_{0} {
  for (double begin = first_device_s; count() < levels; begin *= ratio) begins_.push_back(begin);
  ended_.resize(begins_.size(), 0);
  sum_.resize(begins_.size(), 0);
}

double ServiceLevels::end(int level) const {
  return level + 1 < count() ? begin(level + 1) : std::numeric_limits<double>::infinity();
}

int ServiceLevels::level_of(double device_s) const {
  return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), device_s) - begins_.begin()) - 1;
}

void ServiceLevels::learn(double device_s) {
  const auto level = static_cast<std::size_t>(level_of(device_s));
  ended_[level] += 1;
  sum_[level] += device_s;
}

double ServiceLevels::gittins(int level) const {
  double above = 0;
  for (auto l = static_cast<std::size_t>(level); l < ended_.size(); ++l) above += ended_[l];
  if (above == 0) return 1 / (begin(level) + begins_[std::min<std::size_t>(1, begins_.size() - 1)] + 1);
  // Served up to the end of each level j: E[ended] / E[service], both of the jobs that came as far as `level`.
  double best = 0, ended = 0, served = 0;
  for (int j = level; j < count(); ++j) {
    const auto at = static_cast<std::size_t>(j);
    ended += ended_[at];
    served += sum_[at] - ended_[at] * begin(level);
    const double others = above - ended;
    const double whole = others > 0 ? served + others * (end(j) - begin(level)) : served;
    if (whole > 0) best = std::max(best, ended / whole);
    if (others == 0) break;
  }
  return best;
}

}  // namespace rehearse::policies
