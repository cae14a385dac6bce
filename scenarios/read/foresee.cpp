// What can be said of a scenario before it is run: floors that no training reaches, jobs that never fit, deadlines that nothing
// meets, pools that no job can use, strategies that have nothing to choose.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "policies/configure/menu.hpp"
#include "policies/place/data_parallel.hpp"
#include "policies/registry/registry.hpp"
#include "policies/threads/recommended.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/replay/alone.hpp"

namespace rehearse::scenarios {

namespace {

/// Jobs that differ in nothing that is looked at are looked at once; of a long trace so many kinds, beyond which none is warned
/// of.
constexpr std::size_t kMostKinds = 200;

bool is_rigid(const sim::Job& job) { return job.work == sim::Work::rigid; }

/// Runs jobs alone on the empty cluster, by the belief, with whatever the grid of candidates has.
class Foresight {
 public:
  explicit Foresight(const Scenario& scenario)
      : scenario_(scenario),
        belief_(scenario.cluster, scenario.profile_models),
        runner_(scenario.cluster, scenario.costs, belief_.models(), {.name = "", .place = &place_, .threads = &threads_}) {}

  struct Best {
    bool fits = false;
    std::vector<bool> fits_pool = {};  ///< with some configuration
    double time_s = sim::kNever;       ///< of the fastest one that reaches the job's floor
  };

  /// Nothing when too many kinds of jobs have been looked at.
  std::optional<Best> best(const sim::Job& job) {
    std::vector<std::pair<int, double>> pools{{job.pool, 1}};
    for (const sim::PoolSpeed& named : job.pools) pools.emplace_back(named.pool, named.speed);
    const Kind kind{job.profile,      std::move(pools),
                    job.gpus,         job.nodes,
                    job.gpu_fraction, job.duration_s,
                    job.steps,        job.batch_size,
                    job.epochs,       is_rigid(job) ? -1 : std::isnan(job.target_accuracy) ? 0 : job.target_accuracy};
    if (const auto known = known_.find(kind); known != known_.end()) return known->second;
    if (known_.size() >= kMostKinds) return std::nullopt;
    return known_[kind] = look_at(job);
  }

 private:
  using Kind = std::tuple<const sim::Profile*, std::vector<std::pair<int, double>>, int, int, double, double, double, double,
                          double, double>;

  Best look_at(const sim::Job& job) {
    sim::Job alone = job;
    alone.stop = sim::Stop::target;
    std::vector<sim::Choice> choices;
    if (is_rigid(job)) {
      choices = std::move(sim::rigid_menu(job, scenario_.cluster, scenario_.costs).ranked.own());
    } else {
      for (sim::Configuration& c : policies::candidate_configurations(job, scenario_.cluster, belief_, {}))
        choices.push_back({.configuration = std::move(c)});
    }
    Best best{.fits_pool = std::vector<bool>(scenario_.cluster.pools.size(), false)};
    for (const sim::Choice& choice : choices) {
      const sim::AloneOutcome outcome = runner_.run(alone, choice);
      best.fits = best.fits || outcome.fits;
      for (const sim::Group& group : choice.configuration.groups)
        if (outcome.fits) best.fits_pool[static_cast<std::size_t>(group.pool)] = true;
      const bool reaches = !job.has_target() || outcome.accuracy >= job.target_accuracy;
      if (outcome.fits && outcome.failure == sim::FailureReason::none && reaches)
        best.time_s = std::min(best.time_s, outcome.time_s);
    }
    return best;
  }

