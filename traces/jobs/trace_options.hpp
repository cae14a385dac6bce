// What a reader of traces is told about the world that the trace is for.
#pragma once

#include <string>
#include <vector>

#include "traces/jobs/contradictions.hpp"

namespace rehearse::traces {

struct KnownModel {
  std::string name;
  std::string dataset;  ///< of jobs that name none
};

struct TraceOptions {
  std::vector<KnownModel> models;
  std::vector<std::string> datasets;
  std::vector<std::string> pools;  ///< in the order of Cluster::pools
  ClusterLimits cluster;
  bool keep_origin = false;  ///< false: dates count from the first submission
};

}  // namespace rehearse::traces
