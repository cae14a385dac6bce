// The shipped catalogue is data: its names must fit together, and its figures must be in the unit that their key names.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using nlohmann::json;

namespace {

json catalogue(const std::string& file, const std::string& list) {
  std::ifstream in(REHEARSE_SOURCE_DIR "/sim/cluster/catalogue/" + file);
  const json all = json::parse(in);
  REQUIRE(all.size() == 1);
  return all.at(list);
}

std::map<std::string, json> by_name(const json& list) {
  std::map<std::string, json> entries;
  for (const json& entry : list) {
    INFO(entry.at("name"));
    CHECK(entries.emplace(entry.at("name"), entry).second);
    CHECK(entry.at("source").get<std::string>().size() > 40);
  }
  return entries;
}

void check_keys(const json& entry, const std::set<std::string>& known) {
  for (const auto& [key, value] : entry.items()) {
    INFO(key);
    CHECK(known.count(key) == 1);
  }
}

void check_within(const json& entry, const char* key, double low, double high) {
  INFO(key);
  const double value = entry.at(key);
  CHECK(value >= low);
  CHECK(value <= high);
}

}  // namespace

TEST_CASE("devices: names are unique, figures are plausible in their unit") {
  for (const auto& [name, device] : by_name(catalogue("devices.json", "devices"))) {
    INFO(name);
    check_keys(device, {"name", "kind", "peak_flops", "memory_bytes", "memory_bandwidth_bytes_per_s", "multiprocessors", "cores",
                        "sockets", "threads_per_core", "core_bandwidth_bytes_per_s", "idle_w", "busy_w", "efficiency",
                        "threading", "source"});
    const bool gpu = device.at("kind") == "gpu";
    CHECK((gpu || device.at("kind") == "cpu"));
    check_within(device.at("peak_flops"), "fp32", 1e12, 2e14);
    check_within(device.at("peak_flops"), "fp16", device.at("peak_flops").at("fp32"), 1.5e15);
    check_within(device, "memory_bytes", 7e9, 4e12);
    check_within(device, "memory_bandwidth_bytes_per_s", 100e9, 6e12);
    check_within(device, "idle_w", 5, 0.5 * device.at("busy_w").get<double>());
    check_within(device, "busy_w", 50, 1000);
    if (gpu) {
      check_within(device, "multiprocessors", 10, 400);
    } else {
      check_within(device, "cores", device.at("sockets"), 256);
      // A core draws more than its even share of the memory's bandwidth, and less than all of it.
      const double bandwidth = device.at("memory_bandwidth_bytes_per_s");
      check_within(device, "core_bandwidth_bytes_per_s", bandwidth / device.at("cores").get<double>(), bandwidth);
    }
  }
}

TEST_CASE("what people rent now is there: each GPU, alone and by eights, of three large clouds and two GPU clouds") {
  const auto devices = by_name(catalogue("devices.json", "devices"));
  for (const char* name : {"a10g", "l4", "l40s", "a100", "a100-80gb", "h100", "h200", "mi300x", "gtx1080", "gtx1080ti",
                           "titan-xp", "rtx2080ti", "m60"})
    CHECK(devices.count(name) == 1);
  std::map<std::string, std::set<int>> counts;  // by provider
  for (const auto& [name, instance] : by_name(catalogue("instances.json", "instances")))
    for (const json& device : instance.at("devices")) counts[instance.at("provider")].insert(device.at("count").get<int>());
  for (const char* provider : {"aws", "gcp", "azure", "lambda", "nebius"}) {
    INFO(provider);
    CHECK(counts[provider].count(1) == 1);
    CHECK(counts[provider].count(8) == 1);
  }
  const auto instances = by_name(catalogue("instances.json", "instances"));
  for (const char* name : {"dgx-1", "dgx-a100", "nd40rs_v2"}) CHECK(instances.count(name) == 1);
  std::set<std::string> rented;  // for money, of a date
  for (const auto& [name, instance] : instances)
    if (instance.at("provider") != "own" && instance.at("price_usd_per_hour").get<double>() > 0)
      for (const json& device : instance.at("devices")) rented.insert(device.at("device").get<std::string>());
  for (const char* gpu : {"a10g", "l4", "l40s", "a100", "a100-80gb", "h100", "h200", "mi300x", "m60"}) {
    INFO(gpu);
    CHECK(rented.count(gpu) == 1);
  }
}

