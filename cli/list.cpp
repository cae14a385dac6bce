#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "experiments/studies/study.hpp"
#include "policies/registry/place_methods.hpp"
#include "policies/registry/registry.hpp"
#include "policies/search/methods.hpp"
#include "report/table.hpp"
#include "scenarios/read/catalogue.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "traces/jobs/readers.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

using Rows = std::vector<std::vector<std::string>>;

void list_models() {
  Rows rows{{"model", "parameters", "forward GFLOP", "batch", "dataset", "accuracy is modelled on"}};
  for (const workloads::ZooEntry& entry : workloads::zoo()) {
    const sim::OpGraph graph = workloads::zoo_graph(entry.name);
    std::string modelled;
    for (const workloads::ConvergenceParameters& c : workloads::convergence_table())
      if (c.model == entry.name) modelled += (modelled.empty() ? "" : ", ") + c.dataset;
    rows.push_back({std::string(entry.name), fmt::format("{:.2f} M", graph.parameters / 1e6),
                    fmt::format("{:.2f}", 2e-9 * workloads::forward_multiply_adds(graph)), fmt::format("{}", entry.global_batch),
                    std::string(entry.dataset), modelled.empty() ? "-" : modelled});
  }
  say("{}", report::aligned(rows, {true, false, false, false, true, true}));
}

void list_devices() {
  constexpr std::size_t kSource = 60;
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  Rows rows{{"device", "kind", "fp32 TFLOP/s", "memory GiB", "GB/s", "idle W", "busy W", "source"}};
  for (const sim::Device& d : catalogue.devices())
    rows.push_back({d.name, d.kind == sim::DeviceKind::gpu ? "gpu" : "cpu", fmt::format("{:.2f}", d.peak_fp32_flops / 1e12),
                    fmt::format("{:.1f}", d.memory_bytes / 0x1p30), fmt::format("{:.0f}", d.memory_bandwidth_bytes_per_s / 1e9),
                    fmt::format("{}", d.idle_w), fmt::format("{}", d.busy_w), sim::printable(d.source, kSource)});
  say("{}", report::aligned(rows, {true, true, false, false, false, false, false, true}));
}

void list_instances() {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  Rows rows{{"instance", "$/hour", "spot", "prices of", "from", "region", "vCPUs", "devices"}};
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) {
    std::string devices;
    for (const auto& named : entry.devices)
      devices += fmt::format("{}{} x {}", devices.empty() ? "" : ", ", named.count, named.device);
    const double spot = entry.instance.spot_price_usd_per_hour;
    rows.push_back({entry.instance.name, fmt::format("{}", entry.instance.price_usd_per_hour),
                    spot == spot ? fmt::format("{}", spot) : "-", entry.price_date, entry.provider, entry.region,
                    fmt::format("{}", entry.instance.vcpus), devices});
  }
  say("{}", report::aligned(rows, {true, false, false, true, true, true, false, true}));
}

std::string option_words(const policies::ParameterDeclaration& p) {
  const std::string fallback = std::holds_alternative<double>(p.fallback)        ? fmt::format("{}", std::get<double>(p.fallback))
                               : std::holds_alternative<bool>(p.fallback)        ? (std::get<bool>(p.fallback) ? "true" : "false")
                               : std::holds_alternative<std::string>(p.fallback) ? std::get<std::string>(p.fallback)
                                                                                 : "{}";
  return fmt::format("{} ({}): {}{}", p.name, fallback, p.help,
                     p.choices.empty() ? "" : fmt::format("; one of {}", fmt::join(p.choices, ", ")));
}

/// What the lists of strategies have in common.
struct ListedStrategy {
  std::string name, help;
  std::string paper, equal, differs;  ///< of a preset
  std::vector<std::string> options;   ///< as option_words() has them
};
struct ListedKind {
  std::string kind;
  std::vector<ListedStrategy> strategies;
};

template <class Entry>
ListedKind listed(const char* kind, const std::vector<Entry>& entries) {
  ListedKind list{kind, {}};
  for (const Entry& entry : entries) {
    list.strategies.push_back({entry.name, entry.help, entry.paper, entry.equal, entry.differs, {}});
    for (const policies::ParameterDeclaration& p : entry.parameters) list.strategies.back().options.push_back(option_words(p));
  }
  return list;
}

