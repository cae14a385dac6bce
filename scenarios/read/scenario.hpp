// What a scenario may name that is made above its loader: studies, and policies that are processes. `experiments` hands their
// readers in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/registry/bundle.hpp"
#include "report/comparison.hpp"
#include "report/run_recorder.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/money/costs.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/generate/generator.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::scenarios {

struct Paths;
struct Scenario;

/// What is asked instead of one table of policies, as it was read.
class StudyParameters {
 public:
  virtual ~StudyParameters() = default;
};

struct StudyKind {
  std::string name;
  std::string help;  ///< one line
  // Which parts of a scenario it needs; what it does not need may be missing.
  bool cluster = true, jobs = true, policies = true;
  /// Reads the parameters beside "name"; there are none when the scenario gives the name alone. All else of the scenario is read.
  std::unique_ptr<StudyParameters> (*read)(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes);
};

struct Extensions {
  const std::vector<StudyKind>& studies;
  /// A decision's value of the form {"process": [...]}.
  policies::StrategyChoice (*read_process)(sim::JsonValue strategy, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes);
};

// A scenario as it was read: everything a run needs, checked.

/// Past runs that strategies learn from: simulated profiling in the world, or the user's own.
struct HistorySettings {
  int runs = 20;        ///< of each (model, instance) pair
  double noise = 0.05;  ///< coefficient of variation of a measured time
  bool bought = true;   ///< the shared ones are made for the purpose; else earlier production jobs, which were paid for
  std::vector<policies::PastRun> own;  ///< of a file; then nothing is profiled
};

/// Of which repetitions a record (a file of rows) is written.
enum class Record : std::uint8_t { none, first, all };

inline bool is_written(Record record, int repetition) {
  return record == Record::all || (record == Record::first && repetition == 0);
}

struct OutputSettings {
  Record jobs = Record::all, decisions = Record::first, events = Record::first, stages = Record::first, curves = Record::none,
         predictions = Record::first, utilization = Record::first, life = Record::none, nodes = Record::first;
  bool report = true;

  /// For who reads the rows of every repetition's jobs, their decisions and no others.
  static OutputSettings of_jobs(bool report) {
    return {.decisions = Record::all,
            .events = Record::none,
            .stages = Record::none,
            .predictions = Record::none,
            .utilization = Record::none,
            .nodes = Record::none,
            .report = report};
  }
};

/// What repetitions draw anew of jobs whose dates are given: nothing, or the blocks of time that they arrive in.
struct Resampling {
  bool blocks = false;
  double block_s = 86400;
};

struct Scenario {
  std::string name;
  std::string file;  ///< its name, without folders
  std::string path;  ///< of the file, as given
  std::string description;
  std::uint64_t seed = 0;
  std::uint64_t policy_seed = 0;
  int repetitions = 1;
  std::string baseline;
  std::string reference;                         ///< who the verdict holds all others against
  double limits_margin = report::kLimitsMargin;  ///< of the jobs: so much more than the reference's may break limits
  sim::Cluster cluster;
  std::optional<sim::Stack> stack;  ///< of devices that nobody has measured; none: they are as data sheets have them
  sim::CostRules costs;
  sim::CheckpointRules checkpoints;
  sim::NodeRules nodes;  ///< but for seed and repetition
  sim::SharingRules sharing;
  sim::Infeasible infeasible = sim::Infeasible::best_effort;
  sim::NetworkSolver network_solver = sim::NetworkSolver::fast;
  workloads::WorldErrors world_errors;
  workloads::ProfileTable profiles;
  workloads::ProfileModels profile_models;
  std::vector<sim::Job> jobs;  ///< of the scenario and its traces, by submit date; the same in every repetition
  std::vector<workloads::GeneratorSettings> generators;
  Resampling resampling;
  std::vector<policies::PolicySpec> policies;
  policies::ManualRules manual;
  policies::StageRules stages;
  HistorySettings history;
  double profiling_reuse_jobs = 50;
  OutputSettings output;
  std::optional<report::MeasureWindow> measure;
  std::string study_name;
  std::shared_ptr<const StudyParameters> study;  ///< what is asked instead of one table of policies; may be null
  std::vector<report::InputReport> inputs;
  std::vector<std::string> warnings;
  double origin_s = 0;
  /// SHA-256 of every file that was read, by its path as it is written in the scenario.
  std::map<std::string, std::string> sha256_of_file;
  std::string resolved;  ///< the scenario's text after overrides, with these fingerprints: enough to run again

  /// Whether repetitions have jobs of their own.
  bool redraws_jobs() const { return !generators.empty() || (resampling.blocks && !jobs.empty()); }
  /// Jobs of all sources in this repetition, by submit date.
  std::vector<sim::Job> jobs_of(int repetition) const;
};

/// `--set /pointer=value`, in order.
struct Override {
  std::string pointer;
  std::string value;
};

struct LoadOptions {
  std::vector<Override> overrides;
  std::vector<std::string> catalogues;  ///< files, after the scenario's own
  std::string stack;                    ///< in the place of the cluster's; empty: as the cluster has it
};

/// Reads and checks a scenario file. Throws InputError with all mistakes at once, also for a scenario that sweeps.
std::unique_ptr<Scenario> read_scenario(const std::string& path, const LoadOptions& options, const Extensions& extensions);
/// Of a document that has its overrides; `path` names it, and relative paths begin in its folder.
std::unique_ptr<Scenario> read_scenario(sim::JsonDocument document, const std::string& path, const LoadOptions& options,
                                        const Extensions& extensions);

}  // namespace rehearse::scenarios