TEST_CASE("instances: their devices exist, their prices and bandwidths are plausible in their unit") {
  const auto devices = by_name(catalogue("devices.json", "devices"));
  for (const auto& [name, instance] : by_name(catalogue("instances.json", "instances"))) {
    INFO(name);
    check_keys(instance, {"name", "provider", "region", "price_date", "devices", "cpu", "cpu_share", "vcpus", "memory_bytes",
                          "price_usd_per_hour", "spot_price_usd_per_hour", "inside", "network", "storage_bandwidth_bytes_per_s",
                          "host_idle_w", "host_busy_w", "source"});
    int gpus = 0;
    CHECK(instance.at("devices").size() <= 1);
    for (const json& device : instance.at("devices")) {
      CHECK(devices.at(device.at("device")).at("kind") == "gpu");
      gpus += device.at("count").get<int>();
    }
    CHECK(instance.contains("inside") == (gpus > 1));
    if (gpus > 1) check_within(instance.at("inside"), "bandwidth_bytes_per_s", 1e9, 1e12);

    // vcpus are threads of the host: share x cores x threads a core. Azure's NC and ND count cores (no second thread).
    const json& cpu = devices.at(instance.at("cpu"));
    const double threads = cpu.at("cores").get<double>() * cpu.at("threads_per_core").get<int>();
    const double per_vcpu = instance.at("cpu_share").get<double>() * threads / instance.at("vcpus").get<double>();
    const bool counts_cores = name.substr(0, 2) == "nc" || name.substr(0, 2) == "nd";
    CHECK(per_vcpu == Approx(counts_cores ? 2 : 1).epsilon(1e-4));
    check_within(instance, "cpu_share", 0.01, 2);  // g5's EPYC stands there with one of its two sockets

    check_within(instance, "memory_bytes", 2e9, 4e12);
    check_within(instance, "price_usd_per_hour", 0.01, 200);
    if (instance.contains("spot_price_usd_per_hour"))
      check_within(instance, "spot_price_usd_per_hour", 0.001, instance.at("price_usd_per_hour"));
    check_within(instance.at("network"), "bandwidth_bytes_per_s", 10e6, 500e9);
    check_within(instance.at("network"), "latency_s", 1e-6, 1e-3);
    check_within(instance, "storage_bandwidth_bytes_per_s", 10e6, 20e9);
    check_within(instance, "host_busy_w", instance.at("host_idle_w"), 1000);
    // Whose price it is, where and of when: without these a user cannot know what to renew.
    for (const char* key : {"provider", "region", "price_date"}) CHECK(instance.at(key).get<std::string>().size() >= 2);
  }
}

TEST_CASE("stacks: names are unique and single words, figures are plausible in their unit") {
  for (const auto& [name, stack] : by_name(catalogue("stacks.json", "stacks"))) {
    INFO(name);
    CHECK(name.find(' ') == std::string::npos);
    check_keys(stack, {"name", "time_factor", "launch_s", "host_s_per_op", "step_overhead_s", "fast_forms", "overlap",
                       "precision", "source"});
    check_within(stack, "time_factor", 0.5, 2);
    check_within(stack, "launch_s", 1e-6, 2e-4);
    check_within(stack, "host_s_per_op", 1e-6, 2e-4);
    check_within(stack, "step_overhead_s", 0, 0.2);
    check_within(stack, "fast_forms", 0, 1);
    check_within(stack, "overlap", 1, 10);
  }
}