std::vector<ListedKind> strategy_kinds() {
  return {listed("configure", policies::configure_strategies()), listed("place", policies::place_strategies()),
          listed("threads", policies::threads_strategies()),     listed("queue", policies::queue_strategies()),
          listed("placement", policies::placement_methods()),    listed("search", policies::search_methods())};
}

/// "a, b and 3 more": who has the option.
std::string owners_of(const std::string& option, const ListedKind& kind) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (const ListedStrategy& strategy : kind.strategies)
    if (std::find(strategy.options.begin(), strategy.options.end(), option) != strategy.options.end())
      names.push_back(strategy.name);
  if (names.size() == kind.strategies.size() && names.size() > 1) return "all";
  const std::size_t more = names.size() > kNamed + 1 ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void say_preset(const ListedStrategy& strategy, std::size_t indent) {
  if (strategy.paper.empty()) return;
  say("{}", two_columns("", "paper: " + strategy.paper, indent));
  say("{}", two_columns("", "as its code: " + strategy.equal, indent));
  say("{}", two_columns("", "differs: " + strategy.differs, indent));
}

/// Each option once, whoever has it.
void list_kind(const ListedKind& kind) {
  constexpr std::size_t kName = 26, kOptions = 26;
  say("{}\n", kind.kind);
  std::vector<std::string> options;
  for (const ListedStrategy& strategy : kind.strategies) {
    say("{}", two_columns(strategy.name, strategy.help, kName));
    say_preset(strategy, kName);
    for (const std::string& option : strategy.options)
      if (std::find(options.begin(), options.end(), option) == options.end()) options.push_back(option);
  }
  if (!options.empty()) say("{} options\n", kind.kind);
  for (const std::string& option : options) say("{}", two_columns(owners_of(option, kind), option, kOptions));
}

/// All of them, a kind or a strategy.
void list_strategies(const std::string& which) {
  const std::vector<ListedKind> kinds = strategy_kinds();
  std::vector<std::string> names;
  bool found = false;
  for (const ListedKind& kind : kinds) {
    names.push_back(kind.kind);
    if (which.empty() || kind.kind == which) {
      say("{}", found ? "\n" : "");
      list_kind(kind);
      found = true;
    }
  }
  for (const ListedKind& kind : kinds)
    for (const ListedStrategy& strategy : kind.strategies) {
      names.push_back(strategy.name);
      if (strategy.name != which) continue;
      found = true;
      say("{}", two_columns(fmt::format("{} {}", kind.kind, strategy.name), strategy.help, 26));
      say_preset(strategy, 4);
      for (const std::string& option : strategy.options) say("{}", two_columns("", option, 4));
    }
  if (!found)
    throw sim::InputError({.pointer = "list strategies",
                           .expected = "a kind of strategy or the name of one",
                           .found = "\"" + which + "\"",
                           .nearest = sim::nearest_name(which, names)});
}

void list_policies() {
  say("{}\n", wrapped("A policy is a configure strategy's name, with data-parallel, recommended and fifo; or an object with a "
                      "name and any of configure, place, threads, queue (see: rehearse list strategies)."));
  for (const policies::ConfigureEntry& entry : policies::configure_strategies())
    say("{}", two_columns(std::string(entry.name), std::string(entry.help), 22).substr(2));
}

void list_studies() {
  for (const scenarios::StudyKind& study : scenarios::studies())
    say("{}", two_columns(std::string(study.name), std::string(study.help), 18));
}

void list_formats() {
  for (const traces::TraceReaderEntry& format : traces::trace_readers())
    say("{}", two_columns(std::string(format.name), std::string(format.description), 22));
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> what{"models", "devices", "instances", "policies", "strategies", "studies", "formats"};
  return what;
}

int list_command(const std::string& what, const std::string& which) {
  if (!which.empty() && what != "strategies")
    throw sim::InputError({.pointer = "list", .expected = "a kind or a name after strategies alone", .found = which});
  if (what == "models") list_models();
  if (what == "devices") list_devices();
  if (what == "instances") list_instances();
  if (what == "policies") list_policies();
  if (what == "strategies") list_strategies(which);
  if (what == "studies") list_studies();
  if (what == "formats") list_formats();
  return kOk;
}

}  // namespace rehearse::cli
