#include "scenarios/read/study_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/jobs/job.hpp"
#include "sim/money/costs.hpp"
#include "sim/nodes/node_events.hpp"

namespace rehearse::scenarios {

namespace {

constexpr double kLoadSpanInDurations = 10;
constexpr double kIdleShare = 0.5;  // of a pool's GPUs

using policies::PolicySpec;
using policies::StrategyChoice;

bool same(const StrategyChoice& a, const StrategyChoice& b) {
  const auto same_partition = [](const policies::Partition& x, const policies::Partition& y) {
    return x.name == y.name && x.users == y.users && x.quota == y.quota;
  };
  return a.name == b.name && a.parameters == b.parameters && a.network == b.network && a.outside == b.outside &&
         std::equal(a.partitions.begin(), a.partitions.end(), b.partitions.begin(), b.partitions.end(), same_partition);
}

/// Do all policies have this in common?
template <class Same>
bool shared(const Scenario& scenario, Same&& same_as) {
  return std::all_of(scenario.policies.begin(), scenario.policies.end(),
                     [&](const PolicySpec& spec) { return same_as(spec, scenario.policies.front()); });
}

bool all_rigid(const Scenario& scenario) {
  return scenario.generators.empty() && !scenario.jobs.empty() &&
         std::all_of(scenario.jobs.begin(), scenario.jobs.end(),
                     [](const sim::Job& job) { return job.work == sim::Work::rigid; });
}

bool writes_checkpoints(const Scenario& scenario) {
  return scenario.checkpoints.young_daly || scenario.checkpoints.interval_s != sim::kNever ||
         std::any_of(scenario.jobs.begin(), scenario.jobs.end(),
                     [](const sim::Job& job) { return job.checkpoint_interval_s > 0; });
}

const StudyKind* find_study(const Extensions& extensions, std::string_view name) {
  for (const StudyKind& kind : extensions.studies)
    if (kind.name == name) return &kind;
  return nullptr;
}

template <class Number, class Read>
std::vector<Number> read_list_of(sim::ObjectReader& in, std::string_view key, std::vector<Number> fallback,
                                 sim::Mistakes& mistakes, Read&& read) {
  const auto list = in.child(key);
  if (!list) return fallback;
  std::vector<Number> numbers;
  for (const sim::JsonValue value : in.list(key)) numbers.push_back(read(value));
  if (list->is_array() && numbers.empty()) list->refuse("at least one number", mistakes);
  return numbers;
}

}  // namespace

report::StudyKinds kinds_of(const Scenario& scenario) {
  const bool rigid = all_rigid(scenario);
  const bool one_configure = shared(
      scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.configure, b.configure) && a.free == b.free; });
  const bool one_queue = shared(scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.queue, b.queue); });
  const bool one_plan = shared(
      scenario, [](const PolicySpec& a, const PolicySpec& b) { return same(a.place, b.place) && same(a.threads, b.threads); });
  return {.queue = rigid || one_configure || !one_queue,
          .configuration = !rigid && (!one_configure || !one_plan || scenario.policies.size() < 2),
          .nodes = sim::has_node_events(scenario.cluster, scenario.nodes) || writes_checkpoints(scenario)};
}

void warn_of_free_preemption(sim::ObjectReader& in, Scenario& scenario) {
  const auto switching = in.has("switching") ? in.child("switching") : std::nullopt;
  if (switching && switching->is_object())
    for (const sim::JsonMember& member : switching->members())
      if (member.key.text() == kRigidJobsSwitch || member.key.text() == kSwitchingPreset) return;
  if (std::none_of(scenario.jobs.begin(), scenario.jobs.end(), [](const sim::Job& job) { return job.work == sim::Work::rigid; }))
    return;
  std::vector<std::string> names;
  for (const PolicySpec& spec : scenario.policies)
    if (policies::may_preempt(spec.queue)) names.push_back(spec.name);
  if (names.empty()) return;
  scenario.warnings.push_back(fmt::format(
      "{} may stop rigid jobs, and that costs nothing: with \"switching\": {{\"{}\": true}} it takes them start_s and "
      "checkpoint_s, as it does other jobs; false says that it is meant",
      fmt::join(names, ", "), kRigidJobsSwitch));
}

