// The part of the registry that has the queue's disciplines.
#include <algorithm>
#include <iterator>

#include "policies/queue/backfill_queue.hpp"
#include "policies/queue/deadline_admission.hpp"
#include "policies/queue/durations.hpp"
#include "policies/queue/elastic.hpp"
#include "policies/queue/finish_time_fairness.hpp"
#include "policies/queue/gavel.hpp"
#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/queue/matching.hpp"
#include "policies/queue/packing.hpp"
#include "policies/queue/slots.hpp"
#include "policies/queue/slurm.hpp"
#include "policies/queue/user_shares.hpp"
#include "policies/registry/registry.hpp"

namespace rehearse::policies {

namespace {

using Made = std::unique_ptr<sim::Queue>;
using Declared = std::vector<ParameterDeclaration>;

constexpr const char* kPlacement = "placement";
constexpr const char* kDurations = "durations";
constexpr const char* kPreempt = "preempt";
constexpr const char* kBackfill = "backfill";
constexpr const char* kDepth = "depth";
constexpr const char* kMeasure = "measure";
constexpr const char* kSpare = "spare";
constexpr const char* kStrict = "consolidated-strict";

bool goes_by_user(const Parameters& p) { return p.text(kDurations) == "user"; }

/// A discipline with the parameter "preempt" stops running jobs where that says so; others do not. One with "durations" goes by
/// time limits where that says so; if it has "backfill" too, only while it backfills.
QueueEntry queue_entry(std::string name, std::string help, Made (*make)(const Parameters&), Declared parameters) {
  QueueEntry entry{decision_entry<sim::Queue>(std::move(name), std::move(help), make, std::move(parameters))};
  const auto takes = [&](const char* parameter) {
    return std::ranges::any_of(entry.parameters,
                               [&](const ParameterDeclaration& declared) { return declared.name == parameter; });
  };
  if (takes(kPreempt)) entry.preempts = [](const Parameters& p) { return p.flag(kPreempt); };
  if (takes(kDurations)) entry.reads_limits = goes_by_user;
  if (takes(kDurations) && takes(kBackfill))
    entry.reads_limits = [](const Parameters& p) { return p.flag(kBackfill) && goes_by_user(p); };
  return entry;
}

/// One that always may.
QueueEntry preempting_entry(std::string name, std::string help, Made (*make)(const Parameters&), Declared parameters) {
  QueueEntry entry = queue_entry(std::move(name), std::move(help), make, std::move(parameters));
  entry.preempts = [](const Parameters&) { return true; };
  return entry;
}

ParameterDeclaration placement_parameter() {
  return {.name = kPlacement,
          .fallback = std::string("consolidated"),
          .help = "which free devices a job takes: the fewest nodes, the smallest gaps, or evenly on the emptiest nodes",
          .choices = {"consolidated", "best-fit", "spread", "network-aware"}};
}

// What every line-shaped discipline takes.

constexpr const char* kOvertaking = "overtaking";
constexpr const char* kOrder = "order";
constexpr const char* kPatience = "patience_s";

Declared with_line(Declared own, std::string overtaking = "strict", std::string order = "arrival") {
  own.push_back({.name = kOvertaking,
                 .fallback = std::move(overtaking),
                 .help = "strict: nobody passes the first in line; fit-first: whoever fits does",
                 .choices = {"strict", "fit-first"}});
  own.push_back({.name = kOrder,
                 .fallback = std::move(order),
                 .help = "of equals: by arrival, by their first service, or those that wait behind those that run",
                 .choices = {"arrival", "service", "running-first"}});
  ParameterDeclaration placement = placement_parameter();
  placement.help += "; consolidated-strict: a job waits for the fewest nodes that could ever hold it";
  placement.choices.push_back(kStrict);
  own.push_back(std::move(placement));
  own.push_back({.name = kPatience,
                 .fallback = 0.0,
                 .help = "with consolidated-strict: in the queue, after which a job takes any nodes; 0: never",
                 .low = 0,
                 .high = 1e9});
  return own;
}

ParameterDeclaration durations_parameter(std::string fallback) {
  return {.name = kDurations,
          .fallback = std::move(fallback),
          .help = "what a job is believed to take: its menu's prediction, or the user's walltime_s (without one, the prediction)",
          .choices = {"predicted", "user"}};
}

ParameterDeclaration preempt_parameter() {
  return {.name = kPreempt, .fallback = true, .help = "running jobs that come later give way"};
}

ParameterDeclaration spare_parameter() {
  return {.name = kSpare, .fallback = true, .help = "a running job stays where the waiting jobs of a date find room without it"};
}

ParameterDeclaration depth_parameter(double fallback) {
  return {.name = kDepth,
          .fallback = fallback,
          .help = "waiting jobs looked at, from the first",
          .low = 1,
          .high = 1e9,
          .whole = true};
}

sim::Placement placement(const Parameters& p) {
  const std::string& name = p.text(kPlacement);
  if (name == "best-fit") return sim::Placement::best_fit;
  if (name == "network-aware") return sim::Placement::network_aware;
  return name == "spread" ? sim::Placement::spread : sim::Placement::consolidated;
}

Durations::Source durations(const Parameters& p) {
  return p.text(kDurations) == "user" ? Durations::Source::user : Durations::Source::predicted;
}

LineOptions line_options(const Parameters& p) {
  const std::string& order = p.text(kOrder);
  const double patience_s = p.number(kPatience);
  return {.overtaking = p.text(kOvertaking) == "strict" ? Overtaking::strict : Overtaking::fit_first,
          .order = order == "service"         ? TieOrder::service
                   : order == "running-first" ? TieOrder::running_first
                                              : TieOrder::arrival,
          .placement = placement(p),
          .fewest_nodes = p.text(kPlacement) == kStrict,
          .patience_s = patience_s > 0 ? patience_s : sim::kNever};
}

LineOptions preempting_line_options(const Parameters& p) {
  LineOptions options = line_options(p);
  options.claims_together = p.flag(kSpare);
  return options;
}

ParameterDeclaration measure_parameter() {
  return {.name = kMeasure,
          .fallback = std::string("time"),
          .help = "what is shortest: remaining time, time x devices, or devices alone",
          .choices = {"time", "service", "devices"}};
}

JobMeasure measure(const Parameters& p) {
  const std::string& name = p.text(kMeasure);
  return name == "service" ? JobMeasure::service : name == "devices" ? JobMeasure::devices : JobMeasure::time;
}

template <bool preempt>
ShortestJobParameters shortest(const Parameters& p) {
  return {.preempt = preempt,
          .durations = durations(p),
          .measure = measure(p),
          .line = preempt ? preempting_line_options(p) : line_options(p)};
}

BackfillParameters backfill(const Parameters& p) {
  return {.durations = durations(p), .depth = static_cast<int>(p.number(kDepth)), .placement = placement(p)};
}

template <bool preempt>
Made make_oracle(const Parameters& p) {
  return std::make_unique<WithTruth<ShortestJob>>(
      ShortestJob({.preempt = preempt, .measure = measure(p), .line = preempt ? preempting_line_options(p) : line_options(p)}));
}

Declared priority_parameters() {
  return with_line(
      {{.name = "ageing_per_hour", .fallback = 0.0, .help = "priority that a job gains each hour", .low = 0, .high = 1e9},
       preempt_parameter(),
       spare_parameter()});
}

Made make_priority(const Parameters& p) {
  return std::make_unique<Priority>(PriorityParameters{
      .ageing_per_hour = p.number("ageing_per_hour"), .preempt = p.flag(kPreempt), .line = preempting_line_options(p)});
}

Declared las_parameters() {
  return with_line(
      {{.name = "levels", .fallback = 2.0, .help = "queues of attained service", .low = 1, .high = 1000, .whole = true},
       {.name = "threshold_device_s",
        .fallback = 3600.0,
        .help = "service after which a job leaves the first level",
        .low = 1e-3,
        .high = 1e12},
       {.name = "ratio", .fallback = 10.0, .help = "of a level's threshold and the one before", .low = 1.001, .high = 1e6},
       {.name = "gittins", .fallback = false, .help = "no levels: each job by the Gittins index of its own service"},
       {.name = "quantum_device_s", .fallback = 3250.0, .help = "of the Gittins index", .low = 1e-3, .high = 1e12},
       {.name = "index_growth",
        .fallback = 0.01,
        .help = "of the Gittins index: share by which a running job's service grows until it is looked at again",
        .low = 0,
        .high = 1},
       {.name = "services",
        .fallback = NumberOfName{},
        .help = "of the Gittins index: device-seconds after which known jobs end, by any names; none: of those that have ended",
        .low = 1e-3,
        .high = 1e15},
       {.name = "promote_after",
        .fallback = 0.0,
        .help = "a job that waited so many times as long as it ran goes back to the first level; 0: never",
        .low = 0,
        .high = 1e9}},
      "fit-first", "running-first");
}

Made make_las(const Parameters& p) {
  return std::make_unique<LeastAttainedService>(
      LeastAttainedServiceParameters{.levels = static_cast<int>(p.number("levels")),
                                     .threshold_device_s = p.number("threshold_device_s"),
                                     .ratio = p.number("ratio"),
                                     .gittins = p.flag("gittins"),
                                     .quantum_device_s = p.number("quantum_device_s"),
                                     .index_growth = p.number("index_growth"),
                                     .services = p.numbers("services"),
                                     .promote_after = p.number("promote_after"),
                                     .line = line_options(p)});
}

Made make_fifo(const Parameters& p) {
  return std::make_unique<Fifo>(FifoParameters{.per_pool = p.flag("per_pool"), .line = line_options(p)});
}

ParameterDeclaration whole_seconds(std::string name, double fallback, std::string help) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = 1, .high = 1e9, .whole = true};
}

