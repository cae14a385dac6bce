#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::cli {

std::unique_ptr<scenarios::Scenario> load(const ScenarioArguments& arguments) {
  scenarios::LoadOptions options{.catalogues = arguments.catalogues};
  for (const std::string& set : arguments.sets) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos || !set.starts_with('/'))
      throw sim::InputError({.file = "--set", .expected = "/pointer=value", .found = "\"" + set + "\""});
    options.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  return scenarios::load_scenario(arguments.path, options);
}

int check_command(const ScenarioArguments& arguments) {
  const auto scenario = load(arguments);
  for (const std::string& warning : scenario->warnings) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("{}: no mistakes; {}jobs: {}{}, pools: {}, policies: {}, repetitions: {}\n", arguments.path,
             scenario->study ? "study: " + scenario->study_name + ", " : "", scenario->jobs.size(),
             scenario->generators.empty() ? "" : " and generated ones", scenario->cluster.pools.size(), scenario->policies.size(),
             scenario->repetitions);
  return kOk;
}

}  // namespace rehearse::cli
