// A platform file of SimGrid's as a cluster: hosts become nodes, alike ones a pool, zones racks (docs/reference/cluster.md, "Platform").
#include "scenarios/read/read_platform.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {
namespace {

/// Of a host, as the instance's own keys.
constexpr const char* kNumbers[] = {"memory_bytes", "price_usd_per_hour",      "host_idle_w",
                                    "host_busy_w",  "spot_price_usd_per_hour", "storage_bandwidth_bytes_per_s"};
constexpr double kDefaultCard = 1.25e9, kDefaultLatency = 5e-5;  // of an instance that says nothing

class PlatformReader {
 public:
  PlatformReader(const sim::Platform& platform, const std::string& path, const Catalogue& catalogue, sim::Mistakes& mistakes)
      : platform_(platform), path_(path), catalogue_(catalogue), mistakes_(mistakes) {}

  PlatformCluster read() {
    for (std::size_t h = 0; h < platform_.hosts.size(); ++h) add(h);
    PlatformCluster cluster;
    std::string devices, instances, pools;
    const auto append = [](std::string& list, const std::string& entry) { list += (list.empty() ? "" : ",\n") + entry; };
    for (const auto& [name, hosts] : hosts_) {
      const sim::PlatformHost& first = platform_.hosts[hosts.front()];
      for (const char* key : {"gpu", "cpu"})
        if (first.properties.contains(key) && catalogue_.find_device(first.properties.at(key)) == nullptr)
          refuse(first, key, "the name of a device");
      if (!first.properties.contains("cpu")) append(devices, cpu_of(first, name));
      append(instances, instance_of(first, name));
      append(pools, fmt::format(R"({{"name": {0}, "instance": {0}, "nodes": {1}}})", report::json_string(name), hosts.size()));
      std::vector<int>& racks = cluster.racks.of_node.emplace_back();
      for (const std::size_t host : hosts) racks.push_back(platform_.hosts[host].zone);
    }
    for (const sim::PlatformZone& zone : platform_.zones) cluster.racks.uplinks_bytes_per_s.push_back(zone.uplink_bytes_per_s);
    cluster.json = fmt::format(R"({{"devices": [{}], "instances": [{}], "pools": [{}]}})", devices, instances, pools);
    return cluster;
  }

 private:
  static std::string text_of(const sim::PlatformHost& host, const std::string& key, const std::string& fallback) {
    const auto found = host.properties.find(key);
    return found == host.properties.end() ? fallback : found->second;
  }

  void refuse(const sim::PlatformHost& host, const std::string& key, const std::string& expected) const {
    mistakes_.add({.file = path_,
                   .pointer = "host " + host.name,
                   .expected = "a property " + key + " that is " + expected,
                   .found = text_of(host, key, "")});
  }

  double number_of(const sim::PlatformHost& host, const std::string& key, double fallback) const {
    const auto found = host.properties.find(key);
    if (found == host.properties.end()) return fallback;
    const std::string& text = found->second;
    double value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !std::isfinite(value)) {
      refuse(host, key, "a number");
      return fallback;
    }
    return value;
  }

  void add(std::size_t index) {
    const sim::PlatformHost& host = platform_.hosts[index];
    const std::string pool = text_of(host, "pool", platform_.zones[static_cast<std::size_t>(host.zone)].name);
    std::vector<std::size_t>& hosts = hosts_[pool];
    if (!hosts.empty() && hardware_of(platform_.hosts[hosts.front()]) != hardware_of(host))
      mistakes_.add({.file = path_,
                     .pointer = "host " + host.name,
                     .expected = fmt::format("hardware as host {} of the same pool \"{}\" has; a property \"pool\" names another",
                                             platform_.hosts[hosts.front()].name, pool),
                     .found = "another"});
    hosts.push_back(index);
  }

  /// What must be equal within a pool.
  static std::string hardware_of(const sim::PlatformHost& host) {
    std::string all = fmt::format("{} {} {} {}", host.core_flops, host.cores, host.card_bytes_per_s, host.latency_s);
    for (const char* key : {"gpu", "gpus", "cpu"}) all += "/" + text_of(host, key, "");
    for (const char* key : kNumbers) all += "/" + text_of(host, key, "");
    return all;
  }

  static std::string cpu_name(const std::string& pool) { return pool + " CPU"; }

  static std::string cpu_of(const sim::PlatformHost& host, const std::string& pool) {
    return fmt::format(R"({{"name": {}, "kind": "cpu", "peak_flops": {{"fp32": {}}}, "cores": {}}})",
                       report::json_string(cpu_name(pool)), host.core_flops * host.cores, host.cores);
  }

  std::string instance_of(const sim::PlatformHost& host, const std::string& pool) const {
    std::string text = fmt::format(R"({{"name": {}, "cpu": {}, "network": {{"bandwidth_bytes_per_s": {}, "latency_s": {}}})",
                                   report::json_string(pool), report::json_string(text_of(host, "cpu", cpu_name(pool))),
                                   host.card_bytes_per_s > 0 ? host.card_bytes_per_s : kDefaultCard,
                                   host.card_bytes_per_s > 0 ? host.latency_s : kDefaultLatency);
    if (host.properties.contains("gpu"))
      text += fmt::format(R"(, "devices": [{{"device": {}, "count": {}}}])", report::json_string(host.properties.at("gpu")),
                          number_of(host, "gpus", 1));
    for (const char* key : kNumbers)
      if (host.properties.contains(key)) text += fmt::format(R"(, "{}": {})", key, number_of(host, key, 1));
    return text + "}";
  }

  const sim::Platform& platform_;
  const std::string& path_;
  const Catalogue& catalogue_;
  sim::Mistakes& mistakes_;
  std::map<std::string, std::vector<std::size_t>> hosts_;  // by pool
};

}  // namespace

PlatformCluster platform_cluster(const sim::Platform& platform, const std::string& path, const Catalogue& catalogue,
                                 sim::Mistakes& mistakes) {
  return PlatformReader(platform, path, catalogue, mistakes).read();
}

}  // namespace rehearse::scenarios
