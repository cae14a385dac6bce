#include "scenarios/read/measured_sites.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/io/shown.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {
namespace {

constexpr sim::Link kInside{1e10, 1e-5}, kNetwork{1.25e9, 5e-5};  // as of an instance that says nothing

int count_of(const InstanceEntry& entry, const std::string& device) {
  for (const InstanceEntry::Named& named : entry.devices)
    if (named.device == device) return named.count;
  return 0;
}

const InstanceEntry* smallest_with(const Catalogue& catalogue, const std::string& device, int count) {
  const InstanceEntry* best = nullptr;
  for (const InstanceEntry& entry : catalogue.instances()) {
    const int has = count_of(entry, device);
    if (has >= count && (best == nullptr || has < count_of(*best, device))) best = &entry;
  }
  return best;
}

std::string threading_json(const sim::Threading& t) {
  return fmt::format(
      "\"threading\": {{\"cores_per_tile\": {}, \"tile_cache_bytes\": {}, \"smt_yield\": {}, \"serial_share\": {}, "
      "\"dispatch_share\": {}, \"wake_s\": {}, \"time_slice_s\": {}}}",
      t.cores_per_tile, t.tile_cache_bytes, t.smt_yield, t.serial_share, t.dispatch_share, t.wake_s, t.time_slice_s);
}

std::string device_json(const sim::Device& d) {
  const sim::Efficiency& e = d.efficiency;
  const std::string units = d.kind == sim::DeviceKind::gpu ? fmt::format("\"multiprocessors\": {}", d.multiprocessors)
                                                           : fmt::format(
                                                                 "\"cores\": {}, \"sockets\": {}, \"threads_per_core\": {}, "
                                                                 "\"core_bandwidth_bytes_per_s\": {},\n      {}",
                                                                 d.cores, d.sockets, d.threads_per_core,
                                                                 d.core_bandwidth_bytes_per_s, threading_json(d.threading));
  std::string corrections;
  for (const sim::ModelCorrection& c : d.corrections) {
    std::string batches;
    for (const sim::BatchFactor& b : c.batches)
      batches += fmt::format("{}{{\"batch\": {}, \"factor\": {}}}", batches.empty() ? "" : ", ", b.batch, b.factor);
    corrections += fmt::format(
        "{}\n        {{\"model\": {}, {}\"time_factor\": {}, \"launch_factor\": {}, \"power_factor\": {}, "
        "\"wait_share\": {}{}{}}}",
        corrections.empty() ? "" : ",", sim::json_string(c.model),
        c.dataset.empty() ? "" : fmt::format("\"dataset\": {}, ", sim::json_string(c.dataset)), c.time_factor, c.launch_factor,
        c.power_factor, c.wait_share, c.loader_s > 0 ? fmt::format(", \"loader_s\": {}", c.loader_s) : "",
        batches.empty() ? "" : fmt::format(",\n          \"batches\": [{}]", batches));
  }
  std::string power;
  if (d.power)
    power = fmt::format(
        "      \"power\": {{\"running_w\": {}, \"clock_w\": {}, \"launch_w\": {}, \"arithmetic_w\": {}, \"memory_w\": {}, "
        "\"voltage_floor\": {}, "
        "\"voltage_slope\": {}, \"lowest_clock\": {}}},\n",
        d.power->running_w, d.power->clock_w, d.power->launch_w, d.power->arithmetic_w, d.power->memory_w, d.power->voltage_floor,
        d.power->voltage_slope, d.power->lowest_clock);
  return fmt::format(
      "    {{ \"name\": {}, \"kind\": \"{}\",\n"
      "      \"peak_flops\": {{\"fp32\": {}, \"fp16\": {}{}}}, \"memory_bytes\": {}, \"memory_bandwidth_bytes_per_s\": {},\n"
      "      {}, \"idle_w\": {}, \"busy_w\": {},\n"
      "      \"efficiency\": {{\"conv\": {}, \"gemm\": {}, \"rnn\": {}, \"fp16\": {}, \"bandwidth\": {}, \"k_half\": {}, "
      "\"launch_s\": {}, \"repeat_s\": {}, \"host_s_per_op\": {}, \"step_overhead_s\": {}, \"model_factor\": {}, \"fast_forms\": "
      "{}}},\n{}"
      "      \"corrections\": [{}],\n"
      "      {}\"source\": {} }}",
      sim::json_string(d.name), d.kind == sim::DeviceKind::gpu ? "gpu" : "cpu", d.peak_fp32_flops, d.peak_fp16_flops,
      d.peak_tf32_flops > 0 ? fmt::format(", \"tf32\": {}", d.peak_tf32_flops) : "", d.memory_bytes,
      d.memory_bandwidth_bytes_per_s, units, d.idle_w, d.busy_w, e.conv, e.gemm, e.rnn, e.fp16, e.bandwidth, e.k_half, e.launch_s,
      e.repeat_s, e.host_s_per_op, e.step_overhead_s, e.model_factor, e.fast_forms, power, corrections,
      d.stack.empty() ? "" : fmt::format("\"stack\": {}, ", sim::json_string(d.stack)), sim::json_string(d.source));
}

std::string link_json(const sim::Link& link) {
  return fmt::format("{{\"bandwidth_bytes_per_s\": {}, \"latency_s\": {}{}}}", link.bandwidth_bytes_per_s, link.latency_s,
                     link.contention == 0 ? "" : fmt::format(", \"contention\": {}", link.contention));
}

std::string instance_json(const InstanceEntry& entry) {
  const sim::Instance& i = entry.instance;
  std::string devices, prices;
  for (const InstanceEntry::Named& named : entry.devices)
    devices += fmt::format("{}{{\"device\": {}, \"count\": {}}}", devices.empty() ? "" : ", ", sim::json_string(named.device),
                           named.count);
  if (entry.has_price) prices += fmt::format("\"price_usd_per_hour\": {}, ", i.price_usd_per_hour);
  if (std::isfinite(i.spot_price_usd_per_hour))
    prices += fmt::format("\"spot_price_usd_per_hour\": {}, ", i.spot_price_usd_per_hour);
  for (const auto& [key, text] : {std::pair<const char*, const std::string&>{"provider", entry.provider},
                                  {"region", entry.region},
                                  {"price_date", i.price_date}})
    if (!text.empty()) prices += fmt::format("\"{}\": {}, ", key, sim::json_string(text));
  return fmt::format(
      "    {{ \"name\": {}, \"devices\": [{}],\n"
      "      \"cpu_share\": {}, \"vcpus\": {}, \"memory_bytes\": {}, {}\"storage_bandwidth_bytes_per_s\": {},\n"
      "      \"inside\": {}, \"network\": {}, \"overlap\": {},\n"
      "      \"server_bytes_per_s\": {}, \"server_overlap\": {}, \"host_idle_w\": {}, \"host_busy_w\": {},\n"
      "      \"source\": {} }}",
      sim::json_string(i.name), devices, i.cpu_share, i.vcpus, i.memory_bytes, prices, i.storage_bandwidth_bytes_per_s,
      link_json(i.inside), link_json(i.network), i.overlap, i.server_bytes_per_s, i.server_overlap, i.host_idle_w, i.host_busy_w,
      sim::json_string(i.source));
}

std::string stack_json(const sim::Stack& s) {
  return fmt::format(
      "    {{ \"name\": {}, \"time_factor\": {}, \"launch_s\": {}, \"host_s_per_op\": {}, \"step_overhead_s\": {},\n"
      "      \"fast_forms\": {}, \"overlap\": {}, \"precision\": \"{}\",\n"
      "      \"source\": {} }}",
      sim::json_string(s.name), s.time_factor, s.launch_s, s.host_s_per_op, s.step_overhead_s, s.fast_forms, s.overlap,
      traces::precision_names()[static_cast<std::size_t>(s.precision)], sim::json_string(s.source));
}

template <class Entry, class Written>
std::string list_json(const std::vector<Entry>& entries, Written written) {
  std::string text;
  for (const Entry& entry : entries) text += (text.empty() ? "" : ",\n") + written(entry);
  return text;
}

}  // namespace

