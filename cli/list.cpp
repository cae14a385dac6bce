#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "experiments/studies/study.hpp"
#include "policies/registry/place_methods.hpp"
#include "policies/registry/registry.hpp"
#include "policies/search/methods.hpp"
#include "scenarios/read/catalogue.hpp"
#include "traces/jobs/readers.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

void list_models() {
  say("{:<14}{:>12}{:>16}{:>8}  {:<20}{}\n", "model", "parameters", "forward GFLOP", "batch", "dataset",
      "accuracy is modelled on");
  for (const workloads::ZooEntry& entry : workloads::zoo()) {
    const sim::OpGraph graph = workloads::zoo_graph(entry.name);
    std::string modelled;
    for (const workloads::ConvergenceParameters& c : workloads::convergence_table())
      if (c.model == entry.name) modelled += (modelled.empty() ? "" : ", ") + c.dataset;
    say("{:<14}{:>10.2f} M{:>16.2f}{:>8}  {:<20}{}\n", entry.name, graph.parameters / 1e6,
        2e-9 * workloads::forward_multiply_adds(graph), entry.global_batch, entry.dataset, modelled.empty() ? "-" : modelled);
  }
}

void list_devices() {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  say("{:<20}{:<6}{:>12}{:>12}{:>12}{:>10}{:>10}  {}\n", "device", "kind", "fp32 TFLOP/s", "memory GiB", "GB/s", "idle W",
      "busy W", "source");
  for (const sim::Device& d : catalogue.devices())
    say("{:<20}{:<6}{:>12.2f}{:>12.1f}{:>12.0f}{:>10}{:>10}  {}\n", d.name, d.kind == sim::DeviceKind::gpu ? "gpu" : "cpu",
        d.peak_fp32_flops / 1e12, d.memory_bytes / 0x1p30, d.memory_bandwidth_bytes_per_s / 1e9, d.idle_w, d.busy_w,
        d.source.substr(0, 60));
}

void list_instances() {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  say("{:<16}{:>12}{:>12}{:>8}  {}\n", "instance", "$/hour", "spot", "vCPUs", "devices");
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) {
    std::string devices;
    for (const auto& named : entry.devices)
      devices += fmt::format("{}{} x {}", devices.empty() ? "" : ", ", named.count, named.device);
    const double spot = entry.instance.spot_price_usd_per_hour;
    say("{:<16}{:>12}{:>12}{:>8}  {}\n", entry.instance.name, entry.instance.price_usd_per_hour,
        spot == spot ? fmt::format("{}", spot) : "-", entry.instance.vcpus, devices);
  }
}

template <class Entry>
void list_entries(std::string_view decision, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    say("{:<11}{:<26}{}\n", decision, entry.name, entry.help);  // tiresias-shortest-service has 25 letters
    if (!entry.paper.empty())
      say("{0:<37}paper: {1}\n{0:<37}as its code: {2}\n{0:<37}differs: {3}\n", "", entry.paper, entry.equal, entry.differs);
    for (const policies::ParameterDeclaration& p : entry.parameters) {
      const std::string fallback = std::holds_alternative<double>(p.fallback) ? fmt::format("{}", std::get<double>(p.fallback))
                                   : std::holds_alternative<bool>(p.fallback) ? (std::get<bool>(p.fallback) ? "true" : "false")
                                   : std::holds_alternative<std::string>(p.fallback) ? std::get<std::string>(p.fallback)
                                                                                     : "{}";
      say("{:<37}  {} ({}): {}{}\n", "", p.name, fallback, p.help,
          p.choices.empty() ? "" : fmt::format("; one of {}", fmt::join(p.choices, ", ")));
    }
  }
}

void list_policies() {
  say("A policy is a configure strategy's name, with data-parallel, recommended and fifo; or an object with a name and\nany of "
      "configure, place, threads, queue (see: rehearse list strategies).\n\n");
  for (const policies::ConfigureEntry& entry : policies::configure_strategies()) say("{:<20}{}\n", entry.name, entry.help);
}

void list_strategies() {
  list_entries("configure", policies::configure_strategies());
  list_entries("place", policies::place_strategies());
  list_entries("threads", policies::threads_strategies());
  list_entries("queue", policies::queue_strategies());
  list_entries("placement", policies::placement_methods());
  list_entries("search", policies::search_methods());
}

void list_studies() {
  for (const scenarios::StudyKind& study : scenarios::studies()) say("{:<18}{}\n", study.name, study.help);
}

void list_formats() {
  for (const traces::TraceReaderEntry& format : traces::trace_readers()) say("{:<22}{}\n", format.name, format.description);
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> what{"models", "devices", "instances", "policies", "strategies", "studies", "formats"};
  return what;
}

int list_command(const std::string& what) {
  if (what == "models") list_models();
  if (what == "devices") list_devices();
  if (what == "instances") list_instances();
  if (what == "policies") list_policies();
  if (what == "strategies") list_strategies();
  if (what == "studies") list_studies();
  if (what == "formats") list_formats();
  return kOk;
}

}  // namespace rehearse::cli
