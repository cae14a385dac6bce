#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "scenarios/read/agent_file.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/read_strategy.hpp"
#include "sim/base/text.hpp"
#include "traces/histories/history_list.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {

namespace {

using sim::between;

/// The knobs that a list names; all when there is none.
policies::FreeKnobs read_free(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kKnobs{"pool", "workers", "batch"};
  if (!in.has("free")) return {};
  policies::FreeKnobs free{.pool = false, .workers = false, .batch = false};
  bool* const knobs[] = {&free.pool, &free.workers, &free.batch};
  for (const sim::JsonValue name : in.list("free")) *knobs[sim::read_choice(name, kKnobs, mistakes)] = true;
  return free;
}

template <class Entry>
void read_network(sim::JsonValue value, const std::vector<Entry>& entries, const AgentReading& reading,
                  policies::StrategyChoice& choice) {
  const Entry* entry = policies::find_strategy(entries, choice.name);
  if (entry != nullptr && entry->blueprint != nullptr) choice.network = read_agent(value, reading, choice, entry->blueprint());
}

/// Whether the value of a decision's key names a process.
bool is_process(sim::JsonValue strategy) {
  for (const sim::JsonMember member : strategy.members())
    if (member.key.text() == "process") return true;
  return false;
}

/// A policy that is called like a strategy, and runs without it.
template <class Strategies>
void warn_of_mere_name(sim::ObjectReader& in, const std::string& policy, const char* key, const Strategies& strategies,
                       const std::string& runs_with, Scenario& scenario) {
  if (in.has(key) || policy == runs_with || policies::find_strategy(strategies, policy) == nullptr) return;
  scenario.warnings.push_back(fmt::format("policy \"{0}\" runs with {1} \"{2}\": its name chooses nothing, \"{1}\": \"{0}\" does",
                                          policy, key, runs_with));
}

/// A name that a strategy once had is accepted, and said once.
void warn_of_former_name(sim::JsonValue strategy, Scenario& scenario) {
  if (strategy.is_object()) {
    for (const sim::JsonMember member : strategy.members())
      if (member.key.text() == "name" && member.value.is_string()) warn_of_former_name(member.value, scenario);
    return;
  }
  if (!strategy.is_string()) return;
  const auto* entry = policies::find_strategy(policies::configure_strategies(), strategy.text());
  if (entry == nullptr || entry->name == strategy.text()) return;
  const std::string warning = fmt::format(R"("{}" is a former name of strategy "{}")", strategy.text(), entry->name);
  if (std::ranges::find(scenario.warnings, warning) == scenario.warnings.end()) scenario.warnings.push_back(warning);
}

/// {"name": STRATEGY, "learner": LEARNER}: a policy of the strategy with this learner; its row has the variant's name.
void read_learner(sim::ObjectReader& in, policies::PolicySpec& spec, sim::Mistakes& mistakes) {
  const auto learner = in.child(policies::kLearner);
  if (!learner) return;
  const auto& entries = policies::configure_strategies();
  const std::vector<std::string>& learners = policies::learners();
  const std::string& named = learners[sim::read_choice(*learner, learners, mistakes)];
  const auto* entry = policies::find_strategy(entries, spec.name);
  const auto* variant = entry != nullptr ? policies::find_variant(entries, *entry, named) : nullptr;
  if (variant == nullptr || in.has("configure")) {
    if (learner->is_string() && learner->text() == named)
      learner->refuse("a policy that is named after a strategy with this learner, without \"configure\"", mistakes);
    return;
  }
  spec.name = variant->name;
  spec.configure = {variant->name, {}};
}

policies::PolicySpec read_policy(sim::JsonValue value, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                                 sim::Mistakes& mistakes) {
  policies::PolicySpec spec;
  if (value.is_string()) {
    spec.name = std::string(value.text());
    read_strategy(value, policies::configure_strategies(), "policy", spec.configure, mistakes);
    warn_of_former_name(value, scenario);
    read_network(value, policies::configure_strategies(), {paths, scenario, mistakes}, spec.configure);
    return spec;
  }
  if (!value.is_object()) {
    value.refuse("the name of a policy, or an object with its name and strategies", mistakes);
    return spec;
  }
  sim::ObjectReader in(value, mistakes);
  spec.name = in.text("name");
  const auto from_process = [&](sim::JsonValue v, policies::StrategyChoice& out) {
    if (!is_process(v)) return false;
    out = extensions.read_process(v, paths, scenario, mistakes);
    return true;
  };
  if (const auto v = in.child("configure"); v && !from_process(*v, spec.configure)) {
    read_strategy(*v, policies::configure_strategies(), "configure strategy", spec.configure, mistakes);
    warn_of_former_name(*v, scenario);
    read_network(*v, policies::configure_strategies(), {paths, scenario, mistakes}, spec.configure);
  }
  read_learner(in, spec, mistakes);
  spec.free = read_free(in, mistakes);
  if (const auto seed = in.maybe_integer("policy_seed", sim::at_least(0))) spec.policy_seed = static_cast<std::uint64_t>(*seed);
  if (const auto v = in.child("place"); v && !from_process(*v, spec.place)) {
    read_strategy(*v, policies::place_strategies(), "place strategy", spec.place, mistakes);
    read_network(*v, policies::place_strategies(), {paths, scenario, mistakes}, spec.place);
  }
  if (const auto v = in.child("threads"); v && !from_process(*v, spec.threads))
    read_strategy(*v, policies::threads_strategies(), "threads strategy", spec.threads, mistakes);
  if (const auto v = in.child("queue"); v && !from_process(*v, spec.queue))
    read_strategy(*v, policies::queue_strategies(), "queue strategy", spec.queue, mistakes,
                  [&](sim::ObjectReader& queue, policies::StrategyChoice& choice) {
                    choice.partitions = read_partitions(queue, scenario.cluster, mistakes);
                  });
  warn_of_mere_name(in, spec.name, "configure", policies::configure_strategies(), spec.configure.name, scenario);
  warn_of_mere_name(in, spec.name, "queue", policies::queue_strategies(), spec.queue.name, scenario);
  in.finish();
  return spec;
}

const std::vector<std::string> kPoolHabits{"median", "cheapest", "fastest"};

/// The name of a pool or of a habit; a pool that is called like a habit goes first.
void read_manual_pool(sim::JsonValue value, const Scenario& scenario, policies::ManualOverride& set, sim::Mistakes& mistakes) {
  const std::string_view name = sim::read_text(value, mistakes);
  if (name.empty()) return;
  std::vector<std::string> names = pool_names(scenario.cluster);
  const std::size_t pools = names.size();
  names.insert(names.end(), kPoolHabits.begin(), kPoolHabits.end());
  if (!known_name(value, name, names, "pool, or \"median\", \"cheapest\" or \"fastest\"", mistakes)) return;
  const auto found = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  if (found < pools)
    set.pool = static_cast<int>(found);
  else
    set.pool_habit = static_cast<policies::PoolHabit>(found - pools);
}

void read_manual_batch(sim::JsonValue value, policies::ManualOverride& set, sim::Mistakes& mistakes) {
  if (!value.is_string())
    set.batch_size = static_cast<double>(sim::read_integer(value, traces::kBatchSizes, mistakes));
  else if (value.text() != "publication")
    value.refuse("a whole number from 1 to 1000000000, or \"publication\"", mistakes);
}

policies::ManualOverride read_override(sim::ObjectReader& in, const Scenario& scenario, sim::Mistakes& mistakes) {
  policies::ManualOverride set;
  if (const auto pool = in.child("pool")) read_manual_pool(*pool, scenario, set, mistakes);
  if (const auto workers = in.maybe_integer("workers", between(1, 1e6))) set.workers = static_cast<int>(*workers);
  if (const auto batch = in.child("batch_size")) read_manual_batch(*batch, set, mistakes);
  set.learning_rate = in.maybe_number("learning_rate", sim::above(0));
  if (in.has("sync") || in.has("servers")) {
    sim::Sync sync{.kind = static_cast<sim::SyncKind>(in.choice("sync", sync_kind_names(), 0))};
    sync.servers = static_cast<int>(in.integer("servers", between(0, 1e4), sync.kind == sim::SyncKind::ring ? 0 : 1));
    if ((sync.kind == sim::SyncKind::ring) != (sync.servers == 0))
      in.value().refuse("servers with sync servers-sync or servers-async, and none with ring", mistakes);
    set.sync = sync;
  }
  return set;
}

/// Past runs may be of more than this scenario has; what matches nothing at all is rather a slip.
void warn_of_unknown_instances(Scenario& scenario) {
  std::vector<std::string> known;
  for (const sim::Instance& instance : scenario.cluster.instances) known.push_back(instance.name);
  std::set<std::string> told;
  for (const policies::PastRun& run : scenario.history.own) {
    const std::string nearest = sim::nearest_name(run.instance, known);
    if (std::find(known.begin(), known.end(), run.instance) != known.end() || nearest.empty() ||
        !told.insert(run.instance).second)
      continue;
    scenario.warnings.push_back(fmt::format("history: no pool has instance \"{}\"; did you mean \"{}\"?", run.instance, nearest));
  }
}

void read_history_file(const std::string& path, sim::JsonValue value, const OwnModels& own, Scenario& scenario,
                       sim::Mistakes& mistakes) {
  std::vector<std::string> recipes;
  for (const workloads::Recipe& recipe : own.recipes) recipes.push_back(recipe.name);
  try {
    traces::HistoryList list = traces::read_native_history(path, recipes);
    scenario.history.own = std::move(list.runs);
    warn_of_unknown_instances(scenario);
    for (const std::string& note : list.report.notes) scenario.warnings.push_back("history: " + note);
    add_input(list.report, value.text(), scenario);
  } catch (const sim::InputError& error) {
    add_at(value, error, mistakes);
  }
}

}  // namespace

