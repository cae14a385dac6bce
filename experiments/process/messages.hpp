// The values of a conversation with a policy's process, as JSON (docs/reference/protocol.md).
#pragma once

#include <map>
#include <string>

#include "experiments/process/json_line.hpp"
#include "policies/registry/bundle.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::scenarios {

void write_cluster(const sim::Cluster& cluster, JsonLine& out);
void write_job(const sim::Job& job, const sim::Cluster& cluster, JsonLine& out);
void write_configuration(const sim::Configuration& configuration, const sim::Cluster& cluster, JsonLine& out);
void write_prediction(const sim::Prediction& prediction, JsonLine& out);
/// {"configuration", "predicted", "until_epochs"}
void write_choice(const sim::Choice& choice, const sim::Cluster& cluster, JsonLine& out);
/// What a scheduler sees of the cluster, and of this job's time when there is one.
void write_now(const sim::Sight& sight, const sim::Cluster& cluster, const sim::Job* job, JsonLine& out);
void write_seen(const sim::StageSeen& seen, const sim::Cluster& cluster, JsonLine& out);

sim::Configuration read_configuration(sim::JsonValue value, const sim::Cluster& cluster, sim::Mistakes& mistakes);
/// Of a job that is asked about at `now_s`.
sim::Pause read_pause(sim::JsonValue value, const sim::Cluster& cluster, double now_s, sim::Mistakes& mistakes);
sim::Prediction read_prediction(sim::JsonValue value, sim::Mistakes& mistakes);

// Operation graphs, as a process is told of them: each once, then by its number.

class ToldGraphs {
 public:
  /// Members "graph", a number, and "new_graph" when the process does not know it. The graph must outlive this.
  void write(const sim::OpGraph& graph, JsonLine& out);

 private:
  std::map<const sim::OpGraph*, int> number_;
};

}  // namespace rehearse::scenarios
