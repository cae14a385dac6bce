// What the meter tells: one pool at one date, a pool's totals, where a replay stands.
#pragma once

#include <cstdint>

#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

/// Where a replay stands. A plain value: it goes through pipes.
struct ReplayProgress {
  std::uint64_t jobs_ended = 0;
  std::uint64_t jobs_waiting = 0;
  std::uint64_t jobs_running = 0;  ///< hold devices
  double time_s = 0;
  double allocated_devices = 0;
  double devices = 0;   ///< that are there
  double jobs_usd = 0;  ///< that jobs have been charged, up to their last change
};

/// One pool at one date, after that date's decisions.
struct PoolSample {
  double time_s = 0;
  PoolId pool = 0;
  double busy_devices = 0;       ///< allocated devices times the part of the time they compute
  double allocated_devices = 0;  ///< shares of devices count as such
  int queued_jobs = 0;           ///< of the whole cluster
  double power_w = 0;
  double fragmentation = 0;  ///< share of the free devices that the next job of this pool cannot use: Nodes::unusable_for
};

/// Totals of one pool between the first submit and the last completion.
struct PoolTotals {
  double jobs_device_s = 0, idle_device_s = 0, pool_device_s = 0;
  double jobs_usd = 0, idle_usd = 0, pool_usd = 0;
  double jobs_energy_j = 0, idle_energy_j = 0, pool_energy_j = 0;
  double busy_device_s = 0;
  double jobs_co2_kg = 0, idle_co2_kg = 0, pool_co2_kg = 0;  ///< 0 where the cluster has no carbon intensity
};

}  // namespace rehearse::sim