/// Of a loop: set in whole seconds, and measured a little longer.
ParameterDeclaration seconds_between(std::string name, double fallback, std::string help) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = 0.001, .high = 1e9};
}

ParameterDeclaration phase_parameter(std::string name, std::string help) {
  return {.name = std::move(name), .fallback = 0.0, .help = std::move(help), .low = 0, .high = 1e9};
}

ParameterDeclaration weight_parameter(std::string name, std::string help) {
  return {.name = std::move(name), .fallback = 0.0, .help = std::move(help), .low = 0, .high = 1e9};
}

Declared slurm_parameters() {
  return {
      seconds_between("interval_s", 1, "between two passes through the queue: what has changed is looked at then"),
      phase_parameter("phase_s", "a date of a pass: others lie whole intervals from it"),
      {.name = kBackfill, .fallback = false, .help = "sched/backfill beside the passes, not sched/builtin alone"},
      seconds_between("backfill_interval_s", 30, "bf_interval: between two plans"),
      phase_parameter("backfill_phase_s", "a date of a plan: others lie whole intervals from it"),
      whole_seconds("resolution_s", 60, "bf_resolution: reservations begin and end on its multiples"),
      whole_seconds("window_s", 86400, "bf_window: nothing is planned beyond"),
      {.name = "precision_s",
       .fallback = 30.0,
       .help = "within which running jobs are expected to end together, doubled with each look; 0: exactly",
       .low = 0,
       .high = 1e9},
      depth_parameter(500),
      {.name = "tiers", .fallback = false, .help = "a job's priority is the PriorityTier of its partition: larger ones first"},
      {.name = kPreempt, .fallback = false, .help = "jobs of smaller tiers give way (preempt/partition_prio)"},
      {.name = "youngest_first", .fallback = false, .help = "the youngest give way first, not those of the fewest devices"},
      {.name = "requeue_s",
       .fallback = 121.0,
       .help = "until a job that was stopped may start again (cred_expire and a second)",
       .low = 0,
       .high = 1e9},
      weight_parameter("weight_age", "PriorityWeightAge; all weights 0: by arrival"),
      weight_parameter("weight_size", "PriorityWeightJobSize"),
      weight_parameter("weight_fair_share", "PriorityWeightFairshare, users in order of their usage (Fair Tree, one level)"),
      {.name = "favor_small", .fallback = false, .help = "PriorityFavorSmall"},
      whole_seconds("max_age_s", 604800, "PriorityMaxAge"),
      whole_seconds("half_life_s", 604800, "PriorityDecayHalfLife of usage"),
      whole_seconds("calc_s", 300, "PriorityCalcPeriod: how often usage and priorities are reckoned"),
      durations_parameter("user"),
      placement_parameter()};
}

