#include "scenarios/read/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "scenarios/read/embedded.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {

namespace {

using sim::above;
using sim::at_least;
using sim::between;
using sim::NumberRange;

constexpr double kGib = 1024.0 * 1024 * 1024;
// Wide enough for any hardware, narrow enough that no product of them leaves the range of a double.
constexpr NumberRange kFlops{.low = 1e6, .high = 1e21};
constexpr NumberRange kBytes{.low = 1e3, .high = 1e18};
constexpr NumberRange kWatts{.low = 0, .high = 1e6};
const std::vector<std::string> kDeviceKinds{"gpu", "cpu"};
const std::vector<std::string> kPrecisions = [] {
  const auto names = traces::precision_names();
  return std::vector<std::string>(names.begin(), names.end());
}();

// Defaults of a device that says no more than its peak: docs/explain/model.md, "Defaults of own hardware".
constexpr double kFlopsPerByte = 15;
constexpr double kFlopsPerMultiprocessor = 1.8e11, kMostMultiprocessors = 1e6;

sim::Efficiency read_efficiency(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const NumberRange fraction{.low = 0, .high = 1, .low_excluded = true};
  sim::Efficiency e;
  e.conv = in.number("conv", fraction, e.conv);
  e.gemm = in.number("gemm", fraction, e.gemm);
  e.rnn = in.number("rnn", fraction, e.rnn);
  e.fp16 = in.number("fp16", fraction, e.fp16);
  e.bandwidth = in.number("bandwidth", fraction, e.bandwidth);
  e.k_half = in.number("k_half", between(0, 1e6), e.k_half);
  e.launch_s = in.number("launch_s", between(0, 1), e.launch_s);
  e.repeat_s = in.number("repeat_s", between(0, 1), e.repeat_s);
  e.host_s_per_op = in.number("host_s_per_op", between(0, 1), e.host_s_per_op);
  e.step_overhead_s = in.number("step_overhead_s", between(0, 1e3), e.step_overhead_s);
  e.model_factor = in.number("model_factor", between(1e-3, 1e3), e.model_factor);
  e.fast_forms = in.number("fast_forms", between(0, 1), e.fast_forms);
  in.finish();
  return e;
}

sim::ModelCorrection read_correction(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::ModelCorrection c{.model = in.text("model"), .dataset = in.text("dataset", "")};
  c.time_factor = in.number("time_factor", between(1e-3, 1e3), 1.0);
  c.launch_factor = in.number("launch_factor", between(1e-3, 1e3), 1.0);
  c.power_factor = in.number("power_factor", between(1e-3, 1e3), 1.0);
  c.wait_share = in.number("wait_share", between(0, 0.99), 0.0);
  c.loader_s = in.number("loader_s", between(0, 1e3), 0.0);
  for (const sim::JsonValue one : in.list("batches")) {
    sim::ObjectReader of_batch(one, mistakes);
    const double batch = of_batch.number("batch", {.low = 0, .high = 1e9, .low_excluded = true});
    if (!c.batches.empty() && batch <= c.batches.back().batch) one.refuse("batches in rising order", mistakes);
    c.batches.push_back({batch, of_batch.number("factor", between(1e-3, 1e3))});
    of_batch.finish();
  }
  in.finish();
  return c;
}

sim::Threading read_threading(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Threading t;
  t.cores_per_tile = static_cast<int>(in.integer("cores_per_tile", between(1, 1e3), t.cores_per_tile));
  t.tile_cache_bytes = in.number("tile_cache_bytes", between(0, 1e12), t.tile_cache_bytes);
  t.smt_yield = in.number("smt_yield", between(0.1, 16), t.smt_yield);
  t.serial_share = in.number("serial_share", between(0, 1), t.serial_share);
  t.dispatch_share = in.number("dispatch_share", between(0, 1), t.dispatch_share);
  t.wake_s = in.number("wake_s", between(0, 1), t.wake_s);
  t.time_slice_s = in.number("time_slice_s", between(0, 1), t.time_slice_s);
  in.finish();
  return t;
}

sim::PowerLaw read_power(sim::JsonValue value, const sim::PowerLaw& fallback, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const NumberRange relative{.low = 0, .high = 1, .low_excluded = true};
  sim::PowerLaw law;
  law.running_w = in.number("running_w", kWatts, fallback.running_w);
  law.clock_w = in.number("clock_w", kWatts, fallback.clock_w);
  law.launch_w = in.number("launch_w", kWatts, fallback.launch_w);
  law.arithmetic_w = in.number("arithmetic_w", kWatts, fallback.arithmetic_w);
  law.memory_w = in.number("memory_w", kWatts, fallback.memory_w);
  law.voltage_floor = in.number("voltage_floor", relative, fallback.voltage_floor);
  law.voltage_slope = in.number("voltage_slope", between(0, 10), fallback.voltage_slope);
  law.lowest_clock = in.number("lowest_clock", relative, fallback.lowest_clock);
  in.finish();
  return law;
}

sim::Device read_device(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Device d;
  d.name = in.text("name");
  const bool cpu = in.choice("kind", kDeviceKinds, 0) == 1;
  d.kind = cpu ? sim::DeviceKind::cpu : sim::DeviceKind::gpu;
  if (const auto peak = in.required("peak_flops", "an object with fp32")) {
    sim::ObjectReader flops(*peak, mistakes);
    d.peak_fp32_flops = flops.number("fp32", kFlops);
    d.peak_fp16_flops = flops.number("fp16", kFlops, d.peak_fp32_flops);
    d.peak_tf32_flops = flops.maybe_number("tf32", kFlops).value_or(0);
    flops.finish();
  }
  d.memory_bytes = in.number("memory_bytes", kBytes, (cpu ? 64 : 16) * kGib);
  d.memory_bandwidth_bytes_per_s = in.number("memory_bandwidth_bytes_per_s", kBytes, d.peak_fp32_flops / kFlopsPerByte);
  const double multiprocessors = std::clamp(std::round(d.peak_fp32_flops / kFlopsPerMultiprocessor), 1.0, kMostMultiprocessors);
  d.multiprocessors = static_cast<int>(
      in.integer("multiprocessors", between(1, kMostMultiprocessors), static_cast<std::int64_t>(multiprocessors)));
  d.cores = static_cast<int>(in.integer("cores", between(1, 1e5), 16));
  d.sockets = static_cast<int>(in.integer("sockets", between(1, 64), 1));
  d.threads_per_core = static_cast<int>(in.integer("threads_per_core", between(1, 16), 1));
  d.core_bandwidth_bytes_per_s =
      in.number("core_bandwidth_bytes_per_s", kBytes,
                std::min(d.memory_bandwidth_bytes_per_s, 2 * d.memory_bandwidth_bytes_per_s / d.cores));
  d.idle_w = in.number("idle_w", kWatts, 30.0);
  d.busy_w = in.number("busy_w", kWatts, std::max(250.0, d.idle_w));
  if (d.busy_w < d.idle_w) value.refuse("busy_w of at least idle_w", mistakes);
  if (const auto efficiency = in.child("efficiency")) d.efficiency = read_efficiency(*efficiency, mistakes);
  if (const auto threading = in.child("threading")) d.threading = read_threading(*threading, mistakes);
  if (const auto power = in.child("power")) d.power = read_power(*power, sim::power_law(d), mistakes);
  for (const sim::JsonValue one : in.list("corrections")) d.corrections.push_back(read_correction(one, mistakes));
  d.stack = in.text("stack", "");
  d.source = in.text("source", "the scenario");
  in.finish();
  return d;
}

sim::Stack read_stack(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Stack s;
  s.name = in.text("name");
  s.time_factor = in.number("time_factor", between(1e-3, 1e3), s.time_factor);
  s.launch_s = in.number("launch_s", between(0, 1), s.launch_s);
  s.host_s_per_op = in.number("host_s_per_op", between(0, 1), s.host_s_per_op);
  s.step_overhead_s = in.number("step_overhead_s", between(0, 1e3), s.step_overhead_s);
  s.fast_forms = in.number("fast_forms", between(0, 1), s.fast_forms);
  s.overlap = in.number("overlap", between(1, 10), s.overlap);
  s.precision = static_cast<sim::Precision>(in.choice("precision", kPrecisions, 0));
  s.source = in.text("source", "the scenario");
  in.finish();
  if (s.name.find(' ') != std::string::npos)
    in.child("name")->refuse("a name without spaces, by which a measurement's source can name it", mistakes);
  return s;
}

enum class LinkOf : std::uint8_t { node, network };

/// A node's own may be shared by the workers' ring.
sim::Link read_link(sim::JsonValue value, const sim::Link& fallback, LinkOf of, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::Link link{.bandwidth_bytes_per_s = in.number("bandwidth_bytes_per_s", kBytes, fallback.bandwidth_bytes_per_s),
                 .latency_s = in.number("latency_s", between(0, 1), fallback.latency_s)};
  if (of == LinkOf::node) link.contention = in.number("contention", between(-1, 2), fallback.contention);
  in.finish();
  return link;
}

InstanceEntry read_instance(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  InstanceEntry entry;
  sim::Instance& i = entry.instance;
  i.name = in.text("name");
  const auto add = [&](sim::JsonValue where, std::string device, int count) {
    const sim::Mistake place = where.mistake("");
    entry.devices.push_back({.device = std::move(device),
                             .count = count,
                             .file = place.file,
                             .pointer = place.pointer,
                             .line = place.line,
                             .column = place.column});
  };
  for (const sim::JsonValue device : in.list("devices")) {
    sim::ObjectReader one(device, mistakes);
    std::string name = one.text("device");
    const auto count = static_cast<int>(one.integer("count", between(1, 1024), 1));
    one.finish();
    if (!name.empty()) add(device, std::move(name), count);
  }
  if (const auto cpu = in.child("cpu")) add(*cpu, std::string(sim::read_text(*cpu, mistakes)), 1);
  i.cpu_share = in.number("cpu_share", {.low = 0, .high = 64, .low_excluded = true}, 1.0);
  i.vcpus = static_cast<int>(in.integer("vcpus", at_least(0), 0));
  i.memory_bytes = in.number("memory_bytes", kBytes, 64 * kGib);
  entry.has_price = in.has("price_usd_per_hour");
  i.price_usd_per_hour = in.number("price_usd_per_hour", between(0, 1e6), 0.0);
  i.spot_price_usd_per_hour = in.maybe_number("spot_price_usd_per_hour", between(0, 1e6)).value_or(i.spot_price_usd_per_hour);
  entry.provider = in.text("provider", "");
  entry.region = in.text("region", "");
  i.price_date = in.text("price_date", "");
  if (!i.price_date.empty() && !is_price_date(i.price_date))
    in.child("price_date")->refuse("a year, a month or a day, as \"2026\", \"2026-03\" or \"2026-03-20\"", mistakes);
  i.inside = {1e10, 1e-5};
  i.network = {1.25e9, 5e-5};
  if (const auto inside = in.child("inside")) i.inside = read_link(*inside, i.inside, LinkOf::node, mistakes);
  if (const auto network = in.child("network")) i.network = read_link(*network, i.network, LinkOf::network, mistakes);
  entry.has_overlap = in.has("overlap");
  i.overlap = in.number("overlap", between(1, 10), i.overlap);
  i.server_bytes_per_s = in.number("server_bytes_per_s", kBytes, i.server_bytes_per_s);
  i.server_overlap = in.number("server_overlap", between(1, 10), i.server_overlap);
  i.storage_bandwidth_bytes_per_s = in.number("storage_bandwidth_bytes_per_s", kBytes, 5e8);
  i.host_idle_w = in.number("host_idle_w", kWatts, 100.0);
  i.host_busy_w = in.number("host_busy_w", kWatts, std::max(200.0, i.host_idle_w));
  i.source = in.text("source", "the scenario");
  in.finish();
  if (!in.has("devices") && !in.has("cpu")) value.refuse("devices, or a cpu, or both", mistakes);
  if (const auto list = in.child("devices"); list && list->is_array() && list->size() == 0 && !in.has("cpu"))
    list->refuse("at least one device", mistakes);
  return entry;
}

/// Adds what is new, replaces what came from an earlier place, refuses a name given twice in this place.
template <class Entry, class NameOf>
void merge(std::vector<Entry>& all, std::vector<std::pair<Entry, sim::JsonValue>> added, NameOf name_of,
           sim::Mistakes& mistakes) {
  std::vector<std::string> here;
  for (auto& [entry, value] : added) {
    const std::string name = name_of(entry);
    if (name.empty()) continue;
    if (std::find(here.begin(), here.end(), name) != here.end()) {
      refuse_again(value, name, "a name that is given once", mistakes);
      continue;
    }
    here.push_back(name);
    const auto old = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return name_of(e) == name; });
    if (old != all.end())
      *old = std::move(entry);
    else
      all.push_back(std::move(entry));
  }
}

