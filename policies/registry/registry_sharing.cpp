// Disciplines that share the cluster among users or jobs: their part of the list of queues.
#include "policies/queue/elastic.hpp"
#include "policies/queue/finish_time_fairness.hpp"
#include "policies/queue/gavel.hpp"
#include "policies/queue/user_shares.hpp"
#include "policies/registry/registry.hpp"

namespace rehearse::policies {

namespace {

ParameterDeclaration seconds_parameter(std::string name, double fallback, std::string help, double low) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = low, .high = 1e9};
}

template <ShareMeasure measure>
QueueEntry user_shares_entry(std::string name, std::string help, bool preempt) {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<UserShares>(
        UserSharesParameters{.measure = measure, .preempt = p.flag("preempt"), .weights = p.numbers("weights")});
  };
  return decision_entry<sim::Queue>(
      std::move(name), std::move(help), make,
      {{.name = "preempt", .fallback = preempt, .help = "stop jobs of who has most for who has least"},
       {.name = "weights", .fallback = NumberOfName{}, .help = "of users; 1 for the others", .low = 1e-6, .high = 1e6}});
}

template <ElasticGain gain>
QueueEntry elastic_entry(std::string name, std::string help, double round_s) {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<Elastic>(
        ElasticParameters{.gain = gain, .round_s = p.number("round_s"), .switch_s = p.number("switch_s")});
  };
  return decision_entry<sim::Queue>(std::move(name), std::move(help), make,
                                    {seconds_parameter("round_s", round_s, "how often devices are given out anew", 1),
                                     seconds_parameter("switch_s", 40, "that another configuration must save", 0)});
}

QueueEntry gavel_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    const std::string& objective = p.text("objective");
    return std::make_unique<Gavel>(GavelParameters{.objective = objective == "cost"       ? GavelObjective::cost
                                                                : objective == "makespan" ? GavelObjective::makespan
                                                                                          : GavelObjective::max_min,
                                                   .round_s = p.number("round_s")});
  };
  return decision_entry<sim::Queue>(
      "gavel", "each job's share of time on each pool by a linear programme, in rounds (OSDI 2020)", make,
      {{.name = "objective",
        .fallback = std::string("max-min"),
        .help = "least normalised throughput, end of all work, or progress a dollar within deadlines",
        .choices = {"max-min", "makespan", "cost"}},
       seconds_parameter("round_s", 360, "how often shares are made up", 1)});
}

QueueEntry finish_time_fairness_entry() {
  const auto make = [](const Parameters& p) -> std::unique_ptr<sim::Queue> {
    return std::make_unique<FinishTimeFairness>(
        FinishTimeFairnessParameters{.lease_s = p.number("lease_s"), .filter = p.number("filter")});
  };
  return decision_entry<sim::Queue>(
      "finish-time-fairness", "leases for the jobs worst off against an equal part of the cluster (Themis, NSDI 2020)", make,
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
      elastic_entry<ElasticGain::speedup>("goodput", "resizes jobs for the largest mean of speed-ups (Pollux, OSDI 2021)", 60),
      elastic_entry<ElasticGain::seconds>("optimus", "resizes jobs by the seconds that a device saves (EuroSys 2018)", 600),
  };
}

}  // namespace rehearse::policies