Made make_slurm(const Parameters& p) {
  return std::make_unique<Slurm>(SlurmParameters{.interval_s = p.number("interval_s"),
                                                 .phase_s = p.number("phase_s"),
                                                 .backfill = p.flag(kBackfill),
                                                 .backfill_interval_s = p.number("backfill_interval_s"),
                                                 .backfill_phase_s = p.number("backfill_phase_s"),
                                                 .resolution_s = p.number("resolution_s"),
                                                 .window_s = p.number("window_s"),
                                                 .precision_s = p.number("precision_s"),
                                                 .depth = static_cast<int>(p.number(kDepth)),
                                                 .tiers = p.flag("tiers"),
                                                 .preempt = p.flag(kPreempt),
                                                 .youngest_first = p.flag("youngest_first"),
                                                 .requeue_s = p.number("requeue_s"),
                                                 .weight_age = p.number("weight_age"),
                                                 .weight_size = p.number("weight_size"),
                                                 .weight_fair_share = p.number("weight_fair_share"),
                                                 .favor_small = p.flag("favor_small"),
                                                 .max_age_s = p.number("max_age_s"),
                                                 .half_life_s = p.number("half_life_s"),
                                                 .calc_s = p.number("calc_s"),
                                                 .durations = durations(p),
                                                 .placement = placement(p)});
}