const std::string& device_name(const sim::Device& device) { return device.name; }
const std::string& instance_name(const InstanceEntry& entry) { return entry.instance.name; }
const std::string& stack_name(const sim::Stack& stack) { return stack.name; }

}  // namespace

bool is_price_date(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != 4 && text.size() != 7 && text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const auto two = [&](std::size_t at) { return 10 * (text[at] - '0') + text[at + 1] - '0'; };
  if (text.size() >= 7 && (two(5) < 1 || two(5) > 12)) return false;
  if (text.size() < kForm.size()) return true;
  const std::chrono::year year(100 * two(0) + two(2));
  return std::chrono::year_month_day(year, std::chrono::month(static_cast<unsigned>(two(5))),
                                     std::chrono::day(static_cast<unsigned>(two(8))))
      .ok();
}

std::string price_dates(const std::vector<const InstanceEntry*>& entries) {
  std::vector<std::string> dates;
  for (const InstanceEntry* entry : entries) dates.push_back(entry->instance.price_date);
  return date_range(dates);
}

std::string date_range(const std::vector<std::string>& dates) {
  std::string oldest, newest;
  bool some_unsaid = false;
  for (const std::string& date : dates) {
    some_unsaid = some_unsaid || date.empty();
    if (date.empty()) continue;
    if (oldest.empty() || date < oldest) oldest = date;
    newest = std::max(newest, date);
  }
  if (oldest.empty()) return dates.empty() ? "" : "an unsaid date";
  return (oldest == newest ? oldest : oldest + " to " + newest) + (some_unsaid ? ", some of an unsaid date" : "");
}

