#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
#include "traces/jobs/trace_job.hpp"
#include "workloads/layers/account.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/recipes.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

using report::Cell;
using report::Column;
using report::Table;

Table models() {
  Table table{.columns = {{"model", "model"},
                          {"parameters_millions", "params", "{:.2f} M"},
                          {"forward_gflop", "GFLOP", "{:.2f}"},
                          {"batch_size", "batch"},
                          {"dataset", "dataset"},
                          {"datasets_modelled", "accuracy is modelled on"}}};
  for (const workloads::ZooEntry& entry : workloads::zoo()) {
    const workloads::NetworkAccount account = account_of(workloads::zoo_network(entry.name));
    std::string modelled;
    for (const workloads::ConvergenceParameters& c : workloads::convergence_table())
      if (c.model == entry.name) modelled += (modelled.empty() ? "" : ", ") + c.dataset;
    table.rows.push_back({std::string(entry.name), account.weights / 1e6, 2e-9 * account.multiply_adds,
                          static_cast<double>(entry.global_batch), std::string(entry.dataset), modelled});
  }
  return table;
}

Table devices() {
  constexpr std::size_t kSource = 60;
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  Table table{.columns = {{"device", "device"},
                          {"kind", "kind"},
                          {"peak_fp32_tflops", "fp32 TFLOP/s", "{:.2f}"},
                          {"memory_gib", "memory GiB", "{:.1f}"},
                          {"memory_gb_per_s", "GB/s", "{:.0f}"},
                          {"idle_w", "idle W"},
                          {"busy_w", "busy W"},
                          {"source", "source"}}};
  for (const sim::Device& d : catalogue.devices())
    table.rows.push_back({d.name, std::string(d.kind == sim::DeviceKind::gpu ? "gpu" : "cpu"), d.peak_fp32_flops / 1e12,
                          d.memory_bytes / 0x1p30, d.memory_bandwidth_bytes_per_s / 1e9, d.idle_w, d.busy_w,
                          sim::printable(d.source, kSource)});
  return table;
}

Table instances() {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  Table table{.columns = {{"instance", "instance"},
                          {"price_usd_per_hour", "$/hour"},
                          {"spot_price_usd_per_hour", "spot"},
                          {"price_date", "prices of"},
                          {"provider", "from"},
                          {"region", "region"},
                          {"vcpus", "vCPUs"},
                          {"devices", "devices"}}};
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) {
    std::string devices;
    for (const auto& named : entry.devices)
      devices += fmt::format("{}{} x {}", devices.empty() ? "" : ", ", named.count, named.device);
    table.rows.push_back({entry.instance.name, entry.instance.price_usd_per_hour, entry.instance.spot_price_usd_per_hour,
                          entry.instance.price_date, entry.provider, entry.region, static_cast<double>(entry.instance.vcpus),
                          devices});
  }
  return table;
}

Table stacks() {
  constexpr std::size_t kSource = 60;
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  Table table{.columns = {{"stack", "stack"},
                          {"time_factor", "time x", "{:.2f}"},
                          {"launch_us", "us a launch", "{:.1f}"},
                          {"host_us_per_op", "host us an op", "{:.1f}"},
                          {"step_overhead_ms", "ms a step", "{:.1f}"},
                          {"fast_forms", "fast forms", "{:.2f}"},
                          {"overlap", "overlap", "{:.1f}"},
                          {"precision", "precision"},
                          {"source", "source"}}};
  for (const sim::Stack& s : catalogue.stacks())
    table.rows.push_back({s.name, s.time_factor, 1e6 * s.launch_s, 1e6 * s.host_s_per_op, 1e3 * s.step_overhead_s, s.fast_forms,
                          s.overlap, traces::precision_names()[static_cast<std::size_t>(s.precision)],
                          sim::printable(s.source, kSource)});
  return table;
}