Made make_edf(const Parameters& p) {
  return std::make_unique<EarliestDeadline>(EarliestDeadlineParameters{
      .preempt = p.flag(kPreempt), .quickest = p.text("size") == "quickest", .line = preempting_line_options(p)});
}

Made make_admission(const Parameters& p) {
  return std::make_unique<DeadlineAdmission>(DeadlineAdmissionParameters{.durations = durations(p), .placement = placement(p)});
}

}  // namespace

const std::vector<QueueEntry>& queue_strategies() {
  const auto entry = queue_entry;
  const auto preempting = preempting_entry;
  static const std::vector<QueueEntry> entries = [&] {
    std::vector<QueueEntry> all{
        entry("fifo", "first come, first served; nobody overtakes", make_fifo,
              with_line({{.name = "per_pool", .fallback = false, .help = "one line a pool instead of one for all"}})),
        entry("priority", "highest priority first, with ageing and preemption", make_priority, priority_parameters()),
        entry(
            "sjf", "shortest job first",
            [](const Parameters& p) -> Made { return std::make_unique<ShortestJob>(shortest<false>(p)); },
            with_line({durations_parameter("predicted"), measure_parameter()})),
        preempting(
            "srtf", "shortest remaining time first, with preemption",
            [](const Parameters& p) -> Made { return std::make_unique<ShortestJob>(shortest<true>(p)); },
            with_line({durations_parameter("predicted"), measure_parameter(), spare_parameter()}, "fit-first")),
        yardstick(entry("oracle-sjf", "a yardstick: shortest job first by true durations", make_oracle<false>,
                        with_line({measure_parameter()}))),
        yardstick(preempting("oracle-srtf", "a yardstick: shortest remaining time first by true durations", make_oracle<true>,
                             with_line({measure_parameter(), spare_parameter()}, "fit-first"))),
        entry("easy", "EASY backfilling: who overtakes must not delay the first in line (Lifka, JSSPP 1995)",
              [](const Parameters& p) -> Made { return std::make_unique<Easy>(backfill(p)); },
              {durations_parameter("user"), depth_parameter(1000), placement_parameter()}),
        entry("conservative", "conservative backfilling: who overtakes must delay nobody (Mu'alem and Feitelson, TPDS 2001)",
              [](const Parameters& p) -> Made { return std::make_unique<Conservative>(backfill(p)); },
              {durations_parameter("user"), depth_parameter(100), placement_parameter()}),
        entry("slurm", "Slurm's passes through its queue, backfill, multifactor priority and preemption by partition", make_slurm,
              slurm_parameters()),
        entry(
            "edf", "earliest deadline first", make_edf,
            with_line({preempt_parameter(),
                       spare_parameter(),
                       {.name = "size",
                        .fallback = std::string("first"),
                        .help = "of a job: the first entry of its menu that could ever fit, or the one predicted to end soonest",
                        .choices = {"first", "quickest"}}})),
        entry("deadline-admission", "jobs that cannot keep their deadlines are rejected at once (ElasticFlow, ASPLOS 2023)",
              make_admission, {durations_parameter("predicted"), placement_parameter()}),
        preempting("las", "least attained service in discrete levels, with preemption (Tiresias, NSDI 2019)", make_las,
                   las_parameters()),
    };
    std::ranges::move(sharing_queue_strategies(), std::back_inserter(all));
    std::ranges::move(queue_presets(all), std::back_inserter(all));
    return all;
  }();
  return entries;
}