  const Scenario& scenario_;
  policies::DataParallel place_;
  policies::RecommendedThreads threads_;
  const workloads::Belief belief_;
  sim::AloneRunner runner_;
  std::map<Kind, Best> known_;
};

/// "3 jobs WHAT, among them \"a\"DETAIL".
struct Found {
  std::size_t jobs = 0;
  std::string first, detail;
  void add(const sim::Job& job, const std::string& what) {
    if (jobs++ == 0) first = job.name, detail = what;
  }
  void tell(std::string_view what, Scenario& scenario) const {
    if (jobs == 0) return;
    scenario.warnings.push_back(jobs == 1 ? fmt::format("job \"{}\" {}{}", first, what, detail)
                                          : fmt::format("{} jobs {}, among them \"{}\"{}", jobs, what, first, detail));
  }
};

/// A model that is spread over devices needs less memory on each than one that every device has whole.
bool spreads_models(const Scenario& scenario) {
  return std::any_of(scenario.policies.begin(), scenario.policies.end(),
                     [](const policies::PolicySpec& spec) { return spec.place.name != policies::PolicySpec().place.name; });
}

void warn_of_jobs(Scenario& scenario, Foresight& foresight) {
  Found too_large, too_late;
  const bool spreads = spreads_models(scenario);
  for (const sim::Job& job : scenario.jobs) {
    const auto best = foresight.best(job);
    if (!best) break;
    if (!best->fits && spreads && !is_rigid(job)) continue;
    if (!best->fits)
      too_large.add(job, "");
    else if (job.has_deadline() && best->time_s > job.deadline_s)
      too_late.add(job, best->time_s == sim::kNever
                            ? std::string(": no configuration reaches its floor")
                            : fmt::format(": {:.6g} s, and the fastest configuration is believed to take {:.6g} s",
                                          job.deadline_s, best->time_s));
  }
  too_large.tell("can never fit the cluster: whoever gets it, it fails", scenario);
  too_late.tell("cannot be in time, even alone on the cluster", scenario);
}

/// Pools that some job can use; all of them where that is not known.
std::vector<bool> usable_pools(const Scenario& scenario, Foresight& foresight) {
  std::vector<bool> usable(scenario.cluster.pools.size(), !scenario.generators.empty());
  const auto all_are = [&] { return std::find(usable.begin(), usable.end(), false) == usable.end(); };
  const bool spreads = spreads_models(scenario);
  for (const sim::Job& job : scenario.jobs) {
    if (all_are()) break;
    if (is_rigid(job)) {
      const sim::Menu menu = sim::rigid_menu(job, scenario.cluster, scenario.costs);
      for (std::size_t entry = 0; entry < menu.ranked.size(); ++entry)
        for (const sim::Group& group : menu.ranked[entry].configuration.groups)
          usable[static_cast<std::size_t>(group.pool)] = true;
      continue;
    }
    const auto best = spreads ? std::nullopt : foresight.best(job);
    for (std::size_t p = 0; p < usable.size(); ++p) usable[p] = usable[p] || !best || best->fits_pool[p];
  }
  return usable;
}

void warn_of_unused_pools(Scenario& scenario, Foresight& foresight) {
  if (scenario.jobs.empty()) return;
  const std::vector<bool> usable = usable_pools(scenario, foresight);
  if (std::find(usable.begin(), usable.end(), true) == usable.end()) return;  // no job fits anywhere, which its own warning says
  const bool has_rigid = std::any_of(scenario.jobs.begin(), scenario.jobs.end(), is_rigid);
  for (std::size_t p = 0; p < usable.size(); ++p) {
    if (usable[p]) continue;
    const sim::Pool& pool = scenario.cluster.pools[p];
    scenario.warnings.push_back(fmt::format(
        "no job can use the pool \"{}\" ({}): {}", pool.name, sim::counted(pool.nodes, "node"),
        has_rigid ? "a rigid job runs where its \"pool\" says, else in the first pool that has as many GPUs as it asks for. Name "
                    "the pool in the jobs' \"pool\", or leave it out"
                  : "no configuration of any job fits there. Leave it out, or take another instance"));
  }
}

/// Each menu has one entry: there is nothing to resize.
bool has_one_size(const Scenario& scenario) {
  return scenario.generators.empty() && std::all_of(scenario.jobs.begin(), scenario.jobs.end(), [&](const sim::Job& job) {
           return is_rigid(job) && sim::rigid_menu(job, scenario.cluster, scenario.costs).ranked.size() < 2;
         });
}

void warn_of_idle_strategies(Scenario& scenario) {
  const bool all_rigid = scenario.generators.empty() && std::all_of(scenario.jobs.begin(), scenario.jobs.end(), is_rigid);
  const policies::PolicySpec usual;
  const char* const lines = scenario.cluster.pools.size() > 1 ? " with a line for each pool" : "";
  for (const policies::PolicySpec& spec : scenario.policies) {
    const auto warn = [&](std::string_view decision, const policies::StrategyChoice& choice, std::string_view why) {
      scenario.warnings.push_back(fmt::format("policy \"{}\": its {} strategy \"{}\" {}", spec.name, decision, choice.name, why));
    };
    if (all_rigid) {
      constexpr std::string_view kWhy = "is never asked: all jobs have a fixed length on devices that they name";
      if (spec.configure.name != usual.configure.name) warn("configure", spec.configure, kWhy);
      if (spec.place.name != usual.place.name) warn("place", spec.place, kWhy);
      if (spec.threads.name != usual.threads.name) warn("threads", spec.threads, kWhy);
    }
    const policies::QueueEntry* queue =
        spec.queue.outside != nullptr ? nullptr : policies::find_strategy(policies::queue_strategies(), spec.queue.name);
    if (queue == nullptr || !queue->resizes) continue;
    const bool by_hand = !all_rigid && spec.configure.outside == nullptr && spec.configure.name == usual.configure.name;
    if (!by_hand && !(all_rigid && has_one_size(scenario))) continue;
    warn("queue", spec.queue,
         fmt::format(
             "has nothing to resize: {}{}", by_hand ? "\"manual\" gives each job one configuration" : "all jobs are rigid",
             queue->without_sizes.empty() ? std::string() : fmt::format(". It acts as \"{}\"{}", queue->without_sizes, lines)));
  }
}

/// A queue that plans by users' time limits knows the recorded duration of a job that has none.
void warn_of_missing_limits(Scenario& scenario) {
  std::vector<std::string> names;
  for (const policies::PolicySpec& spec : scenario.policies)
    if (policies::reads_limits(spec.queue)) names.push_back(spec.name);
  std::size_t rigid = 0, unlimited = 0;
  for (const sim::Job& job : scenario.jobs) {
    rigid += is_rigid(job);
    unlimited += is_rigid(job) && !job.has_walltime();
  }
  if (names.empty() || unlimited == 0) return;
  const std::string which =
      unlimited == rigid ? "the rigid jobs have no" : fmt::format("{} of {} rigid jobs have no", unlimited, rigid);
  scenario.warnings.push_back(fmt::format(
      "{}: the queue plans by time limits, and {} \"walltime_s\": it knows exactly how long they run. Give them one, or "
      "say \"durations\": \"predicted\" where that is meant",
      fmt::join(names, ", "), which));
}

/// Does it start jobs ahead of others by when devices are expected to be free?
bool backfills(const policies::StrategyChoice& queue) {
  const policies::QueueEntry* entry = policies::find_strategy(policies::queue_strategies(), queue.name);
  if (entry == nullptr) return false;
  const auto takes = [&](std::string_view name) {
    return std::ranges::any_of(entry->parameters,
                               [&](const policies::ParameterDeclaration& parameter) { return parameter.name == name; });
  };
  if (!takes("depth") || !takes("durations")) return false;
  return !takes("backfill") || policies::Parameters(entry->parameters, queue.parameters).flag("backfill");
}

/// Reservations of counted GPUs are kept sooner than those of whole nodes.
void warn_of_counted_gpus(Scenario& scenario) {
  std::vector<std::string> names;
  for (const policies::PolicySpec& spec : scenario.policies)
    if (backfills(spec.queue)) names.push_back(spec.name);
  if (names.empty()) return;
  const auto is_counted = [&](const sim::Job& job) {
    if (!is_rigid(job) || job.gpus < 2 || job.nodes > 0) return false;
    const std::vector<sim::PoolId> pools = sim::rigid_pools(job, scenario.cluster);
    return std::ranges::any_of(pools, [&](sim::PoolId pool) { return sim::workers_per_node(scenario.cluster, pool) > 1; });
  };
  const auto jobs = std::ranges::count_if(scenario.jobs, is_counted);
  if (jobs == 0) return;
  scenario.warnings.push_back(fmt::format(
      "{} counts the GPUs of {}, on whatever nodes they are: a job's \"nodes\" say on how many it runs, and then it may wait "
      "longer",
      fmt::join(names, ", "), sim::counted(static_cast<double>(jobs), "job of several GPUs", "jobs of several GPUs")));
}

/// A fixed batch is shared evenly: by hand a job gets the most workers, up to the number it names, that divide it.
void warn_of_uneven_batches(Scenario& scenario) {
  Found uneven;
  for (const sim::Job& job : scenario.jobs) {
    if (job.work != sim::Work::steps) continue;
    const int wanted = scenario.manual.for_job(job).workers.value_or(job.gpus);
    if (wanted <= 1 || std::fmod(job.batch_size, wanted) == 0) continue;
    int workers = wanted;
    while (uneven.jobs == 0 && std::fmod(job.batch_size, workers) != 0) --workers;  // of the first, which is told
    uneven.add(job,
               fmt::format(": {} workers for batches of {:g}; the manual configuration has {}", wanted, job.batch_size, workers));
  }
  uneven.tell("of fixed steps cannot share the batch evenly", scenario);
}

/// Users of whom there is no job: each that was probably meant to be another, and of the rest how many.
void warn_of_users(const std::string& policy, std::string_view where, const std::set<std::string>& named,
                   const std::set<std::string>& users, Scenario& scenario) {
  constexpr int kMostTold = 5;
  std::vector<std::string> unnamed;  // a user whom the list has as well was not meant by another name
  std::set_difference(users.begin(), users.end(), named.begin(), named.end(), std::back_inserter(unnamed));
  std::size_t others = 0;
  std::string first;
  int told = 0;
  const auto warn = [&](const std::string& text) {
    scenario.warnings.push_back(fmt::format("policy \"{}\": no job is of {}", policy, text));
  };
  for (const std::string& user : named) {
    if (users.contains(user)) continue;
    const std::string nearest = told < kMostTold ? sim::nearest_name(user, unnamed) : std::string();
    if (nearest.empty()) {
      if (others++ == 0) first = sim::printable(user);
      continue;
    }
    ++told;
    warn(fmt::format("the user \"{}\", whom its {} name; did you mean \"{}\"?", sim::printable(user), where,
                     sim::printable(nearest)));
  }
  const char* why = users.empty() ? " (no job has a \"user\")" : "";
  if (others == 1) warn(fmt::format("the user \"{}\", whom its {} name{}", first, where, why));
  if (others > 1) warn(fmt::format("{} users whom its {} name, among them \"{}\"{}", others, where, first, why));
}

/// A weight or a partition of a user without jobs changes nothing: rather a slip, though a trace that is cut may lack some.
void warn_of_unknown_users(Scenario& scenario) {
  if (!scenario.generators.empty()) return;  // they name users as they go
  std::set<std::string> users;
  for (const sim::Job& job : scenario.jobs)
    if (!job.user.empty()) users.insert(job.user);
  for (const policies::PolicySpec& spec : scenario.policies) {
    std::set<std::string> weighted, in_partitions;
    if (const auto weights = spec.queue.parameters.find("weights"); weights != spec.queue.parameters.end())
      if (const auto* of_user = std::get_if<policies::NumberOfName>(&weights->second))
        for (const auto& [user, weight] : *of_user) weighted.insert(user);
    for (const policies::Partition& partition : spec.queue.partitions)
      in_partitions.insert(partition.users.begin(), partition.users.end());
    warn_of_users(spec.name, "weights", weighted, users, scenario);
    warn_of_users(spec.name, "partitions", in_partitions, users, scenario);
  }
}

}  // namespace

void check_floors(const Scenario& scenario, std::size_t begin, std::size_t end, sim::JsonValue entry, const OwnModels& own,
                  sim::Mistakes& mistakes) {
  std::size_t others = 0;
  const sim::Job* first = nullptr;
  double reachable = 0;
  std::map<const sim::Profile*, double> ceilings;  ///< nothing is above one that is not modelled
  for (std::size_t j = begin; j < end; ++j) {
    const sim::Job& job = scenario.jobs[j];
    if (!job.has_target()) continue;
    const auto [at, is_new] = ceilings.try_emplace(job.profile, sim::kNever);
    if (is_new)
      if (const auto convergence = convergence_by(own, job.profile->model, job.profile->dataset, job.profile->recipe))
        at->second = workloads::highest_accuracy(*convergence);
    const double ceiling = at->second;
    if (job.target_accuracy <= ceiling) continue;
    if (first != nullptr) {
      ++others;
      continue;
    }
    first = &job, reachable = ceiling;
  }
  if (first == nullptr) return;
  sim::Mistake mistake = entry.mistake(fmt::format(
      "a target_accuracy of at most {:.4g} for job \"{}\" ({} on {}{} is believed to get no further{}), or \"infeasible\" "
      "beside \"jobs\" to say what becomes of it",
      std::floor(reachable * 1e4) / 1e4, first->name, first->profile->model, first->profile->dataset,
      first->profile->recipe.empty() ? "" : fmt::format(" by the recipe \"{}\"", first->profile->recipe),
      recipe_hint(own, first->profile->model, first->profile->dataset, first->target_accuracy)));
  mistake.found = fmt::format("{:.6g}", first->target_accuracy) +
                  (others == 0 ? "" : fmt::format(", and {} more such job{}", others, others == 1 ? "" : "s"));
  mistakes.add(std::move(mistake));
}

void foresee(Scenario& scenario) {
  if (!scenario.study_name.empty() || scenario.cluster.pools.empty()) return;
  Foresight foresight(scenario);
  warn_of_jobs(scenario, foresight);
  warn_of_unused_pools(scenario, foresight);
  warn_of_idle_strategies(scenario);
  warn_of_missing_limits(scenario);
  warn_of_unknown_users(scenario);
  warn_of_uneven_batches(scenario);
  warn_of_counted_gpus(scenario);
}

}  // namespace rehearse::scenarios
