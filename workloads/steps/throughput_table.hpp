// Measured throughputs: how many steps a second jobs of a type do on so many workers of a pool at a global batch, alone or beside
// another job on their device. They stand in the place of the step model: schedulers' authors publish such tables, and replay on
// them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rehearse::workloads {

/// One measurement, as a table has it.
struct Throughput {
  std::string job_type;
  std::string pool;  ///< empty: of every pool
  int workers = 0;
  int batch = 0;           ///< global; of which every worker has as much
  double steps_per_s = 0;  ///< global steps; above 0
  std::string partner;     ///< the type of job that ran on the same device; empty: alone
};

/// What one type of job does alone in the pools of a cluster.
class MeasuredSteps {
 public:
  struct Setting {
    int pool = 0, workers = 0, batch = 0;
    auto operator<=>(const Setting&) const = default;
  };

  /// False when the setting was given before.
  bool set(const Setting& setting, double steps_per_s) { return step_s_.emplace(setting, 1 / steps_per_s).second; }
  /// Seconds of a step; null where nothing was measured.
  const double* step_s(const Setting& setting) const {
    const auto found = step_s_.find(setting);
    return found == step_s_.end() ? nullptr : &found->second;
  }
  /// All that were measured at this global batch, by pool and workers; `pool` -1: in any.
  std::vector<Setting> settings(double batch, int pool) const;
  /// In this pool, or in any; ascending.
  std::vector<int> batches(int pool) const;
  bool empty() const { return step_s_.empty(); }

 private:
  std::map<Setting, double> step_s_;
};

/// By the name of the type.
using JobTypes = std::map<std::string, std::shared_ptr<const MeasuredSteps>>;

}  // namespace rehearse::workloads