/// A row a published training, and one for a recipe without any.
Table recipes() {
  constexpr std::size_t kSource = 60;
  Table table{.columns = {{"recipe", "recipe"},
                          {"optimizer", "optimizer"},
                          {"lr_rule", "rate"},
                          {"label_smoothing", "smoothing", "{:g}"},
                          {"model", "model"},
                          {"dataset", "dataset"},
                          {"batch_size", "batch"},
                          {"epochs", "epochs", "{:g}"},
                          {"highest_accuracy", "at most", "{:.4f}"},
                          {"critical_batch_factor", "critical batch x", "{:g}"},
                          {"source", "source"}}};
  for (const workloads::Recipe& r : workloads::recipes()) {
    const auto add = [&](std::string model, std::string dataset, const workloads::RecipeOutcome& o, double highest) {
      const bool is_published = o.training.epochs > 0;
      table.rows.push_back({r.name, workloads::recipe_optimizer_names()[static_cast<std::size_t>(r.optimizer)],
                            std::string(workloads::to_string(r.lr_rule)), r.label_smoothing, std::move(model), std::move(dataset),
                            is_published ? o.training.batch : std::nan(""), is_published ? o.training.epochs : std::nan(""),
                            highest, o.critical_batch_factor, sim::printable(o.source, kSource)});
    };
    for (const workloads::RecipeOutcome& o : r.outcomes)
      add(o.model, o.dataset, o, highest_accuracy(with_recipe(*workloads::find_convergence(o.model, o.dataset), r)));
    if (r.outcomes.empty()) add("any", "any", {.source = r.source}, std::nan(""));
  }
  return table;
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
  constexpr std::size_t kNamed = 4, kWidth = 75;
  std::vector<std::string> names;
  for (const ListedStrategy& strategy : kind.strategies)
    if (std::find(strategy.options.begin(), strategy.options.end(), option) != strategy.options.end())
      names.push_back(strategy.name);
  if (names.size() == kind.strategies.size() && names.size() > 1) return "all";
  std::size_t named = names.size() > kNamed + 1 ? kNamed : names.size(), more = names.size() - named;
  while (named > 1 &&
         fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", ")).size() > kWidth)
    --named, ++more;
  names.resize(named);
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

/// Names and what they are: `name` is the first column's.
template <class Entries, class Words>
Table names(const char* name, const Entries& entries, Words words) {
  Table table{.columns = {{name, name}, {"help", "help"}}};
  for (const auto& entry : entries) table.rows.push_back({std::string(entry.name), std::string(words(entry))});
  return table;
}

Table policy_names() {
  return names("policy", policies::configure_strategies(), [](const auto& entry) { return entry.help; });
}
Table studies() {
  return names("study", scenarios::studies(), [](const auto& study) { return study.help; });
}
Table formats() {
  return names("format", traces::trace_readers(), [](const auto& format) { return format.description; });
}

void list_names(const Table& table, std::size_t width) {
  for (const auto& row : table.rows) say("{}", two_columns(std::get<std::string>(row[0]), std::get<std::string>(row[1]), width));
}

/// A row for each option of each strategy; a strategy without one has a row whose option is empty.
Table strategies() {
  Table table{.columns = {{"kind"}, {"strategy"}, {"help"}, {"option"}, {"option_help"}}};
  for (const ListedKind& kind : strategy_kinds())
    for (const ListedStrategy& strategy : kind.strategies) {
      const auto row = [&](const std::string& option) {
        table.rows.push_back({kind.kind, strategy.name, strategy.help, option.substr(0, option.find(' ')), option});
      };
      for (const std::string& option : strategy.options) row(option);
      if (strategy.options.empty()) row("");
    }
  return table;
}

void list_policies() {
  say("{}\n", wrapped("A policy is a configure strategy's name, with data-parallel, recommended and fifo; or an object with a "
                      "name and any of configure, place, threads, queue (see: rehearse list strategies)."));
  for (const policies::ConfigureEntry& entry : policies::configure_strategies())
    say("{}", two_columns(std::string(entry.name), std::string(entry.help), 24).substr(2));
}

Table listed(const std::string& what) {
  if (what == "models") return models();
  if (what == "devices") return devices();
  if (what == "instances") return instances();
  if (what == "stacks") return stacks();
  if (what == "recipes") return recipes();
  if (what == "policies") return policy_names();
  if (what == "strategies") return strategies();
  return what == "studies" ? studies() : formats();
}

}  // namespace

const std::vector<std::string>& listable() {
  static const std::vector<std::string> what{"models",   "devices",    "instances", "stacks", "recipes",
                                             "policies", "strategies", "studies",   "formats"};
  return what;
}

int list_command(const std::string& what, const std::string& which, bool as_json) {
  if (!which.empty() && (what != "strategies" || as_json))
    throw sim::InputError({.pointer = "list", .expected = "a kind or a name after strategies alone", .found = which});
  if (as_json)
    say("{}\n", report::table_json(listed(what)));
  else if (what == "policies")
    list_policies();
  else if (what == "strategies")
    list_strategies(which);
  else if (what == "studies" || what == "formats")
    list_names(listed(what), what == "studies" ? 18 : 22);
  else
    say("{}", report::aligned(listed(what), table_width()));
  return kOk;
}

}  // namespace rehearse::cli
