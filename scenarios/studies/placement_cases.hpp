// What the placement study places: a model's step on a machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/place/groups.hpp"
#include "policies/place/methods.hpp"
#include "scenarios/scenario.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"
#include "workloads/graph_builder.hpp"

namespace rehearse::scenarios {

struct GraphChoice {
  std::string name;  ///< of its rows; the model's unless given
  std::string model, dataset;
  double batch = 0;
  int groups = 0;  ///< at most
  workloads::Optimizer optimizer = workloads::Optimizer::momentum;
};

struct MachineChoice {
  std::string name;
  int pool = 0;
  int gpus = -1;  ///< -1: all of a node
};

struct MethodChoice {
  std::string name;  ///< of its rows; the method's unless given
  const policies::PlacementEntry* entry = nullptr;
  std::map<std::string, policies::ParameterValue> parameters;
};

struct PlacementCase {
  sim::Machine machine;
  sim::StepGraph graph;
  policies::Groups groups;  ///< coarsened
  int colocated = 0;        ///< groups before that
};

PlacementCase make_case(const Scenario& scenario, const GraphChoice& graph, const MachineChoice& machine);

/// What a method found: times of the reference timer.
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
  std::string failure;         ///< why there is nothing of all this
};

struct PlacementTask {
  const PlacementCase* placed = nullptr;
  const MethodChoice* method = nullptr;
  std::int64_t evaluations = 1;
  std::uint64_t random_key = 0;
};

/// Throws CheckFailed when the two timers differ.
PlacementFigures place(const PlacementTask& task);

/// As text for the way between processes.
std::string to_text(const PlacementFigures& figures);
PlacementFigures figures_of(const std::string& text);

}  // namespace rehearse::scenarios
