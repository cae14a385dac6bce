// Devices that jobs share: how much room each has left, which of them a job gets, and how jobs slow each other down.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/jobs/configuration.hpp"
#include "sim/jobs/job.hpp"

namespace rehearse::sim {

// Devices that jobs share: how much room each has left, and which of them a job gets.

/// The devices of one pool that are open to jobs which need a part of one. A plain value: a queue copies it to see what its own
/// answer leaves. A device is opened for the first job on it and closed after its last one.
class DeviceShares {
 public:
  static constexpr int kNone = -1;

  /// `memory_bytes` that jobs can use of each device.
  explicit DeviceShares(double memory_bytes) : memory_bytes_(memory_bytes) {}
  /// How many of the pool's `free` devices are opened for all parts of a job: as few as hold those for which no open device has
  /// room, and to spread one for each part. kNone when there are too few. `beside`: parts may go where other jobs are.
  int to_open(const DeviceShare& wanted, Placement placement, bool beside, int free) const;
  /// Opens a device on each of these nodes of the pool and puts all parts of a job where there is room: on the device with the
  /// least of it left (best fit); to spread, on the one with the most. Ties go to the one opened first. Returns each part's
  /// device. Fractions sum to 1 at most, and needs of memory to what there is, so that a job which needs more never goes beside
  /// another.
  std::vector<int> put_all(const DeviceShare& wanted, Placement placement, bool beside, const std::vector<int>& nodes);
  /// Is this device open, and has it room?
  bool has_room(int device, const DeviceShare& wanted) const;
  /// Opens a device that was free, on this node of the pool, and returns its number: they are given in order of opening.
  int open(int node);
  void put(int device, const DeviceShare& share);
  /// Takes a job's share back. True when it was the last: the device is closed then.
  bool take_back(int device, const DeviceShare& share);
  /// Nothing new goes on a node that is out.
  void set_out(int node, bool out);
  int node_of(int device) const { return at(device).node; }
  bool is_out(int device) const { return at(device).out; }

 private:
  struct Device {
    int number = 0;
    int node = 0;
    bool out = false;
    double fraction = 0;  // taken
    double memory_bytes = 0;
    int tenants = 0;
  };
  int choose(const DeviceShare& wanted, Placement placement, int first) const;
  const Device* find(int device) const;  // null: not open
  const Device& at(int device) const;
  bool has_room(const Device& device, const DeviceShare& wanted) const;
  Device& at(int device);
  double memory_bytes_;
  int opened_ = 0;
  std::vector<Device> devices_;  // in order of opening
};

// How jobs on one device slow each other down (docs/explain/model.md, "Devices that jobs share").

/// Median over the 633 ordered pairs that Gavel's authors measured on a V100 and in which both ran (Narayanan et al., OSDI 2020;
/// scheduler/notebooks/figures/motivation/oracle_throughputs.json of their repository).
inline constexpr double kMeasuredSlowdown = 1.385;

class SharingRules {
 public:
  /// Of every pair that was not set; at least 1.
  double default_slowdown = kMeasuredSlowdown;
  /// By how much a job of this model is slowed by one of the other beside it; at least 1.
  void set(const std::string& model, const std::string& other, double slowdown) { set(model, other, kAnyPool, slowdown); }
  /// As measured on devices of one pool, of types of jobs, whose profiles have no dataset: it counts there, and for no model.
  void set(const std::string& model, const std::string& other, int pool, double slowdown) {
    slowdowns_[{model, other, pool}] = slowdown;
  }
  /// On a device of the pool. A rigid job's length was measured with whatever ran beside it then: where its pair was not set,
  /// nothing slows it.
  double slowdown(const Job& job, const Job& other, int pool) const;
  /// Its speed beside another, 1 being alone: the mean over the others with which its model was set, of the pool or of any; where
  /// none was, beside any other.
  double mean_speed(const Job& job, int pool) const;

 private:
  static constexpr int kAnyPool = -1;
  std::map<std::tuple<std::string, std::string, int>, double> slowdowns_;
};

}  // namespace rehearse::sim
