// Presets: published schedulers as settings of the disciplines of queues. What each says of itself is what tests/references/
// golden_test.py measures (docs/evidence/peers.md).
#include <algorithm>
#include <utility>

#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

struct Preset {
  const char* name;
  const char* of;  ///< the strategy whose parameters it sets
  std::vector<std::pair<const char*, ParameterValue>> values;
  const char* paper;
  const char* equal;
  const char* differs;
};

ParameterValue text(const char* value) { return std::string(value); }

constexpr const char* kTiresias = "Gu et al., Tiresias, NSDI 2019";
constexpr const char* kHelios = "Hu et al., Helios, SC 2021";
constexpr const char* kGavel = "Narayanan et al., Gavel, OSDI 2020";
constexpr const char* kSlurm = "Slurm 22.05, slurm.conf; Yoo, Jette, Grondona, JSSPP 2003";
constexpr const char* kSlurmDiffers =
    "devices instead of nodes with cores and memory; passes are a second apart, where Slurm's loop takes a little longer";
constexpr const char* kGavelDiffers =
    "among equal optima of its programme the one of largest sum, not the solver's; time had counts from the job's arrival, "
    "without "
    "resets; not whole servers";

std::vector<Preset> presets() {
  return {
      {"tiresias-fifo", "fifo", {}, kTiresias, "`fifo` of its simulator, placement by count", "nothing known"},
      {"tiresias-fit-first",
       "fifo",
       {{"overtaking", text("fit-first")}},
       kTiresias,
       "`fjf` of its simulator: whoever fits, by arrival",
       "nothing known"},
      {"tiresias-shortest",
       "srtf",
       {{"spare", false}},
       kTiresias,
       "`shortest` of its simulator (srtf of Lucid's): remaining time, whoever fits, free preemption",
       "a job that needs as little as a running one does not take its devices"},
      {"tiresias-shortest-service",
       "srtf",
       {{"measure", text("service")}, {"spare", false}},
       kTiresias,
       "`shortest-gpu` of its simulator: remaining time x devices",
       "a job that needs as little as a running one does not take its devices"},
      {"tiresias-smallest",
       "srtf",
       {{"measure", text("devices")}, {"order", text("arrival")}, {"spare", false}},
       kTiresias,
       "`sjf` of its simulator: fewest devices first, whoever fits, free preemption",
       "of equal sizes one that runs keeps its devices, whoever came first"},
      {"tiresias-dlas",
       "las",
       {{"levels", 3.0}, {"threshold_device_s", 3250.0}, {"ratio", 7200.0 / 3250.0}},
       kTiresias,
       "`dlas-gpu` of its simulator: queues of 3,250 and 7,200 device-seconds, whoever fits, pending behind running, no "
       "promotion, "
       "free preemption",
       "a queue is left at its exact date, not at the next whole second"},
      {"tiresias-gittins",
       "las",
       {{"gittins", true}, {"index_growth", 0.0}, {"order", text("arrival")}},
       kTiresias,
       "`dlas-gpu-gittins` of its simulator: each job by the index of its own service, quantum 3,250 device-seconds",
       "services of past jobs are learned as jobs end, unless `services` gives them (its code reads them from a file); no queues "
       "above the index"},
      {"helios-fifo",
       "fifo",
       {{"placement", text("consolidated-strict")}},
       kHelios,
       "fifo of Lucid's simulator, placement `consolidate`",
       "nothing known"},
      {"helios-sjf",
       "sjf",
       {{"placement", text("consolidated-strict")}},
       kHelios,
       "sjf of Lucid's simulator, placement `consolidate`",
       "nothing known"},
      {"helios-qssf",
       "sjf",
       {{"measure", text("service")}, {"placement", text("consolidated-strict")}},
       kHelios,
       "qssf of Lucid's simulator, placement `consolidate`, told what jobs take",
       "no predictor of its own: `durations`; of equals the first to arrive, not the smallest"},
      {"slurm-fifo", "slurm", {}, kSlurm, "sched/builtin, priority/basic", kSlurmDiffers},
      {"slurm-backfill",
       "slurm",
       {{"backfill", true}},
       kSlurm,
       "sched/backfill with its defaults: a plan every 30 s, from scratch, on devices by number",
       kSlurmDiffers},
      {"slurm-multifactor",
       "slurm",
       {{"weight_fair_share", 100000.0}, {"weight_age", 1000.0}, {"weight_size", 1000.0}},
       kSlurm,
       "priority/multifactor with the weights of its documentation's example, sched/builtin",
       "Fair Tree has one level and equal shares; no weights of partitions and QOS"},
      {"slurm-preempt",
       "slurm",
       {{"tiers", true}, {"preempt", true}},
       kSlurm,
       "preempt/partition_prio with PreemptMode=REQUEUE, sched/builtin: a job's priority is its PriorityTier, what was stopped "
       "may "
       "start again after cred_expire",
       "what a stopped job loses is the scenario's `checkpoint`; its limit counts over all its runs, there from the last start"},
      {"themis-like",
       "finish-time-fairness",
       {},
       "Mahajan et al., Themis, NSDI 2020",
       "auction of leases to the jobs of largest rho, filter 0.8, leases of 20 minutes",
       "its code is not public; a job bids with one size, and devices of a pool are alike"},
      {"gavel-max-min-like",
       "gavel",
       {{"between_rounds", text("wait")}},
       kGavel,
       "max-min fairness, rounds of 360 s",
       kGavelDiffers},
      {"gavel-agnostic-like",
       "gavel",
       {{"between_rounds", text("wait")}, {"heterogeneity", text("agnostic")}},
       kGavel,
       "max-min fairness with all pools alike, rounds of 360 s",
       kGavelDiffers},
      {"gavel-ftf-like",
       "gavel",
       {{"between_rounds", text("wait")}, {"objective", text("finish-time-fairness")}},
       kGavel,
       "finish-time fairness by programme, rounds of 360 s; not Themis' auction",
       "time alone is that of an equal part for the jobs of now, not summed over those of each past round"},
      {"gavel-makespan-like",
       "gavel",
       {{"between_rounds", text("wait")}, {"objective", text("makespan")}},
       kGavel,
       "all work ends soonest, rounds of 360 s",
       kGavelDiffers},
      {"gavel-min-cost-slo-like",
       "gavel",
       {{"between_rounds", text("wait")}, {"objective", text("cost")}},
       kGavel,
       "most progress a dollar within deadlines, rounds of 360 s",
       kGavelDiffers},
      {"gandiva-like",
       "gavel",
       {{"heterogeneity", text("agnostic")}, {"round_s", 60.0}},
       "Xiao et al., Gandiva, OSDI 2018",
       "time slices of a minute: in each, devices go to the jobs that have had the least of their equal part",
       "no packing of two jobs on a GPU, no growing and shrinking, no migration; slices need not come in turn; on "
       "ElasticFlow's trace 93 deadlines are kept, in ElasticFlow's simulator 47: its Gandiva slices among jobs of one size, on "
       "nodes set aside for that size"},
      {"allox",
       "matching",
       {{"devices", text("free")}},
       "Le et al., AlloX, EuroSys 2020",
       "`allox` of Gavel's simulator (AlloX_Perf, alpha 1): at each arrival and end those that wait are matched with places of "
       "the "
       "devices that are free, and whoever is first there starts, for good",
       "at once instead of at the next round of 360 s; 200 jobs at most; jobs of several devices, which its code refuses, count "
       "as "
       "longer ones of one"},
      {"lucid-like",
       "packing",
       {},
       "Hu et al., Lucid, ASPLOS 2023",
       "order by predicted time x devices, whoever fits, placement `consolidate`; beside the first running job that is alone, "
       "has "
       "half its priority at least, and with which scores of 0, 1 or 2 sum to 2 at most",
       "only jobs of one device are packed, those whose `gpu_fraction` leaves room; scores are by the measured mean speed from "
       "which "
       "its tree is trained; no stage of profiling, no forecast of when to pack"},
      {"elasticflow-edf",
       "elastic-edf",
       {{"size", text("largest")}},
       "Gu et al., ElasticFlow, ASPLOS 2023",
       "EDF of its comparison: by deadline, each job on the most devices that it was measured with, slots of 240 s",
       "switching costs are the scenario's"},
      {"elasticflow",
       "elastic-admission",
       {},
       "Gu et al., ElasticFlow, ASPLOS 2023",
       "minimum satisfactory shares in slots of 240 s, left-over devices by marginal gain, jobs that came together admitted or "
       "rejected together",
       "switching costs are the scenario's; its code adds 4 to 16 s to each job at each plan"},
      {"pollux-like",
       "goodput",
       {{"round_s", 60.0}},
       "Qiao et al., Pollux, OSDI 2021",
       "rounds of 60 s, mean of 1/speedup",
       "marginal gains over the menus' sizes instead of a genetic search over placements; batches stay those of the menu"},
      {"sia-like",
       "goodput",
       {{"round_s", 60.0}, {"power", 0.5}},
       "Jayaram Subramanya et al., Sia, SOSP 2023",
       "rounds of 60 s, numbers and kinds of devices of each job together, mean of speedup^-0.5",
       "marginal gains over the menus' entries instead of an integer programme; no price of a change but `switch_s`; speeds are "
       "the menu's, not learned from a minute on each kind; nobody who runs is stopped"},
      {"optimus-like",
       "optimus",
       {{"round_s", 600.0}},
       "Peng et al., Optimus, EuroSys 2018",
       "rounds of 600 s, seconds saved a device",
       "predictions are the menu's, workers and servers are not chosen apart"},
  };
}

QueueEntry entry_of(const Preset& preset, const std::vector<QueueEntry>& strategies) {
  const QueueEntry* base = find_strategy(strategies, preset.of);
  sim::check(base != nullptr, "a preset of a strategy that is not registered");
  QueueEntry entry = *base;
  entry.name = preset.name;
  entry.help = std::string("a preset of ") + preset.of;
  entry.paper = preset.paper;
  entry.equal = preset.equal;
  entry.differs = preset.differs;
  for (const auto& [name, value] : preset.values) {
    const auto declared = std::find_if(entry.parameters.begin(), entry.parameters.end(),
                                       [&name = name](const ParameterDeclaration& p) { return p.name == name; });
    sim::check(declared != entry.parameters.end() && declared->fallback.index() == value.index(),
               "a preset sets a parameter that its strategy does not declare");
    declared->fallback = value;
  }
  return entry;
}

}  // namespace

std::vector<QueueEntry> queue_presets(const std::vector<QueueEntry>& strategies) {
  std::vector<QueueEntry> entries;
  for (const Preset& preset : presets()) entries.push_back(entry_of(preset, strategies));
  return entries;
}

}  // namespace rehearse::policies