const std::vector<std::string>& sync_kind_names() {
  static const std::vector<std::string> names{"ring", "servers-sync", "servers-async"};
  return names;
}

void read_reference(sim::ObjectReader& in, const std::vector<std::string>& names, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto is_contestant = [](const policies::PolicySpec& spec) { return !policies::is_yardstick(spec); };
  scenario.reference = in.text("reference", scenario.baseline);
  const auto value = in.child("reference");
  if (value && !known_name(*value, scenario.reference, names, "listed policy", mistakes)) return;
  if (mistakes.size() > 0) return;  // of a strategy that there is not, nothing is known
  const auto listed = [&](const policies::PolicySpec& spec) { return spec.name == scenario.reference && is_contestant(spec); };
  if (std::any_of(scenario.policies.begin(), scenario.policies.end(), listed)) return;
  const auto first = std::find_if(scenario.policies.begin(), scenario.policies.end(), is_contestant);
  if (value)
    value->refuse("a listed policy that is no yardstick", mistakes);
  else if (first != scenario.policies.end())
    scenario.reference = first->name;
}

void read_policies(sim::ObjectReader& in, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                   sim::Mistakes& mistakes) {
  in.has("baseline"), in.has("reference"), in.has("limits_margin");  // known keys also where there is no policy
  const auto list = in.required("policies", "a list of policies");
  if (!list) return;
  if (list->is_array() && list->size() == 0) list->refuse("at least one policy", mistakes);
  std::vector<std::string> names;
  for (const sim::JsonValue value : in.list("policies")) {
    policies::PolicySpec spec = read_policy(value, paths, extensions, scenario, mistakes);
    refuse_as_file_name(value.is_object() ? sim::ObjectReader(value, mistakes).child("name").value_or(value) : value, spec.name,
                        "a policy name", mistakes);
    if (!spec.name.empty() && std::find(names.begin(), names.end(), spec.name) != names.end())
      refuse_again(value, spec.name, "a policy name that is given once", mistakes);
    names.push_back(spec.name);
    scenario.policies.push_back(std::move(spec));
  }
  if (names.empty()) return;
  scenario.baseline = in.text("baseline", names.front());
  if (in.has("baseline")) known_name(*in.child("baseline"), scenario.baseline, names, "listed policy", mistakes);
  read_reference(in, names, scenario, mistakes);
  scenario.limits_margin = in.number("limits_margin", between(0, 1), report::kLimitsMargin);
}