void Catalogue::add(sim::JsonValue object, sim::Mistakes& mistakes) {
  sim::ObjectReader in(object, mistakes);
  std::vector<std::pair<sim::Device, sim::JsonValue>> devices;
  for (const sim::JsonValue value : in.list("devices")) devices.emplace_back(read_device(value, mistakes), value);
  merge(devices_, std::move(devices), device_name, mistakes);
  std::vector<std::pair<InstanceEntry, sim::JsonValue>> instances;
  for (const sim::JsonValue value : in.list("instances")) instances.emplace_back(read_instance(value, mistakes), value);
  merge(instances_, std::move(instances), instance_name, mistakes);
  std::vector<std::pair<sim::Stack, sim::JsonValue>> stacks;
  for (const sim::JsonValue value : in.list("stacks")) stacks.emplace_back(read_stack(value, mistakes), value);
  merge(stacks_, std::move(stacks), stack_name, mistakes);
}

void Catalogue::use_stack(const sim::Stack& stack) {
  for (sim::Device& device : devices_) device = sim::on_stack(std::move(device), stack);
  for (InstanceEntry& entry : instances_)
    if (!entry.has_overlap) entry.instance.overlap = stack.overlap;
}

void Catalogue::add_file(const std::string& path, sim::Mistakes& mistakes) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::ObjectReader whole(document.root(), mistakes);
  for (const char* key : {"devices", "instances", "stacks", "$schema"}) whole.has(key);
  whole.finish();
  if (document.root().is_object()) add(document.root(), mistakes);
}