// Disciplines that share the cluster among users or jobs: their part of the list of queues.

namespace {

ParameterDeclaration seconds_parameter(std::string name, double fallback, std::string help, double low) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = low, .high = 1e9};
}

ParameterDeclaration slot_parameter() {
  return seconds_parameter("slot_s", 240, "between two plans, and what devices are planned in", 10);
}

template <ShareMeasure measure>
QueueEntry user_shares_entry(std::string name, std::string help, bool preempt) {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<UserShares>(
        UserSharesParameters{.measure = measure, .preempt = p.flag(kPreempt), .weights = p.numbers("weights")});
  };
  return queue_entry(
      std::move(name), std::move(help), make,
      {{.name = kPreempt, .fallback = preempt, .help = "stop jobs of who has most for who has least"},
       {.name = "weights", .fallback = NumberOfName{}, .help = "of users; 1 for the others", .low = 1e-6, .high = 1e6}});
}

template <ElasticGain gain>
QueueEntry elastic_entry(std::string name, std::string help, double round_s) {
  constexpr bool by_speedup = gain == ElasticGain::speedup;
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Elastic>(ElasticParameters{.gain = gain,
                                                       .round_s = p.number("round_s"),
                                                       .power = by_speedup ? p.number("power") : 1,
                                                       .switch_s = p.number("switch_s")});
  };
  Declared parameters{seconds_parameter("round_s", round_s, "how often devices are given out anew", 1),
                      seconds_parameter("switch_s", 40, "that another configuration must save", 0)};
  if (by_speedup)
    parameters.push_back(
        {.name = "power", .fallback = 1.0, .help = "p of the mean of speedup^-p that is made small", .low = 0.01, .high = 1});
  // Jobs of one configuration, which cannot be resized, it leaves running.
  QueueEntry entry = queue_entry(std::move(name), std::move(help), make, std::move(parameters));
  entry.resizes = true;
  entry.without_sizes = "fifo";
  return entry;
}

QueueEntry elastic_admission_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Slots>(SlotParameters{.slot_s = p.number("slot_s")});
  };
  QueueEntry entry = preempting_entry(
      "elastic-admission", "resizes jobs in slots to the least that keeps deadlines, rejects others (ElasticFlow, ASPLOS 2023)",
      make, {slot_parameter()});
  entry.resizes = true;
  return entry;
}

QueueEntry elastic_edf_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Slots>(
        SlotParameters{.discipline = p.text("size") == "largest" ? SlotDiscipline::edf_largest : SlotDiscipline::edf_quickest,
                       .slot_s = p.number("slot_s")});
  };
  QueueEntry entry =
      preempting_entry("elastic-edf", "earliest deadline first, each job on as many devices as it can have", make,
                       {{.name = "size",
                         .fallback = std::string("quickest"),
                         .help = "the most that a job is given: the largest of its menu, or the largest that is quicker than "
                                 "all smaller ones",
                         .choices = {"quickest", "largest"}},
                        slot_parameter()});
  entry.resizes = true;
  return entry;
}

