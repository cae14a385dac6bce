#include "workloads/steps/throughput_table.hpp"

#include <algorithm>

namespace rehearse::workloads {

std::vector<MeasuredSteps::Setting> MeasuredSteps::settings(double batch, int pool) const {
  std::vector<Setting> found;
  for (const auto& [setting, step_s] : step_s_)
    if (setting.batch == batch && (pool < 0 || setting.pool == pool)) found.push_back(setting);
  return found;
}

std::vector<int> MeasuredSteps::batches(int pool) const {
  std::vector<int> found;
  for (const auto& [setting, step_s] : step_s_)
    if (pool < 0 || setting.pool == pool) found.push_back(setting.batch);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace rehearse::workloads