void Catalogue::add_own() {
  sim::check(devices_.empty() && instances_.empty() && stacks_.empty(), "the program's own catalogue comes first");
  static const Catalogue own = [] {  // parsed once: a sweep reads thousands of scenarios
    Catalogue parsed;
    sim::Mistakes mistakes;
    for (const char* name :
         {"sim/cluster/catalogue/devices.json", "sim/cluster/catalogue/instances.json", "sim/cluster/catalogue/stacks.json"}) {
      const sim::JsonDocument document = sim::parse_json(std::string(embedded_file(name)), name);
      parsed.add(document.root(), mistakes);
    }
    sim::check(mistakes.empty(), "the program's own catalogue has mistakes");
    return parsed;
  }();
  *this = own;
}

void Catalogue::replace(sim::Device device) {
  const auto old = std::ranges::find(devices_, device.name, device_name);
  sim::check(old != devices_.end(), "a device in the place of none");
  *old = std::move(device);
}

void Catalogue::replace_or_add(InstanceEntry entry) {
  const auto old = std::ranges::find(instances_, entry.instance.name, instance_name);
  if (old != instances_.end())
    *old = std::move(entry);
  else
    instances_.push_back(std::move(entry));
}

std::vector<std::string> Catalogue::device_names() const {
  std::vector<std::string> names;
  for (const sim::Device& device : devices_) names.push_back(device.name);
  return names;
}

