// What happened on the devices of a replay, event by event, and what may never have happened.
#pragma once

#include <string>
#include <vector>

#include "sim/replay/records.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::scenarios {

struct ScheduleRow {
  enum class Kind : std::uint8_t { waits, takes, lets_go, ends };
  Kind kind = Kind::waits;
  double time_s = 0;
  std::string job;
  double priority = 0;
  sim::PoolId pool = -1;  ///< of the devices that it takes or lets go
  std::vector<sim::NodeShare> nodes = {};
  double memory_bytes = 0;  ///< of each device; 0: not known
};

/// Writes a replay down. Jobs that take parts of devices, or devices of several pools, are not for it.
class ScheduleLog final : public sim::Recorder {
 public:
  explicit ScheduleLog(const workloads::ProfileModels& models) : models_(models) {}
  void on_job(const sim::JobRecord& record) override;
  void on_event(double time_s, sim::JobEvent event, const sim::Job& job, const sim::Configuration*) override;
  void on_devices(double time_s, bool taken, const sim::Job& job, const sim::Configuration& configuration,
                  const sim::Layout& layout) override;

  const std::vector<ScheduleRow>& rows() const { return rows_; }
  /// What is kept of a job's record.
  struct Ended {
    std::string user;
    double submit_s = 0, start_s = 0, end_s = 0;  ///< start_s NaN: never
    bool finished = false;
    int preemptions = 0;
  };
  const std::vector<Ended>& ended() const { return ended_; }

 private:
  const workloads::ProfileModels& models_;
  std::vector<ScheduleRow> rows_;
  std::vector<Ended> ended_;
};

struct ScheduleFaults {
  int memory_overruns = 0;  ///< a job takes devices whose memory is smaller than its need
  int device_overruns = 0;  ///< a node's devices are taken more than once
  /// A job takes devices of a pool while one of higher priority waits that takes devices of the same pool next.
  int priority_inversions = 0;
};
ScheduleFaults faults_in(const std::vector<ScheduleRow>& rows, const sim::Cluster& cluster);

/// Device-seconds that are held, over all that there are, between two dates.
double held_fraction(const std::vector<ScheduleRow>& rows, const sim::Cluster& cluster, double from_s, double to_s);

}  // namespace rehearse::scenarios
