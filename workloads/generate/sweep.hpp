// A benchmark sweep: generated CNNs or RNNs, each run for a few steps on every device, batch and power limit. What an estimator
// learns from; on simulated devices, as a user would make it on real ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/layers/structure.hpp"

namespace rehearse::workloads {

enum class SweepKind : std::uint8_t { cnn, rnn };

struct SweepSettings {
  SweepKind kind = SweepKind::cnn;
  int networks = 80;
  int batches = 4;     ///< of each network: powers of two, those that the device's memory holds
  double noise = 0.0;  ///< standard deviation of the logarithm of a measured time, and of a measured power
  std::uint64_t seed = 1;
  sim::Precision precision = sim::Precision::fp32;
};

/// What is trained: drawn by the seed and its number alone, whatever the devices.
struct SweepNetwork {
  Structure structure;
  StructureFeatures features;
  double samples = 0;  ///< of its data set
  int epochs = 1;
};
std::vector<SweepNetwork> sweep_networks(const SweepSettings& settings);

/// One network on one device.
struct SweepRow {
  int network = 0;  ///< its number in the sweep
  int device = 0;   ///< its number among the devices
  double batch = 1;
  double power_limit_w = 0;  ///< 0: none
  double step_s = 0;
  double energy_j = 0;  ///< of the device, a step
  double memory_bytes = 0;
};

/// Rows by network, device, batch and limit. `limits` are shares of a GPU's busy_w; 1 is no limit. A CPU has none.
std::vector<SweepRow> sweep_rows(std::span<const SweepNetwork> networks, std::span<const sim::Device> devices,
                                 std::span<const double> limits, const SweepSettings& settings);

/// The limit in watts of a device at this share; 0: none.
double power_limit_w(const sim::Device& device, double share);

}  // namespace rehearse::workloads