QueueEntry gavel_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    const std::string& objective = p.text("objective");
    return std::make_unique<Gavel>(GavelParameters{.objective = objective == "cost"       ? GavelObjective::cost
                                                                : objective == "makespan" ? GavelObjective::makespan
                                                                : objective == "finish-time-fairness"
                                                                    ? GavelObjective::finish_time
                                                                    : GavelObjective::max_min,
                                                   .round_s = p.number("round_s"),
                                                   .fills = p.text("between_rounds") == "fill",
                                                   .aware = p.text("heterogeneity") == "aware"});
  };
  return preempting_entry(
      "gavel", "each job's share of time on each pool by a linear programme, in rounds (OSDI 2020)", make,
      {{.name = "objective",
        .fallback = std::string("max-min"),
        .help = "least normalised throughput, end of all work, progress a dollar within deadlines, or the worst time against an "
                "equal part of the cluster",
        .choices = {"max-min", "makespan", "cost", "finish-time-fairness"}},
       seconds_parameter("round_s", 360, "how often shares are made up", 1),
       {.name = "heterogeneity",
        .fallback = std::string("aware"),
        .help = "aware of how fast a job is on each pool, or all pools that it can run on are alike",
        .choices = {"aware", "agnostic"}},
       {.name = "between_rounds",
        .fallback = std::string("fill"),
        .help = "devices that come free go to waiting jobs, or idle until the next round",
        .choices = {"fill", "wait"}}});
}

QueueEntry matching_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Matching>(MatchingParameters{
        .share = p.number("share"), .most = static_cast<int>(p.number(kDepth)), .plans = p.text("devices") == "all"});
  };
  return queue_entry("matching", "jobs matched with places in the order of each device, for the least sum of completion times",
                     make,
                     {{.name = "devices",
                       .fallback = std::string("all"),
                       .help = "held ones too, free when their jobs are expected to end, or only those that are free",
                       .choices = {"all", "free"}},
                      {.name = "share",
                       .fallback = 1.0,
                       .help = "of waiting jobs, the first to arrive: they are matched, and at least as many as devices are free",
                       .low = 0,
                       .high = 1},
                      depth_parameter(200)});
}

QueueEntry packing_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Packing>(PackingParameters{.most_score = static_cast<int>(p.number("most_score")),
                                                       .longest_ratio = p.number("longest_ratio"),
                                                       .durations = Durations(durations(p))});
  };
  return queue_entry("packing",
                     "least predicted service first, two jobs on a device where their kinds bear it; nobody is stopped", make,
                     {{.name = "most_score",
                       .fallback = 2.0,
                       .help = "of two on a device together: each has 0, 1 or 2, by its mean speed beside others; -1: none",
                       .low = -1,
                       .high = 4,
                       .whole = true},
                      {.name = "longest_ratio",
                       .fallback = 2.0,
                       .help = "of a job's predicted service to that of the one that it is put beside",
                       .low = 0,
                       .high = 1e9},
                      durations_parameter("predicted")});
}

QueueEntry finish_time_fairness_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<FinishTimeFairness>(
        FinishTimeFairnessParameters{.lease_s = p.number("lease_s"), .filter = p.number("filter")});
  };
  return preempting_entry("finish-time-fairness",
                          "leases for the jobs worst off against an equal part of the cluster (Themis, NSDI 2020)", make,
                          {seconds_parameter("lease_s", 1200, "that a job keeps its devices", 1),
                           {.name = "filter",
                            .fallback = 0.8,
                            .help = "devices are offered to all but this share of the jobs",
                            .low = 0,
                            .high = 1}});
}

}  // namespace

std::vector<QueueEntry> sharing_queue_strategies() {
  return {
      user_shares_entry<ShareMeasure::mean>("fair-share", "who holds least is served first: max-min over users", true),
      user_shares_entry<ShareMeasure::dominant>("drf", "by the largest part that a user holds of any pool (NSDI 2011)", false),
      finish_time_fairness_entry(),
      gavel_entry(),
      matching_entry(),
      packing_entry(),
      elastic_edf_entry(),
      elastic_admission_entry(),
      elastic_entry<ElasticGain::speedup>("goodput", "resizes jobs for the largest mean of speed-ups (Pollux, OSDI 2021)", 60),
      elastic_entry<ElasticGain::seconds>("optimus", "resizes jobs by the seconds that a device saves (EuroSys 2018)", 600),
  };
}

}  // namespace rehearse::policies
