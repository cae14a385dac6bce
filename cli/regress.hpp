// The command `regress`: did a policy get worse?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace rehearse::cli {

struct RegressArguments {
  std::string suite = "scenarios/regression";  ///< a folder; with `against`, results
  std::string against;                         ///< other results, instead of a suite's recorded ones
  bool update = false;
  bool replace = false;
  std::string out = "results/regression";
  int processes = 0;
  std::optional<std::uint64_t> policy_seed;
  std::vector<std::string> policies;
  std::string markdown, junit;  ///< files to write; may be empty
};

void add_regress_command(Command app, RegressArguments& arguments);
int regress_command(const RegressArguments& arguments);

}  // namespace rehearse::cli