void read_manual(sim::ObjectReader& in, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("manual");
  if (!value) return;
  sim::ObjectReader manual(*value, mistakes);
  const policies::ManualOverride for_all = read_override(manual, scenario, mistakes);
  std::map<std::string, policies::ManualOverride> by_model;
  if (const auto models = manual.child("by_model")) {
    if (!models->is_object()) models->refuse("an object with models as keys", mistakes);
    for (const sim::JsonMember member : models->members()) {
      if (!known_name(member.key, member.key.text(), model_names(own), "model", mistakes)) continue;
      sim::ObjectReader one(member.value, mistakes);
      by_model[std::string(member.key.text())] = read_override(one, scenario, mistakes);
      one.finish();
    }
  }
  manual.finish();
  scenario.manual = policies::ManualRules(for_all, std::move(by_model));
}

void read_history(sim::ObjectReader& in, const Paths& paths, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  scenario.profiling_reuse_jobs = in.number("profiling_reuse_jobs", {.low = 1, .high = 1e12}, 50.0);
  const auto value = in.child("history");
  if (!value) return;
  sim::ObjectReader history(*value, mistakes);
  scenario.history.runs = static_cast<int>(history.integer("runs", between(1, 1e5), scenario.history.runs));
  scenario.history.noise = history.number("noise", between(0, 2), scenario.history.noise);
  static const std::vector<std::string> kPaid{"bought", "given"};
  scenario.history.bought = history.choice("paid", kPaid, 0) == 0;
  if (const auto file = history.child("file")) {
    const std::string path = paths.resolve(*file, mistakes);
    if (!path.empty()) read_history_file(path, *file, own, scenario, mistakes);
  }
  history.finish();
}

}  // namespace rehearse::scenarios
