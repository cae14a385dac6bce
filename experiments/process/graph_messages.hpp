// Operation graphs, as a process is told of them: each once, then by its number.
#pragma once

#include <map>

#include "experiments/process/json_line.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::scenarios {

class ToldGraphs {
 public:
  /// Members "graph", a number, and "new_graph" when the process does not know it. The graph must outlive this.
  void write(const sim::OpGraph& graph, JsonLine& out);

 private:
  std::map<const sim::OpGraph*, int> number_;
};

}  // namespace rehearse::scenarios
