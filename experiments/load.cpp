#include "experiments/load.hpp"

#include "experiments/process/process_strategy.hpp"
#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

namespace {

Extensions extensions() { return {.studies = studies(), .read_process = read_process}; }

}  // namespace

std::unique_ptr<Scenario> load_scenario(const std::string& path, const LoadOptions& options) {
  return read_scenario(path, options, extensions());
}

std::unique_ptr<Scenario> load_scenario(sim::JsonDocument document, const std::string& path, const LoadOptions& options) {
  return read_scenario(std::move(document), path, options, extensions());
}

}  // namespace rehearse::scenarios
