// Reads a platform file of SimGrid's (XML), with SimGrid, into plain values.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace rehearse::sim {

struct PlatformHost {
  std::string name;
  int zone = 0;           ///< index into Platform::zones
  double core_flops = 0;  ///< FLOP/s of one core
  int cores = 1;
  /// Of the first link on its ways to others, and of the whole way to a neighbour; 0 when it is joined to no other host.
  double card_bytes_per_s = 0, latency_s = 0;
  std::map<std::string, std::string> properties;
};

/// A zone that hosts lie in. `uplink_bytes_per_s`: of the narrowest link between the cards on the widest way to another zone.
struct PlatformZone {
  std::string name;
  double uplink_bytes_per_s = std::numeric_limits<double>::infinity();
};

struct Platform {
  std::vector<PlatformZone> zones;
  std::vector<PlatformHost> hosts;  ///< by name, shorter names first, so that host-9 comes before host-10
};

/// In a process of its own, with limits on memory and time. Throws InputError, with what SimGrid says, for a file that it does
/// not take, and for one without hosts.
Platform read_platform(const std::string& path);

}  // namespace rehearse::sim
