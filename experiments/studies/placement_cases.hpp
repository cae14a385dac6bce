// What the placement study places: a model's step on a machine, or a graph from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/results_folder.hpp"
#include "policies/place/groups.hpp"
#include "policies/registry/place_methods.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/tensorflow/tf_step.hpp"

namespace rehearse::scenarios {

enum class GraphFormat : std::uint8_t { native, pipedream, dnn_partitioning };  // in the order of kGraphFormats
inline const std::vector<std::string> kGraphFormats{"native", "pipedream", "dnn-partitioning"};

inline const std::vector<std::string> kEdgeCosts{"ms", "s"};

inline const std::vector<std::string> kGradientSums{"in-place", "add-n"};  // in the order of workloads::GradientSum

enum class Granularity : std::uint8_t { layers, tensorflow };  // in the order of kGranularities
inline const std::vector<std::string> kGranularities{"layers", "tensorflow"};

enum class Objective : std::uint8_t { makespan, throughput };  // in the order of kObjectives
inline const std::vector<std::string> kObjectives{"makespan", "throughput"};

struct GraphChoice {
  std::string name;  ///< of its rows; the model's or the file's unless given
  std::string model, dataset;
  std::string file;  ///< instead of a model
  GraphFormat format = GraphFormat::native;
  std::string split;          ///< a file with a placement of the operations; may be empty
  double edge_cost_s = 1e-3;  ///< of a dnn-partitioning file
  double batch = 0;           ///< 0: what the file has been measured with
  int groups = 0;             ///< at most
  bool plans_devices() const { return !file.empty() && format == GraphFormat::dnn_partitioning; }
  workloads::Optimizer optimizer = workloads::Optimizer::momentum;
  workloads::GradientSum gradient_sum = workloads::GradientSum::in_place;
  Granularity granularity = Granularity::layers;
  workloads::SequenceShape shape;  ///< of rnnlm or nmt in TensorFlow's operations
  std::string assumption;          ///< under which it counts for the paper's orderings
};

struct MachineChoice {
  std::string name;
  int pool = 0;
  int gpus = -1;                ///< -1: all of a node
  workloads::TfHostCosts host;  ///< that issues TensorFlow's operations
  std::string assumption;
};

struct MethodChoice {
  std::string name;                                 ///< of its rows; the method's unless given
  const policies::PlacementEntry* entry = nullptr;  ///< null: the graph's split
  std::map<std::string, policies::ParameterValue> parameters;
  std::shared_ptr<const policies::NetworkState> network = nullptr;  ///< of a method with an agent
};

struct CaseChoice {
  const GraphChoice* graph = nullptr;
  const MachineChoice* machine = nullptr;  ///< null: the devices that the graph's file plans for
  Objective objective = Objective::makespan;
};

struct PlacementCase {
  Objective objective = Objective::makespan;
  sim::Machine machine;
  sim::StepGraph graph;
  std::optional<sim::HostModel> host;  ///< that issues the operations; none: they issue themselves
  policies::Groups groups;             ///< coarsened
  int colocated = 0;                   ///< groups before that
  std::vector<std::int32_t> split;     ///< a device for each operation, or empty
};

/// Chains are joined for the makespan alone: a pipeline may cut them. Throws InputError for mistakes in files, and for more
/// groups than operations.
PlacementCase make_case(const Scenario& scenario, const CaseChoice& choice);

/// The largest batch of a model's or our own format's graph whose step fits on one GPU of the machine, by the step timer's
/// memory; 0 when not even one sample does.
int largest_batch_on_a_gpu(const Scenario& scenario, const CaseChoice& choice);

std::unique_ptr<sim::StepTimer> fast_timer(const PlacementCase& placed);
std::unique_ptr<sim::StepTimer> reference_timer(const PlacementCase& placed);

/// What a method found: times of the reference timer, or the busiest device's.
struct PlacementFigures {
  double step_s = 0;
  std::int64_t missing_bytes = 0;
  std::string out_of_memory;  ///< device, operation and bytes; empty: it fits
  std::int64_t transferred_bytes = 0;
  std::int64_t evaluations = 0;
  int devices_used = 0;
  struct Point {
    std::int64_t evaluations = 0;
    double step_s = 0;
    bool fits = true;
  };
  std::vector<Point> history;  ///< of a searching method, by the fast timer
  std::vector<std::int32_t> device_of_op;
  std::string failure;  ///< why there is nothing of all this
};

struct PlacementTask {
  const PlacementCase* placed = nullptr;
  const MethodChoice* method = nullptr;
  std::int64_t evaluations = 1;
  std::uint64_t random_key = 0;
  int sampling_processes = 1;  ///< that score placements which the method samples together; the figures are the same
};

/// Throws CheckFailed when the two timers differ.
PlacementFigures place(const PlacementTask& task);

/// As text for the way between processes.
std::string to_text(const PlacementFigures& figures);
PlacementFigures figures_of(const std::string& text);

// What a placement looks like: its graph coloured by device, and the timeline of its step.

/// `placement-NAME.dot` (Graphviz; a node for each group that lies on one device, else for each operation) and
/// `timeline-NAME.json` (Perfetto, chrome://tracing; by the fast timer).
void write_pictures(const ResultsFolder& folder, const std::string& name, const PlacementCase& placed,
                    const std::vector<std::int32_t>& device_of_op);

}  // namespace rehearse::scenarios