void warn_of_crowded_pool(Scenario& scenario) {
  struct Pool {
    double gpus = 0, work_s = 0;
  };
  const sim::Cluster& cluster = scenario.cluster;
  std::vector<Pool> pools(cluster.pools.size());
  double count = 0, durations_s = 0, first_s = sim::kNever, last_s = 0, free_to_go = 0;
  for (const sim::Job& job : scenario.jobs) {
    if (job.work != sim::Work::rigid) continue;
    const std::optional<sim::PoolId> pool = sim::rigid_pool(job, cluster);
    if (!pool) continue;
    pools[static_cast<std::size_t>(*pool)].work_s += job.duration_s * job.gpus * job.gpu_fraction;
    count += 1;
    durations_s += job.duration_s;
    first_s = std::min(first_s, job.submit_s);
    last_s = std::max(last_s, job.submit_s);
    if (job.pool < 0 && job.pools.size() != 1) free_to_go += 1;
  }
  const double span_s = last_s - first_s;
  // What comes within a few durations is a burst, and has no mean load.
  if (pools.size() < 2 || free_to_go == 0 || !(span_s > kLoadSpanInDurations * durations_s / count)) return;
  for (std::size_t p = 0; p < pools.size(); ++p)
    pools[p].gpus = static_cast<double>(cluster.pools[p].nodes) * sim::workers_per_node(cluster, static_cast<sim::PoolId>(p));
  const auto has_gpus = [&](const Pool& pool) { return sim::has_gpus(cluster, static_cast<sim::PoolId>(&pool - pools.data())); };
  const auto load = [&](const Pool& pool) { return pool.work_s / span_s / pool.gpus; };
  const auto [idlest, busiest] =
      std::minmax_element(pools.begin(), pools.end(), [&](const Pool& a, const Pool& b) { return load(a) < load(b); });
  if (!(load(*busiest) > 1) || !(load(*idlest) < kIdleShare) || has_gpus(*busiest) != has_gpus(*idlest)) return;
  const auto name = [&](auto pool) { return cluster.pools[static_cast<std::size_t>(pool - pools.begin())].name; };
  scenario.warnings.push_back(
      fmt::format("a rigid job without a \"pool\" runs in the first one that has as many GPUs as it asks for: in the mean {:.3g} "
                  "GPUs are asked "
                  "for of \"{}\", which has {:g}, and {:.3g} of the {:g} of \"{}\". The order of the pools, or the jobs' "
                  "\"pool\", changes that",
                  busiest->work_s / span_s, name(busiest), busiest->gpus, idlest->work_s / span_s, idlest->gpus, name(idlest)));
}

void warn_of_tight_time_limits(Scenario& scenario) {
  int below = 0, checkpointed = 0, if_stopped = 0;
  const bool may_be_stopped =
      scenario.costs.rigid_jobs_switch && std::any_of(scenario.policies.begin(), scenario.policies.end(),
                                                      [](const PolicySpec& spec) { return policies::may_preempt(spec.queue); });
  for (const sim::Job& job : scenario.jobs) {
    if (job.work != sim::Work::rigid || !job.has_walltime()) continue;
    const double left_s = job.walltime_s - job.duration_s;
    const double interval_s = job.checkpoint_interval_s > 0 ? job.checkpoint_interval_s : scenario.checkpoints.interval_s;
    if (left_s < 0)
      ++below;
    else if (left_s == 0 && interval_s < job.duration_s && scenario.checkpoints.write_s != 0)
      ++checkpointed;
    else if (may_be_stopped && left_s < scenario.costs.start_s)
      ++if_stopped;
  }
  const auto say = [&](int jobs, const char* one, const char* many, const char* why) {
    if (jobs > 0) scenario.warnings.push_back(sim::counted(jobs, one, many) + why);
  };
  say(below, "job ends", "jobs end", " as failed: \"walltime_s\" is less than \"duration_s\"");
  say(checkpointed, "job ends", "jobs end",
      " as failed: \"walltime_s\" leaves no time beyond \"duration_s\" for checkpoints. A history's jobs that ran into their "
      "limits "
      "are such");
  say(if_stopped, "job ends", "jobs end",
      " as failed once stopped: \"walltime_s\" leaves no time beyond \"duration_s\" to start again. A history's jobs that ran "
      "into "
      "their limits are such");
}

std::vector<double> read_numbers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                                 std::vector<double> fallback, sim::Mistakes& mistakes) {
  return read_list_of(in, key, std::move(fallback), mistakes,
                      [&](sim::JsonValue value) { return sim::read_number(value, range, mistakes); });
}

std::vector<int> read_integers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                               std::vector<int> fallback, sim::Mistakes& mistakes) {
  return read_list_of(in, key, std::move(fallback), mistakes,
                      [&](sim::JsonValue value) { return static_cast<int>(sim::read_integer(value, range, mistakes)); });
}

Needs read_study_name(sim::ObjectReader& in, const Extensions& extensions, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("study");
  if (!value) return {};
  std::optional<sim::JsonValue> name;
  if (value->is_string())
    name = *value;
  else if (value->is_object())
    name = sim::ObjectReader(*value, mistakes).required("name", "the name of a study");
  else
    value->refuse("the name of a study, or an object with its name and parameters", mistakes);
  if (!name) return {};
  std::vector<std::string> names;
  for (const StudyKind& kind : extensions.studies) names.push_back(kind.name);
  const std::string_view text = sim::read_text(*name, mistakes);
  if (text.empty() || !known_name(*name, text, names, "study", mistakes)) return {};
  scenario.study_name = std::string(text);
  const StudyKind& kind = *find_study(extensions, text);
  return {.cluster = kind.cluster, .jobs = kind.jobs, .policies = kind.policies};
}

void read_study(sim::ObjectReader& in, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                sim::Mistakes& mistakes) {
  const StudyKind* kind = find_study(extensions, scenario.study_name);
  if (kind == nullptr) return;
  const sim::JsonValue value = *in.child("study");
  const sim::JsonDocument no_parameters = sim::parse_json("{}", "study");
  sim::Mistakes wrong;
  sim::ObjectReader parameters(value.is_object() ? value : no_parameters.root(), wrong);
  parameters.has("name");
  scenario.study = kind->read(parameters, paths, scenario, wrong);
  parameters.finish();
  // What is wrong without parameters is so of the scenario beside it: the name is the place to tell.
  for (const sim::Mistake& mistake : wrong.listed()) mistakes.add(value.is_object() ? mistake : value.mistake(mistake.expected));
}

}  // namespace rehearse::scenarios