std::vector<std::string> Catalogue::instance_names() const {
  std::vector<std::string> names;
  for (const InstanceEntry& entry : instances_) names.push_back(entry.instance.name);
  return names;
}

std::vector<std::string> Catalogue::stack_names() const {
  std::vector<std::string> names;
  for (const sim::Stack& stack : stacks_) names.push_back(stack.name);
  return names;
}

const sim::Stack* Catalogue::find_stack(std::string_view name) const {
  const auto found = std::ranges::find(stacks_, name, stack_name);
  return found == stacks_.end() ? nullptr : &*found;
}

const InstanceEntry* Catalogue::find_instance(std::string_view name) const {
  const auto found =
      std::find_if(instances_.begin(), instances_.end(), [&](const InstanceEntry& e) { return e.instance.name == name; });
  return found == instances_.end() ? nullptr : &*found;
}

const sim::Device* Catalogue::find_device(std::string_view name) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const sim::Device& d) { return d.name == name; });
  return found == devices_.end() ? nullptr : &*found;
}

namespace {

/// The part of a CPU that an instance owns, as a device of its own; its memory is the instance's.
sim::Device owned_part(const sim::Device& cpu, const sim::Instance& instance, double share) {
  sim::Device part = cpu;
  if (share != 1) part.name = cpu.name + "/" + instance.name;
  part.memory_bytes = instance.memory_bytes;
  part.peak_fp32_flops *= share;
  part.peak_fp16_flops *= share;
  part.cores = std::max(1, static_cast<int>(std::lround(cpu.cores * share)));
  part.sockets = std::max(1, static_cast<int>(std::lround(cpu.sockets * share)));
  part.memory_bandwidth_bytes_per_s = std::max(cpu.memory_bandwidth_bytes_per_s * share,
                                               std::min(cpu.core_bandwidth_bytes_per_s, cpu.memory_bandwidth_bytes_per_s));
  return part;
}

int index_of_device(sim::Cluster& cluster, const sim::Device& device) {
  for (std::size_t d = 0; d < cluster.devices.size(); ++d)
    if (cluster.devices[d].name == device.name && cluster.devices[d].memory_bytes == device.memory_bytes)
      return static_cast<int>(d);
  cluster.devices.push_back(device);
  return static_cast<int>(cluster.devices.size()) - 1;
}

}  // namespace

int add_to_cluster(const InstanceEntry& entry, const Catalogue& catalogue, sim::Cluster& cluster, sim::Mistakes& mistakes) {
  const std::size_t before = mistakes.size();
  sim::Instance instance = entry.instance;
  const auto refuse = [&](const InstanceEntry::Named& named, std::string expected, std::string nearest) {
    mistakes.add({.file = named.file,
                  .line = named.line,
                  .column = named.column,
                  .pointer = named.pointer,
                  .expected = std::move(expected),
                  .found = "\"" + named.device + "\"",
                  .nearest = std::move(nearest)});
  };
  for (const InstanceEntry::Named& named : entry.devices) {
    const sim::Device* device = catalogue.find_device(named.device);
    if (device == nullptr) {
      refuse(named, "the name of a device", sim::nearest_name(named.device, catalogue.device_names()));
    } else if (device->kind == sim::DeviceKind::cpu) {
      if (instance.cpu >= 0) refuse(named, "one kind of CPU in a node", {});
      instance.cpu_share *= named.count;
      instance.cpu = index_of_device(cluster, owned_part(*device, instance, instance.cpu_share));
    } else {
      if (!instance.gpus.empty()) refuse(named, "one kind of GPU in a node", {});
      instance.gpus.push_back({.device = index_of_device(cluster, *device), .count = named.count});
    }
  }
  // Without a device when the entry itself had a mistake, which is told.
  if (mistakes.size() > before || (instance.gpus.empty() && instance.cpu < 0)) return kNoInstance;
  cluster.instances.push_back(std::move(instance));
  return static_cast<int>(cluster.instances.size()) - 1;
}

}  // namespace rehearse::scenarios
