#include "traces/jobs/contradictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace rehearse::traces {

namespace {

bool begins_alike(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return shorter > 1 && std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin(),
                                   [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string ClusterLimits::too_many(double gpus, int pool) const {
  if (pool_gpus.empty()) return {};
  const int most = pool >= 0 ? pool_gpus[static_cast<std::size_t>(pool)] : *std::max_element(pool_gpus.begin(), pool_gpus.end());
  if (gpus <= most) return {};
  return fmt::format("at most {} GPUs, all of {} pool", most, pool >= 0 ? "its" : "the largest");
}

std::string ClusterLimits::too_many_for_a_node(double gpus) const {
  if (node_gpus == 0 || gpus <= node_gpus) return {};
  return fmt::format("at most {} GPUs, all of the largest node: spread over several", node_gpus);
}

bool ClusterLimits::has_gpu_type(std::string_view theirs) const {
  if (gpu_types.empty()) return true;
  for (std::size_t begin = 0; begin <= theirs.size();) {
    const std::size_t end = std::min(theirs.find('|', begin), theirs.size());
    const std::string_view one = theirs.substr(begin, end - begin);
    if (std::any_of(gpu_types.begin(), gpu_types.end(), [&](const std::string& ours) { return begins_alike(one, ours); }))
      return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace rehearse::traces
