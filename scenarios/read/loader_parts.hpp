// The parts of the scenario loader: each reads some keys into the scenario, records mistakes and goes on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/read/catalogue.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/jobs/job_list.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/training/recipes.hpp"

namespace rehearse::scenarios {

/// Where relative paths of a scenario begin, and how `${REHEARSE_DATA}` is meant.
struct Paths {
  std::string folder;  ///< of the scenario's file
  /// The path of a file named in the scenario; a mistake when REHEARSE_DATA is named but not set.
  /// `how_to_get` says what to do for the file.
  std::string resolve(sim::JsonValue value, sim::Mistakes& mistakes, std::string_view how_to_get = {}) const;
  /// Hears of each path that was resolved, as it was written; may be null.
  std::map<std::string, std::string>* resolved = nullptr;
};

/// Models, datasets and convergence that the scenario defines beside the zoo's.
struct OwnModels {
  struct Model {
    sim::OpGraph graph;
    workloads::Optimizer optimizer = workloads::Optimizer::momentum;
    double global_batch = 0;
    std::string dataset;
  };
  struct Dataset {
    double training_samples = 0, validation_samples = 0;
  };
  std::map<std::string, Model> models;
  std::map<std::string, Dataset> datasets;
  std::vector<workloads::ConvergenceParameters> convergence;
  std::vector<workloads::Recipe> recipes;
  workloads::JobTypes job_types;  ///< of measured throughputs
};

/// Of names that become parts of files' names.
inline constexpr std::size_t kLongestFileNamePart = 200;  // bytes; Linux takes 255, and endings are put behind
/// A mistake when the name is no file's: with a slash, a NUL character, too long, "." or "..". `what` begins with its article.
void refuse_as_file_name(sim::JsonValue value, std::string_view name, const std::string& what, sim::Mistakes& mistakes);

OwnModels read_own_models(sim::ObjectReader& in, sim::Mistakes& mistakes);
std::vector<std::string> model_names(const OwnModels& own);
std::vector<std::string> dataset_names(const OwnModels& own);
/// Of jobs that name none; empty when the model is unknown.
std::string default_dataset(const OwnModels& own, const std::string& model);
const workloads::ConvergenceParameters* find_convergence(const OwnModels& own, const std::string& model,
                                                         const std::string& dataset);

/// The scenario's own recipes, and behind them the program's that have no namesake there.
std::vector<workloads::Recipe> all_recipes(const OwnModels& own);
/// What is kept of each parameter with it: LARS keeps what momentum does.
workloads::Optimizer optimizer_of(const workloads::Recipe& recipe);
/// Of a pair that is trained by the recipe, a name or empty; nothing where its accuracy is not modelled.
std::optional<workloads::ConvergenceParameters> convergence_by(const OwnModels& own, const std::string& model,
                                                               const std::string& dataset, const std::string& recipe);
/// "; the recipe \"NAME\" reaches it", for a target above what the pair reaches by the recipe that is asked for; empty where no
/// recipe does.
std::string recipe_hint(const OwnModels& own, const std::string& model, const std::string& dataset, double target);

/// The key throughputs: the types of its table, and how they slow each other down. After the cluster and `sharing`.
void read_throughputs(sim::ObjectReader& in, const Paths& paths, OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes);
/// A ProfileModel for every profile that has none yet.
void add_profile_models(const OwnModels& own, const workloads::ProfileTable& profiles, workloads::ProfileModels& models);

void read_cluster(sim::ObjectReader& in, const Paths& paths, const LoadOptions& options, Scenario& scenario,
                  sim::Mistakes& mistakes);
/// The keys billing and minimum_node_s.
void read_billing(sim::ObjectReader& in, sim::Billing fallback, sim::CostRules& costs, sim::Mistakes& mistakes);
/// The keys checkpoint, failures, stragglers and maintenance. After the cluster and `switching`.
void read_life(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);
/// The key sharing.
void read_sharing(sim::ObjectReader& in, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes);
/// Calls `refuse` for each of the scenario's jobs that waits for a name that is none's, or in a circle.
void check_dependencies(const Scenario& scenario, const std::function<void(std::size_t job, std::string expected)>& refuse);
/// Sets Job::is_awaited.
void mark_awaited(std::vector<sim::Job>& jobs);
/// A quantity over time: `steps`, or a `file` with columns time_s and value. Nothing after a mistake.
std::optional<sim::StepSeries> read_series(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);
/// The same of available_nodes, and where in it the run begins.
std::optional<sim::RecordedCapacity> read_availability(sim::JsonValue value, const Paths& paths, Scenario& scenario,
                                                       sim::Mistakes& mistakes);
/// A mistake where the floor of one of the scenario's jobs [begin, end), which `entry` gave, is above what it is believed to
/// reach.
void check_floors(const Scenario& scenario, std::size_t begin, std::size_t end, sim::JsonValue entry, const OwnModels& own,
                  sim::Mistakes& mistakes);
/// Warns of what will not work. Of a whole scenario.
void foresee(Scenario& scenario);
/// The keys resample and resample_block_s. After the jobs.
void read_resampling(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes);
/// As many blocks of time as the jobs' dates span, drawn with replacement, each with the jobs that arrived in it; by date. A
/// job's name tells the place of its block: NAME@PLACE.
std::vector<sim::Job> resampled(const std::vector<sim::Job>& jobs, double block_s, std::uint64_t seed, int repetition);
void read_jobs(sim::ObjectReader& in, const Paths& paths, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes);
void read_policies(sim::ObjectReader& in, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                   sim::Mistakes& mistakes);
void read_manual(sim::ObjectReader& in, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes);
void read_history(sim::ObjectReader& in, const Paths& paths, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes);

/// Which parts of a scenario must be there: all, unless its study needs less.
struct Needs {
  bool cluster = true, jobs = true, policies = true;
};

/// The study's name and its needs; its parameters are read last, by read_study.
Needs read_study_name(sim::ObjectReader& in, const Extensions& extensions, Scenario& scenario, sim::Mistakes& mistakes);
void read_study(sim::ObjectReader& in, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                sim::Mistakes& mistakes);

/// The numbers of a list, of which there must be one at least; the fallback when there is no such key.
std::vector<double> read_numbers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                                 std::vector<double> fallback, sim::Mistakes& mistakes);
std::vector<int> read_integers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                               std::vector<int> fallback, sim::Mistakes& mistakes);

/// What was read of a file, and its fingerprint, by its path as the scenario has it.
void add_input(const traces::ImportReport& report, std::string_view as_written, Scenario& scenario);

std::vector<std::string> pool_names(const sim::Cluster& cluster);
/// The type of a pool's nodes; null after a mistake in it. What is read before all mistakes are told asks for it here alone.
const sim::Instance* instance_or_null(const sim::Cluster& cluster, sim::PoolId pool);
/// In SyncKind's order.
const std::vector<std::string>& sync_kind_names();

/// A mistake at `value` for a name that is none of `names`, with the nearest; true when it is one.
bool known_name(sim::JsonValue value, std::string_view name, const std::vector<std::string>& names, const std::string& what,
                sim::Mistakes& mistakes);
/// The index of one of `names`; nothing after a mistake.
std::optional<std::size_t> known_choice(sim::JsonValue value, std::span<const std::string> names, sim::Mistakes& mistakes);
/// A mistake at `value` for a name that was given before.
void refuse_again(sim::JsonValue value, std::string_view name, std::string expected, sim::Mistakes& mistakes);
/// The mistakes of `error`; those that know no line, such as a file that is not there, get the place of `value`.
void add_at(sim::JsonValue value, const sim::InputError& error, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