const InstanceEntry* instance_of(const workloads::Measurement& m, const Catalogue& catalogue) {
  return m.instance.empty() ? smallest_with(catalogue, m.device, m.workers_per_node) : catalogue.find_instance(m.instance);
}

workloads::Site site_of(const workloads::Measurement& m, const Catalogue& catalogue) {
  const sim::Device* device = catalogue.find_device(m.device);
  sim::check(device != nullptr, "a measurement on a device that the catalogue lacks");
  workloads::Site site{.device = *device, .inside = kInside, .network = kNetwork};
  const InstanceEntry* entry = instance_of(m, catalogue);
  if (entry == nullptr) return site;
  sim::Cluster cluster;
  sim::Mistakes mistakes;
  const int instance = add_to_cluster(*entry, catalogue, cluster, mistakes);
  if (instance == kNoInstance) return site;
  const sim::Instance& found = cluster.instances[static_cast<std::size_t>(instance)];
  site.inside = found.inside;
  site.network = found.network;
  site.overlap = found.overlap;
  site.server_bytes_per_s = found.server_bytes_per_s;
  site.server_overlap = found.server_overlap;
  if (device->kind == sim::DeviceKind::cpu && found.cpu >= 0) site.device = cluster.devices[static_cast<std::size_t>(found.cpu)];
  return site;
}

std::string catalogue_json(const std::vector<sim::Device>& devices, const std::vector<InstanceEntry>& instances,
                           const std::vector<sim::Stack>& stacks) {
  const std::string software = stacks.empty() ? "" : fmt::format(",\n  \"stacks\": [\n{}\n  ]", list_json(stacks, stack_json));
  return fmt::format("{{\n  \"devices\": [\n{}\n  ],\n  \"instances\": [\n{}\n  ]{}\n}}\n", list_json(devices, device_json),
                     list_json(instances, instance_json), software);
}

}  // namespace rehearse::scenarios
